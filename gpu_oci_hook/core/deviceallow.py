"""Device rules and systemd's DeviceAllow: what runc makes of the one, and what systemd makes of the other.

Sources: runc's systemdProperties (opencontainers/cgroups devices/systemd.go and its forerunners, 1.0.0-rc91 to 1.5) and
systemd's src/core/cgroup.c and bpf-devices.c (v219 to v256).
"""

from __future__ import annotations

from gpu_oci_hook.core import glob
from gpu_oci_hook.core.devices import link_path
from gpu_oci_hook.core.rules import ANY, Emulator, Rule
from gpu_oci_hook.core.versions import Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gpu_oci_hook.core.devices import Number
    from gpu_oci_hook.core.procfs import Driver

    Entry = tuple[str, str]  # ("/dev/char/195:0", "rw"), as D-Bus has it

AUTO, CLOSED, STRICT = "auto", "closed", "strict"

NUMBERS_FROM_TEXT = Version((240,))  # systemd 846b3bd61e, d5aecba6e0; char-195 by 8e8b5d2e6d
POLICY_SENT = Version((1, 0, 0), (2, 91))  # runc b810da149
STATS_PATHS = Version((1, 1, 3))  # runc 7219387eb
SPARES_GROUPS = Version((1, 1, 4))  # runc #3551, #3554
TRUSTS_SYSTEMD = Version((1, 1, 7))  # runc #3842, #3845: no stat for systemd >= 240
SENDS_MAJORS = Version((1, 2, 0), (2, 1))  # runc #3843
NO_TUN = (Version((1, 2, 0)), Version((1, 2, 4)))  # runc #3468 and #4556

# What runc appends to every spec's rules (libcontainer/specconv AllowedDevices).
DEFAULTS = (
    ("c", ANY, ANY, "m"),
    ("b", ANY, ANY, "m"),
    ("c", 1, 3, "rwm"),
    ("c", 1, 8, "rwm"),
    ("c", 1, 7, "rwm"),
    ("c", 5, 0, "rwm"),
    ("c", 1, 5, "rwm"),
    ("c", 1, 9, "rwm"),
    ("c", 136, ANY, "rwm"),
    ("c", 5, 2, "rwm"),
)
TUN = ("c", 10, 200, "rwm")

# What DevicePolicy=closed, and auto with a list, open besides the list (systemd.resource-control(5)).
PSEUDO = ((1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2))
PTS_MAJORS = range(136, 144)


class Host:
    """What a reading of device lists needs to know of the host.

    ``drivers`` are /proc/devices' entries; ``stat`` gives the number of the device that a path leads to, or None.
    """

    __slots__ = ("drivers", "stat")

    def __init__(self, drivers: Iterable[Driver], stat: Callable[[str], Number | None]) -> None:
        self.drivers = tuple(drivers)
        self.stat = stat


class Sent:
    """What a runtime gives systemd for one container; ``dropped`` has the entries or rules it left out, and why."""

    __slots__ = ("dropped", "entries", "policy")

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.entries: list[Entry] = []
        self.dropped: list[tuple[str, str]] = []


def defaults(runc: Version) -> list[Rule]:
    """The rules that a version of runc appends to every spec's."""
    without_tun = NO_TUN[0] <= runc < NO_TUN[1]
    return [Rule(True, *numbers) for numbers in (*DEFAULTS, *(() if without_tun else (TUN,)))]


def from_rules(rules: Iterable[Rule], runc: Version, systemd: Version, host: Host) -> Sent:
    """The policy and list that this runc sends to this systemd for a spec's rules, in order of the numbers."""
    if runc < POLICY_SENT:
        return Sent(AUTO)
    table = Emulator([*rules, *defaults(runc)])
    if table.allows_all:
        return Sent(AUTO)
    sent = Sent(STRICT)
    if table.default_allow:
        sent.dropped.append(("the whole list", "systemd knows no lists of denied devices; runc sends an empty list"))
        return sent
    for number, perms in sorted(table.exceptions.items()):
        _send(sent, number, "".join(p for p in "rwm" if p in perms), runc, systemd, host)
    return sent


def _send(sent: Sent, number: Number, perms: str, runc: Version, systemd: Version, host: Host) -> None:
    kind, major, minor = number
    if major == ANY and minor != ANY:
        sent.dropped.append((Rule(True, *number, perms).spell(), "systemd has no form for a minor of any major"))
        return
    path = link_path(number) if minor != ANY else group(kind, major, runc, systemd, host)
    if not path:
        sent.dropped.append((f"{kind} {major}:*", "no driver in /proc/devices has this major"))
    elif _skipped(path, minor != ANY, runc, systemd, host):
        sent.dropped.append((path, "the path does not exist, and this runc asks for it"))
    else:
        sent.entries.append((path, perms))


