"""The call that a repair makes: only what is missing, nothing that would do harm."""

from __future__ import annotations

from typing import Callable

import pytest

from gpu_oci_hook.core.devices import link_path
from gpu_oci_hook.core.versions import Version
from gpu_oci_hook.host.systemd import UnitDevices
from gpu_oci_hook.running.change import completing, narrowing
from gpu_oci_hook.running.entries import device_entry
from gpu_oci_hook.running.facts import Facts
from gpu_oci_hook.running.host import Host
from tests.unit.conftest import needs_mknod
from tests.unit.running.conftest import CTL, GPU0

V239, V252 = Version((239,)), Version((252,))
GROUPS = (("char-*", "m"), ("block-*", "m"), ("char-pts", "rwm"))
STANDARD = (*((f"/dev/char/{n}", "rwm") for n in ("1:3", "1:5", "1:7", "1:8", "1:9", "5:0", "5:2", "10:200")), *GROUPS)


@pytest.fixture
def short(make_facts: Callable[..., Facts]) -> Facts:
    """A container whose unit lists all but one of its devices, and all that is standard."""
    listed = UnitDevices("runc-c1.scope", "strict", (*STANDARD, ("/dev/char/195:0", "r")), ())
    return make_facts(unit={GPU0: False, CTL: False}, unit_devices=listed)


def test_only_missing_entries_with_the_permissions_that_were_there(short: Facts, host: Host) -> None:
    change = completing(short, host, V252)
    assert change.problem == ""
    assert change.properties == [("DeviceAllow", ("a(ss)", [("/dev/char/195:0", "rw"), ("/dev/char/195:255", "rw")]))]
    assert change.describe() == (
        "SetUnitProperties(runc-c1.scope, runtime=true, DeviceAllow=[(/dev/char/195:0 rw), (/dev/char/195:255 rw)])"
    )


def test_old_systemd_without_links_is_not_called(short: Facts, host: Host) -> None:
    change = completing(short, host, V239)
    assert change.properties == []
    assert "would only do harm" in change.problem


def test_old_systemd_with_links(host: Host) -> None:
    assert device_entry(GPU0, "rw", host, V239) is None
    host.assume_links([GPU0])
    assert device_entry(GPU0, "rw", host, V239) == (link_path(GPU0), "rw")


@needs_mknod
def test_groups_that_are_live_and_missing_are_kept(make_facts: Callable[..., Facts], host: Host) -> None:
    """runc 1.1.3 left out every group: char-* m among them."""
    listed = UnitDevices("runc-c1.scope", "strict", STANDARD[:-3], ())
    facts = make_facts(unit={GPU0: False, CTL: False}, unit_devices=listed)
    (_, (_, entries)), *_ = completing(facts, host, V252).properties
    assert {("char-*", "m"), ("block-*", "m")} <= set(entries)


def test_narrowing_says_the_list_before_the_policy(make_facts: Callable[..., Facts], host: Host) -> None:
    facts = make_facts(unit_devices=UnitDevices("runc-c1.scope", "auto", (), ()))
    names = [(name, value) for name, (_, value) in narrowing(facts, host, V252).properties]
    assert [name for name, _ in names] == ["DeviceAllow", "DeviceAllow", "DevicePolicy"]
    assert names[0][1] == []
    assert {("/dev/char/195:0", "rw"), ("/dev/char/195:255", "rw"), ("/dev/char/1:3", "rwm")} <= set(names[1][1])
    assert "/dev/char/195:1" not in dict(names[1][1])
    assert names[2][1] == "strict"


def test_narrowing_without_a_spec_is_refused(make_facts: Callable[..., Facts], host: Host) -> None:
    assert narrowing(make_facts(evidence={"problem": "gone"}), host, V252).problem
