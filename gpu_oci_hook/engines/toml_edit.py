"""The four edits of a TOML text: add a table, take one away, set a value, put an item first in a list."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.toml_text import (
    Keys,
    get,
    headers,
    key_text,
    newline_of,
    parse,
    put,
    render,
    split_lines,
    tables,
)

MARK = "# gpu-oci-hook:"  # begins the comment above what we add, by which we know it again


def add_table(path: str, text: str, keys: Keys, values: Mapping[str, Any], comment: str) -> str:
    """Add a table that is not there yet, at the end of the text. Raises EngineError if that cannot be done safely."""
    wanted = put(parse(path, text), keys, dict(values))
    block = [f"{MARK} {comment}", *tables(keys, values)]
    ways = (lambda: _append(text, block), lambda: _with_tomlkit(text, keys, dict(values)))
    return _first_right(path, wanted, ways, f"add [{'.'.join(map(key_text, keys))}]")


def remove_table(path: str, text: str, keys: Keys) -> str:
    """Take a table away, with the tables in it and our comment above it. Raises EngineError."""
    wanted = _without(parse(path, text), keys)
    ways = (lambda: _cut(text, keys), lambda: _with_tomlkit(text, keys, None))
    return _first_right(path, wanted, ways, f"remove [{'.'.join(map(key_text, keys))}]")


def set_value(path: str, text: str, keys: Keys, value: Any) -> str:
    """Set a value in its place, or add it below its table's header; None takes it away. Raises EngineError."""
    values = parse(path, text)
    if get(values, keys) == value:
        return text
    wanted = _without(values, keys) if value is None else put(values, keys, value)
    ways = (
        lambda: _replace_line(text, keys, value),
        lambda: _insert_line(text, keys, value),
        lambda: _append(text, tables(keys[:-1], {keys[-1]: value})) if value is not None else None,
        lambda: _with_tomlkit(text, keys, value),
    )
    return _first_right(path, wanted, ways, f"set {'.'.join(map(key_text, keys))}")


def put_first(path: str, text: str, keys: Keys, item: str) -> str:
    """Put an item first in a list that is there; a list over several lines keeps its comments. Raises EngineError."""
    values = parse(path, text)
    old = get(values, keys)
    wanted = put(values, keys, [item, *(member for member in old if member != item)])
    ways = (lambda: _insert_item(text, keys, item), lambda: _with_tomlkit(text, keys, get(wanted, keys)))
    return _first_right(path, wanted, ways, f"edit {'.'.join(map(key_text, keys))}")


def remove_item(path: str, text: str, keys: Keys, item: str) -> str:
    """Take an item out of a list, with its comma. Raises EngineError."""
    values = parse(path, text)
    wanted = put(values, keys, [member for member in get(values, keys) if member != item])
    ways = (lambda: _cut_item(text, keys, item), lambda: _with_tomlkit(text, keys, get(wanted, keys)))
    return _first_right(path, wanted, ways, f"edit {'.'.join(map(key_text, keys))}")


def _first_right(path: str, wanted: Any, ways: tuple[Callable[[], str | None], ...], what: str) -> str:
    from tomlkit.exceptions import TOMLKitError

    for way in ways:
        try:
            text = way()
            if text is not None and _same(parse(path, text), wanted):
                return text
        except (EngineError, TOMLKitError, KeyError, TypeError, ValueError, AttributeError):
            continue
    raise EngineError(f"{path} cannot be edited safely: {what}", "make this edit by hand; the file was left as it is")


def _same(left: Any, right: Any) -> bool:
    """Equal, where a table without members is no different from none: headers above an entry come and go with it."""
    return bool(without_empty(left) == without_empty(right))


def without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    members = {key: without_empty(member) for key, member in value.items()}
    return {key: member for key, member in members.items() if member != {}}


def _without(values: dict[str, Any], keys: Keys) -> dict[str, Any]:
    return put(values, keys, None) if get(values, keys) is not None else values


def _append(text: str, block: list[str]) -> str:
    newline = newline_of(text)
    gap = "" if not text or text.endswith(("\n\n", "\n\r\n")) else newline
    end = "" if not text or text.endswith("\n") else newline
    return f"{text}{end}{gap}{newline.join(block)}{newline}"


def _cut(text: str, keys: Keys) -> str:
    """Cut the lines of a table and of those in it, the mark and the blank line above."""
    lines = split_lines(text)
    found = list(headers(text))
    kept: list[str] = []
    position = 0
    for (start, name), (end, _) in zip(found, [*found[1:], (len(lines), ())]):
        if name[: len(keys)] != keys:
            continue
        kept += lines[position:start]
        if kept and kept[-1].startswith(MARK):
            kept.pop()
            if kept and not kept[-1].strip():
                kept.pop()
        position = _end_of_table(lines, start, end)
    kept += lines[position:]
    return "".join(kept)