def group(kind: str, major: int, runc: Version, systemd: Version, host: Host) -> str:
    """The group by which this runc names a major to this systemd, ANY included; empty where there is none."""
    prefix = "block-" if kind == "b" else "char-"
    if major == ANY:
        return f"{prefix}*"
    if systemd >= NUMBERS_FROM_TEXT and runc >= SENDS_MAJORS:
        return f"{prefix}{major}"
    names = [name for type_, driver_major, name in host.drivers if (type_, driver_major) == (kind, major)]
    return f"{prefix}{names[0]}" if names else ""


def _skipped(path: str, is_path: bool, runc: Version, systemd: Version, host: Host) -> bool:
    if not is_path:
        return STATS_PATHS <= runc < SPARES_GROUPS
    return stats_paths(runc, systemd) and host.stat(path) is None


def stats_paths(runc: Version, systemd: Version) -> bool:
    """Whether this runc leaves out entries whose /dev/char path is not there."""
    return runc >= STATS_PATHS and (runc < TRUSTS_SYSTEMD or systemd < NUMBERS_FROM_TEXT)


def resolve(entry: Entry, systemd: Version, host: Host) -> list[Rule]:
    """The devices that an entry of a unit's list opens on this host; none if systemd drops it."""
    path, perms = entry
    perms = perms or "rwm"  # config_parse_device_allow: no permissions means all
    for prefix, kind in (("char-", "c"), ("block-", "b")):
        if path.startswith(prefix):
            majors = _majors(kind, path[len(prefix) :], systemd, host)
            return [Rule(True, kind, major, ANY, perms) for major in majors]
    number = _number_in_text(path) if systemd >= NUMBERS_FROM_TEXT else None
    number = number or host.stat(path)
    return [Rule(True, *number, perms)] if number else []


def _majors(kind: str, name: str, systemd: Version, host: Host) -> list[int]:
    """Majors that a group's name stands for: a pattern of driver names, or from systemd 240 on a number."""
    if systemd >= NUMBERS_FROM_TEXT:
        if name == "*":
            return [ANY]
        if name.isascii() and name.isdecimal() and len(name) < 10:
            return [int(name)]
    # systemd's fnmatch has no FNM_PATHNAME: a star crosses the slashes of names such as /dev/vc/0.
    pattern = name.replace("/", "\0")
    matching = (
        major
        for type_, major, driver in host.drivers
        if type_ == kind and major > 0 and (name == "*" or glob.matches(pattern, driver.replace("/", "\0")))
    )
    return list(dict.fromkeys(matching))


def _number_in_text(path: str) -> Number | None:
    for prefix, kind in (("/dev/char/", "c"), ("/dev/block/", "b")):
        major, colon, minor = path[len(prefix) :].partition(":")
        if (
            path.startswith(prefix)
            and colon
            and all(n.isascii() and n.isdecimal() and len(n) < 10 for n in (major, minor))
        ):
            return (kind, int(major), int(minor))
    return None


def opens(number: Number, policy: str, entries: Iterable[Entry], systemd: Version, host: Host) -> str:
    """What a unit with this policy and list may do with a device: some of ``rwm``, or empty.

    Permissions of several entries are not joined: v1's kernel code and v2's program match entries one by one, and what
    opens a GPU asks for reading and writing at once. The most useful entry's are returned.
    """
    listed = list(entries)
    if policy == AUTO and not listed:
        return "rwm"
    if policy != STRICT and number[0] == "c" and (number[1:] in PSEUDO or number[1] in PTS_MAJORS):
        return "rwm"
    # An empty result of all entries is deny-all (v244+ says "No devices matched by device filter.").
    found = [rule.access for entry in listed for rule in resolve(entry, systemd, host) if rule.covers(number)]
    return max(found, key=lambda perms: (len(set(perms) & set("rw")), len(perms)), default="")


def parse_unit(text: str, entries: Iterable[Entry] = (), policy: str = "") -> tuple[str, list[Entry]]:
    """Policy and list after one unit file or drop-in, on top of what earlier ones said.

    An empty ``DeviceAllow=`` takes all entries back. Unknown lines are passed over.
    """
    listed = list(entries)
    for line in text.replace("\\\n", " ").splitlines():
        key, equals, value = line.strip().partition("=")
        key, value = key.strip(), value.strip()
        if not equals or key.startswith(("#", ";")):
            continue
        if key == "DevicePolicy":
            policy = value or AUTO
        elif key == "DeviceAllow" and not value:
            listed = []
        elif key == "DeviceAllow":
            path, _, perms = value.partition(" ")
            listed.append((path.strip("\"'"), perms.strip()))
    return policy, listed
