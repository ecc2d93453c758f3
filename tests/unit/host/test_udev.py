"""Which of udev's events are about GPUs. Devices here stand for pyudev's; real events need a real driver."""

from __future__ import annotations

import pytest

from gpu_oci_hook.core.devices import NVIDIA
from gpu_oci_hook.host.udev import is_gpu_event


class Device(dict[str, str]):
    def __init__(self, subsystem: str, sys_name: str = "", **properties: str) -> None:
        super().__init__(properties)
        self.subsystem = subsystem
        self.sys_name = sys_name


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (Device("pci", DRIVER="nvidia", PCI_CLASS="30200"), True),
        (Device("pci", PCI_CLASS="30000"), True),  # a VGA controller that no driver has yet
        (Device("pci", PCI_CLASS="20000", DRIVER="e1000e"), False),
        (Device("pci", PCI_CLASS="C0330", DRIVER="xhci_hcd"), False),
        (Device("module", "nvidia_uvm"), True),
        (Device("module", "nvidia"), True),
        (Device("module", "nvme"), False),
        (Device("drm", "card0"), True),
        (Device("platform", "x", DRIVER="nvhost"), False),
    ],
)
def test_is_gpu_event(device: Device, expected: bool) -> None:
    assert is_gpu_event(device, [NVIDIA]) is expected
