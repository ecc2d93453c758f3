"""Peak resident memory of the create path, beside that of the bare interpreter."""

from __future__ import annotations

from bench import instructions
from bench.place import LIBRARY, PYTHON, RUN_DIR
from tests.lab.bundle import make_bundle
from tests.lab.machine import SOURCE, Machine

TARGET = 10_240  # KiB above the interpreter's own


def peaks(machine: Machine) -> dict[str, int]:
    """KiB of the bare interpreter and of a preparation with GPUs in the spec."""
    bundle = make_bundle(machine, "memory", devices=["/dev/nvidia0", "/dev/nvidiactl"], rules=[])
    command = instructions.preparation(PYTHON, LIBRARY, RUN_DIR, "/none", bundle.path)
    at = len(instructions.FLAGS) + 1
    harness = [*command[:at], f"{SOURCE}/bench/peak.py"]
    return {"interpreter": _peak(machine, harness), "preparation": _peak(machine, [*harness, *command[at:]])}


def _peak(machine: Machine, command: list[str]) -> int:
    return int(machine.run(command).stdout.split()[1])
