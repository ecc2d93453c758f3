"""Creates: without GPUs, with GPUs in the spec, and a container's whole life."""

from __future__ import annotations

from typing import Any

from bench import instructions, mig_host
from bench.comparison import Comparison
from bench.place import LIBRARY, PROGRAMS, PYTHON, RUN_DIR, measure, original_of
from tests.lab import installation
from tests.lab.bundle import Bundle, make_bundle
from tests.lab.machine import LabError, Machine


def rule_of(number: tuple[int, int]) -> dict[str, Any]:
    """An allow rule for one character device."""
    return {"allow": True, "type": "c", "major": number[0], "minor": number[1], "access": "rwm"}


# containerd's defaults (oci/spec.go, populateDefaultUnixSpec), which kubelet's and docker's specs have too.
DEFAULT_RULES = [
    *(rule_of(number) for number in [(1, 3), (1, 8), (1, 7), (5, 0), (1, 5), (1, 9), (5, 1), (5, 2)]),
    {"allow": True, "type": "c", "major": 136, "access": "rwm"},
]
GPUS = ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]


def compare(machine: Machine, rounds: int) -> list[Comparison]:
    plain = make_bundle(machine, "plain", rules=DEFAULT_RULES)
    with_gpus = make_bundle(machine, "gpus", devices=GPUS, rules=DEFAULT_RULES)
    return [
        _compare(machine, rounds, "create, no GPU", 1.05, plain, _create),
        _compare(machine, rounds, "create, GPUs in the spec", 1.30, with_gpus, _create),
        _compare(machine, rounds // 2, "whole life, no GPU", 1.10, plain, _life),
        _compare(machine, rounds // 2, "whole life, GPUs in the spec", None, with_gpus, _life),
    ]


def compare_environment(machine: Machine, rounds: int) -> list[Comparison]:
    """A request by environment alone, for all of eight GPUs with 56 MIG instances: 123 rules.

    Beside runc with the spec as it was, and with the rules in it: to tell systemd of them is runc's own work.
    """
    mig_host.make(machine)
    machine.write(installation.SETTINGS, mig_host.SETTINGS)
    try:
        bundle = make_bundle(machine, "environment", rules=DEFAULT_RULES, env=["NVIDIA_VISIBLE_DEVICES=all"])
        original = original_of(machine, bundle.config)
        given = _granted(machine, bundle)
        sides = {side: {"before": [original], **_create(program, bundle)} for side, program in PROGRAMS.items()}
        sides["given"] = {"before": [["/bin/cp", given, bundle.config]], **_create(PROGRAMS["bare"], bundle)}
        found = measure(machine, rounds, sides)
    finally:
        machine.run(["rm", "-rf", "/etc/gpu-oci-hook", mig_host.FOLDER])
    name = "create, environment, 8 GPUs and 56 MIG"
    beside_given = {"bare": found["given"], "ours": found["ours"]}
    return [
        Comparison.of(name, 1.40, found),
        Comparison.of("  the same, beside runc given the rules", None, beside_given),
    ]


def _granted(machine: Machine, bundle: Bundle) -> str:
    """Prepare a bundle, and keep what its config.json has become. Raises LabError if no rules were added."""
    command = instructions.preparation(PYTHON, LIBRARY, RUN_DIR, installation.SETTINGS, bundle.path)
    machine.run(command)
    rules = bundle.spec()["linux"]["resources"]["devices"]
    if len(rules) < 100:
        raise LabError(f"the request was not granted: {rules}")
    machine.write(f"{bundle.config}.given", bundle.text())
    return f"{bundle.config}.given"


def _compare(machine: Machine, rounds: int, name: str, target: float | None, bundle: Bundle, steps: Any) -> Comparison:
    original = original_of(machine, bundle.config)
    sides = {side: {"before": [original], **steps(program, bundle)} for side, program in PROGRAMS.items()}
    return Comparison.of(name, target, measure(machine, rounds, sides))


def _create(program: str, bundle: Bundle) -> dict[str, Any]:
    runtime = [program, "--systemd-cgroup", "--log", f"{bundle.path}/log", "--log-format", "json"]
    return {
        "timed": [[*runtime, "create", "--bundle", bundle.path, "--pid-file", f"{bundle.path}/pid", bundle.id]],
        "after": [[PROGRAMS["bare"], "--systemd-cgroup", "delete", "--force", bundle.id]],
    }


def _life(program: str, bundle: Bundle) -> dict[str, Any]:
    def call(*arguments: str) -> list[str]:
        return [program, "--systemd-cgroup", *arguments]

    create = call("create", "--bundle", bundle.path, bundle.id)
    looks = [call("state", bundle.id)] * 5
    end = [call("kill", bundle.id, "KILL"), call("delete", "--force", bundle.id)]
    return {"timed": [create, call("start", bundle.id), *looks, call("exec", bundle.id, "/bin/true"), *end]}
