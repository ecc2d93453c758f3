"""The machine's cgroup hierarchies, and the cgroups of our own that a lab gets in each of them."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections.abc import Iterator


@dataclasses.dataclass(frozen=True)
class Hierarchy:
    """One mounted hierarchy; `options` is what mount(8) needs to mount it again ("" for version 2)."""

    mount_point: str
    version: int
    options: str

    @property
    def directory(self) -> str:
        """Return the directory name below /sys/fs/cgroup that systemd expects: the controllers, or "systemd"."""
        return "systemd" if self.options == "none,name=systemd" else self.options


def mounted_hierarchies(mountinfo: str = "/proc/self/mountinfo") -> list[Hierarchy]:
    """Read mountinfo (proc(5): fields after " - " are type, source and options of the superblock)."""
    with open("/proc/cgroups", encoding="ascii") as table:
        controllers = {line.split()[0] for line in table if not line.startswith("#")}
    found: dict[str, Hierarchy] = {}
    with open(mountinfo, encoding="utf-8") as lines:
        for line in lines:
            mount_fields, _, filesystem = line.partition(" - ")
            mount_point = mount_fields.split()[4]
            type, _, options = filesystem.split()
            if type == "cgroup2":
                found.setdefault("v2", Hierarchy(mount_point, 2, ""))
            elif type == "cgroup":
                named = [option for option in options.split(",") if option.startswith("name=")]
                joined = [option for option in options.split(",") if option in controllers]
                text = "none," + named[0] if named else ",".join(joined)
                found.setdefault(text, Hierarchy(mount_point, 1, text))
    return list(found.values())


def make_cgroups(name: str, hierarchies: list[Hierarchy]) -> list[str]:
    """Make the cgroup `name` at the top of each hierarchy and return the paths; cpuset needs its sets filled."""
    paths = []
    for hierarchy in hierarchies:
        path = os.path.join(hierarchy.mount_point, name)
        os.makedirs(path, exist_ok=True)
        paths.append(path)
        if hierarchy.version == 1 and "cpuset" in hierarchy.options.split(","):
            for file in ("cpuset.cpus", "cpuset.mems"):
                with open(os.path.join(hierarchy.mount_point, file), encoding="ascii") as source:
                    _write(os.path.join(path, file), source.read())
    return paths


def processes_in(path: str) -> set[int]:
    """Return the processes of a cgroup and of all that are below it."""
    found: set[int] = set()
    for directory, _, files in os.walk(path):
        if "cgroup.procs" in files:
            try:
                with open(os.path.join(directory, "cgroup.procs"), encoding="ascii") as lines:
                    found.update(int(line) for line in lines)
            except OSError:  # the cgroup went away, or is a threaded one
                continue
    return found - {0}


def remove_cgroups(name: str, timeout: float = 10.0) -> None:
    """Kill what still runs in the cgroups called `name` and remove them, in every hierarchy."""
    paths = [os.path.join(hierarchy.mount_point, name) for hierarchy in mounted_hierarchies()]
    deadline = time.monotonic() + timeout
    while any(os.path.isdir(path) for path in paths):
        for path in paths:
            for process in processes_in(path):
                _kill(process)
            _remove_tree(path)
        if time.monotonic() > deadline:
            raise TimeoutError(f"cgroups called {name} are still there after {timeout:g} s")
        time.sleep(0.02)


def cgroup_names(prefix: str) -> Iterator[str]:
    """Yield the names of the top cgroups that begin with `prefix`, each once."""
    yield from sorted(
        {
            name
            for hierarchy in mounted_hierarchies()
            for name in os.listdir(hierarchy.mount_point)
            if name.startswith(prefix)
        }
    )


def _remove_tree(path: str) -> None:
    for directory, _, _ in os.walk(path, topdown=False):
        try:
            os.rmdir(directory)
        except OSError:  # still busy; the caller tries again
            continue


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as target:
        target.write(text)
