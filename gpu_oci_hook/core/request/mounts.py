"""Source: mounts. A list of devices told by mounts, and device nodes that are bind-mounted."""

from __future__ import annotations

from gpu_oci_hook.core.request.claim import Item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.request.claim import Host
    from gpu_oci_hook.core.spec_values import Mount

LIST_FOLDERS = ("/var/run/nvidia-container-devices/", "/run/nvidia-container-devices/")
CDI, IMEX = "cdi/", "imex/"


class MountList:
    """The lists that mounts of /dev/null tell: each mount point's name below LIST_FOLDERS is an item.

    Other sources do not count: a user may mount an emptyDir there, but only the device plugin mounts /dev/null.
    """

    def __init__(self, mounts: list[Mount]) -> None:
        found: dict[str, Item] = {}
        for mount in mounts:
            destination = clean(mount.destination) + "/"
            folder = next((folder for folder in LIST_FOLDERS if destination.startswith(folder)), "")
            name = destination[len(folder) :].strip("/")
            if folder and name and clean(mount.source) == "/dev/null":
                found.setdefault(name, Item(name, mount.place))
        self.devices = [item for name, item in found.items() if not name.startswith((CDI, IMEX))]
        self.channels = [Item(name[len(IMEX) :], item.place) for name, item in found.items() if name.startswith(IMEX)]
        self.devices += [Item(cdi_name(name), item.place) for name, item in found.items() if name.startswith(CDI)]


def cdi_name(name: str) -> str:
    """``cdi/nvidia.com/gpu/0`` or ``cdi/nvidia.com/gpu=0`` → ``nvidia.com/gpu=0``."""
    vendor, _, rest = name[len(CDI) :].partition("/")
    return f"{vendor}/{rest}" if "=" in rest else f"{vendor}/{rest.replace('/', '=', 1)}"


def clean(path: str) -> str:
    """A path without ``.``, ``..`` and doubled slashes, by its text alone (Go's filepath.Clean)."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/" * path.startswith("/") + "/".join(parts)


def bound_nodes(mounts: list[Mount], host: Host) -> list[Mount]:
    """Mounts that bring a node of a family into the container. They carry no rule (nvidia_gpu_exporter#110)."""
    return [mount for mount in mounts if "/dev/" in mount.source and host.owns_path(clean(mount.source))]
