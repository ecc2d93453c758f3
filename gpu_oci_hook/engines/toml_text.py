"""TOML that somebody else wrote: read with places of errors, edited line by line, comments and layout kept.

An edit adds or takes away lines and touches no others. Every result is parsed again and compared with what the edit was
to bring about, so a file is either changed as meant or left alone. Where lines cannot do it (inline tables), tomlkit
edits.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_oci_hook.engines.errors import EngineError

Keys = tuple[str, ...]

HEADER = re.compile(r"[ \t]*\[(?!\[)[^\r\n]*\][ \t]*(#[^\r\n]*)?\r?\n?$")
BARE = re.compile(r"[A-Za-z0-9_-]+$")


def decode(path: str, content: bytes) -> str:
    """TOML is UTF-8. Raises EngineError with the line and column of the first byte that is not."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise EngineError(f"{path}:{line}:{column} is not UTF-8 text", "it was left as it is") from error


def parse(path: str, text: str) -> dict[str, Any]:
    """The values of a TOML text, as plain dicts, lists and scalars. Raises EngineError with line and column."""
    import tomlkit
    from tomlkit.exceptions import ParseError, TOMLKitError

    try:
        values = plain(tomlkit.parse(text))
    except ParseError as error:
        reason = str(error).partition(" at line ")[0]
        raise EngineError(
            f"{path}:{error.line}:{error.col + 1} is not TOML: {reason}", "correct it first; it was left as it is"
        ) from error
    except (TOMLKitError, ValueError) as error:  # a key that stands twice has no place in tomlkit's errors
        raise EngineError(f"{path} is not TOML: {error}", "correct it first; it was left as it is") from error
    assert isinstance(values, dict)
    return values


def plain(value: Any) -> Any:
    """Values of tomlkit without what it knows of their layout."""
    if isinstance(value, Mapping):
        return {str(key): plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [plain(member) for member in value]
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return value
    return next(kind(value) for kind in (str, int, float) if isinstance(value, kind))


def get(values: Any, keys: Keys, default: Any = None) -> Any:
    """A member of nested tables, or the default where any of them is missing."""
    for key in keys:
        if not isinstance(values, Mapping) or key not in values:
            return default
        values = values[key]
    return values


def put(values: dict[str, Any], keys: Keys, value: Any) -> dict[str, Any]:
    """A copy of nested tables with one member set, or taken away if value is None."""
    result = copy.deepcopy(values)
    table = result
    for key in keys[:-1]:
        table = table.setdefault(key, {})
    if value is None:
        table.pop(keys[-1], None)
    else:
        table[keys[-1]] = value
    return result


def split_lines(text: str) -> list[str]:
    """Lines with their ends; str.splitlines would also split at form feeds and the like, which TOML does not."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def key_text(key: str) -> str:
    return key if BARE.match(key) else render(key)


def render(value: Any) -> str:
    """One value as TOML: text, number, boolean, or a list of these."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(render(member) for member in value)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key_text(key)} = {render(member)}' for key, member in value.items())}}}"
    if isinstance(value, str):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(value)


def tables(keys: Keys, values: Mapping[str, Any], indent: str = "") -> list[str]:
    """The lines of a table and the tables in it, with full headers."""
    scalars = {key: value for key, value in values.items() if not isinstance(value, Mapping)}
    lines = [f"{indent}[{'.'.join(map(key_text, keys))}]"]
    lines += [f"{indent}{key_text(key)} = {render(value)}" for key, value in scalars.items()]
    for key, value in values.items():
        if isinstance(value, Mapping):
            lines += ["", *tables((*keys, key), value, indent)]
    return lines


def headers(text: str) -> Iterator[tuple[int, Keys]]:
    """The numbers (from 0) of the lines that are table headers, and their keys.

    Lines of a multi-line string may look like one: those who use this check their result.
    """
    for number, line in enumerate(split_lines(text)):
        keys = header_keys(line)
        if keys:
            yield number, keys


def header_keys(line: str) -> Keys:
    """The keys of a line that is a table's header; none otherwise."""
    if not HEADER.match(line):
        return ()
    try:
        table: Any = parse("", line.strip())
    except EngineError:
        return ()
    keys: list[str] = []
    while isinstance(table, dict) and table:
        (key, table), *_ = table.items()
        keys.append(key)
    return tuple(keys)
