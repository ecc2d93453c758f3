"""Device rules, read the way runtimes read them.

``Emulator`` follows runc's (opencontainers/cgroups devices_emulator.go and runc's specconv/spec_linux.go,
1.0.0-rc91 to 1.5): rules are taken in order into a default and a table of exceptions; a rule of type ``a``, or of no
type, ignores its numbers and its access and resets both; the same numbers join their permissions. crun agrees wherever
a spec is not an error for one of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gpu_oci_hook.core.devices import Number

ANY = -1  # a major or minor that is absent, or -1 as runc writes it
FIELDS = ("allow", "type", "major", "minor", "access")
PLACE = "linux.resources.devices"

# Answers of Emulator.access.
FULL, PARTIAL, NONE, DENIED = "full", "partial", "none", "denied"


class SpecError(ValueError):
    """config.json holds something that no runtime can mean; ``path`` says where."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


class Rule:
    """One entry of linux.resources.devices. ``type`` is a, b or c; ``access`` some of rwm."""

    __slots__ = ("access", "allow", "index", "major", "minor", "type")

    def __init__(self, allow: bool, type: str, major: int, minor: int, access: str, index: int = -1) -> None:
        self.allow = allow
        self.type = type
        self.major = major
        self.minor = minor
        self.access = access
        self.index = index

    @property
    def for_all(self) -> bool:
        """Whether the rule is about every device: its numbers and access are then ignored."""
        return self.type == "a"

    @property
    def exact(self) -> bool:
        return not self.for_all and ANY not in (self.major, self.minor)

    def covers(self, number: Number) -> bool:
        return self.for_all or (self.type == number[0] and self._numbers_fit(number))

    def _numbers_fit(self, number: Number) -> bool:
        return self.major in (ANY, number[1]) and self.minor in (ANY, number[2])

    def names(self, number: Number) -> bool:
        """Whether the rule means this device in particular, by its major or its minor, and not all of a type."""
        given = self.major >= 0 or (self.minor >= 0 and not self.for_all)
        return given and self.type in ("a", number[0]) and self._numbers_fit(number)

    def __repr__(self) -> str:
        return f"Rule({'allow' if self.allow else 'deny'} {self.spell()})"

    def spell(self) -> str:
        """The rule as cgroup v1 files write it: ``c 195:* rw``."""
        if self.for_all:
            return "a *:* rwm"
        major, minor = (("*" if n == ANY else str(n)) for n in (self.major, self.minor))
        return f"{self.type} {major}:{minor} {self.access}"


def parse_rules(value: Any) -> list[Rule]:
    """The rules in a spec's linux.resources.devices (None counts as empty).

    Raises SpecError with the place for whatever a runtime would refuse to read.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise SpecError(PLACE, f"a list is wanted, {kind(value)} was found")
    return [_parse_rule(entry, i) for i, entry in enumerate(value)]


def _parse_rule(entry: Any, index: int) -> Rule:
    place = f"{PLACE}[{index}]"
    if not isinstance(entry, dict):
        raise SpecError(place, f"an object is wanted, {kind(entry)} was found")
    check_spelling(entry, FIELDS, place)
    allow = entry.get("allow")
    if allow is not None and not isinstance(allow, bool):
        raise SpecError(f"{place}.allow", f"true or false is wanted, {kind(allow)} was found")
    type_ = _text(entry, "type", place) or "a"
    if type_ not in ("a", "b", "c"):
        raise SpecError(f"{place}.type", f"a, b or c is wanted, not {type_!r}")
    access = _text(entry, "access", place)
    if access.strip("rwm"):
        raise SpecError(f"{place}.access", f"some of r, w and m are wanted, not {access!r}")
    return Rule(bool(allow), type_, _number(entry, "major", place), _number(entry, "minor", place), access, index)


def _text(entry: dict[str, Any], key: str, place: str) -> str:
    value = entry.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise SpecError(f"{place}.{key}", f"a string is wanted, {kind(value)} was found")
    return value


def _number(entry: dict[str, Any], key: str, place: str) -> int:
    value = entry.get(key)
    if value is None:
        return ANY
    return integer(value, f"{place}.{key}")


def integer(value: Any, place: str) -> int:
    """A 64-bit integer of a spec. Raises SpecError for anything else (Go refuses 1.0 and "1" as well)."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(place, f"an integer is wanted, {kind(value)} was found")
    if not -(1 << 63) <= value < 1 << 63:
        raise SpecError(place, f"{value} does not fit into 64 bits")
    return value


def check_spelling(entry: dict[str, Any], fields: tuple[str, ...], place: str) -> None:
    """Refuse keys that differ from a known one in case only: Go reads them as that one, other readers do not."""
    for key in entry:
        if key not in fields and key.casefold() in fields:
            raise SpecError(f"{place}.{key}", f"runc reads this key as {key.casefold()!r}, other programs do not")


