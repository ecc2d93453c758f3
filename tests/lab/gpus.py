"""NVIDIA's device nodes, with no driver behind them: opening one gives ENXIO where the cgroup allows it, else EPERM."""

from __future__ import annotations

import os
import shutil

from tests.lab.machine import Machine

# 195 is NVIDIA's own major (kernel Documentation/admin-guide/devices.txt: "195 char Nvidia graphics devices"); the two
# others are given out from above and were seen as 510 and 511 on nodes in the field.
GPUS = {f"/dev/nvidia{minor}": (195, minor) for minor in range(8)}
CONTROL = {
    "/dev/nvidiactl": (195, 255),
    "/dev/nvidia-uvm": (510, 0),
    "/dev/nvidia-uvm-tools": (510, 1),
}
CAPABILITIES = {"/dev/nvidia-caps/nvidia-cap1": (511, 1), "/dev/nvidia-caps/nvidia-cap2": (511, 2)}
NODES = {**GPUS, **CONTROL, **CAPABILITIES}
# A device of another kind, which must get nothing from us; no driver is behind it either.
OTHER = {"/dev/labcard0": (240, 7)}


def make_nodes(machine: Machine) -> None:
    """Put the lab's /dev into its first state: all nodes, and no link for any of them."""
    shutil.rmtree(machine.path("/dev/nvidia-caps"), ignore_errors=True)
    for path, (major, minor) in {**NODES, **OTHER}.items():
        inner = machine.path(path)
        os.makedirs(os.path.dirname(inner), exist_ok=True)
        if os.path.lexists(inner):
            os.unlink(inner)
        os.mknod(inner, 0o20666, os.makedev(major, minor))
        os.chmod(inner, 0o666)  # mknod obeys the umask
    os.makedirs(machine.path("/dev/char"), exist_ok=True)
    for number in links(machine):
        remove_link(machine, number)


def numbers() -> set[str]:
    """Return "MAJOR:MINOR" of every node that the lab made up."""
    return {f"{major}:{minor}" for major, minor in {**NODES, **OTHER}.values()}


def links(machine: Machine) -> list[str]:
    """Return the numbers of our nodes that have an entry in /dev/char, of whatever kind."""
    if not os.path.isdir(machine.path("/dev/char")):
        return []
    return sorted(numbers() & set(os.listdir(machine.path("/dev/char"))))


def make_link(machine: Machine, path: str) -> None:
    """Make the link that udev would make for a device that has a sysfs entry."""
    major, minor = {**NODES, **OTHER}[path]
    os.symlink(f"..{path[len('/dev') :]}", machine.path(f"/dev/char/{major}:{minor}"))


def remove_link(machine: Machine, number: str) -> None:
    """Remove a link, or the directory that a test put in its place."""
    entry = machine.path(f"/dev/char/{number}")
    if os.path.isdir(entry) and not os.path.islink(entry):
        shutil.rmtree(entry)
    else:
        os.unlink(entry)
