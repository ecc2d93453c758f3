"""GPUs and their drivers coming and going, by udev. The driver's nodes come later, with no event of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpu_oci_hook.core.devices import Family

SUBSYSTEMS = ("pci", "module", "drm", "platform")
DISPLAY_CLASS = "3"  # PCI base class 0x03; ID 0302 is a 3D controller, as data-centre GPUs are


class GpuEvents:
    """The kernel's events about GPUs, as udev passes them on. Raises ImportError or OSError where there is no udev."""

    def __init__(self, families: Iterable[Family]) -> None:
        import pyudev

        self.families = tuple(families)
        self._monitor = pyudev.Monitor.from_netlink(pyudev.Context())
        for subsystem in SUBSYSTEMS:
            self._monitor.filter_by(subsystem)
        self._monitor.start()

    def fileno(self) -> int:
        return int(self._monitor.fileno())

    def take(self) -> bool:
        """Take all events that wait; whether one of them is about a GPU or its driver."""
        found = False
        device = self._monitor.poll(0)
        while device is not None:
            found = is_gpu_event(device, self.families) or found
            device = self._monitor.poll(0)
        return found


def is_gpu_event(device: Any, families: Iterable[Family]) -> bool:
    """Whether a device of udev's (pyudev.Device) is a GPU, or the module or driver of one.

    A module is called nvidia_uvm where /proc/devices says nvidia-uvm.
    """
    if device.subsystem == "drm":
        return True
    names = [str(device.get("DRIVER") or "")]
    if device.subsystem == "module":
        names.append(str(device.sys_name))
    if any(name and family.owns_driver(name.replace("_", "-")) for name in names for family in families):
        return True
    class_ = str(device.get("PCI_CLASS") or "")
    return device.subsystem == "pci" and len(class_) == 5 and class_.startswith(DISPLAY_CLASS)
