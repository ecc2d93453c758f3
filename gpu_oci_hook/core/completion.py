"""What a unit's DeviceAllow lacks of a container's own rules, and whether it may be sent.

One SetUnitProperties makes systemd apply the unit's whole list anew (v1: everything is denied, then entry by entry is
allowed; src/core/cgroup.c). So what the container can open now and the list does not have is lost by the very call that
was to help, and it must be in that call.
"""

from __future__ import annotations

from gpu_oci_hook.core.deviceallow import (
    AUTO,
    NUMBERS_FROM_TEXT,
    PSEUDO,
    PTS_MAJORS,
    SENDS_MAJORS,
    STRICT,
    group,
    resolve,
)
from gpu_oci_hook.core.devices import link_path, spell
from gpu_oci_hook.core.rules import ANY, Rule
from gpu_oci_hook.core.versions import Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpu_oci_hook.core.deviceallow import Entry, Host
    from gpu_oci_hook.core.devices import Number

UNKNOWN_VERSION = Version((0,))  # no version: every law of the old ones is kept


class Completion:
    """``missing``: number → entry to send; ``unsendable`` has what cannot be put into systemd's list, and why.

    ``harmful`` names devices that work now and would be lost by any call on this unit: then there must be none.
    """

    __slots__ = ("harmful", "missing", "unsendable")

    def __init__(self) -> None:
        self.missing: dict[Number, Entry] = {}
        self.unsendable: list[tuple[Number, str]] = []
        self.harmful: list[Number] = []

    @property
    def lacking(self) -> set[Number]:
        """All that the list has not, whether it can be sent or not."""
        return {*self.missing, *(number for number, _ in self.unsendable)}


class Unit:
    """A unit's policy and list, as this systemd on this host reads them."""

    def __init__(self, policy: str, allow: Iterable[Entry], systemd: Version, host: Host) -> None:
        self.policy = policy
        self.listed = dict(allow)
        self.systemd = systemd
        self.host = host
        self.rules = [rule for entry in self.listed.items() for rule in resolve(entry, systemd, host)]

    @property
    def unrestricted(self) -> bool:
        """Whether systemd leaves the devices alone. A list would begin to restrict it, so none may be sent."""
        return self.policy == AUTO and not self.listed

    def covers(self, number: Number, access: str) -> bool:
        """Whether one entry of the list allows reading and writing as wanted, and any one of them ``m``."""
        kind, major, minor = number
        if self.unrestricted:
            return True
        if self.policy != STRICT and kind == "c" and ((major, minor) in PSEUDO or major in PTS_MAJORS):
            return True
        covering = [
            set(rule.access)
            for rule in self.rules
            if rule.type == kind and rule.major in (ANY, major) and rule.minor in (ANY, minor)
        ]
        wanted = set(access)
        return any(wanted - {"m"} <= each for each in covering) and wanted & {"m"} <= set().union(*covering)

    def entry(self, number: Number, file: str = "") -> tuple[str, str]:
        """The path or group under which systemd takes a rule, or empty and the reason.

        systemd < 240 stats the path: without its link it takes the entry, keeps it, and applies nothing. It stats a
        node as well, so ``file``, the host's own, serves where it lies in /dev (measured with 239).
        """
        kind, major, minor = number
        if minor == ANY:
            name = group(kind, major, SENDS_MAJORS, self.systemd, self.host)
            return name, "" if name else "no driver in /proc/devices has this major"
        if major == ANY:
            return "", "systemd has no form for a minor of any major"
        for path in (link_path(number), file):
            if path.startswith("/dev/") and (self.systemd >= NUMBERS_FROM_TEXT or self.host.stat(path) == number):
                return path, ""
        return "", f"systemd {self.systemd.major or 'of this version'} needs {link_path(number)}, which is not there"


def complete(
    unit: Unit, wanted: Mapping[Number, str], works: Iterable[Number] = (), files: Mapping[Number, str] | None = None
) -> Completion:
    """What to send so that a unit's list has all of ``wanted`` (number → some of ``rwm``, ANY for wildcards).

    ``works``: those that the container can open now. ``files``: the host's nodes of the numbers. An entry that the
    list has already, with other permissions, is left as it is: somebody has set it.
    """
    completion = Completion()
    working = set(works)
    for number, access in sorted(wanted.items()):
        if unit.covers(number, access):
            continue
        path, reason = unit.entry(number, (files or {}).get(number, ""))
        if path and path in unit.listed:
            allowed = unit.listed[path] or "rwm"
            reason = (
                "" if set(access) <= set(allowed) else f"the unit's list has {path} {allowed}; it was left as it is"
            )
            path = ""
        if path:
            completion.missing[number] = (path, access)
        elif reason:
            completion.unsendable.append((number, reason))
            if number in working:
                completion.harmful.append(number)
    return completion


def spell_rule(number: Number, access: str = "") -> str:
    """``c 195:0``, ``c 195:*``: a number of ``wanted`` for people."""
    return Rule(True, *number, access).spell().strip() if ANY in number else spell(number)