def _end_of_table(lines: list[str], start: int, end: int) -> int:
    """Where a table ends: what stands directly above the next header (comments, a blank line) belongs to that one."""
    last = max((number for number in range(start, end) if lines[number].strip()[:1] not in ("", "#")), default=start)
    return last + 1


def _section(text: str, keys: Keys) -> tuple[int, int]:
    """The lines below a table's header, up to the next one. Raises KeyError if it has no header."""
    found = list(headers(text))
    count = len(split_lines(text))
    for index, (start, name) in enumerate(found):
        if name == keys:
            return start + 1, found[index + 1][0] if index + 1 < len(found) else count
    if not keys:
        return 0, found[0][0] if found else count
    raise KeyError(keys)


def _replace_line(text: str, keys: Keys, value: Any) -> str | None:
    lines = split_lines(text)
    start, end = _section(text, keys[:-1])
    pattern = re.compile(
        rf"([ \t]*{_key_pattern(keys[-1])}[ \t]*=[ \t]*)(\"[^\"\\]*\"|'[^']*'|[a-z0-9]+|\[[^\[\]#\r\n]*\])"
    )
    for number in range(start, end):
        found = pattern.match(lines[number])
        if found:
            line = lines[number]
            lines[number] = "" if value is None else f"{found[1]}{render(value)}{line[found.end() :]}"
            return "".join(lines)
    return None


def _insert_line(text: str, keys: Keys, value: Any) -> str | None:
    if value is None:
        return None
    lines = split_lines(text)
    start, end = _section(text, keys[:-1])
    following = next((line for line in lines[start:end] if line.strip()), "")
    header = lines[start - 1] if start else ""
    model = following if following.strip() and following.strip()[0] != "#" else header
    indent = model[: len(model) - len(model.lstrip())]
    newline = newline_of(text)
    if start and not header.endswith("\n"):
        lines[start - 1] += newline
    lines.insert(start, f"{indent}{key_text(keys[-1])} = {render(value)}{newline}")
    return "".join(lines)


def _insert_item(text: str, keys: Keys, item: str) -> str | None:
    lines = split_lines(text)
    start, end = _section(text, keys[:-1])
    pattern = re.compile(rf"[ \t]*{_key_pattern(keys[-1])}[ \t]*=[ \t]*\[")
    for number in range(start, end):
        found = pattern.match(lines[number])
        if not found:
            continue
        rest = lines[number][found.end() :]
        if rest.strip() and rest.strip()[0] != "#":
            space = "" if rest.lstrip().startswith("]") else ", "
            lines[number] = f"{found[0]}{render(item)}{space}{rest.lstrip() if space else rest}"
        else:
            indent = lines[number + 1][: len(lines[number + 1]) - len(lines[number + 1].lstrip())]
            lines.insert(number + 1, f"{indent}{render(item)},{newline_of(text)}")
        return "".join(lines)
    return None


def _cut_item(text: str, keys: Keys, item: str) -> str:
    lines = split_lines(text)
    start, end = _section(text, keys[:-1])
    quoted = f"(?:{re.escape(render(item))}|'{re.escape(item)}')"
    section = "".join(lines[start:end])
    for pattern in (rf"(?m)^[ \t]*{quoted}[ \t]*,?[ \t]*\r?\n", rf"{quoted}[ \t]*,[ \t]*", rf"(,[ \t]*)?{quoted}"):
        cut, count = re.subn(pattern, "", section)
        if count == 1:
            return "".join([*lines[:start], cut, *lines[end:]])
    raise KeyError(item)


def _key_pattern(key: str) -> str:
    return rf"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')"


def _with_tomlkit(text: str, keys: Keys, value: Any) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    table: Any = document
    for key in keys[:-1]:
        if key not in table:
            table[key] = {}
        table = table[key]
    if value is None:
        del table[keys[-1]]
    else:
        table[keys[-1]] = _inline(value) if _is_inline(table) else value
    return tomlkit.dumps(document)


def _is_inline(table: Any) -> bool:
    import tomlkit.items

    return isinstance(table, tomlkit.items.InlineTable)


def _inline(value: Any) -> Any:
    import tomlkit

    if not isinstance(value, dict):
        return value
    table = tomlkit.inline_table()
    table.update({key: _inline(member) for key, member in value.items()})
    return table
