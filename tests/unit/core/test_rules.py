from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_oci_hook.core.rules import DENIED, FULL, NONE, PARTIAL, Emulator, Rule, SpecError, parse_rules

GPU = ("c", 195, 0)


def rules(*texts: str) -> list[Rule]:
    """``+c 195:0 rw`` allows, ``-a`` denies all."""
    found = []
    for i, text in enumerate(texts):
        type_, _, rest = text[1:].partition(" ")
        numbers, _, access = rest.partition(" ")
        major, _, minor = (numbers or "*:*").partition(":")
        values = [-1 if n == "*" else int(n) for n in (major, minor)]
        found.append(Rule(text[0] == "+", type_, *values, access=access or "rwm", index=i))
    return found


# What runc's emulator leaves, and what we make of it, for c 195:0.
TABLE = [
    ([], NONE, ""),
    (["-a"], NONE, ""),
    (["-a", "+c 195:0 rw"], FULL, "exact"),
    (["-a", "+c 195:0 rwm"], FULL, "exact"),
    (["+c 195:0 rw", "-a"], NONE, ""),
    (["-a", "+c 195:0 m"], NONE, ""),
    (["-a", "+c 195:0 rm"], PARTIAL, ""),
    (["-a", "+c 195:0 w"], PARTIAL, ""),
    (["-a", "+c 195:0 r", "+c 195:0 w"], FULL, "exact"),
    (["-a", "+c 195:* r", "+c 195:0 w"], NONE, ""),
    (["-a", "+c 195:* rw"], FULL, "minors"),
    (["-a", "+c *:* rwm"], FULL, "majors"),
    (["-a", "+c *:* m"], NONE, ""),
    (["-a", "+c *:0 rw"], FULL, "majors"),
    (["-a", "+b 195:0 rw"], NONE, ""),
    (["-a", "+c 195:1 rw"], NONE, ""),
    (["+a"], FULL, "all"),
    (["-a", "+a"], FULL, "all"),
    (["+a", "-a"], NONE, ""),
    (["+a", "-c 195:0 rwm"], DENIED, ""),
    (["+a", "-c 195:0 m"], FULL, "all"),
    (["+a", "-c 195:* w"], DENIED, ""),
    (["+a", "-c 195:1 rwm"], FULL, "all"),
    (["+a", "-c 195:0 rwm", "+c 195:0 rwm"], FULL, "all"),
    (["-a", "-c 195:0 rwm"], DENIED, ""),
    (["-c 195:0 rwm", "-a"], DENIED, ""),
    (["-c 195:0 rwm", "+a", "-a"], NONE, ""),
    (["-a", "-c 195:0 m"], NONE, ""),
    (["-a", "-c 195:* rwm"], DENIED, ""),
    (["-a", "-c *:* rwm"], NONE, ""),
    (["-a", "-c 195:0 rwm", "-c *:* rwm"], DENIED, ""),
    (["-a", "-c 195:0 rwm", "+c 195:0 rw"], FULL, "exact"),
    (["-a", "-c 195:0 rwm", "+c 195:0 m"], DENIED, ""),
    (["-a", "+c 195:0 rw", "-c 195:0 w"], DENIED, ""),
    (["-c 195:0 rwm", "+c 195:0 r", "-a"], DENIED, ""),
    (["-c 195:0 w", "+c 195:0 r", "-a"], DENIED, ""),
    (["-a", "-a 195:0 rwm"], DENIED, ""),
    (["-a", "-a 195:* rwm"], DENIED, ""),
    (["-a", "-a 195:1 rwm"], NONE, ""),
    (["-a 195:0 rwm", "-a", "+c 195:0 rw"], FULL, "exact"),
    (["-a 195:0 rwm", "+a", "-a"], NONE, ""),
    (["-a", "+c 195:0 rw", "-c 195:0 rw"], DENIED, ""),
    (["-a", "+c 195:0 rw", "-c *:* rw"], FULL, "exact"),
    (["-a", "+c 195:* rw", "-c 195:0 rwm"], FULL, "minors"),  # runc refuses the hole: the wildcard stands
]


@pytest.mark.parametrize(("texts", "access", "covering"), TABLE, ids=[" ".join(row[0]) or "none" for row in TABLE])
def test_what_the_rules_say(texts: list[str], access: str, covering: str) -> None:
    emulator = Emulator(rules(*texts))
    assert emulator.access(GPU) == access
    assert emulator.covering(GPU) == covering


class NeverListed(dict):  # type: ignore[type-arg]
    """Exceptions that can be looked up by key, and not be gone through."""

    def items(self) -> Any:
        raise AssertionError("ten thousand devices and as many rules took 5 s that way")


def test_questions_do_not_go_through_all_rules() -> None:
    emulator = Emulator([Rule(True, "c", 240, minor, "rw") for minor in range(100)])
    emulator.exceptions = NeverListed(emulator.exceptions)
    assert all(emulator.access(("c", 240, minor)) == FULL for minor in range(100))


