"""Verdicts from facts. That facts are what they are, and outcomes what was said, is shown in the lab."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from gpu_oci_hook.core.versions import Version, parse_systemd
from gpu_oci_hook.host.systemd import UnitDevices
from gpu_oci_hook.running.facts import CANARY, Facts
from gpu_oci_hook.running.host import Host
from gpu_oci_hook.running.judge import judge, when
from tests.unit.running.conftest import CTL, GPU0, GPU1

V252 = Version((252,))
DENIED_LIVE = {GPU0: False, GPU1: False, CTL: False, CANARY: False}
OPEN_LIVE = {GPU0: True, GPU1: True, CTL: True, CANARY: True}
NOT_LISTED = dict.fromkeys(DENIED_LIVE, False)
NOTHING: dict[str, Any] = {"devices": {}, "rules": frozenset()}
UNREADABLE = {**NOTHING, "problem": "no runtime's state names its bundle"}
AUTO = UnitDevices("runc-c1.scope", "auto", (), ())
PROGRAM = UnitDevices("runc-c1.scope", "auto", (), (("device", "/sys/fs/bpf/crun/x_scope"),))
INNER = "/system.slice/runc-c1.scope/container"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ("ok", "")),
        ({"unit": NOT_LISTED}, ("at-risk", "B")),
        ({"unit": NOT_LISTED, "evidence": {"rules": frozenset()}}, ("at-risk", "A")),
        ({"unit": NOT_LISTED, "live": DENIED_LIVE}, ("lost", "B")),
        ({"unit": NOT_LISTED, "live": DENIED_LIVE, "evidence": {"rules": frozenset()}}, ("lost", "A")),
        ({"live": DENIED_LIVE}, ("recreate", "B")),  # the unit opens them, and they are denied all the same
        ({"live": DENIED_LIVE, "version": 1}, ("lost", "B")),  # v1: a child's list, which can be completed
        (
            {"live": DENIED_LIVE, "unit": NOT_LISTED, "path": INNER, "evidence": {"rules": frozenset()}},
            ("recreate", "A"),
        ),
        ({"live": DENIED_LIVE, "unit": NOT_LISTED, "unit_name": "gpu-test.scope"}, ("lost", "")),
        ({"live": OPEN_LIVE}, ("wider", "")),
        ({"live": OPEN_LIVE, "evidence": {"allows_all": True}}, ("not-affected", "")),
        ({"live": OPEN_LIVE, "evidence": UNREADABLE}, ("unknown", "")),
        ({"live": {**DENIED_LIVE, GPU0: True, GPU1: True, CTL: True}}, ("wider", "")),
        # v1 with policy auto and no list: systemd opens all at the next reload; crun's inner cgroup stays exact.
        ({"version": 1, "unit": OPEN_LIVE, "unit_devices": AUTO}, ("wider", "")),
        ({"version": 1, "unit": OPEN_LIVE, "unit_devices": AUTO, "path": INNER}, ("ok", "")),
        ({"unit": OPEN_LIVE, "unit_devices": AUTO}, ("ok", "")),
        ({"unit": OPEN_LIVE, "unit_devices": PROGRAM, "path": INNER}, ("ok", "")),
        ({"unit_name": "", "unit_devices": None, "unit": {}, "path": "/docker/c1"}, ("not-affected", "")),
        ({"unit_devices": None, "unit": {}, "unit_problem": "no answer in time"}, ("unknown", "")),
        ({"live": {}, "problem": "the container is paused"}, ("unknown", "")),
        ({"live": DENIED_LIVE, "evidence": NOTHING}, ("no-gpu", "")),
        ({"unit": NOT_LISTED, "evidence": UNREADABLE}, ("at-risk", "")),  # the live cgroup alone proves them
        ({"unit_name": "user@1000.service", "path": "/user.slice/x"}, ("not-affected", "")),
    ],
)
def test_verdicts(
    make_facts: Callable[..., Facts], host: Host, changes: dict[str, Any], expected: tuple[str, str]
) -> None:
    verdict = judge(make_facts(**changes), host, V252)
    assert (verdict.name, verdict.fault) == expected


def test_systemd_239_enforces_nothing_on_v2(make_facts: Callable[..., Facts], host: Host) -> None:
    assert judge(make_facts(unit=NOT_LISTED), host, Version((239,))).name == "not-affected"
    assert judge(make_facts(unit=NOT_LISTED, version=1), host, Version((239,))).name == "at-risk"


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("219", "at the next change of a property of its unit, or after a reload"),
        ("239", "at the next daemon-reload"),
        ("249.11-0ubuntu3.11", "at the next daemon-reload"),
        ("255.4", "at the next daemon-reload"),
        ("256", "after a daemon-reload, when the next unit starts in its slice"),
        ("257.3", "after a daemon-reload, when the next unit starts in its slice"),
        ("262", "at the next daemon-reload"),
        ("systemd 239 (239-78.0.4.al8)", "not measured"),
    ],
)
def test_the_trigger_is_named(version: str, words: str) -> None:
    parsed = parse_systemd(version)
    assert parsed
    assert words in when(parsed)


def test_the_trigger_is_in_the_cause(make_facts: Callable[..., Facts], host: Host) -> None:
    cause = judge(make_facts(unit=NOT_LISTED), host, Version((257,))).cause
    assert "when the next unit starts in its slice" in cause
    assert "/dev/nvidia0" in cause


def test_another_gpu_s_control_node_is_no_widening(make_facts: Callable[..., Facts], host: Host) -> None:
    uvm = ("c", 510, 0)
    host.names[uvm] = "/dev/nvidia-uvm"
    facts = make_facts()
    facts = facts._replace(
        live={**facts.live, uvm: True}, unit={**facts.unit, uvm: False}, shared=frozenset({CTL, uvm})
    )
    verdict = judge(facts, host, V252)
    assert (verdict.name, verdict.numbers) == ("at-risk", (uvm,))
