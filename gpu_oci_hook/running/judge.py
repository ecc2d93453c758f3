"""From facts to a verdict, its cause and the fix. Facts about systemd: docs/running-containers.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpu_oci_hook.core.forecast import DROPPED, NOT_IN_SPEC
from gpu_oci_hook.core.forecast.listed import enforces_nothing
from gpu_oci_hook.core.forecast.rederivation import RELOAD, SET_PROPERTY, lazily, rederives
from gpu_oci_hook.running.facts import CANARY

if TYPE_CHECKING:
    from gpu_oci_hook.core.devices import Number
    from gpu_oci_hook.core.versions import Version
    from gpu_oci_hook.running.facts import Facts
    from gpu_oci_hook.running.host import Host

OK, AT_RISK, LOST, WIDER, RECREATE = "ok", "at-risk", "lost", "wider", "recreate"
NOT_AFFECTED, NO_GPU, UNKNOWN = "not-affected", "no-gpu", "unknown"
PROBLEMS = (AT_RISK, LOST, WIDER, RECREATE)


class Verdict(NamedTuple):
    """``name`` is one of those above; ``fault`` is A (never in the spec), B (dropped on the way) or empty.

    ``numbers`` are the devices it is about; ``cause`` and ``fix`` are sentences.
    """

    name: str
    cause: str
    fix: str = ""
    fault: str = ""
    numbers: tuple[Number, ...] = ()


def judge(facts: Facts, host: Host, systemd: Version | None) -> Verdict:
    """The verdict on one container."""
    given = facts.given
    everything = facts.live.get(CANARY, False)
    if not given and not (everything and host.names):
        return Verdict(NO_GPU, "Nothing gives it a GPU.")
    if facts.problem:
        return Verdict(UNKNOWN, f"Its access could not be checked: {facts.problem}.")
    if facts.container.rootless:
        return Verdict(NOT_AFFECTED, "It is rootless: a user's systemd cannot enforce device rules.")
    missing = tuple(number for number in given if not facts.live[number])
    if missing:
        return _judge_missing(facts, host, missing)
    if everything:
        return _judge_open(facts)
    extra = tuple(number for number in _not_given(facts, host) if facts.live[number])
    if extra:
        return _wider(extra, facts, host, "now")
    return _judge_future(facts, host, systemd)


def _judge_missing(facts: Facts, host: Host, missing: tuple[Number, ...]) -> Verdict:
    """It is denied a device of its own. A repair helps unless the runtime's own program or list denies as well."""
    names = _names(missing, host)
    version = facts.container.cgroups[0].version
    fault = _fault(facts, missing)
    if version == 2 and _runtime_denies(facts, missing):
        return Verdict(
            RECREATE,
            f"{names} denied by the runtime's own program, which no unit property can widen. {_why(facts, fault)}",
            "Recreate the container; with gpu-oci-runtime registered it starts with the right rules.",
            fault,
            missing,
        )
    if not facts.container.unit and version == 2:
        return Verdict(
            RECREATE, f"{names} denied, and no unit of systemd is in charge.", "Recreate it.", fault, missing
        )
    return Verdict(LOST, f"{names} denied now. {_why(facts, fault)}", _repair(facts, fault), fault, missing)


def _runtime_denies(facts: Facts, missing: tuple[Number, ...]) -> bool:
    """On v2 all programs on the way must allow; the unit's list is only one of them.

    A unit that opens a device which is denied all the same: another program denies. crun's program is on a cgroup of
    its own below the unit's and has the spec's rules exactly, whatever the unit says.
    """
    if any(facts.unit.get(number) for number in missing):
        return True
    return facts.inner and not facts.evidence.problem and not set(missing) <= facts.evidence.rules


def _judge_open(facts: Facts) -> Verdict:
    """Every device of the host is open to it."""
    if facts.evidence.allows_all:
        return Verdict(NOT_AFFECTED, "Its spec opens every device (privileged), and there is no list to lose.")
    if facts.evidence.problem:
        text = f"Every device is open to it, and whether that is meant cannot be told: {facts.evidence.problem}."
        return Verdict(UNKNOWN, text)
    return Verdict(
        WIDER,
        "Every device of the host is open to it, and its spec does not say so. "
        "Its runtime set no DevicePolicy, so systemd opened its list (runc before 1.0.0-rc91, crun before 1.8).",
        _narrow(facts),
    )


