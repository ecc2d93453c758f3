"""JSON that somebody else wrote: members are put in and taken out, everything else stays as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gpu_oci_hook.core.jsontext import BLANKS, Document, JsonTextError, line_and_column, parse, quote
from gpu_oci_hook.engines.errors import EngineError

Path = tuple[str, ...]


def read(path: str, text: str) -> dict[str, Any]:
    """The object in a JSON text; blanks alone are an empty one. Raises EngineError with line and column."""
    return _document(path, text).value if text.strip() else {}


def set_member(path: str, text: str, keys: Path, value: Any) -> str:
    """Set a member; the objects above it are made. Raises EngineError."""
    if not text.strip():
        text = f"{{}}{text or chr(10)}"
    wanted = _put(read(path, text), keys, value)
    present = 0
    document = _document(path, text, keys)
    while present < len(keys) and keys[: present + 1] in document.spans:
        present += 1
    if present == len(keys):
        start, end = document.spans[keys]
        result = f"{text[:start]}{_render(value, _indent_at(text, start), _unit(text))}{text[end:]}"
    else:
        for key in reversed(keys[present + 1 :]):
            value = {key: value}
        result = _insert(document, keys[:present], keys[present], value)
    return _checked(path, result, wanted)


def remove_member(path: str, text: str, keys: Path) -> str:
    """Take a member out, if it is there, with its comma. Raises EngineError."""
    document = _document(path, text, keys)
    if keys not in document.spans:
        return text
    wanted = _put(document.value, keys, None)
    start, end = document.spans[keys]
    start = text.rindex('"', 0, text.rindex('"', 0, text.rindex(":", 0, start)))
    before = len(text[:start].rstrip(BLANKS))
    after = end + len(text[end:]) - len(text[end:].lstrip(BLANKS))
    if text[before - 1] == ",":
        result = text[: before - 1] + text[end:]
    elif text[after] == ",":
        result = text[:before] + text[after + 1 :]
    else:
        result = text[:before] + text[after:]
    return _checked(path, result, wanted)


def _document(path: str, text: str, keys: Path = ()) -> Document:
    try:
        document = parse(text, (keys,) if keys else ())
    except JsonTextError as error:
        line, column = line_and_column(text, max(error.offset, 0))
        place = f":{line}:{column}" if error.offset >= 0 else ""
        raise EngineError(
            f"{path}{place} is not JSON: {error.message}", "correct it first; it was left as it is"
        ) from error
    if not isinstance(document.value, dict):
        raise EngineError(f"{path} holds no JSON object", "it was left as it is")
    return document


def _put(values: Any, keys: Path, value: Any) -> Any:
    members = dict(values) if isinstance(values, Mapping) else {}
    if len(keys) > 1:
        members[keys[0]] = _put(members.get(keys[0], {}), keys[1:], value)
    elif value is None:
        members.pop(keys[0], None)
    else:
        members[keys[0]] = value
    return members


def _insert(document: Document, parent: Path, key: str, value: Any) -> str:
    text = document.text
    start = document.spans[parent][0] if parent else text.index("{")
    end = document.spans[parent][1] if parent else text.rindex("}") + 1
    body = text[start + 1 : end - 1]
    unit = _unit(text)
    outer = _indent_at(text, start)
    newline = "\r\n" if "\r\n" in text else "\n"
    spread = newline in body or not (text[:start].strip() or body.strip())
    if not spread and body.strip():
        return f"{text[:start]}{{{body.rstrip(BLANKS)}, {quote(key)}: {json.dumps(value)}{_tail(body)}{text[end - 1 :]}"
    last = body.rstrip(BLANKS)
    comma = "," if last else ""
    member = f"{newline}{outer}{unit}{quote(key)}: {_render(value, outer + unit, unit, newline)}"
    return f"{text[: start + 1]}{last}{comma}{member}{newline}{outer}{text[end - 1 :]}"


def _tail(body: str) -> str:
    return body[len(body.rstrip(BLANKS)) :]


def _render(value: Any, indent: str, unit: str, newline: str = "\n") -> str:
    text = json.dumps(value, indent=unit)
    return text.replace("\n", f"{newline}{indent}")


def _indent_at(text: str, place: int) -> str:
    """The blanks that the line of a place begins with."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """The indentation of the first member that has a line of its own; two blanks if there is none."""
    for line in text.split("\n"):
        if line.lstrip(" \t").startswith('"') and line[:1] in (" ", "\t"):
            return line[: len(line) - len(line.lstrip(" \t"))]
    return "    "


def _checked(path: str, text: str, wanted: Any) -> str:
    if read(path, text) != wanted:
        raise EngineError(f"{path} cannot be edited safely", "make this edit by hand; the file was left as it is")
    return text
