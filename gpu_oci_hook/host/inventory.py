"""The host's device nodes, drivers and links, read when somebody asks and then remembered."""

from __future__ import annotations

import posix

from gpu_oci_hook.core import glob
from gpu_oci_hook.core.devices import Node
from gpu_oci_hook.core.procfs import parse_devices
from gpu_oci_hook.host import links
from gpu_oci_hook.host.paths import below, device_type, join, read_text, real_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpu_oci_hook.core.cdi import Registry
    from gpu_oci_hook.core.devices import Family, Number
    from gpu_oci_hook.core.gpus import NvmlGpu
    from gpu_oci_hook.core.links import Link
    from gpu_oci_hook.core.procfs import Driver


class Inventory:
    """What one host has. ``root`` is where its files are, ``driver_roots`` where drivers put their /dev."""

    def __init__(self, root: str, driver_roots: Iterable[str], families: Iterable[Family]) -> None:
        self.root = root
        self.driver_roots = tuple(driver_roots)
        self.families = tuple(families)
        self._drivers: list[Driver] | None = None
        self._nodes: list[Node] | None = None
        self._nvml: list[NvmlGpu] | None = None
        self._links: dict[Number, Link] = {}

    def read(self, path: str) -> str:
        """A small text file of the host; empty when it cannot be read."""
        return read_text(below(self.root, path))

    def listing(self, path: str) -> list[str]:
        """The sorted names in a folder of the host; none when it cannot be read."""
        return _names(below(self.root, path))

    def device_names(self, folder: str) -> list[str]:
        """The names in a folder of nodes, such as ``/dev``, under all driver roots."""
        found = {name for driver_root in self.driver_roots for name in self.listing(below(driver_root, folder))}
        return sorted(found)

    def cdi(self, kinds: set[str]) -> Registry:
        """The host's CDI specs of these kinds."""
        from gpu_oci_hook.host.cdi import read_registry

        return read_registry(self.root, kinds)

    def nvml(self) -> list[NvmlGpu]:
        """What NVML tells, if it is installed; asked at most once, and never about another host than this one."""
        if self._nvml is None:
            from gpu_oci_hook.host.nvml import ask

            self._nvml = ask() if self.root in ("", "/") else []
        return self._nvml

    def owns_path(self, path: str) -> bool:
        """Whether a path, with or without a driver root before it, is that of a family's node."""
        return bool(self._family_at(path))

    def drivers(self) -> list[Driver]:
        """The entries of /proc/devices; none when it cannot be read."""
        if self._drivers is None:
            self._drivers = parse_devices(self.read("/proc/devices"))
        return self._drivers

    def node(self, path: str) -> Node | None:
        """The device that a path such as ``/dev/nvidia0`` names, under the first driver root that has it."""
        for driver_root in self.driver_roots:
            file = below(driver_root, path)
            number = self._number(file)
            if number:
                return Node(path, file, *number, family=self._family_at(path))
        return None

    def _number(self, file: str) -> Number | None:
        """What stat says of a file of the host; None if it is no device."""
        try:
            state = posix.stat(below(self.root, real_path(self.root, file)))
        except (OSError, ValueError):  # ValueError: a NUL in the path
            return None
        kind = device_type(state.st_mode)
        return (kind, posix.major(state.st_rdev), posix.minor(state.st_rdev)) if kind else None

    def _family_at(self, path: str) -> str:
        for driver_root in self.driver_roots:
            short = path[len(driver_root) :] if driver_root != "/" and path.startswith(f"{driver_root}/") else path
            for family in self.families:
                if family.owns_path(short):
                    return family.name
        return ""

    def nodes(self) -> list[Node]:
        """Every node of the families, each number once, ordered by number."""
        if self._nodes is None:
            found: dict[Number, Node] = {}
            for path in self._node_paths():
                node = self.node(path)
                if node:
                    found.setdefault(node.number, node)
            self._nodes = sorted(found.values(), key=lambda node: node.number)
        return self._nodes

    def by_number(self, number: Number) -> Node | None:
        """The host's node of a number, if it is one of the families'."""
        if not self.family_of(number):
            return None
        return next((node for node in self.nodes() if node.number == number), None)

    def family_of(self, number: Number) -> str:
        """The family whose driver has registered a major today, by /proc/devices and by its nodes; or empty."""
        named = [name for kind, major, name in self.drivers() if (kind, major) == number[:2]]
        for family in self.families:
            fixed = number[:2] in family.fixed_majors and not named
            if fixed or any(family.owns_driver(name) for name in named):
                return family.name
        families_by_nodes_only = any(not family.drivers for family in self.families)
        if families_by_nodes_only or not self.drivers():
            return next((node.family for node in self.nodes() if node.number == number), "")
        return ""

    def link(self, number: Number) -> Link:
        """The state of a number's link in /dev/char or /dev/block."""
        if number not in self._links:
            self._links[number] = links.judge(self.root, number)
        return self._links[number]

    def _node_paths(self) -> list[str]:
        """The paths that the families' patterns find below any driver root, in the order of the roots."""
        found: dict[str, None] = {}
        for driver_root in self.driver_roots:
            for family in self.families:
                for pattern in family.nodes:
                    for path in self._expand(driver_root, "", pattern.lstrip("/").split("/")):
                        found.setdefault(path)
        return list(found)

    def _expand(self, driver_root: str, folder: str, parts: list[str]) -> list[str]:
        name, rest = parts[0], parts[1:]
        names = [name] if not glob.is_pattern(name) else self._listing(driver_root, folder, name)
        paths = [join(folder, each) for each in names]
        if not rest:
            return paths
        return [path for each in paths for path in self._expand(driver_root, each, rest)]

    def _listing(self, driver_root: str, folder: str, pattern: str) -> list[str]:
        names = self.listing(below(driver_root, folder))
        return [name for name in names if glob.matches(pattern, name)]


def _names(folder: str) -> list[str]:
    try:
        return sorted(posix.listdir(folder))
    except OSError:
        return []
