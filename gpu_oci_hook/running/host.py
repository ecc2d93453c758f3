"""The host of one audit: its settings, its nodes, its cgroups and its systemd, each looked at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gpu_oci_hook.core import deviceallow
from gpu_oci_hook.core.devices import link_path
from gpu_oci_hook.core.request import Context
from gpu_oci_hook.host import cgroup
from gpu_oci_hook.host.device_mounts import HostFilesystems
from gpu_oci_hook.host.inventory import Inventory
from gpu_oci_hook.host.paths import below, device_type, real_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpu_oci_hook.core.devices import Family, Node, Number
    from gpu_oci_hook.host.settings import Settings

# Control nodes of NVIDIA's drivers: every GPU container is given them, and alone they reach no GPU.
SHARED = (
    "/dev/nvidiactl",
    "/dev/nvidia-modeset",
    "/dev/nvidia-uvm",
    "/dev/nvidia-nvswitch",
    "/dev/nvidia-nvlink",
    "/dev/nvidia-vgpuctl",
    "/dev/nvidia-fs",
    "/dev/gdrdrv",
)


class RememberedInventory(Inventory):
    """An inventory that answers for each path once: containers of one host name the same few nodes."""

    def __init__(self, root: str, driver_roots: Iterable[str], families: Iterable[Family]) -> None:
        super().__init__(root, driver_roots, families)
        self._at: dict[str, Node | None] = {}

    def node(self, path: str) -> Node | None:
        if path not in self._at:
            self._at[path] = super().node(path)
        return self._at[path]


class Host:
    """Facts about the host that all its containers share. Raises cgroup.CgroupError where it has no cgroups."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.root = settings.host_root
        self.inventory = RememberedInventory(self.root, settings.driver_roots, settings.families)
        self.context = Context(self.inventory, settings.access, settings.policy)
        self.hierarchies = cgroup.hierarchies(self.root)
        self.filesystems = HostFilesystems(self.root, [below(each, "/dev") for each in settings.driver_roots])
        self.names: dict[Number, str] = {node.number: node.path for node in self.inventory.nodes()}
        self.lists = deviceallow.Host(self.inventory.drivers(), self._stat)
        self.opened: dict[tuple[Number, str, tuple[tuple[str, str], ...]], bool] = {}
        self._numbers: dict[str, Number | None] = {}

    def name(self, number: Number) -> str:
        """What the host calls a device today; its number where it has no node."""
        return self.names.get(number, f"{number[0]} {number[1]}:{number[2]}")

    def is_gpu(self, number: Number) -> bool:
        """Whether a device is a GPU (or a part of one) of its own, and not a node that all containers share."""
        return not self.name(number).startswith(SHARED)

    def assume_links(self, numbers: Iterable[Number]) -> None:
        """Go on as if the links of these numbers were there: for a dry run, which makes none."""
        self._numbers.update((link_path(number), number) for number in numbers)

    def _stat(self, path: str) -> Number | None:
        """The number of the device that a path of the host leads to, as systemd's stat sees it."""
        if path not in self._numbers:
            self._numbers[path] = _number_at(self.root, path)
        return self._numbers[path]


def _number_at(root: str, path: str) -> Number | None:
    try:
        state = os.stat(below(root, real_path(root, path)))
    except (OSError, ValueError):
        return None
    kind = device_type(state.st_mode)
    return (kind, os.major(state.st_rdev), os.minor(state.st_rdev)) if kind else None
