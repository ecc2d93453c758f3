"""The container's own rules: what must be in its unit's list before systemd applies that list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_oci_hook.core.rules import ANY, FULL, NONE, Emulator
from gpu_oci_hook.hooks.given import mounted_nodes
from gpu_oci_hook.host.paths import read_text

if TYPE_CHECKING:
    from gpu_oci_hook.core.devices import Number
    from gpu_oci_hook.hooks.container import Subject
    from gpu_oci_hook.host.cgroup import ProcessCgroups


class Wanted:
    """``rules``: number → some of rwm, ANY for wildcards. ``gpus``: those of them that this is all about.

    ``live`` has those that v1's list shows to work. ``candidates`` count only if the container can open them now.
    ``deny_list``: the spec allows all devices but some, for which systemd's list has no form.
    """

    def __init__(self, subject: Subject, place: ProcessCgroups) -> None:
        emulator = Emulator(subject.spec.rules)
        self.deny_list = emulator.default_allow and not emulator.allows_all
        self.rules: dict[Number, str] = {}
        self.gpus: set[Number] = set()
        self.live: set[Number] = set()
        stale = _stale_numbers(subject)
        for number, permissions in {} if emulator.default_allow else emulator.exceptions.items():
            if number not in stale:
                self._add(number, "".join(sorted(permissions, key="rwm".index)))
        for device in subject.plan.devices:
            if emulator.access(device.number) in (FULL, NONE):
                self.gpus.add(device.number)
                if device.number not in self.rules:
                    self._add(device.number, subject.settings.access)
        for number, access in _v1_list(place).items():
            # Defaults of the runtime, and what hooks of other vendors have granted: they work, and this call of ours
            # must not be what ends that. GPUs have to be the container's own.
            if number not in stale and not subject.inventory.family_of(number):
                self._add(number, access)
                self.live.add(number)
        self.candidates: set[Number] = set()
        self._stale = stale

    def take_candidates(self, subject: Subject) -> None:
        """Once the container has started: devices of other kinds that were mounted. The families' are in the plan."""
        if subject.started:
            numbers = {mount.number for mount in mounted_nodes(subject)} - self._stale - self.rules.keys()
            self.candidates = {number for number in numbers if not subject.inventory.family_of(number)}

    def keep_working(self, works: set[Number]) -> None:
        """Count those candidates that can be opened as the container's own."""
        for number in self.candidates & works:
            self._add(number, "rw")

    def _add(self, number: Number, access: str) -> None:
        joined = set(self.rules.get(number, "")) | set(access)
        self.rules[number] = "".join(sorted(joined, key="rwm".index))


def _stale_numbers(subject: Subject) -> set[Number]:
    """Numbers of another boot that the spec still has: today another driver's, so they are not carried on."""
    places = {finding.path for finding in subject.plan.findings if finding.code == "stale-number"}
    return {node.number for node in subject.spec.nodes if node.number and node.place in places}


def _v1_list(place: ProcessCgroups) -> dict[Number, str]:
    """What cgroup v1 allows the container by name now (devices.list: ``c 10:229 rwm``); nothing on v2."""
    if place.version != 1:
        return {}
    found: dict[Number, str] = {}
    for line in read_text(f"{place.directory}/devices.list").splitlines():
        kind, _, rest = line.partition(" ")
        numbers, _, access = rest.partition(" ")
        major, _, minor = numbers.partition(":")
        if kind in ("b", "c") and set(access) & set("rw"):
            found[(kind, _number(major), _number(minor))] = access
    return found


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else ANY
