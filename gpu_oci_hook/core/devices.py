"""Device numbers, nodes and the families of devices that we look after."""

from __future__ import annotations

from gpu_oci_hook.core import glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Number = tuple[str, int, int]  # ("c", 195, 0): what a cgroup rule is about. Names are for people.

MINOR_MAX = (1 << 20) - 1  # the kernel's MINORBITS is 20
MAJOR_MAX = (1 << 12) - 1

# What NVIDIA's drivers create below /dev, by the drivers' own documentation and facts of the field:
# GPUs, control, unified memory, modesetting, MIG capabilities, IMEX channels, NVSwitch, vGPU, GPUDirect Storage,
# GDRCopy.
NVIDIA_NODES = (
    "/dev/nvidia[0-9]*",
    "/dev/nvidiactl",
    "/dev/nvidia-modeset",
    "/dev/nvidia-uvm",
    "/dev/nvidia-uvm-tools",
    "/dev/nvidia-caps/nvidia-cap[0-9]*",
    "/dev/nvidia-caps-imex-channels/channel[0-9]*",
    "/dev/nvidia-nvswitch[0-9]*",
    "/dev/nvidia-nvswitchctl",
    "/dev/nvidia-nvlink",
    "/dev/nvidia-vgpu[0-9]*",
    "/dev/nvidia-vgpuctl",
    "/dev/nvidia-fs[0-9]*",
    "/dev/gdrdrv",
)

# Names of their character majors in /proc/devices. 195 is assigned to NVIDIA by the kernel's devices.txt and is called
# nvidia-frontend before driver 545/550, nvidia and nvidiactl after (NVIDIA/nvidia-container-toolkit#324).
NVIDIA_DRIVERS = ("nvidia", "nvidia-*", "nvidiactl", "gdrdrv")
NVIDIA_MAJOR = 195


class Family:
    """A kind of device: the patterns of its nodes and, where known, its drivers' names in /proc/devices."""

    __slots__ = ("drivers", "fixed_majors", "name", "nodes")

    def __init__(
        self,
        name: str,
        nodes: Iterable[str],
        drivers: Iterable[str] = (),
        fixed_majors: Iterable[tuple[str, int]] = (),
    ) -> None:
        self.name = name
        self.nodes = tuple(nodes)
        self.drivers = tuple(drivers)
        self.fixed_majors = tuple(fixed_majors)

    def owns_path(self, path: str) -> bool:
        """Whether a node path such as ``/dev/nvidia0`` is one of this family's."""
        return any(glob.matches(pattern, path) for pattern in self.nodes)

    def owns_driver(self, name: str) -> bool:
        """Whether a name in /proc/devices is one of this family's drivers."""
        return any(glob.matches(pattern, name) for pattern in self.drivers)


NVIDIA = Family("nvidia", NVIDIA_NODES, NVIDIA_DRIVERS, [("c", NVIDIA_MAJOR)])


class Node:
    """A device node of the host.

    ``path`` is how the host names it below a driver root (``/dev/nvidia0``), ``file`` is where it really lies
    on the host (``/run/nvidia/driver/dev/nvidia0``), both without host_root.
    """

    __slots__ = ("family", "file", "major", "minor", "path", "type")

    def __init__(self, path: str, file: str, type: str, major: int, minor: int, family: str) -> None:
        self.path = path
        self.file = file
        self.type = type
        self.major = major
        self.minor = minor
        self.family = family

    @property
    def number(self) -> Number:
        return (self.type, self.major, self.minor)

    def __repr__(self) -> str:
        return f"Node({self.file} {self.type} {self.major}:{self.minor})"


def spell(number: Number) -> str:
    """A number as cgroup files write it: ``c 195:0``."""
    return f"{number[0]} {number[1]}:{number[2]}"


def link_path(number: Number) -> str:
    """Where udev, runc and systemd expect a device by its number: ``/dev/char/195:0``."""
    return f"/dev/{'block' if number[0] == 'b' else 'char'}/{number[1]}:{number[2]}"
