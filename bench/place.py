"""Where creates are measured: a booted systemd of our own with the programs installed in it, as tests/lab makes it."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from typing import Any

from tests.lab import installation
from tests.lab.container import RUNC, remove_containers
from tests.lab.gpus import make_nodes
from tests.lab.machine import SOURCE, Machine

WRAPPER = installation.WRAPPER
PYTHON = "/usr/bin/python3"
LIBRARY = f"{installation.PREFIX}/lib/gpu-oci-hook"
RUN_DIR = "/run/gpu-oci-hook"
PROGRAMS = {"bare": RUNC, "ours": WRAPPER}


@contextlib.contextmanager
def installed_machine(version: str) -> Iterator[Machine]:
    """A machine on cgroup ``v1`` or ``v2`` with NVIDIA's nodes and an installed copy; removed afterwards."""
    with tempfile.TemporaryDirectory() as staged:
        installation.stage(staged)
        with Machine(version) as machine:
            installation.put(machine, staged)
            make_nodes(machine)
            try:
                yield machine
            finally:
                remove_containers(machine)


def measure(machine: Machine, rounds: int, sides: dict[str, Any], timeout: float = 900) -> dict[str, Any]:
    """Run the stopwatch inside and return what it measured, by side."""
    plan = json.dumps({"rounds": rounds, "sides": sides})
    command = [PYTHON, "-I", f"{SOURCE}/bench/stopwatch.py"]
    found: dict[str, Any] = json.loads(machine.run(command, input=plan, timeout=timeout).stdout)
    return found


def original_of(machine: Machine, config: str) -> list[str]:
    """Keep a copy of a config.json, and return the command that puts it back: an engine writes a new one each time."""
    machine.write(f"{config}.original", machine.read(config))
    return ["/bin/cp", f"{config}.original", config]


def commit() -> str:
    """The commit that is measured, for the table."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with os.popen(f"git -C '{folder}' describe --always --dirty 2>/dev/null") as output:
        return output.read().strip() or "unknown"
