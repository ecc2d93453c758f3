"""What the OCI hook costs a container: the same bundle with and without it, created and started by plain runc."""

from __future__ import annotations

from typing import Any

from bench.comparison import Comparison
from bench.creates import DEFAULT_RULES, GPUS
from bench.place import PROGRAMS, measure, original_of
from tests.lab.bundle import Bundle, make_bundle
from tests.lab.machine import Machine
from tests.lab.our_hook import our_hook


def compare(machine: Machine, rounds: int) -> list[Comparison]:
    found = []
    for stage in ("createRuntime", "poststart"):
        for name, devices in (("no GPU", []), ("GPUs in the spec", GPUS)):
            id = f"{stage.lower()}-{'gpus' if devices else 'plain'}"
            hooks = {stage: [our_hook(stage)]}
            bare = make_bundle(machine, f"{id}-bare", devices=devices, rules=DEFAULT_RULES)
            ours = make_bundle(machine, f"{id}-ours", devices=devices, rules=DEFAULT_RULES, hooks=hooks)
            sides = {"bare": _start(machine, bare), "ours": _start(machine, ours)}
            found.append(Comparison.of(f"hook {stage}, {name}", None, measure(machine, rounds // 2, sides)))
    return found


def _start(machine: Machine, bundle: Bundle) -> dict[str, Any]:
    runtime = [PROGRAMS["bare"], "--systemd-cgroup"]
    return {
        "before": [original_of(machine, bundle.config)],
        "timed": [[*runtime, "create", "--bundle", bundle.path, bundle.id], [*runtime, "start", bundle.id]],
        "after": [[*runtime, "delete", "--force", bundle.id]],
    }
