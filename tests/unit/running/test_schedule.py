"""When the guard looks: again and again at a young scope, once for many reloads."""

from __future__ import annotations

from gpu_oci_hook.running import schedule
from gpu_oci_hook.running.schedule import Schedule


def test_everything_first_then_after_a_period() -> None:
    plan = Schedule(100.0)
    assert plan.wait(100.0) == 0
    assert plan.take(100.0) is None
    assert plan.take(100.1) == set()
    assert plan.wait(100.0) == schedule.PERIOD
    assert plan.take(100.0 + schedule.PERIOD) is None


def test_a_storm_is_one_look() -> None:
    plan = Schedule(0.0)
    plan.take(0.0)
    for _ in range(50):
        plan.everything(1.0)
    assert plan.take(1.0) is None
    assert plan.take(1.1) == set()


def test_a_started_unit_is_looked_at_again_and_then_left() -> None:
    plan = Schedule(0.0)
    plan.take(0.0)
    plan.started("a.scope", 1.0)
    looks, now = 0, 1.0
    while now < 50.0:
        due = plan.take(now)
        looks += due == {"a.scope"}
        now += 0.1
    assert looks == len(schedule.AFTER_START)


def test_nodes_are_awaited_after_a_driver_s_event() -> None:
    plan = Schedule(0.0)
    plan.take(0.0)
    plan.nodes(1.0)
    assert [plan.take(now) is None for now in (1.0, 1.2, 1.6, 3.1, 4.0, 11.5)] == [True, False, True, True, False, True]
