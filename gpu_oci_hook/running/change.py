"""What a repair does to one container: as a value, so that a dry run shows what a real one does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpu_oci_hook.core import deviceallow
from gpu_oci_hook.core.devices import spell
from gpu_oci_hook.core.plan import CREATE, REPLACE, link_edit
from gpu_oci_hook.host.systemd import device_allow
from gpu_oci_hook.running.entries import RUNC, device_entry, live_entries

if TYPE_CHECKING:
    from gpu_oci_hook.core.devices import Number
    from gpu_oci_hook.core.plan import LinkEdit
    from gpu_oci_hook.core.versions import Version
    from gpu_oci_hook.host.systemd import Properties
    from gpu_oci_hook.running.entries import Entry
    from gpu_oci_hook.running.facts import Facts
    from gpu_oci_hook.running.host import Host


class Change(NamedTuple):
    """One SetUnitProperties call. ``numbers`` are the devices given back, ``problem`` why there is no call."""

    facts: Facts
    numbers: tuple[Number, ...]
    properties: Properties
    problem: str = ""

    @property
    def id(self) -> str:
        return self.facts.container.id

    @property
    def unit(self) -> str:
        return self.facts.container.unit

    def describe(self) -> str:
        """The call, as a dry run prints it."""
        parts = []
        for name, (signature, value) in self.properties:
            shown = ", ".join(f"({path} {access})" for path, access in value) if signature == "a(ss)" else value
            parts.append(f"{name}=[{shown}]" if signature == "a(ss)" else f"{name}={shown}")
        return f"SetUnitProperties({self.unit}, runtime=true, {'; '.join(parts)})"


def links_for(numbers: set[Number], host: Host) -> list[LinkEdit]:
    """Edits of the links that are missing or wrong, for those of the numbers that have a node on the host."""
    nodes = (host.inventory.by_number(number) for number in sorted(numbers))
    edits = (link_edit(node, host.inventory) for node in nodes if node)
    return [edit for edit in edits if edit.action in (CREATE, REPLACE)]


def completing(facts: Facts, host: Host, systemd: Version) -> Change:
    """The call that completes a unit's list: only entries that it lacks, what is live among them.

    Links must have been made before: a number that this systemd would not resolve gets no entry, and then no call is
    made at all, because the call itself would take the device from a container that still works.
    """
    numbers = tuple(number for number in sorted(facts.given) if not facts.unit.get(number))
    if not facts.container.unit:
        return Change(facts, numbers, [])  # the cgroupfs driver: only v1's live list can be completed, and lasts
    wanted = {number: device_entry(number, host.settings.access, host, systemd) for number in numbers}
    unspellable = [spell(number) for number, entry in wanted.items() if entry is None]
    if unspellable:
        reason = f"no link in /dev/char and no node leads systemd {systemd.major} to {', '.join(unspellable)}"
        return Change(facts, numbers, [], f"{reason}: systemd was not called, which would only do harm")
    kept, unkept = live_entries(facts, host, systemd)
    if unkept:
        reason = f"systemd {systemd.major} finds no path for {', '.join(unkept)}, which the container may use now"
        return Change(facts, numbers, [], f"{reason} and would lose by the call")
    entries = _joined([entry for entry in wanted.values() if entry] + kept, facts)
    return Change(facts, numbers, device_allow(entries) if entries else [])


def _joined(entries: list[Entry], facts: Facts) -> list[Entry]:
    """Entries with the permissions that the unit's own entry of the same path has: the new one replaces it."""
    old = dict(facts.unit_devices.allow) if facts.unit_devices else {}
    joined: dict[str, str] = {}
    for path, access in entries:
        letters = set(access) | set(old.get(path, "")) | set(joined.get(path, ""))
        joined[path] = "".join(letter for letter in "rwm" if letter in letters)
    return list(joined.items())


def narrowing(facts: Facts, host: Host, systemd: Version) -> Change:
    """The call that closes what the container was not given: the whole list anew, then the policy.

    DeviceAllow comes before DevicePolicy: the other way round systemd marks the unit NeedDaemonReload (>= 230).
    """
    unit = facts.unit_devices
    if facts.evidence.problem or not unit:
        return Change(facts, (), [], "without its spec nobody can tell what it was given")
    sent = deviceallow.from_rules(facts.evidence.spec_rules, RUNC, systemd, host.lists)
    entries: list[Entry] = list(sent.entries)
    for number in sorted(facts.given):
        entry = device_entry(number, host.settings.access, host, systemd)
        if entry is None:
            return Change(facts, (), [], f"no link in /dev/char leads systemd {systemd.major} to {spell(number)}")
        entries.append(entry)
    complete = [("DeviceAllow", ("a(ss)", [])), *device_allow(_joined(entries, facts._replace(unit_devices=None)))]
    policy = [] if unit.policy == deviceallow.STRICT else [("DevicePolicy", ("s", deviceallow.STRICT))]
    return Change(facts, tuple(sorted(facts.given)), [*complete, *policy])
