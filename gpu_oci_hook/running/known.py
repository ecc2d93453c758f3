"""What the last look at everything found, so that a reload is healed before anything is looked at again.

Only where a reload has applied all lists by the time that it is over (systemd >= 240, but 256 and 257): then nothing is
live that a unit's list lacks, so a call with the entries that are missing can take nothing away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpu_oci_hook.core import deviceallow
from gpu_oci_hook.core.deviceallow import NUMBERS_FROM_TEXT, STRICT
from gpu_oci_hook.core.forecast.rederivation import RELOAD, rederives
from gpu_oci_hook.host import cgroup
from gpu_oci_hook.host.systemd import device_allow
from gpu_oci_hook.running.entries import device_entry
from gpu_oci_hook.running.judge import AT_RISK, LOST, OK

if TYPE_CHECKING:
    from gpu_oci_hook.core.devices import Number
    from gpu_oci_hook.core.versions import Version
    from gpu_oci_hook.host.systemd import Manager
    from gpu_oci_hook.running.audit import Report
    from gpu_oci_hook.running.host import Host

    Entries = dict[Number, tuple[str, str]]


class KnownContainer(NamedTuple):
    """A container's init, and the entry that opens each device of its own."""

    pid: int
    entries: Entries


class Known:
    """Units with one GPU container each, by name."""

    def __init__(self) -> None:
        self.containers: dict[str, KnownContainer] = {}
        self._opened: dict[tuple[Number, tuple[tuple[str, str], ...]], bool] = {}

    def remember(self, report: Report, host: Host, systemd: Version, whole: bool) -> None:
        """Take over what a look has found; ``whole``: at everything, so what it did not find is no more."""
        if whole:
            self.containers = {}
        self._opened = {}
        for facts, verdict in report.containers:
            if verdict.name not in (OK, AT_RISK, LOST) or not facts.container.unit or facts.outside:
                continue
            if not facts.unit_devices or not facts.unit_devices.allow:
                continue  # the runtime's own program, or no list at all: a list of ours would narrow it
            spelt = {number: device_entry(number, host.settings.access, host, systemd) for number in facts.given}
            entries = {number: entry for number, entry in spelt.items() if entry}
            self.containers[facts.container.unit] = KnownContainer(facts.container.pid, entries)

    def heal(self, manager: Manager, where: cgroup.Hierarchies, host: Host, systemd: Version) -> int:
        """Complete the lists that a reload has cut short; the number of calls. Raises bus.BusError."""
        if systemd < NUMBERS_FROM_TEXT or not rederives(RELOAD, systemd):
            return 0
        units = [unit for unit, container in self.containers.items() if _is_in(container.pid, unit, where)]
        changes = []
        for unit, allow in zip(units, manager.lists_of(units)):
            entries = self.containers[unit].entries
            missing = [entry for number, entry in entries.items() if not self._opens(number, allow, host, systemd)]
            if allow and missing:
                changes.append((unit, device_allow(missing)))
        manager.set_all(changes)
        return len(changes)

    def _opens(self, number: Number, allow: tuple[tuple[str, str], ...], host: Host, systemd: Version) -> bool:
        key = (number, allow)
        if key not in self._opened:
            access = deviceallow.opens(number, STRICT, allow, systemd, host.lists)
            self._opened[key] = {"r", "w"} <= set(access)
        return self._opened[key]


def _is_in(pid: int, unit: str, where: cgroup.Hierarchies) -> bool:
    """Whether the init is still there, and still in that unit: a name or a PID may have a new owner."""
    try:
        return cgroup.of_process(pid, where).unit == unit
    except cgroup.CgroupError:
        return False
