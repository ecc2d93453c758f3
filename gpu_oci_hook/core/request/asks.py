"""What a spec asks its stack for, as it is written; whether it gets that is judged elsewhere (stack.py).

Most containers ask for nothing, and then no more than this module is imported and no file of the host is read.
"""

from __future__ import annotations

from gpu_oci_hook.core import spec_values
from gpu_oci_hook.core.request.claim import Item
from gpu_oci_hook.core.request.mounts import MountList
from gpu_oci_hook.core.request.variables import Variables, visible_devices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.request.claim import Policy
    from gpu_oci_hook.core.spec import Spec

ANNOTATION = "cdi.k8s.io/"


class Asks:
    """The items of each source. Raises SpecError for wrong types in any of the places where they are looked for."""

    __slots__ = ("annotated", "listed", "mounts", "variables", "visible")

    def __init__(self, spec: Spec, policy: Policy) -> None:
        self.variables = Variables(spec_values.environment(spec))
        self.mounts = spec_values.mounts(spec)
        self.annotated = _annotated(spec_values.annotation_texts(spec)) if policy.annotations else []
        self.listed = MountList(self.mounts if policy.mounts else [])
        self.visible = visible_devices(self.variables, policy.swarm_resources)

    def __bool__(self) -> bool:
        """Whether any device is asked for."""
        return bool(self.annotated or self.listed.devices or self.visible)

    @property
    def annotates_gpus(self) -> bool:
        """Whether annotations name NVIDIA's devices, so that neither mounts nor the environment count any more."""
        return any(item.text.partition("/")[0].endswith("nvidia.com") for item in self.annotated)

    @property
    def channels(self) -> list[Item]:
        """IMEX channels: told by mounts, or else by the environment, where ``all`` means none that can be named."""
        items = self.variables.list_of("NVIDIA_IMEX_CHANNELS")
        return self.listed.channels or ([] if [item.text for item in items] == ["all"] else items)


def _annotated(annotations: dict[str, str]) -> list[Item]:
    """The CDI names in annotations ``cdi.k8s.io/*``, each once."""
    found: dict[str, Item] = {}
    for key in sorted(annotations):
        if key.startswith(ANNOTATION):
            for name in annotations[key].split(","):
                found.setdefault(name.strip(), Item(name.strip(), f"annotations.{key}"))
    return [item for name, item in found.items() if name]
