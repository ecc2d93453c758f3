"""A host with eight GPUs, each cut into seven MIG instances, as files and nodes below a folder of the lab."""

from __future__ import annotations

import os

from tests.lab.machine import Machine

FOLDER = "/dev/mig-host"
DRIVERS = "Character devices:\n195 nvidia\n195 nvidiactl\n510 nvidia-uvm\n511 nvidia-caps\n"
SETTINGS = f'host_root = "{FOLDER}"\n[request]\nenv = "always"\n'
NVIDIA_MAJOR, UVM_MAJOR, CAPS_MAJOR = 195, 510, 511


def make(machine: Machine) -> None:
    """Put the host below FOLDER, which is on a tmpfs."""
    machine.write(f"{FOLDER}/proc/devices", DRIVERS)
    os.makedirs(machine.path(f"{FOLDER}/dev/char"))
    os.makedirs(machine.path(f"{FOLDER}/dev/nvidia-caps"))
    table = ["config 1", "monitor 2"]
    for gpu in range(8):
        machine.write(f"{FOLDER}/proc/driver/nvidia/gpus/0000:{gpu + 1:02x}:00.0/information", _information(gpu))
        _node(machine, f"nvidia{gpu}", NVIDIA_MAJOR, gpu)
        for instance in range(7):
            table += _instance(machine, f"gpu{gpu}", f"gi{instance}", 3 + 2 * (7 * gpu + instance))
    machine.write(f"{FOLDER}/proc/driver/nvidia-caps/mig-minors", "\n".join(table) + "\n")
    for name, major, minor in [
        ("nvidiactl", 195, 255),
        ("nvidia-uvm", UVM_MAJOR, 0),
        ("nvidia-uvm-tools", UVM_MAJOR, 1),
    ]:
        _node(machine, name, major, minor)


def _instance(machine: Machine, gpu: str, instance: str, minor: int) -> list[str]:
    lines = []
    for offset, part in enumerate(("", "ci0/")):
        path = f"{FOLDER}/proc/driver/nvidia/capabilities/{gpu}/mig/{instance}/{part}access"
        machine.write(path, f"DeviceFileMinor: {minor + offset}\n")
        _node(machine, f"nvidia-caps/nvidia-cap{minor + offset}", CAPS_MAJOR, minor + offset)
        lines.append(f"{gpu}/{instance}/{part}access {minor + offset}")
    return lines


def _information(gpu: int) -> str:
    return f"Model: \t A100\nGPU UUID: \t GPU-{gpu:08x}-0000-0000-0000-000000000000\nDevice Minor: \t {gpu}\n"


def _node(machine: Machine, name: str, major: int, minor: int) -> None:
    os.mknod(machine.path(f"{FOLDER}/dev/{name}"), 0o20666, os.makedev(major, minor))
