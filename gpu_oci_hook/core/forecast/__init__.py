"""What becomes of one device of a container when something makes systemd apply its device list anew.

The gates are read in the sources and checked cell by cell against measurements on real systemd 219, 239, 247, 249, 252,
255, 256, 257 and 262 with runc 1.0.0-rc90 to 1.5.1 and crun 0.17 to 1.28 (tests/cases/verdicts). Versions after these
are taken to behave like the last one measured.
"""

from __future__ import annotations

from gpu_oci_hook.core.forecast.crun import SENDS_LIST
from gpu_oci_hook.core.forecast.listed import RUNC_1_0, enforces_nothing, listed
from gpu_oci_hook.core.forecast.rederivation import CREATE, TRIGGERS, UPDATE, UPDATE_NOTHING, lazily, rederives
from gpu_oci_hook.core.forecast.situation import (
    ALL,
    BEHIND,
    DENIED,
    DENY_LIST,
    DROPPED,
    ERROR,
    EXACT,
    KEPT,
    LOST,
    MAJORS,
    MINORS,
    NOT_IN_SPEC,
    UNKNOWN,
    WIDENED,
    Listed,
    Situation,
)


class Forecast:
    """What happens to a device. ``outcomes`` has one word per trigger; ``survives`` is True, False, or None: unknown.

    ``reason`` says why, in a sentence; ``fault`` is A, B or empty; ``fix`` is the one thing to do, if there is one.
    """

    __slots__ = ("fault", "fix", "outcomes", "reason", "survives")

    def __init__(self, outcomes: dict[str, str], fault: str, reason: str, fix: str) -> None:
        self.outcomes = outcomes
        self.fault = fault
        self.reason = reason
        self.fix = fix

        values = set(outcomes.values())
        self.survives = False if values & {LOST, DENIED} else None if values & {UNKNOWN, ERROR} else True


def forecast(situation: Situation) -> Forecast:
    """The outcome for one device at each trigger of rederivation.TRIGGERS."""
    judged = listed(situation)
    outcomes = {trigger: _outcome(situation, judged, trigger) for trigger in TRIGGERS}
    reason = judged.reason
    if judged.outcome in (LOST, WIDENED) and situation.systemd is not None and lazily(situation.systemd):
        reason += (
            f" systemd {situation.systemd.major} applies its list only when something in the slice starts or changes."
        )
    return Forecast(outcomes, judged.fault, reason, _fix(judged))


def _outcome(situation: Situation, judged: Listed, trigger: str) -> str:
    if judged.outcome in (ERROR, DENIED):
        return judged.outcome
    if trigger == CREATE:
        return KEPT
    if trigger in (UPDATE, UPDATE_NOTHING):
        own = _own_update(situation, trigger)
        if own:
            return own
    if judged.outcome in (KEPT, UNKNOWN):
        return judged.outcome
    again = rederives(trigger, situation.systemd)
    return UNKNOWN if again is None else judged.outcome if again else KEPT


def _own_update(situation: Situation, trigger: str) -> str:
    """What the runtime's own update leaves, where that is its last word over systemd's; empty where it is not.

    runc before 1.0 writes the devices of the spec anew (runc bf7492ee5 ended that): it takes what was granted behind
    its back and gives back what systemd has dropped.
    """
    if situation.rootless or situation.driver != "systemd" or situation.covering in (ALL, DENY_LIST):
        return ""
    version = situation.runtime_version
    if version is None or situation.systemd is None or situation.cgroup is None:
        return ""
    if situation.runtime == "crun":
        return KEPT if situation.covering and version < SENDS_LIST else ""
    if situation.runtime != "runc" or version >= RUNC_1_0:
        return ""
    # Measured on 239 with v2: an update of the CPU weight fails there before it comes to the devices (fs2's Set writes
    # cpu.weight first, and that systemd gives the scope no cpu controller); one without a weight does come to them.
    stopped = trigger == UPDATE and enforces_nothing(situation.cgroup, situation.systemd)
    return KEPT if situation.covering or stopped else LOST


def _fix(judged: Listed) -> str:
    if judged.fault == NOT_IN_SPEC:
        return (
            "Put gpu-oci-runtime in front of the runtime, so that the rule is in the spec: gpu-oci-hook install ENGINE"
        )
    if judged.fault == DROPPED and "link" in judged.reason:
        return "Make the link: gpu-oci-hook links"
    if judged.fault == DROPPED:
        return "Write a rule with the device's own major and minor: gpu-oci-hook apply BUNDLE"
    if judged.outcome == WIDENED:
        return "Use a newer runtime: runc 1.1.7 or crun 1.8.1 at least."
    return ""


__all__ = [
    "ALL",
    "BEHIND",
    "DENIED",
    "DENY_LIST",
    "DROPPED",
    "ERROR",
    "EXACT",
    "KEPT",
    "LOST",
    "MAJORS",
    "MINORS",
    "NOT_IN_SPEC",
    "TRIGGERS",
    "UNKNOWN",
    "WIDENED",
    "Forecast",
    "Situation",
    "forecast",
]
