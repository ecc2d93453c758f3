"""Completing the container's unit over D-Bus: what keeps a GPU that the runtime never told systemd of."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.completion import UNKNOWN_VERSION, Completion, Unit, complete, spell_rule
from gpu_oci_hook.core.deviceallow import Host
from gpu_oci_hook.core.rules import ANY
from gpu_oci_hook.core.versions import parse_systemd
from gpu_oci_hook.hooks.given import ACCESS_TIMEOUT
from gpu_oci_hook.hooks.ownership import not_own
from gpu_oci_hook.hooks.wanted import Wanted
from gpu_oci_hook.host import access_check, bus, cgroup
from gpu_oci_hook.host.links import number_at
from gpu_oci_hook.host.systemd import Manager

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpu_oci_hook.core.devices import Number
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.hooks.container import Subject
    from gpu_oci_hook.host.cgroup import ProcessCgroups

BUS_TIMEOUT = 2.0  # seconds for all calls together
RETRY_HINT = "gpu-oci-hook repair, or the watch service, completes it later"
LAZY = (256, 257)  # these apply a pending reload to a unit's siblings when one of them is touched (measured)


def complete_unit(subject: Subject) -> list[Finding]:
    """Give systemd what its list for the container's unit lacks, in one call, and check what came of it.

    Findings: a note for what was done, or why nothing had to be; nothing at all where the list was complete.
    """
    try:
        if os.geteuid() != 0:
            return [_note("rootless: a user's systemd enforces no device rules, so none are lost")]
        where = cgroup.hierarchies(subject.settings.host_root)
        place = cgroup.of_process(subject.state.pid, where)
        reason = not_own(place, subject.spec, subject.state.id)
        if reason:
            return [_note(reason)]
        return _over_the_bus(subject, place)
    except cgroup.ProcessGoneError:
        return [_note("the container has exited already; there is no unit to complete")]
    except bus.BusError as error:
        return [say.error("unit-not-completed", "", f"its unit was not completed: {error.message}", RETRY_HINT)]
    except (cgroup.CgroupError, access_check.AccessCheckError) as error:
        return [say.error("unit-not-completed", "", error.message, error.hint)]


def _note(message: str) -> Finding:
    return say.note("unit", "", message)


def _over_the_bus(subject: Subject, place: ProcessCgroups) -> list[Finding]:
    """Twice, if the connection breaks: systemd closes it when it executes itself anew. The call is idempotent."""
    deadline = time.monotonic() + BUS_TIMEOUT
    try:
        return _Completer(subject, place, deadline).run()
    except bus.BusGoneError:
        return _Completer(subject, place, deadline).run()


class _Completer:
    """One attempt, over one connection."""

    def __init__(self, subject: Subject, place: ProcessCgroups, deadline: float) -> None:
        self.subject = subject
        self.place = place
        self.deadline = deadline
        self.root = subject.settings.host_root
        self.findings: list[Finding] = []
        self.host = Host(subject.inventory.drivers(), lambda path: number_at(self.root, path))

    def run(self) -> list[Finding]:
        with Manager(self.root, self._left()) as manager:
            manager.timeout = self._left()
            self.version = parse_systemd(manager.version()) or UNKNOWN_VERSION
            before = self._unit(manager)
            if before:
                self._complete(manager, before)
        return self.findings

    def _complete(self, manager: Manager, before: Unit) -> None:
        wanted = Wanted(self.subject, self.place)
        if wanted.deny_list:
            self._leave("its rules deny some devices and allow all others, which systemd's list cannot say")
            return
        files = {node.number: node.file for node in self.subject.inventory.nodes()}
        if not wanted.gpus & complete(before, wanted.rules, (), files).lacking:
            return  # other devices have their own guardians; for their sake alone no unit is touched
        wanted.take_candidates(self.subject)
        works = self._works([*wanted.rules, *wanted.candidates]) | wanted.live
        wanted.keep_working(works)
        completion = complete(before, wanted.rules, works, files)
        if self._may_send(completion, wanted):
            manager.timeout = self._left()
            manager.set_device_allow(self.place.unit, list(completion.missing.values()))
            self._verify(manager, completion, wanted, works)

    def _left(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise bus.BusTimeoutError(f"systemd did not answer within {BUS_TIMEOUT:g} s")
        return left

    def _unit(self, manager: Manager) -> Unit | None:
        """The unit's list; None where there is nothing to complete."""
        manager.timeout = self._left()
        found = manager.devices(self.place.unit)
        if found.bpf_programs:
            paths = ", ".join(path for _, path in found.bpf_programs)
            self._leave(f"crun's own program decides (BPFProgram={paths}), which systemd attaches again each time")
            return None
        unit = Unit(found.policy, found.allow, self.version, self.host)
        return None if unit.unrestricted else unit

    def _leave(self, reason: str) -> None:
        self.findings.append(_note(f"{self.place.unit} was left as it is: {reason}"))

    def _works(self, numbers: Iterable[Number]) -> set[Number]:
        """Those devices that the container can open now, by the kernel's own word."""
        exact = sorted({number for number in numbers if ANY not in number})
        answer = access_check.check(self.place.directory, exact, ACCESS_TIMEOUT)
        if answer.gone:
            raise cgroup.ProcessGoneError("the container's cgroup is gone")
        if answer.problem:
            raise access_check.AccessCheckError(f"its access to devices cannot be checked: {answer.problem}")
        return {number for number, allowed in answer.allowed.items() if allowed}

    def _may_send(self, completion: Completion, wanted: Wanted) -> bool:
        for number, reason in completion.unsendable:
            if number in wanted.gpus:
                self._error(f"{spell_rule(number)} is not protected: {reason}")
        if not wanted.gpus & completion.missing.keys():
            return False
        if completion.harmful:
            names = ", ".join(spell_rule(number) for number in completion.harmful)
            self._leave(f"any change of it would take {names} away from the container now")
        return not completion.harmful

    def _verify(self, manager: Manager, completion: Completion, wanted: Wanted, worked: set[Number]) -> None:
        manager.timeout = self._left()
        found = manager.devices(self.place.unit)
        after = Unit(found.policy, found.allow, self.version, self.host)
        works = self._works(wanted.rules)
        lost = {number for number in worked if ANY not in number} - works
        for number in sorted(lost):
            self._error(f"{spell_rule(number)} was open before its unit was completed and is denied now")
        unlisted = {number for number in wanted.gpus if not after.covers(number, "rw")}
        for number in sorted(unlisted):
            self._error(f"{spell_rule(number)} is not in the list of {self.place.unit}, although systemd has taken it")
        # Before the container has started, another hook may still open it: that is what NVIDIA's is there for.
        closed = wanted.gpus - works - lost if self.subject.started else set()
        for number in sorted(closed):
            message = f"{spell_rule(number)} stays denied by the runtime's own program; config.json has the rule now"
            self.findings.append(say.warning("recreate", "", message, "recreate the container"))
        names = ", ".join(path for path, _ in completion.missing.values())
        checked = "" if lost or unlisted or closed else ", and access was checked"
        self.findings.append(_note(f"{self.place.unit} was given {names}{checked}{self._siblings()}"))

    def _error(self, message: str) -> None:
        self.findings.append(say.error("not-protected", "", message, "gpu-oci-hook audit says what helps"))

    def _siblings(self) -> str:
        """What is said about the slice's other scopes, whose reload may be completed along with this call."""
        if self.version.major not in LAZY:
            return ""
        directory = self.place.directory
        own = directory[: directory.rindex(self.place.unit)]
        others = [name for name in os.listdir(own) if name.endswith(".scope") and name != self.place.unit]
        if not others:
            return ""
        return (
            f"; systemd {self.version.major} may apply a pending reload to {len(others)} other scopes of"
            f" {self.place.slice} with it, which is left to the watch service"
        )
