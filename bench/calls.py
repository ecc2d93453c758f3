"""Calls that are handed on: every probe and every look of an engine is one of them."""

from __future__ import annotations

from bench.comparison import Comparison
from bench.place import PROGRAMS, measure
from tests.lab.bundle import make_bundle
from tests.lab.container import Container
from tests.lab.machine import Machine

TARGET = 1.10
ID = "calls"


def compare(machine: Machine, rounds: int) -> list[Comparison]:
    container = Container(make_bundle(machine, ID)).start()
    calls = {
        "state": ["state", ID],
        "kill": ["kill", ID, "0"],
        "exec": ["exec", ID, "/bin/true"],
        "--version": ["--version"],
    }
    try:
        found = [_compare(machine, rounds, name, arguments) for name, arguments in calls.items()]
    finally:
        container.delete()
    return [*found, _compare(machine, rounds, "delete", ["delete", "--force", "none"])]


def _compare(machine: Machine, rounds: int, name: str, arguments: list[str]) -> Comparison:
    sides = {side: {"timed": [[program, "--systemd-cgroup", *arguments]]} for side, program in PROGRAMS.items()}
    return Comparison.of(name, TARGET, measure(machine, rounds, sides))
