from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gpu_oci_hook.core.deviceallow import AUTO, CLOSED, STRICT, Host, from_rules, opens, parse_unit, resolve
from gpu_oci_hook.core.rules import ANY, Rule
from gpu_oci_hook.core.versions import Version, parse_version

if TYPE_CHECKING:
    from gpu_oci_hook.core.devices import Number

DRIVERS = [("c", 1, "mem"), ("c", 4, "/dev/vc/0"), ("c", 136, "pts"), ("c", 195, "nvidia"), ("c", 195, "nvidiactl")]
DRIVERS += [("c", 510, "nvidia-uvm"), ("b", 8, "sd")]
NODES: dict[str, Number] = {"/dev/nvidia0": ("c", 195, 0), "/dev/char/1:3": ("c", 1, 3)}
GPU: Number = ("c", 195, 0)
DENY_ALL = Rule(False, "a", ANY, ANY, "rwm")
ALLOW_GPU = Rule(True, "c", 195, 0, "rw")
V239, V240, V252 = Version((239,)), Version((240,)), Version((252,))


def host(*links: str) -> Host:
    numbers = {**NODES, **dict.fromkeys(links, GPU)}
    return Host(DRIVERS, numbers.get)


def runc(text: str) -> Version:
    version = parse_version(text)
    assert version is not None
    return version


@pytest.mark.parametrize(
    ("version", "systemd", "link", "sent"),
    [
        ("1.0.0-rc91", V239, False, True),
        ("1.1.2", V252, False, True),
        ("1.1.3", V252, False, False),
        ("1.1.6", V252, False, False),
        ("1.1.6", V252, True, True),
        ("1.1.7", V252, False, True),
        ("1.1.7", V239, False, False),
        ("1.2.0-rc.1", V240, False, True),
        ("1.5.1", V239, True, True),
    ],
)
def test_path_entries(version: str, systemd: Version, link: bool, sent: bool) -> None:
    what = from_rules([DENY_ALL, ALLOW_GPU], runc(version), systemd, host(*(["/dev/char/195:0"] if link else [])))
    assert what.policy == STRICT
    assert (("/dev/char/195:0", "rw") in what.entries) is sent
    assert any(path == "/dev/char/195:0" for path, _ in what.dropped) is not sent


def test_defaults_are_as_measured() -> None:
    """Thirteen entries with two GPU rules, as seen on real units; one less without 10:200 (runc 1.2.0 to 1.2.3)."""
    rules = [DENY_ALL, ALLOW_GPU, Rule(True, "c", 195, 255, "rw")]
    assert len(from_rules(rules, runc("1.1.14"), V252, host()).entries) == 13
    assert len(from_rules(rules, runc("1.2.3"), V252, host()).entries) == 12
    assert ("char-*", "m") in from_rules(rules, runc("1.1.14"), V252, host()).entries


@pytest.mark.parametrize(
    ("version", "systemd", "major", "entry"),
    [
        ("1.2.0", V252, 195, "char-195"),
        ("1.2.0", V239, 195, "char-nvidia"),
        ("1.1.14", V252, 195, "char-nvidia"),
        ("1.1.14", V252, 499, ""),
        ("1.2.0", V252, 499, "char-499"),
        ("1.1.3", V252, 195, ""),
    ],
)
def test_groups(version: str, systemd: Version, major: int, entry: str) -> None:
    what = from_rules([DENY_ALL, Rule(True, "c", major, ANY, "rw")], runc(version), systemd, host())
    assert [path for path, perms in what.entries if perms == "rw"] == ([entry] if entry else [])


def test_allow_all_deny_lists_and_old_runc() -> None:
    allow_all = Rule(True, "a", ANY, ANY, "rwm")
    assert from_rules([allow_all], runc("1.1.5"), V252, host()).policy == AUTO
    denied = from_rules([allow_all, Rule(False, "c", 195, 0, "rw")], runc("1.1.5"), V252, host())
    assert (denied.policy, denied.entries) == (STRICT, [])
    assert denied.dropped
    assert from_rules([DENY_ALL], runc("1.0.0-rc90"), V252, host()).policy == AUTO


def test_any_major_of_one_minor_is_dropped() -> None:
    what = from_rules([DENY_ALL, Rule(True, "c", ANY, 7, "rw")], runc("1.1.14"), V252, host())
    assert [reason for _, reason in what.dropped] == ["systemd has no form for a minor of any major"]


@pytest.mark.parametrize(
    ("entry", "systemd", "expected"),
    [
        (("/dev/char/195:0", "rw"), V240, "rw"),
        (("/dev/char/195:0", "rw"), V239, ""),
        (("/dev/char/195:0", ""), V252, "rwm"),
        (("/dev/nvidia0", "rw"), V239, "rw"),
        (("/dev/nvidia7", "rw"), V252, ""),
        (("char-nvidia", "rw"), V252, "rw"),
        (("char-nvidia-frontend", "rw"), V252, ""),
        (("char-nvidia*", "r"), V239, "r"),
        (("char-195", "rw"), V240, "rw"),
        (("char-195", "rw"), V239, ""),
        (("char-*", "m"), V239, "m"),
        (("char-*", "rw"), V252, "rw"),
        (("block-*", "rw"), V252, ""),
    ],
)
def test_what_one_entry_opens(entry: tuple[str, str], systemd: Version, expected: str) -> None:
    assert opens(GPU, STRICT, [entry], systemd, host()) == expected


