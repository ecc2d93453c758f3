"""A host and a container's facts, as values."""

from __future__ import annotations

import pathlib
from typing import Any, Callable

import pytest

from gpu_oci_hook.core.rules import parse_rules
from gpu_oci_hook.host.cgroup import ProcessCgroups
from gpu_oci_hook.host.settings import Settings
from gpu_oci_hook.host.systemd import UnitDevices
from gpu_oci_hook.running.discover import Container
from gpu_oci_hook.running.evidence import Evidence
from gpu_oci_hook.running.facts import CANARY, Facts
from gpu_oci_hook.running.host import Host

GPU0, GPU1, CTL = ("c", 195, 0), ("c", 195, 1), ("c", 195, 255)
NAMES = {GPU0: "/dev/nvidia0", GPU1: "/dev/nvidia1", CTL: "/dev/nvidiactl"}
DRIVERS = "Character devices:\n  1 mem\n136 pts\n195 nvidia\n"


@pytest.fixture
def host(tmp_path: pathlib.Path) -> Host:
    """A host with two GPUs, without any link."""
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/devices").write_text(DRIVERS)
    (tmp_path / "proc/1/mountinfo").write_text("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    settings = Settings()
    settings.host_root = str(tmp_path)
    made = Host(settings)
    made.names = dict(NAMES)
    return made


@pytest.fixture
def make_facts() -> Callable[..., Facts]:
    """Give a function for the facts of a container with GPU 0 whose spec has rules for it."""

    def make(**changes: Any) -> Facts:
        version = changes.pop("version", 2)
        unit, path = changes.pop("unit_name", "runc-c1.scope"), changes.pop("path", "/system.slice/runc-c1.scope")
        own = f"/system.slice/{unit}" if unit else ""
        place = ProcessCgroups(unit, own, "system.slice", path, "/nonexistent", version)
        container = Container("c1", "runc", "/bundle", 4711, (place,))
        spec = {GPU0: "/dev/nvidia0", CTL: "/dev/nvidiactl"}
        rules = parse_rules([{"allow": True, "type": "c", "major": 195, "minor": m, "access": "rw"} for m in (0, 255)])
        evidence = Evidence(spec, frozenset(spec), rules, False, [], "")
        live = {GPU0: True, GPU1: False, CTL: True, CANARY: False}
        listed = UnitDevices(unit, "strict", (("/dev/char/195:0", "rw"), ("/dev/char/195:255", "rw")), ())
        facts = Facts(container, evidence, live, dict(live), listed, frozenset({CTL}), "cb")
        evidence_changes = changes.pop("evidence", {})
        return facts._replace(evidence=evidence._replace(**evidence_changes), **changes)

    return make
