"""Gives running containers back what is theirs, without recreating them; and checks that it worked.

Order: links, made and checked; one call for each unit, all of a slice together; then the access check in every cgroup
of the container; on v1 what a child cgroup still denies is written to its devices.allow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpu_oci_hook.core.devices import spell
from gpu_oci_hook.core.forecast.rederivation import lazily
from gpu_oci_hook.core.versions import parse_systemd
from gpu_oci_hook.host import access_check
from gpu_oci_hook.host.apply import apply_links
from gpu_oci_hook.host.bus import RefusedError
from gpu_oci_hook.host.systemd import Manager, UnitDevices
from gpu_oci_hook.running.audit import audit, is_named
from gpu_oci_hook.running.change import Change, completing, links_for, narrowing
from gpu_oci_hook.running.facts import collect
from gpu_oci_hook.running.host import Host
from gpu_oci_hook.running.judge import AT_RISK, LOST, RECREATE, WIDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpu_oci_hook.core.devices import Number
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.plan import LinkEdit
    from gpu_oci_hook.core.versions import Version
    from gpu_oci_hook.running.audit import Audited, Report
    from gpu_oci_hook.running.facts import Facts

GONE = "it ended meanwhile"


class Outcome(NamedTuple):
    """What became of one container: ``reason`` is empty where it was repaired and checked."""

    change: Change
    reason: str = ""


class Result(NamedTuple):
    """``links`` were made (or are to be, in a dry run); ``findings`` are about those that could not be."""

    outcomes: list[Outcome]
    links: list[LinkEdit]
    findings: list[Finding]
    report: Report


def repair(host: Host, names: Sequence[str] = (), narrow: bool = False, dry_run: bool = False) -> Result:
    """Repair the containers that ``names`` name, or all that need it.

    Raises bus.BusError where systemd cannot be reached, access_check.AccessCheckError.
    """
    with Manager(host.root) as manager:
        report = audit(host, (), manager)
        systemd = parse_systemd(report.systemd)
        if systemd is None:
            raise RefusedError("", f"systemd's version {report.systemd!r} is not understood; nothing was changed")
        return repair_audited(report, host, systemd, manager, names, narrow, dry_run)


def repair_audited(
    report: Report,
    host: Host,
    systemd: Version,
    manager: Manager,
    names: Sequence[str] = (),
    narrow: bool = False,
    dry_run: bool = False,
) -> Result:
    """As ``repair``, for a report that is there already."""
    wanted = _with_siblings(_wanted(report, names, narrow), report, systemd)
    numbers = {number for each in wanted for number in each.facts.given}
    links = links_for(numbers, host)
    findings: list[Finding] = []
    if links and not dry_run:
        findings = apply_links(links, host.root)
        host = Host(host.settings)  # what the old one knows of links is no longer so
    if dry_run:
        host.assume_links(edit.number for edit in links)
    outcomes = [
        Outcome(Change(each.facts, each.verdict.numbers, []), each.verdict.cause)
        for each in report.containers
        if each.verdict.name == RECREATE and is_named(each.facts.container, names)
    ]
    changes = [
        narrowing(each.facts, host, systemd) if each.verdict.name == WIDER else completing(each.facts, host, systemd)
        for each in wanted
    ]
    if dry_run:
        return Result([*outcomes, *(Outcome(each, each.problem) for each in changes)], links, findings, report)
    outcomes += [Outcome(each, each.problem) for each in changes if each.problem]
    outcomes += _carry_out([each for each in changes if not each.problem], host, systemd, manager)
    return Result(outcomes, links, findings, report)


def _wanted(report: Report, names: Sequence[str], narrow: bool) -> list[Audited]:
    verdicts = (LOST, AT_RISK, WIDER) if narrow else (LOST, AT_RISK)
    return [
        each for each in report.containers if each.verdict.name in verdicts and is_named(each.facts.container, names)
    ]


def _with_siblings(wanted: list[Audited], report: Report, systemd: Version) -> list[Audited]:
    """On systemd that applies lists late, a call on one unit applies those of its siblings too (measured on 257).

    So the at-risk ones of the same slices are completed in the same go, also where only one was named.
    """
    if not lazily(systemd):
        return wanted
    slices = {each.facts.container.slice for each in wanted}
    siblings = [
        each
        for each in report.containers
        if each.verdict.name == AT_RISK and each.facts.container.slice in slices and each not in wanted
    ]
    return [*wanted, *siblings]


def _carry_out(changes: list[Change], host: Host, systemd: Version, manager: Manager) -> list[Outcome]:
    calls = [change for change in changes if change.properties]
    refused = dict(zip((each.unit for each in calls), manager.set_all([(c.unit, c.properties) for c in calls])))
    _write_lists(changes)
    names = sorted({change.unit for change in changes if change.unit})
    units = dict(zip(names, manager.devices_of(names)))
    known = {name: unit if isinstance(unit, UnitDevices) else str(unit) for name, unit in units.items()}
    checked = collect([(c.facts.container, c.facts.evidence) for c in changes], known, host, systemd)
    return [
        Outcome(change, _verify(change, facts, refused.get(change.unit))) for change, facts in zip(changes, checked)
    ]


def _write_lists(changes: list[Change]) -> None:
    """On v1, allow in the live lists what a cgroup of a container denies, parents first.

    Only devices.allow is written: a denial first would be felt by every process (runc#2474).
    A parent that does not allow makes it fail with EPERM; the check afterwards says so.
    """
    places = [
        (place.directory, tuple(change.facts.given))
        for change in changes
        for place in sorted(change.facts.container.cgroups, key=lambda each: each.path.count("/"))
        if place.version == 1
    ]
    answers = access_check.check_all([access_check.Question(*place) for place in places])
    for (directory, _), answer in zip(places, answers):
        for number in (number for number, allowed in answer.allowed.items() if not allowed):
            _allow(directory, number)


def _allow(directory: str, number: Number) -> None:
    try:
        with open(f"{directory}/devices.allow", "w", encoding="ascii") as file:
            file.write(f"{spell(number)} rw")
    except OSError:
        return


def _verify(change: Change, facts: Facts, error: Exception | None) -> str:
    """Why the container is not repaired, in words; empty where the kernel and the unit both say that it is.

    ``facts`` are those of after the call, ``error`` is systemd's answer to it.
    """
    if error is not None:
        return GONE if isinstance(error, RefusedError) and "NoSuchUnit" in error.name else f"systemd refused: {error}"
    if facts.problem:
        return GONE if facts.gone else facts.problem
    denied = [spell(number) for number in change.facts.given if not facts.live.get(number)]
    if denied:
        return f"{', '.join(denied)} still denied: a parent cgroup or the runtime's own program denies; recreate it"
    unlisted = [spell(number) for number in change.facts.given if change.unit and not facts.unit.get(number)]
    if unlisted:
        return f"temporary: {', '.join(unlisted)} works now, and {change.unit}'s list does not have it"
    return ""