def test_a_hole_in_a_wildcard_is_an_error_with_its_place() -> None:
    emulator = Emulator(rules("-a", "+c 195:* rw", "-c 195:0 rwm"))
    [(rule, reason)] = emulator.errors
    assert rule.index == 2
    assert "c 195:* rw" in reason


def test_an_empty_access_is_an_error_of_runc_and_a_reset_for_crun() -> None:
    emulator = Emulator(parse_rules([{"allow": True}]))
    assert emulator.allows_all
    assert len(emulator.errors) == 1


@pytest.mark.parametrize(
    "entry",
    [
        {"allow": True, "access": "rwm"},
        {"allow": True, "type": "a", "access": "rwm"},
        {"allow": True, "type": "", "access": "rwm"},
        {"allow": True, "type": "a", "major": 5, "minor": 1, "access": "m"},
        {"allow": True, "type": None, "major": None, "minor": -1, "access": "rwm"},
    ],
)
def test_allow_all_in_its_spellings(entry: dict[str, Any]) -> None:
    assert Emulator(parse_rules([{"allow": False, "access": "rwm"}, entry])).allows_all


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({}, "linux.resources.devices"),
        ("x", "linux.resources.devices"),
        ([1], "linux.resources.devices[0]"),
        ([[]], "linux.resources.devices[0]"),
        ([{"allow": "true", "access": "rwm"}], "linux.resources.devices[0].allow"),
        ([{"allow": 1, "access": "rwm"}], "linux.resources.devices[0].allow"),
        ([{"type": "x", "access": "rwm"}], "linux.resources.devices[0].type"),
        ([{"type": 1, "access": "rwm"}], "linux.resources.devices[0].type"),
        ([{"major": "195", "access": "rwm"}], "linux.resources.devices[0].major"),
        ([{"major": 195.0, "access": "rwm"}], "linux.resources.devices[0].major"),
        ([{"major": True, "access": "rwm"}], "linux.resources.devices[0].major"),
        ([{"minor": [], "access": "rwm"}], "linux.resources.devices[0].minor"),
        ([{"minor": 1 << 63, "access": "rwm"}], "linux.resources.devices[0].minor"),
        ([{"access": "rwx"}], "linux.resources.devices[0].access"),
        ([{"access": 7}], "linux.resources.devices[0].access"),
        ([{"access": "rw"}, {"Access": "rw"}], "linux.resources.devices[1].Access"),
    ],
)
def test_refused_with_its_place(value: Any, place: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_rules(value)
    assert caught.value.path == place


def test_null_is_an_empty_list() -> None:
    assert parse_rules(None) == []


class Kernel:
    """cgroup v1's own code (security/device_cgroup.c), fed line by line: an independent judge."""

    def __init__(self) -> None:
        self.allow, self.exceptions = True, {}

    def write(self, rule: Rule) -> None:
        if rule.for_all:
            self.allow, self.exceptions = rule.allow, {}
            return
        key = (rule.type, rule.major, rule.minor)
        if rule.allow != self.allow:
            self.exceptions[key] = self.exceptions.get(key, set()) | set(rule.access)
        elif key in self.exceptions:
            self.exceptions[key] -= set(rule.access)

    def opens(self, number: tuple[str, int, int]) -> bool:
        matching = [
            access
            for (kind, major, minor), access in self.exceptions.items()
            if kind == number[0] and major in (-1, number[1]) and minor in (-1, number[2])
        ]
        if self.allow:
            return not any(access & {"r", "w"} for access in matching)
        return any(access >= {"r", "w"} for access in matching)


some_rules = st.lists(
    st.builds(
        Rule,
        st.booleans(),
        st.sampled_from("abc"),
        st.sampled_from([-1, 195, 10]),
        st.sampled_from([-1, 0, 1]),
        st.sampled_from(["r", "w", "m", "rw", "rm", "rwm"]),
    ),
    max_size=8,
)


@given(some_rules)
def test_full_access_is_what_the_kernel_opens(given_rules: list[Rule]) -> None:
    emulator, kernel = Emulator(), Kernel()
    kernel.write(Rule(False, "a", -1, -1, "rwm"))
    for rule in given_rules:
        refused = len(emulator.errors)
        emulator.apply(rule)
        if len(emulator.errors) == refused:
            kernel.write(rule)
    assert (emulator.access(GPU) == FULL) == kernel.opens(GPU)


@given(some_rules)
def test_a_rule_that_is_added_helps_and_opens_nothing_else(given_rules: list[Rule]) -> None:
    before = Emulator(given_rules)
    if before.access(GPU) != NONE:
        return
    after = Emulator([*given_rules, Rule(True, *GPU, access="rw")])
    assert after.access(GPU) == FULL
    for other in (("c", 195, 1), ("c", 10, 0), ("b", 195, 0)):
        assert (after.access(other) == FULL) == (before.access(other) == FULL)
