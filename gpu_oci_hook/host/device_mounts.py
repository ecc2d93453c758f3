"""Devices that were mounted into a container from the host's own /dev.

NVIDIA's legacy hook, CDI edits and ``docker -v`` bind-mount nodes; runc mknods those of linux.devices instead.
A node alone proves nothing: with CAP_MKNOD a container makes its own. A mount of the host's /dev filesystem does: who
may not mount cannot add one, and who unshares a mount namespace still cannot reach a filesystem that he was not given.
So the number is taken from the host's node, never from a path within the container.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from gpu_oci_hook.core.process import Mount, parse_mountinfo
from gpu_oci_hook.host.paths import below, device_type, read_text

if TYPE_CHECKING:
    from gpu_oci_hook.core.devices import Number

LIMIT = 1 << 24  # a host with thousands of pods has a mountinfo of some megabytes


class DeviceMount(NamedTuple):
    """A device node of the host that stands at ``path`` in a container."""

    path: str
    number: Number


class HostFilesystems:
    """The filesystems on which the host keeps its nodes: those of PID 1's mounts of /dev and of drivers' roots."""

    def __init__(self, root: str, directories: list[str]) -> None:
        """``directories`` such as /dev and /run/nvidia/driver/dev, as the host names them."""
        self.root = root
        self._points: dict[str, Mount] = {}
        for mount in parse_mountinfo(read_text(below(root, "/proc/1/mountinfo"), LIMIT)):
            for directory in directories:
                if _contains(mount.point, directory) or _contains(directory, mount.point):
                    self._points[mount.device] = mount

    def node(self, mount: Mount) -> Number | None:
        """The number of the host's node that a mount within a container shows; None if it shows none."""
        origin = self._points.get(mount.device)
        if not origin or not _contains(origin.root, mount.root):
            return None
        path = os.path.join(origin.point, os.path.relpath(mount.root, origin.root))
        try:
            state = os.lstat(below(self.root, path))
        except OSError:
            return None
        kind = device_type(state.st_mode)
        return (kind, os.major(state.st_rdev), os.minor(state.st_rdev)) if kind else None


def device_mounts(pid: int, host: HostFilesystems) -> list[DeviceMount]:
    """The host's device nodes that are mounted in a process's mount namespace, in mountinfo's order.

    Ask for a container's init: a child may have made a namespace of its own. Empty for a process that has ended.
    """
    found = []
    for mount in parse_mountinfo(read_text(below(host.root, f"/proc/{pid}/mountinfo"), LIMIT)):
        number = host.node(mount)
        if number:
            found.append(DeviceMount(mount.point, number))
    return found


def _contains(directory: str, path: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