def kind(value: Any) -> str:
    """What a JSON value is, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {dict: "an object", list: "a list", str: "a string", int: "a number", float: "a number"}
    return names.get(type(value), "something else")


class Emulator:
    """The state that a list of rules leaves behind, before the runtime's built-in defaults are added.

    A spec without any rule leaves everything denied (runc adds its defaults to an empty allow list).
    """

    __slots__ = ("default_allow", "errors", "exceptions", "last_words")

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.default_allow = False
        self.exceptions: dict[tuple[str, int, int], frozenset[str]] = {}
        # All that was said since the last allow-all. A deny that names a device is the operator's word: a later
        # deny-all voids it in the runtime's table, but that is no permission.
        self.last_words: list[Rule] = []
        self.errors: list[tuple[Rule, str]] = []
        for rule in rules:
            self.apply(rule)

    def apply(self, rule: Rule) -> None:
        """Take one more rule. A rule that runc refuses is noted in ``errors``, with the reason, and left out."""
        if not rule.access:
            self.errors.append((rule, "access is empty, which runc refuses"))
        if rule.for_all:
            self.default_allow = rule.allow
            self.exceptions = {}
            # runc takes a deny of type a for a deny-all whatever numbers it has; who wrote numbers meant that device.
            self.last_words = [] if rule.allow else [*self.last_words, rule]
        elif rule.access:
            self._apply_exception(rule)
            self.last_words.append(rule)

    def _apply_exception(self, rule: Rule) -> None:
        key = (rule.type, rule.major, rule.minor)
        if rule.allow != self.default_allow:
            self.exceptions[key] = self.exceptions.get(key, frozenset()) | frozenset(rule.access)
            return
        wider = self._overlapping_wildcard(rule, key)
        if wider:
            self.errors.append((rule, f"it cuts a hole into {wider}, which runc refuses"))
            return
        left = self.exceptions.get(key, frozenset()) - frozenset(rule.access)
        if left:
            self.exceptions[key] = left
        else:
            self.exceptions.pop(key, None)

    def _overlapping_wildcard(self, rule: Rule, key: tuple[str, int, int]) -> str:
        for major, minor in ((ANY, rule.minor), (rule.major, ANY), (ANY, ANY)):
            other = (rule.type, major, minor)
            if other != key and self.exceptions.get(other, frozenset()) & frozenset(rule.access):
                return Rule(True, *other, access="".join(sorted(self.exceptions[other]))).spell()
        return ""

    @property
    def allows_all(self) -> bool:
        """Whether every device is open, as for privileged containers (systemd then gets DevicePolicy=auto)."""
        return self.default_allow and not self.exceptions

    def access(self, number: Number) -> str:
        """What the rules say about reading and writing one device.

        FULL: reading and writing is allowed by one entry (v1's kernel code and runc's program match entries singly).
        PARTIAL: only one of the two. DENIED: the operator has denied this device by name. NONE: nothing is said
        (``m`` alone lets a container create a node, not use it).
        """
        entries = [self.exceptions[key] for key in _covering_keys(number) if key in self.exceptions]
        if self.default_allow:
            denied = frozenset("").union(*entries) & frozenset("rw")
            return FULL if not denied else DENIED
        if any(perms >= frozenset("rw") for perms in entries):
            return FULL
        if self.denied_by_name(number) & {"r", "w"}:
            return DENIED
        given = frozenset("").union(*entries) & frozenset("rw")
        if given == frozenset("rw"):
            return NONE  # each is given, by entries that do not help one another: one more entry joins them
        return PARTIAL if given else NONE

    def denied_by_name(self, number: Number) -> set[str]:
        """Which of r, w and m a rule that names the device denies, with no allow rule after it that gives them back."""
        denied: set[str] = set()
        unsaid = set("rwm")
        for rule in reversed(self.last_words):
            if rule.for_all:
                if rule.names(number):
                    return denied | unsaid
            elif rule.covers(number) and (rule.allow or rule.names(number)):
                said = unsaid & set(rule.access)
                unsaid -= said
                if not rule.allow:
                    denied |= said
                if not unsaid:
                    break
        return denied

    def covering(self, number: Number) -> str:
        """How full access is written: ``exact``, ``minors`` (c 195:*), ``majors`` (c *:*), ``all``; or empty."""
        if self.allows_all:
            return "all"
        kinds = ("exact", "minors", "majors")
        keys = (number, (number[0], number[1], ANY), (number[0], ANY, ANY))
        for name, key in zip(kinds, keys):
            if not self.default_allow and self.exceptions.get(key, frozenset()) >= frozenset("rw"):
                return name
        if self.access(number) != FULL:
            return ""
        return "all" if self.default_allow else "majors"


def _covering_keys(number: Number) -> tuple[Number, ...]:
    """The keys of exceptions that cover a number: looked up, since a spec may have ten thousand of each."""
    kind, major, minor = number
    return number, (kind, major, ANY), (kind, ANY, minor), (kind, ANY, ANY)
