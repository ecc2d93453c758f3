"""process.env as NVIDIA's tools read it (nvidia-container-toolkit, internal/config/image)."""

from __future__ import annotations

from gpu_oci_hook.core.request.claim import Item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

VISIBLE = "NVIDIA_VISIBLE_DEVICES"
SHOWN = 60  # characters of a request in a message


class Variables:
    """The variables, each with the index where it stands. Of duplicates the last one counts."""

    def __init__(self, entries: list[str]) -> None:
        self._found: dict[str, tuple[str, int]] = {}
        for index, entry in enumerate(entries):
            name, equals, value = entry.partition("=")
            if equals:
                self._found[name] = (value, index)

    def has(self, name: str) -> bool:
        return name in self._found

    def get(self, name: str) -> str:
        return self._found.get(name, ("", 0))[0]

    def place(self, name: str) -> str:
        """Where a variable stands: ``process.env[3]``."""
        return f"process.env[{self._found[name][1]}]" if name in self._found else "process.env"

    @property
    def legacy_image(self) -> bool:
        """An image from before NVIDIA_REQUIRE_CUDA: it gets all GPUs and all capabilities where it says nothing."""
        return bool(self.get("CUDA_VERSION")) and not self.get("NVIDIA_REQUIRE_CUDA")

    def list_of(self, name: str) -> list[Item]:
        """The items of a comma-separated value, without blanks and without empty ones."""
        place = self.place(name)
        return [Item(part.strip(), place) for part in self.get(name).split(",") if part.strip()]


def visible_devices(variables: Variables, swarm_resources: Iterable[str]) -> list[Item]:
    """What the environment asks for; empty when it asks for no device.

    Swarm's resources, where they are configured and set, count instead of NVIDIA_VISIBLE_DEVICES. ``void`` anywhere
    means nothing; otherwise the first of ``all`` and ``none`` decides, if there is one.
    """
    names = [name for name in swarm_resources if variables.has(name)] or [VISIBLE]
    if not any(map(variables.has, names)):
        return [Item("all", variables.place("CUDA_VERSION"))] if variables.legacy_image else []
    items = [item for name in names for item in variables.list_of(name)]
    if any(item.text == "void" for item in items):
        return []
    deciding = next((item for item in items if item.text in ("all", "none")), None)
    if deciding:
        return [deciding] if deciding.text == "all" else []
    return items


def driver_capabilities(variables: Variables) -> set[str]:
    """NVIDIA_DRIVER_CAPABILITIES: what is not said is ``utility,compute``, for legacy images ``all``."""
    name = "NVIDIA_DRIVER_CAPABILITIES"
    said = {item.text for item in variables.list_of(name)}
    if said:
        return said
    return {"all"} if variables.legacy_image and not variables.has(name) else {"utility", "compute"}


def shown(items: list[Item]) -> str:
    """Items for a message, not too many of them."""
    text = ",".join(item.text for item in items[:20])
    return text if len(text) <= SHOWN and len(items) <= 20 else f"{text[:SHOWN]}… ({len(items)} items)"
