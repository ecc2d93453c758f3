"""How our own cost grows with the spec and with the host. The real runtime's place is taken by /bin/true."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable
from statistics import median
from typing import Any

from bench.place import WRAPPER, measure
from tests.lab.machine import Machine

FOLDER = "/dev/bench"  # on a tmpfs, where device nodes can be made
SETTINGS = f"{FOLDER}/config.toml"
GPU = {"path": "/dev/nvidia0", "type": "c", "major": 195, "minor": 0}
DENY_ALL = {"allow": False, "access": "rwm"}


@dataclasses.dataclass(frozen=True)
class Growth:
    """Medians of processor time, in seconds, by the number (or size) of something."""

    name: str
    points: dict[int, float]

    @property
    def exponent(self) -> float:
        """The slope of the last step on logarithmic axes, the cost of the smallest case taken off: 1 is linear."""
        sizes = sorted(self.points)
        low, high = (max(self.points[size] - self.points[sizes[0]], 1e-4) for size in sizes[-2:])
        return math.log(high / low) / math.log(sizes[-1] / sizes[-2])

    def as_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "exponent": self.exponent}


def grow(machine: Machine, rounds: int) -> list[Growth]:
    """One curve for each kind of growth. The sizes of one curve are measured in turns."""
    kinds: dict[str, tuple[list[int], Callable[[int], dict[str, Any]]]] = {
        "rules": ([10, 100, 1_000, 10_000], _with_rules),
        "mounts": ([10, 100, 1_000, 10_000], _with_mounts),
        "host nodes": ([10, 100, 1_000, 5_000], _with_a_number),
        "bytes of config.json": ([4_000, 40_000, 1_000_000, 20_000_000], _of_size),
    }
    return [_curve(machine, rounds, name, sizes, spec) for name, (sizes, spec) in kinds.items()]


def _curve(machine: Machine, rounds: int, name: str, sizes: list[int], spec: Callable[[int], dict[str, Any]]) -> Growth:
    sides = {}
    for size in sizes:
        folder = f"{FOLDER}/{name.replace(' ', '-')}-{size}"
        _make_host(machine, f"{folder}/host", size if name == "host nodes" else 1)
        machine.write(f"{folder}/config.toml", f'host_root = "{folder}/host"\nruntimes = ["/bin/true"]\n')
        machine.write(f"{folder}/original", json.dumps(spec(size)))
        create = [WRAPPER, "create", "--bundle", folder, "c"]
        sides[str(size)] = {
            "before": [["/bin/cp", f"{folder}/original", f"{folder}/config.json"]],
            # env: each size has a host of its own. RUN_DIR holds one compiled form, so it is made anew, untimed.
            "timed": [["/usr/bin/env", f"GPU_OCI_HOOK_CONFIG={folder}/config.toml", *create]],
        }
        sides[str(size)]["before"].append(
            ["/usr/bin/env", f"GPU_OCI_HOOK_CONFIG={folder}/config.toml", WRAPPER, "list"]
        )
    found = measure(machine, rounds, sides)
    return Growth(name, {int(size): median(round_["cpu"] for round_ in rounds_) for size, rounds_ in found.items()})


def _make_host(machine: Machine, folder: str, nodes: int) -> None:
    os.makedirs(machine.path(f"{folder}/dev/char"))
    machine.write(f"{folder}/proc/devices", "Character devices:\n195 nvidia\n")
    for minor in range(nodes):
        os.mknod(machine.path(f"{folder}/dev/nvidia{minor}"), 0o20666, os.makedev(195, minor))


def _spec(rules: list[Any], mounts: list[Any] = [], env: list[str] = [], nodes: list[Any] = [GPU]) -> dict[str, Any]:  # noqa: B006
    resources = {"devices": [DENY_ALL, *rules]}
    return {
        "ociVersion": "1.0.2",
        "process": {"env": env},
        "mounts": mounts,
        "linux": {"devices": nodes, "resources": resources},
    }


def _with_rules(count: int) -> dict[str, Any]:
    return _spec([{"allow": True, "type": "c", "major": 240, "minor": i, "access": "rw"} for i in range(count)])


def _with_mounts(count: int) -> dict[str, Any]:
    return _spec([], [{"destination": f"/d/{i}", "source": f"/s/{i}", "options": ["bind", "ro"]} for i in range(count)])


def _with_a_number(count: int) -> dict[str, Any]:
    """A device of a name that the host does not have: it is looked for by number among all nodes."""
    return _spec([], nodes=[{"path": "/dev/gpu", "type": "c", "major": 195, "minor": count - 1}])


def _of_size(size: int) -> dict[str, Any]:
    return _spec([], env=[f"VARIABLE_{i}={'x' * 80}" for i in range(size // 100)])
