"""What sources of a request say, and what they are judged with."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    from gpu_oci_hook.core.cdi import Registry
    from gpu_oci_hook.core.devices import Node, Number
    from gpu_oci_hook.core.gpus import NvmlGpu
    from gpu_oci_hook.core.links import Link
    from gpu_oci_hook.core.procfs import Driver

    class Host(Protocol):
        """What the rules ask of a host; host/inventory.py answers."""

        def node(self, path: str) -> Node | None: ...

        def nodes(self) -> list[Node]: ...

        def by_number(self, number: Number) -> Node | None: ...

        def family_of(self, number: Number) -> str: ...

        def link(self, number: Number) -> Link: ...

        def read(self, path: str) -> str: ...

        def listing(self, path: str) -> list[str]: ...

        def drivers(self) -> list[Driver]: ...

        def device_names(self, folder: str) -> list[str]: ...

        def owns_path(self, path: str) -> bool: ...

        def cdi(self, kinds: set[str]) -> Registry: ...

        def nvml(self) -> list[NvmlGpu]: ...


class Claim:
    """A source's word that the container is given a device.

    ``path`` is the node's path in the container (empty for a rule), ``number`` the spec's number or None where the host
    decides, ``source`` the kind of place (``linux.devices``), ``place`` the exact one. ``family`` is set by a source
    that knows the device for a GPU's where neither its path nor its driver tells (``/dev/dri/renderD128``).
    ``type`` is what the spec says (c or b) where it leaves the number to the host.
    """

    __slots__ = ("family", "number", "path", "place", "source", "type")

    def __init__(
        self, path: str, number: Number | None, source: str, place: str, family: str = "", type: str = ""
    ) -> None:
        self.path = path
        self.type = type
        self.number = number
        self.source = source
        self.place = place
        self.family = family


class Item:
    """One entry of a request's list, and the place in config.json where it stands."""

    __slots__ = ("place", "text")

    def __init__(self, text: str, place: str) -> None:
        self.text = text
        self.place = place


class GivenDevice:
    """A device that the container is given, by number; ``path`` is its name in the container, or else on the host."""

    __slots__ = ("family", "number", "path", "place", "source")

    def __init__(self, path: str, number: Number, family: str, claim: Claim) -> None:
        self.path = path
        self.number = number
        self.family = family
        self.source = claim.source
        self.place = claim.place

    def as_json(self) -> dict[str, Any]:
        type_, major, minor = self.number
        return {
            "path": self.path,
            "type": type_,
            "major": major,
            "minor": minor,
            "family": self.family,
            "source": self.source,
        }


class Policy:
    """The settings under [request]: which sources count, and when."""

    __slots__ = ("annotations", "bind_mounts", "env", "env_when_unprivileged", "mounts", "swarm_resources")

    def __init__(
        self,
        env: str = "auto",
        env_when_unprivileged: bool = True,
        mounts: bool = True,
        annotations: bool = True,
        swarm_resources: Iterable[str] = (),
        bind_mounts: str = "report",
    ) -> None:
        self.env = env
        self.env_when_unprivileged = env_when_unprivileged
        self.mounts = mounts
        self.annotations = annotations
        self.swarm_resources = tuple(swarm_resources)
        self.bind_mounts = bind_mounts


class Context:
    """All that a plan depends on besides the spec.

    ``access`` is what new rules grant: ``rw`` or ``rwm``. ``next_runtime`` is the path of the runtime that gets the
    spec after us; it is empty where that is not known.
    """

    __slots__ = ("access", "host", "next_runtime", "policy")

    def __init__(self, host: Host, access: str = "rw", policy: Policy | None = None, next_runtime: str = "") -> None:
        self.host = host
        self.access = access
        self.policy = policy or Policy()
        self.next_runtime = next_runtime
