"""Hundreds of creates at once: a node that comes back from a reboot."""

from __future__ import annotations

import json
import os
from typing import Any

from bench.comparison import Comparison
from bench.creates import DEFAULT_RULES, GPUS
from bench.place import PROGRAMS, PYTHON, original_of
from tests.lab.bundle import Bundle, make_bundle
from tests.lab.gpus import NODES
from tests.lab.machine import SOURCE, LabError, Machine


def compare(machine: Machine, count: int, rounds: int) -> Comparison:
    """Seconds for ``count`` creates at once. Raises LabError if one fails, or a rule or a link is missing after it."""
    bundles = [make_bundle(machine, f"many{i}", devices=GPUS, rules=DEFAULT_RULES) for i in range(count)]
    originals = [original_of(machine, bundle.config) for bundle in bundles]
    found: dict[str, list[float]] = {side: [] for side in PROGRAMS}
    for _ in range(rounds):
        for side, program in PROGRAMS.items():
            _burst(machine, originals)
            creates = [[program, "--systemd-cgroup", "create", "--bundle", each.path, each.id] for each in bundles]
            found[side].append(_burst(machine, creates))
            if side == "ours":
                _check(machine, bundles)
            _burst(machine, [[PROGRAMS["bare"], "--systemd-cgroup", "delete", "--force", each.id] for each in bundles])
    return Comparison(f"{count} creates at once", None, found["bare"], found["ours"])


def _burst(machine: Machine, commands: list[list[str]]) -> float:
    text = machine.run([PYTHON, "-I", f"{SOURCE}/bench/burst.py"], input=json.dumps(commands), timeout=300).stdout
    result: dict[str, Any] = json.loads(text)
    if result["failed"]:
        raise LabError(f"{result['failed']} of {len(commands)} failed, the first was {' '.join(commands[0])}")
    seconds: float = result["seconds"]
    return seconds


def _check(machine: Machine, bundles: list[Bundle]) -> None:
    wanted = {NODES[path] for path in GPUS}
    for bundle in bundles:
        rules = bundle.spec()["linux"]["resources"]["devices"]
        if not wanted <= {(rule.get("major"), rule.get("minor")) for rule in rules}:
            raise LabError(f"{bundle.id} has lost a rule")
    links = set(os.listdir(machine.path("/dev/char")))
    if not {f"{major}:{minor}" for major, minor in wanted} <= links:
        raise LabError(f"a link is missing: {links}")
