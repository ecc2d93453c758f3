"""What a repair says of a container afterwards."""

from __future__ import annotations

from typing import Callable

import pytest

from gpu_oci_hook.host.bus import RefusedError
from gpu_oci_hook.running.change import Change
from gpu_oci_hook.running.facts import Facts
from gpu_oci_hook.running.repair import GONE, _verify


@pytest.fixture
def facts(make_facts: Callable[..., Facts]) -> Facts:
    return make_facts()


def test_a_container_that_vanished_meanwhile_has_ended(facts: Facts) -> None:
    change = Change(facts, list(facts.given), [])
    after = facts._replace(live={}, problem="its cgroup was removed", gone=True)
    assert _verify(change, after, None) == GONE
    assert _verify(change, facts, RefusedError("org.freedesktop.systemd1.NoSuchUnit", "not loaded")) == GONE


def test_any_other_problem_is_said_whatever_words_it_has(facts: Facts) -> None:
    problem = "its init has undergone a change of root"
    after = facts._replace(live={}, problem=problem)
    assert _verify(Change(facts, list(facts.given), []), after, None) == problem
