"""The parts of config.json that decide about devices, checked for their types; and the splice that adds rules."""

from __future__ import annotations

from gpu_oci_hook.core import jsontext
from gpu_oci_hook.core.rules import SpecError, check_spelling, integer, kind, parse_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpu_oci_hook.core.devices import Number
    from gpu_oci_hook.core.rules import Rule

RULES_PATH = ("linux", "resources", "devices")
WATCHED = (RULES_PATH,)
NODE_FIELDS = ("path", "type", "major", "minor")
NODE_TYPES = {"c": "c", "u": "c", "b": "b", "p": "p", "": ""}  # u: an unbuffered character device


class SpecNode:
    """One entry of linux.devices.

    ``number`` is None where the spec leaves it to the host: no numbers, or both 0, which Go's omitempty cannot tell
    apart. One that is missing is 0 for the same reason.
    """

    __slots__ = ("index", "number", "path", "type")

    def __init__(self, path: str, type: str, number: Number | None, index: int) -> None:
        self.path = path
        self.type = type
        self.number = number
        self.index = index

    @property
    def place(self) -> str:
        return f"linux.devices[{self.index}]"


class Spec:
    """A container's spec. ``value`` is the whole of config.json; the rest is what was checked."""

    __slots__ = ("document", "nodes", "rules", "value")

    def __init__(self, document: jsontext.Document, nodes: list[SpecNode], rules: list[Rule]) -> None:
        self.document = document
        self.value: dict[str, Any] = document.value
        self.nodes = nodes
        self.rules = rules


def parse_spec(text: str) -> Spec:
    """Read config.json's text.

    Raises jsontext.JsonTextError for what is not JSON, and SpecError, with the place, for a type or a spelling that the
    runtime would refuse, or that two runtimes would read differently.
    """
    document = jsontext.parse(text, WATCHED)
    if not isinstance(document.value, dict):
        raise SpecError("config.json", f"an object is wanted, {kind(document.value)} was found")
    linux = _object(document.value, "linux", "", ("linux",))
    resources = _object(linux, "resources", "linux.", ("resources", "devices"))
    check_spelling(resources, ("devices",), "linux.resources")
    return Spec(document, _nodes(linux.get("devices")), parse_rules(resources.get("devices")))


def _object(parent: dict[str, Any], key: str, prefix: str, fields: tuple[str, ...]) -> dict[str, Any]:
    check_spelling(parent, fields, prefix.rstrip(".") or "config.json")
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SpecError(f"{prefix}{key}", f"an object is wanted, {kind(value)} was found")
    return value


def _nodes(value: Any) -> list[SpecNode]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise SpecError("linux.devices", f"a list is wanted, {kind(value)} was found")
    return [_node(entry, i) for i, entry in enumerate(value)]


def _node(entry: Any, index: int) -> SpecNode:
    place = f"linux.devices[{index}]"
    if not isinstance(entry, dict):
        raise SpecError(place, f"an object is wanted, {kind(entry)} was found")
    check_spelling(entry, NODE_FIELDS, place)
    path = text(entry.get("path"), f"{place}.path")
    type_ = text(entry.get("type"), f"{place}.type")
    if type_ not in NODE_TYPES:
        raise SpecError(f"{place}.type", f"c, b, u or p is wanted, not {type_!r}")
    major, minor = (_number(entry.get(key), f"{place}.{key}") for key in ("major", "minor"))
    number = (NODE_TYPES[type_] or "c", major, minor)
    return SpecNode(path, NODE_TYPES[type_], number if major or minor else None, index)


def _number(value: Any, place: str) -> int:
    """A node's major or minor; absent is 0. As a rule's, a negative one would mean all devices."""
    number = 0 if value is None else integer(value, place)
    if not 0 <= number < 1 << 32:
        raise SpecError(place, f"{number} is no number that a device can have")
    return number


def text(value: Any, place: str) -> str:
    """A string of a spec; null and absent are empty. Raises SpecError for other types and for NUL characters."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise SpecError(place, f"a string is wanted, {kind(value)} was found")
    if "\0" in value:
        raise SpecError(place, "it holds a NUL character")
    return value


def splice_rules(document: jsontext.Document, rules: list[Rule]) -> str:
    """The document's text with rules at the end of linux.resources.devices; everything else stays as it is.

    Raises SpecError where there is no linux object to put them into.
    """
    entries = [_rule_text(rule) for rule in rules]
    source = document.text
    for depth in (3, 2, 1):
        start, end = document.spans.get(RULES_PATH[:depth], (0, 0))
        missing = RULES_PATH[depth:]
        if source[start:end] == "null":
            return source[:start] + _nested(missing, entries) + source[end:]
        if end and missing:
            return _insert(source, start + 1, end - 1, [f'"{missing[0]}":{_nested(missing[1:], entries)}'])
        if end:
            return _insert(source, start + 1, end - 1, entries)
    raise SpecError("linux", "there is no such object, so there is no place for device rules")


def _rule_text(rule: Rule) -> str:
    allow = "true" if rule.allow else "false"
    numbers = f'"major":{rule.major},"minor":{rule.minor}'
    return f'{{"allow":{allow},"type":"{rule.type}",{numbers},"access":"{rule.access}"}}'


def _nested(keys: tuple[str, ...], entries: list[str]) -> str:
    value = f"[{','.join(entries)}]"
    for key in reversed(keys):
        value = f'{{"{key}":{value}}}'
    return value


def _insert(source: str, start: int, end: int, entries: list[str]) -> str:
    """Put entries at the end of what stands between two brackets, laid out as the first entry there is."""
    inner = source[start:end]
    layout = inner[: len(inner) - len(inner.lstrip(jsontext.BLANKS))]
    filled = inner.rstrip(jsontext.BLANKS)
    if not filled:
        return source[:start] + ",".join(entries) + source[start:]
    at = start + len(filled)
    return source[:at] + "".join(f",{layout}{entry}" for entry in entries) + source[at:]
