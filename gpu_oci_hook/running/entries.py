"""Which entries a unit's list must be given, and how each is spelt for this systemd.

What is live but missing in the list would be taken away by our own call, since systemd applies the whole list with it:
char-pts after runc 1.1.3, which left out groups, or a device whose link did not exist. Such entries are given along.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gpu_oci_hook.core import deviceallow
from gpu_oci_hook.core.deviceallow import NUMBERS_FROM_TEXT
from gpu_oci_hook.core.devices import link_path, spell
from gpu_oci_hook.core.rules import ANY, Rule
from gpu_oci_hook.core.versions import Version
from gpu_oci_hook.host.access_check import check
from gpu_oci_hook.host.paths import below, join, read_text

if TYPE_CHECKING:
    from gpu_oci_hook.core.devices import Number
    from gpu_oci_hook.host.systemd import UnitDevices
    from gpu_oci_hook.running.facts import Facts
    from gpu_oci_hook.running.host import Host

    Entry = tuple[str, str]

RUNC = Version((1, 1, 14))  # whose built-in rules stand for all: what they allow is only kept where it is live


def device_entry(number: Number, access: str, host: Host, systemd: Version) -> Entry | None:
    """The entry that opens one device, or None where this systemd would take none that works.

    systemd >= 240 reads numbers from the path's text. Before, it stats the path, keeps an entry that it cannot stat,
    and the device is denied from then on, also where it worked until then: measured on 219 and 239. There the link must
    lead to the device, or the host's node itself is named.
    """
    path = link_path(number)
    if systemd >= NUMBERS_FROM_TEXT or host.lists.stat(path) == number:
        return path, access
    for file in (_node_file(number, host), _sysfs_name(number, host)):
        if file.startswith("/dev/") and host.lists.stat(file) == number:
            return file, access
    return None


def live_entries(facts: Facts, host: Host, systemd: Version) -> tuple[list[Entry], list[str]]:
    """Entries for what is live in the container and missing in its unit; and, in words, what cannot be kept."""
    unit = facts.unit_devices
    if not unit or unit.bpf_programs or (unit.policy == deviceallow.AUTO and not unit.allow):
        return [], []
    rules = [rule for rule in _candidates(facts) if not _covered(rule, unit, systemd, host)]
    entries, lost = [], []
    for rule in _live(rules, facts, host):
        entry = _rule_entry(rule, host, systemd)
        if entry:
            entries.append(entry)
        elif _exists(rule, host):
            lost.append(spell((rule.type, rule.major, rule.minor)))
    return entries, lost


def _candidates(facts: Facts) -> list[Rule]:
    """What the runtime may have allowed: v1's live list says it; on v2 the spec and runc's built-in rules."""
    place = facts.container.cgroups[0]
    if place.version == 1:
        return _parse_list(read_text(f"{place.directory}/devices.list"))
    return [*deviceallow.defaults(RUNC), *(rule for rule in facts.evidence.spec_rules if rule.allow)]


def _parse_list(text: str) -> list[Rule]:
    """The lines of v1's devices.list; ``a *:* rwm`` is not one that could be kept as an entry."""
    rules = []
    for line in text.splitlines():
        kind, numbers, access = (*line.split(), "", "", "")[:3]
        major, _, minor = numbers.partition(":")
        if kind in ("b", "c") and minor:
            rules.append(Rule(True, kind, _number(major), _number(minor), access))
    return rules


def _number(text: str) -> int:
    return ANY if text == "*" else int(text)


def _covered(rule: Rule, unit: UnitDevices, systemd: Version, host: Host) -> bool:
    wanted = set(rule.access)
    if rule.exact:
        return wanted <= set(deviceallow.opens((rule.type, rule.major, rule.minor), *unit[1:3], systemd, host.lists))
    return any(
        listed.type == rule.type and listed.major in (ANY, rule.major) and listed.minor == ANY
        for entry in unit.allow
        for listed in deviceallow.resolve(entry, systemd, host.lists)
        if wanted <= set(listed.access)
    )


def _live(rules: list[Rule], facts: Facts, host: Host) -> list[Rule]:
    """Those that the kernel allows now. What our families are about is judged by the container's own devices."""
    wanted = {rule: (rule.type, rule.major, max(rule.minor, 0)) for rule in rules if rule.major != ANY}
    wanted = {rule: number for rule, number in wanted.items() if not host.inventory.family_of(number)}
    answer = check(facts.container.cgroups[0].directory, wanted.values()) if wanted else None
    return [
        rule
        for rule in rules
        if (rule.major == ANY and rule.access == "m" and rule.type in facts.makes)
        or (answer is not None and rule in wanted and answer.allowed.get(wanted[rule], False))
    ]


def _rule_entry(rule: Rule, host: Host, systemd: Version) -> Entry | None:
    prefix = "block-" if rule.type == "b" else "char-"
    if rule.major == ANY:
        return (f"{prefix}*", rule.access) if rule.minor == ANY else None
    if rule.minor != ANY:
        return device_entry((rule.type, rule.major, rule.minor), rule.access, host, systemd)
    if systemd >= NUMBERS_FROM_TEXT:
        return f"{prefix}{rule.major}", rule.access
    names = [name for kind, major, name in host.lists.drivers if (kind, major) == (rule.type, rule.major)]
    return (f"{prefix}{names[0]}", rule.access) if names else None


def _exists(rule: Rule, host: Host) -> bool:
    """Whether anything on the host answers to the number: who loses access to what is not there loses nothing."""
    return rule.minor == ANY or os.path.exists(_sysfs(host, (rule.type, rule.major, rule.minor)))


def _sysfs(host: Host, number: Number) -> str:
    kind = "block" if number[0] == "b" else "char"
    return below(host.root, f"/sys/dev/{kind}/{number[1]}:{number[2]}")


def _sysfs_name(number: Number, host: Host) -> str:
    """The node's name by the kernel (DEVNAME in uevent); empty for NVIDIA's, which are not in sysfs."""
    for line in read_text(join(_sysfs(host, number), "uevent")).splitlines():
        if line.startswith("DEVNAME="):
            return f"/dev/{line[len('DEVNAME=') :]}"
    return ""


def _node_file(number: Number, host: Host) -> str:
    node = host.inventory.by_number(number)
    return node.file if node else ""
