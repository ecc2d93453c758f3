from __future__ import annotations

from typing import Any

import pytest

from gpu_oci_hook.core import forecast as words
from gpu_oci_hook.core.forecast import Situation, forecast
from gpu_oci_hook.core.forecast.rederivation import RELOAD, RELOAD_START, SET_PROPERTY, START, TRIGGERS
from gpu_oci_hook.core.versions import Version, parse_systemd, parse_version


def predict(
    runtime: str, systemd: str, covering: str = "exact", link: bool | None = True, **more: Any
) -> words.Forecast:
    kind, _, version = runtime.partition(" ")
    cgroup = more.pop("cgroup", 2)
    text = f"systemd {systemd}"
    return forecast(Situation(kind, parse_version(version), parse_systemd(text), cgroup, covering, link, **more))


def test_the_two_faults_and_their_fixes() -> None:
    behind = predict("runc 1.1.5", "252", "")
    assert (behind.survives, behind.fault) == (False, "A")
    assert "gpu-oci-runtime" in behind.fix
    dropped = predict("runc 1.1.5", "252", link=False)
    assert (dropped.survives, dropped.fault) == (False, "B")
    assert "links" in dropped.fix
    fine = predict("runc 1.1.5", "252")
    assert (fine.survives, fine.fault, fine.fix) == (True, "", "")


@pytest.mark.parametrize(
    ("systemd", "reload", "then_start", "set_property"),
    [
        ("219 (219-78.el7)", "kept", "lost", "lost"),
        ("234", "kept", "unknown", "lost"),
        ("235", "lost", "lost", "lost"),
        ("239 (239-78.0.4.al8)", "unknown", "unknown", "unknown"),
        ("249", "lost", "lost", "lost"),
        ("255.4", "lost", "lost", "lost"),
        ("256", "kept", "lost", "lost"),
        ("257.9", "kept", "lost", "lost"),
        ("258.1", "unknown", "lost", "lost"),
        ("262.1", "lost", "lost", "lost"),
    ],
)
def test_when_systemd_applies_its_list(systemd: str, reload: str, then_start: str, set_property: str) -> None:
    cgroup = 1 if Version((258,)) > (parse_systemd(f"systemd {systemd}") or Version((0,))) else 2
    outcomes = predict("runc 1.1.14", systemd, "", cgroup=cgroup).outcomes
    assert (outcomes[RELOAD], outcomes[RELOAD_START], outcomes[SET_PROPERTY]) == (reload, then_start, set_property)
    assert outcomes[START] == "kept"


@pytest.mark.parametrize(
    "more",
    [
        {"runtime": "runc nonsense"},
        {"systemd": "nonsense"},
        {"runtime": "youki 0.4"},
        {"cgroup": None},
        {"driver": None},
        {"link": None},
        {"systemd": "200", "cgroup": 1},
        {"systemd": "258", "cgroup": 1},
    ],
)
def test_unknown_in_unknown_out(more: dict[str, Any]) -> None:
    result = predict(**{"runtime": "runc 1.1.5", "systemd": "252", **more})
    assert result.survives is None
    assert result.reason.startswith("Unknown: ")
    assert "unknown" in result.outcomes.values()


@pytest.mark.parametrize(
    "more", [{"driver": "cgroupfs"}, {"rootless": True}, {"covering": "all"}, {"systemd": "239", "covering": ""}]
)
def test_not_affected(more: dict[str, Any]) -> None:
    result = predict(**{"runtime": "runc 1.1.5", "systemd": "252", **more})
    assert result.survives is True
    assert result.reason.startswith("Not affected")
    assert set(result.outcomes.values()) == {"kept"}


def test_groups_of_devices() -> None:
    assert predict("runc 1.2.0", "252", "minors", link=False).survives is True
    assert predict("runc 1.1.14", "252", "minors", group=True).survives is True
    assert predict("runc 1.1.14", "252", "minors", group=False).survives is False
    assert predict("runc 1.1.14", "252", "minors").survives is None
    assert predict("runc 1.1.14", "252", "majors").survives is True
    assert predict("runc 1.1.3", "252", "majors").survives is False
    assert predict("runc 1.1.14", "252", "deny-list").survives is False


def test_crun() -> None:
    assert predict("crun 1.8.1", "252", "", link=False).survives is True
    assert predict("crun 1.21", "252", link=False).survives is True
    behind = predict("crun 1.21", "252", "")
    assert (behind.survives, behind.fault, set(behind.outcomes.values())) == (False, "A", {"denied"})
    assert predict("crun 1.0", "252", cgroup=1).survives is None
    assert predict("crun 0.17", "247", cgroup=1).outcomes[RELOAD] == "widened"


def test_every_trigger_has_an_outcome() -> None:
    assert list(predict("runc 1.1.5", "252").outcomes) == list(TRIGGERS)