def test_a_link_that_leads_elsewhere_opens_that_before_240() -> None:
    wrong = Host(DRIVERS, {"/dev/char/195:0": ("c", 195, 1)}.get)
    assert opens(GPU, STRICT, [("/dev/char/195:0", "rw")], V239, wrong) == ""
    assert opens(("c", 195, 1), STRICT, [("/dev/char/195:0", "rw")], V239, wrong) == "rw"
    assert opens(GPU, STRICT, [("/dev/char/195:0", "rw")], V252, wrong) == "rw"


def test_names_of_drivers_with_slashes_and_dashes() -> None:
    assert [rule.major for rule in resolve(("char-nvidia-uvm", "rw"), V252, host())] == [510]
    assert [rule.major for rule in resolve(("char-*vc*", "rw"), V252, host())] == [4]
    assert ("c", 510, 0)[1] not in [rule.major for rule in resolve(("char-nvidia", "rw"), V252, host())]


def test_policies() -> None:
    null: Number = ("c", 1, 3)
    assert opens(GPU, AUTO, [], V252, host()) == "rwm"
    assert opens(GPU, CLOSED, [], V252, host()) == ""
    assert opens(null, CLOSED, [], V252, host()) == "rwm"
    assert opens(null, AUTO, [("/dev/nvidia0", "rw")], V252, host()) == "rwm"
    assert opens(null, STRICT, [("/dev/nvidia0", "rw")], V252, host()) == ""
    assert opens(GPU, STRICT, [("/dev/char/10:200", "")], V252, host()) == ""


def test_reading_and_writing_by_different_entries_do_not_add_up() -> None:
    assert opens(GPU, STRICT, [("/dev/nvidia0", "r"), ("char-195", "wm")], V252, host()) == "wm"


HEALTHY = """# This is a drop-in unit file extension
[Scope]
DeviceAllow=
DeviceAllow=/dev/char/509:1 rwm
DeviceAllow=/dev/char/195:255 rwm
DeviceAllow=/dev/char/195:0 rwm
DeviceAllow=char-136 rwm
DeviceAllow=char-* m
"""


def test_drop_ins_as_systemd_writes_them() -> None:
    policy, entries = parse_unit("[Scope]\nDevicePolicy=strict\nDeviceAllow=/dev/char/1:3 rwm\n")
    assert (policy, entries) == (STRICT, [("/dev/char/1:3", "rwm")])
    policy, entries = parse_unit(HEALTHY, entries, policy)
    assert policy == STRICT
    assert len(entries) == 5
    assert opens(GPU, policy, entries, V252, host()) == "rwm"
    _, without = parse_unit("\n".join(line for line in HEALTHY.splitlines() if "195" not in line))
    assert opens(GPU, STRICT, without, V252, host()) == "m"


def test_comments_quotes_and_missing_permissions() -> None:
    text = ';DeviceAllow=/dev/a rw\n  DeviceAllow = "/dev/nvidia0"   rw\nDeviceAllow=char-pts\nnonsense\n=\n'
    assert parse_unit(text) == ("", [("/dev/nvidia0", "rw"), ("char-pts", "")])


R06_GPU: list[Number] = [("c", 509, 1), ("c", 509, 0), ("c", 195, 255), ("c", 195, 254), ("c", 195, 0)]
R06_OTHERS = ["226:128", "226:1", "81:0"]
R06_DEFAULTS = ["10:200", "5:2", "5:0", "1:9", "1:8", "1:7", "1:5", "1:3"]
R06_GROUPS = "DeviceAllow=char-136 rwm\nDeviceAllow=char-* m\nDeviceAllow=block-* m\n"


def test_two_drop_ins_of_one_host() -> None:
    """R06: of two ways to start Docker's containers one has the GPU in 50-DeviceAllow.conf, the other has not."""
    head = "[Scope]\nDeviceAllow=\n" + R06_GROUPS
    numbers = [f"{major}:{minor}" for _, major, minor in R06_GPU]
    paths = [f"DeviceAllow=/dev/char/{number} rwm\n" for number in numbers + R06_OTHERS + R06_DEFAULTS]
    _, with_gpu = parse_unit(head + "".join(paths))
    _, without = parse_unit(head + "".join(paths[-len(R06_DEFAULTS) :]))
    assert (len(with_gpu), len(without)) == (19, 11)
    for number in R06_GPU:
        assert opens(number, STRICT, with_gpu, V252, host()) == "rwm"
        assert opens(number, STRICT, without, V252, host()) == "m"
