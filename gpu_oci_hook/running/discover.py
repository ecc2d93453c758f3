"""The containers that run on the host, from /proc: whatever engine made them, and whatever unit they were put into.

A container's process has another root directory and another mount namespace than the host's PID 1. Its init is the
one whose parent is no such process: the shim, conmon or systemd itself started it. What an init started in turn, and
what containers within a container do, belongs to it.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from gpu_oci_hook.host import cgroup
from gpu_oci_hook.host.paths import below, read_text
from gpu_oci_hook.running.states import ENGINES, States, split_unit


class Container(NamedTuple):
    """A running container.

    ``cgroups`` are those of all its processes, its init's first: on v1 a child cgroup may allow less than its parent.
    ``bundle`` is a path of the host, empty when no runtime's state names one.
    """

    id: str
    engine: str
    bundle: str
    pid: int
    cgroups: tuple[cgroup.ProcessCgroups, ...]

    @property
    def unit(self) -> str:
        return self.cgroups[0].unit

    @property
    def slice(self) -> str:
        return self.cgroups[0].slice

    @property
    def rootless(self) -> bool:
        """Whether a user's own systemd looks after it. It cannot enforce device rules: programs need root."""
        return self.unit.startswith("user@") and self.unit.endswith(".service")


class _Process(NamedTuple):
    pid: int
    parent: int
    start: int
    namespace: str


def discover(root: str, where: cgroup.Hierarchies, units: frozenset[str] = frozenset()) -> list[Container]:
    """All containers, ordered by unit and id; with ``units``, only those in one of them."""
    processes = _contained_processes(root)
    groups: dict[str, list[_Process]] = {}
    for process in processes.values():
        top = _top(process, processes)
        groups.setdefault(top.namespace, []).append(process)
    states = States(root)
    found = [_container(members, processes, where, states, units) for members in groups.values()]
    return sorted((each for each in found if each), key=lambda each: (each.unit, each.id))


def _container(
    members: list[_Process],
    processes: dict[int, _Process],
    where: cgroup.Hierarchies,
    states: States,
    units: frozenset[str],
) -> Container | None:
    init = min((each for each in members if each.parent not in processes), key=lambda each: (each.start, each.pid))
    cgroups: dict[str, cgroup.ProcessCgroups] = {}
    for pid in [init.pid, *(each.pid for each in members)]:
        try:
            found = cgroup.of_process(pid, where)
        except cgroup.CgroupError:
            if pid == init.pid:
                return None
            continue
        if units and pid == init.pid and found.unit not in units:
            return None
        cgroups.setdefault(found.directory, found)
    places = tuple(cgroups.values())
    state = states.find(places[0].unit, init.pid)
    if state:
        return Container(state.id, state.engine, state.bundle, init.pid, places)
    prefix, id_ = split_unit(places[0].unit, {})
    return Container(id_ or places[0].path.rpartition("/")[2], ENGINES.get(prefix, ""), "", init.pid, places)


def _contained_processes(root: str) -> dict[int, _Process]:
    proc = below(root, "/proc")
    host_namespace, host_root = _readlink(f"{proc}/1/ns/mnt"), _identity(f"{proc}/1/root/.")
    found = {}
    for name in os.listdir(proc):
        if not name.isdecimal():
            continue
        namespace = _readlink(f"{proc}/{name}/ns/mnt")
        if not namespace or namespace == host_namespace or _identity(f"{proc}/{name}/root/.") in (host_root, None):
            continue
        # The fields after the command, which may itself hold blanks and parentheses: state, parent, … (proc(5)).
        fields = read_text(f"{proc}/{name}/stat").rpartition(")")[2].split()
        if len(fields) > 19 and fields[0] not in "ZX":
            found[int(name)] = _Process(int(name), int(fields[1]), int(fields[19]), namespace)
    return found


def _top(process: _Process, processes: dict[int, _Process]) -> _Process:
    while process.parent in processes:
        process = processes[process.parent]
    return process


def _readlink(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _identity(path: str) -> tuple[int, int] | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_dev, state.st_ino
