"""Where the host's cgroup hierarchies are, and the cgroups of a process.

v1: the ``devices`` hierarchy decides about devices, ``name=systemd`` (or, on hybrid hosts, the unified one) names the
unit. The two may name different cgroups: runtimes with the cgroupfs driver move a process in one of them only.
v2: the unified hierarchy does both.
"""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

from gpu_oci_hook.core import process
from gpu_oci_hook.host.paths import below


class CgroupError(Exception):
    """The host's cgroups cannot be read as they should be."""

    code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ProcessGoneError(CgroupError):
    """The process, or its cgroup, ended while it was looked at."""


class Hierarchies(NamedTuple):
    """Mount points as the host names them; ``""`` for a hierarchy that is not mounted."""

    devices: str  # v1's devices controller
    systemd: str  # v1's name=systemd
    unified: str
    root: str = "/"

    @property
    def version(self) -> int:
        """1 where v1's devices controller decides about devices (hybrid hosts as well), otherwise 2."""
        return 1 if self.devices else 2


class ProcessCgroups(NamedTuple):
    """The cgroups of one process. Directories are real paths, root included; an empty unit means that none owns it."""

    unit: str  # docker-1f2e.scope
    unit_path: str  # /system.slice/docker-1f2e.scope, as systemd's ControlGroup property has it
    slice: str  # system.slice
    path: str  # the process's own cgroup in the hierarchy that decides about devices
    directory: str  # where that is
    version: int


def hierarchies(root: str = "/") -> Hierarchies:
    """Find the mounted cgroup hierarchies of the host whose /proc is below ``root``.

    What the kernel has is not what counts: a v1 controller that is mounted nowhere on this host is not systemd's.
    Raises CgroupError where no hierarchy is mounted.
    """
    found = {"devices": "", process.SYSTEMD: "", process.UNIFIED: ""}
    for mount in process.parse_mountinfo(_read(_init_mountinfo(root))):
        if mount.filesystem == "cgroup2":
            found[process.UNIFIED] = found[process.UNIFIED] or mount.point
        elif mount.filesystem == "cgroup":
            for name in found.keys() & mount.super_options:
                found[name] = found[name] or mount.point
    if not any(found.values()):
        hint = "give the host's root with --root when running in a container"
        raise CgroupError("no cgroup hierarchy is mounted", hint)
    return Hierarchies(found["devices"], found[process.SYSTEMD], found[process.UNIFIED], root)


def _init_mountinfo(root: str) -> str:
    """PID 1's mounts are the host's; where they may not be read (not root), our own."""
    path = below(root, "/proc/1/mountinfo")
    return path if os.access(path, os.R_OK) else below(root, "/proc/self/mountinfo")


def of_process(pid: int, where: Hierarchies) -> ProcessCgroups:
    """The unit and the cgroup that decide about a process's devices, from /proc/PID/cgroup.

    Raises ProcessGoneError for a process that has ended, CgroupError for one whose cgroup lies outside of our view.
    """
    return of_text(_read(below(where.root, f"/proc/{pid}/cgroup")), where)


def of_text(text: str, where: Hierarchies) -> ProcessCgroups:
    """As ``of_process``, from the text of /proc/PID/cgroup."""
    paths = process.parse_cgroup(text)
    name = paths.get(process.SYSTEMD, "") if where.systemd else ""
    name = name or paths.get(process.UNIFIED, "")
    deciding = paths.get("devices" if where.devices else process.UNIFIED, "")
    if not deciding or deciding.startswith("/.."):
        raise CgroupError(
            f"the process's cgroup {deciding or '(none)'} is outside of this cgroup namespace",
            "run it in the host's cgroup namespace",
        )
    directory = below(where.root, (where.devices or where.unified) + deciding)
    return ProcessCgroups(
        process.unit_of_path(name),
        process.unit_path(name),
        process.slice_of_path(name),
        deciding,
        directory.rstrip("/"),
        where.version,
    )


def processes(directory: str) -> list[int]:
    """The processes in a cgroup itself (not below it). Raises ProcessGoneError when the cgroup is gone."""
    return [int(line) for line in _read(os.path.join(directory, "cgroup.procs")).split()]


def is_frozen(directory: str) -> bool:
    """Whether a v2 cgroup is paused: whoever is placed into it stops at once."""
    try:
        return "frozen 1" in _read(os.path.join(directory, "cgroup.events")).splitlines()
    except CgroupError:
        return False


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError) as error:
        raise ProcessGoneError(f"{path} is gone") from error
    except OSError as error:
        if error.errno == errno.ENODEV:  # kernfs: the cgroup was removed while its file was open
            raise ProcessGoneError(f"{path} is gone") from error
        raise CgroupError(f"{path} cannot be read: {error.strerror}", "run it as root") from error
