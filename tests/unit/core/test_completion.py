"""What a unit's list lacks, by systemd's version, and what must not be sent."""

from __future__ import annotations

import pytest

from gpu_oci_hook.core.completion import UNKNOWN_VERSION, Unit, complete
from gpu_oci_hook.core.deviceallow import Host
from gpu_oci_hook.core.rules import ANY
from gpu_oci_hook.core.versions import Version

V239, V240 = Version((239,)), Version((240,))
GPU, FUSE = ("c", 195, 0), ("c", 10, 229)
DRIVERS = [("c", 10, "misc"), ("c", 136, "pts"), ("c", 195, "nvidia"), ("b", 7, "loop")]
BASE = [("/dev/char/1:3", "rwm"), ("char-*", "m")]


def unit(version: Version, allow=BASE, policy="strict", stat=None) -> Unit:
    """``stat``: path → the number of the device that is found there."""
    return Unit(policy, allow, version, Host(DRIVERS, (stat or {}).get))


@pytest.mark.parametrize(
    ("wanted", "entry"),
    [
        (GPU, ("/dev/char/195:0", "rw")),
        (("b", 7, 1), ("/dev/block/7:1", "rw")),
        (("c", 195, ANY), ("char-195", "rw")),
        (("c", ANY, ANY), ("char-*", "rw")),
    ],
)
def test_forms_of_systemd_240_and_later(wanted, entry) -> None:
    listed = BASE[:1] if entry[0] == "char-*" else BASE
    assert complete(unit(V240, listed), {wanted: "rw"}).missing == {wanted: entry}


@pytest.mark.parametrize(
    "allow", [("/dev/char/195:0", "rw"), ("/dev/char/195:0", ""), ("char-195", "rw"), ("char-nvid*", "rwm")]
)
def test_what_covers_is_not_sent(allow) -> None:
    assert not complete(unit(V240, [*BASE, allow]), {GPU: "rw"}).lacking


def test_permissions_of_two_entries_do_not_join_but_for_m() -> None:
    assert complete(unit(V240, [("char-195", "r"), ("char-nvidia", "w")]), {GPU: "rw"}).missing
    assert not complete(unit(V240, [("char-195", "rw"), ("char-*", "m")]), {GPU: "rwm"}).lacking


@pytest.mark.parametrize("policy", ["auto", "closed"])
def test_policies_that_open_pseudo_devices(policy) -> None:
    assert not complete(unit(V240, [("char-pts", "rwm")], policy), {("c", 1, 5): "rwm"}).lacking
    assert complete(unit(V240, [("char-pts", "rwm")], policy), {GPU: "rw"}).missing


def test_no_list_and_no_policy_lack_nothing() -> None:
    assert not complete(unit(V240, [], "auto"), {GPU: "rw"}).lacking


@pytest.mark.parametrize("version", [V239, UNKNOWN_VERSION])
class TestOld:
    def test_link(self, version) -> None:
        found = complete(unit(version, stat={"/dev/char/195:0": GPU}), {GPU: "rw"})
        assert found.missing == {GPU: ("/dev/char/195:0", "rw")}

    def test_link_to_another_device(self, version) -> None:
        found = complete(unit(version, stat={"/dev/char/195:0": FUSE}), {GPU: "rw"})
        assert (found.missing, found.harmful) == ({}, [])
        assert "/dev/char/195:0, which is not there" in found.unsendable[0][1]

    def test_node_in_dev_serves(self, version) -> None:
        nodes = {"/dev/nvidia0": GPU, "/run/nvidia/driver/dev/nvidia0": GPU}
        found = complete(unit(version, stat=nodes), {GPU: "rw"}, files={GPU: "/dev/nvidia0"})
        assert found.missing == {GPU: ("/dev/nvidia0", "rw")}
        elsewhere = complete(unit(version, stat=nodes), {GPU: "rw"}, files={GPU: "/run/nvidia/driver/dev/nvidia0"})
        assert not elsewhere.missing

    def test_listed_without_link_and_working_would_be_lost(self, version) -> None:
        listed = [*BASE, ("/dev/char/10:229", "rwm")]
        found = complete(unit(version, listed, stat={"/dev/char/195:0": GPU}), {GPU: "rw", FUSE: "rwm"}, works=[FUSE])
        assert found.harmful == [FUSE]


def test_group_without_a_driver_of_that_major() -> None:
    found = complete(unit(V239), {("c", 241, ANY): "rw", ("c", ANY, 5): "rw"})
    assert sorted(reason for _, reason in found.unsendable) == [
        "no driver in /proc/devices has this major",
        "systemd has no form for a minor of any major",
    ]