def _judge_future(facts: Facts, host: Host, systemd: Version | None) -> Verdict:
    """It has all that is its own, and no more. What does the next re-derivation do?"""
    if not facts.container.unit:
        return Verdict(NOT_AFFECTED, "No unit of systemd is in charge of its devices (cgroupfs driver).")
    if not facts.unit_devices or not systemd:
        return Verdict(UNKNOWN, f"{facts.container.unit} could not be examined: {facts.unit_problem}.")
    if facts.outside:
        return Verdict(NOT_AFFECTED, f"Its devices are decided in a cgroup that is not {facts.container.unit}'s.")
    version = facts.container.cgroups[0].version
    if enforces_nothing(version, systemd):
        return Verdict(NOT_AFFECTED, f"systemd {systemd.major} enforces no device rules on cgroup v2.")
    if version == 1 and facts.inner:
        return Verdict(OK, "It survives: the kernel refuses to reset the list of a cgroup that has children.")
    uncovered = tuple(number for number in facts.given if not facts.unit[number])
    if uncovered:
        fault = _fault(facts, uncovered)
        text = f"It will lose {_names(uncovered, host, verb=False)} {when(systemd)}. {_why(facts, fault)}"
        return Verdict(AT_RISK, text, _repair(facts, fault), fault, uncovered)
    if version == 1 and not facts.evidence.problem:
        extra = tuple(number for number in _not_given(facts, host) if facts.unit[number])
        if extra:
            return _wider(extra, facts, host, when(systemd))
    if facts.unit_devices.bpf_programs:
        return Verdict(OK, "It survives: systemd attaches the runtime's own program (BPFProgram).")
    return Verdict(OK, "It works, and its unit's list has all of its devices.")


def when(systemd: Version) -> str:
    """At which event a device that the unit's list lacks is lost, in words."""
    if rederives(RELOAD, systemd):
        return "at the next daemon-reload, daemon-reexec or change of a property of its unit"
    if lazily(systemd) and systemd.major > 219:
        return "after a daemon-reload, when the next unit starts in its slice or a property in it changes"
    if rederives(SET_PROPERTY, systemd):
        return "at the next change of a property of its unit, or after a reload when the next unit starts in its slice"
    return f"perhaps: how this build of systemd {systemd.major} behaves was not measured"


def _not_given(facts: Facts, host: Host) -> list[Number]:
    """GPUs of the host that are not the container's. Without a spec nobody can tell."""
    if facts.evidence.problem or not facts.evidence.devices:
        return []
    return [number for number in host.names if number not in facts.evidence.devices and host.is_gpu(number)]


def _wider(extra: tuple[Number, ...], facts: Facts, host: Host, time: str) -> Verdict:
    text = f"It can open GPUs that it was not given {time}: {_names(extra, host, verb=False)}."
    return Verdict(WIDER, text, _narrow(facts), "", extra)


def _fault(facts: Facts, numbers: tuple[Number, ...]) -> str:
    if facts.evidence.problem or _moved(facts):
        return ""
    return DROPPED if set(numbers) <= facts.evidence.rules else NOT_IN_SPEC


def _moved(facts: Facts) -> bool:
    """Whether its processes were put into a unit that its runtime did not make."""
    unit, id_ = facts.container.unit, facts.container.id
    return bool(facts.container.bundle) and not unit.endswith((f"{id_}.scope", f"{id_}.service", f"{id_}.slice"))


def _why(facts: Facts, fault: str) -> str:
    if fault == NOT_IN_SPEC:
        return "Fault A: its spec has no rule for it, so the runtime never told systemd (granted behind its back)."
    if fault == DROPPED:
        return "Fault B: its spec has the rule, and it was dropped on the way to systemd (no /dev/char link then)."
    if _moved(facts):
        return f"Its processes were moved into {facts.container.unit}, which its runtime did not make."
    return f"{facts.container.unit or 'Its cgroup'} does not list it; its spec could not be read."


def _repair(facts: Facts, fault: str) -> str:
    lasting = {
        NOT_IN_SPEC: "; for new containers: gpu-oci-hook install ENGINE",
        DROPPED: "; for new containers: gpu-oci-hook links",
    }
    return f"gpu-oci-hook repair {facts.container.id[:12]}{lasting.get(fault, '')}"


def _narrow(facts: Facts) -> str:
    return f"gpu-oci-hook repair --narrow {facts.container.id[:12]}, or recreate it with a newer runtime."


def _names(numbers: tuple[Number, ...], host: Host, verb: bool = True) -> str:
    names = ", ".join(sorted(host.name(number) for number in numbers))
    return f"{names} {'is' if len(numbers) == 1 else 'are'}" if verb else names
