"""JSON text that is understood and edited without being written anew.

config.json belongs to the engine: every field, number and blank that is not ours stays as it is. So the text is parsed
for its values and for the places of a few of them, and edits are spliced in. The C scanner of the standard library does
the work; the json package itself would load re and enum (9 ms that the create path does not have).
"""

from __future__ import annotations

from _json import make_scanner, scanstring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Span = tuple[int, int]
    Path = tuple[str, ...]

BLANKS = " \t\n\r"


class JsonTextError(ValueError):
    """The text is not JSON that all readers understand alike. ``offset`` counts characters from the start."""

    def __init__(self, message: str, offset: int = -1) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class Document:
    """A parsed JSON text: its value, and where in the text the watched objects' members stand."""

    __slots__ = ("spans", "text", "value")

    def __init__(self, text: str, value: Any, spans: dict[Path, Span]) -> None:
        self.text = text
        self.value = value
        self.spans = spans


def parse(text: str, watch: tuple[Path, ...] = ()) -> Document:
    """Parse the text of one JSON value, and find the members on the watched paths.

    Raises JsonTextError for what is not JSON, for a key that stands twice in one object (readers differ about which one
    counts), for NaN and Infinity, and for nesting that exhausts the stack.
    """
    try:
        value, end, spans = _parse(text, watch)
    except SystemError:  # Python 3.11's scanner fails to raise while json.decoder is not loaded
        import json.decoder  # noqa: F401

        value, end, spans = _parse(text, watch)
    rest = _skip(text, end)
    if rest != len(text):
        raise JsonTextError("there is text after the end of the value", rest)
    return Document(text, value, spans)


def line_and_column(text: str, offset: int) -> Span:
    """The place of an offset as editors count it, both from 1."""
    line = text.count("\n", 0, offset) + 1
    return line, offset - text.rfind("\n", 0, offset)


def quote(text: str) -> str:
    """Text as a JSON string, in ASCII."""
    out = ['"']
    for char in text:
        code = ord(char)
        if char in '"\\':
            out.append("\\" + char)
        elif 0x20 <= code < 0x7F:
            out.append(char)
        elif code > 0xFFFF:
            code -= 0x10000
            out.append(f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}")
        else:
            out.append(f"\\u{code:04x}")
    return "".join(out) + '"'


def _parse(text: str, watch: tuple[Path, ...]) -> tuple[Any, int, dict[Path, Span]]:
    spans: dict[Path, Span] = {}
    try:
        value, end = _value(text, _skip(text, 0), (), watch, spans)
    except StopIteration as stop:
        raise JsonTextError("a value is missing", stop.value if isinstance(stop.value, int) else -1) from None
    except RecursionError:
        raise JsonTextError("it is nested too deeply") from None
    except JsonTextError:
        raise
    except ValueError as error:  # json.JSONDecodeError, which the C scanner raises
        raise JsonTextError(getattr(error, "msg", str(error)), getattr(error, "pos", -1)) from None
    return value, end, spans


def _value(text: str, i: int, path: Path, watch: tuple[Path, ...], spans: dict[Path, Span]) -> tuple[Any, int]:
    deeper = any(len(wanted) > len(path) and wanted[: len(path)] == path for wanted in watch)
    if deeper and text[i : i + 1] == "{":
        return _object(text, i, path, watch, spans)
    value, end = _scan(text, i)
    return value, end


def _object(text: str, i: int, path: Path, watch: tuple[Path, ...], spans: dict[Path, Span]) -> tuple[Any, int]:
    """Walk one object by hand, for the places of its members."""
    found: dict[str, Any] = {}
    i = _skip(text, i + 1)
    if text[i : i + 1] == "}":
        return found, i + 1
    while True:
        if text[i : i + 1] != '"':
            raise JsonTextError("a key in double quotes is missing", i)
        key, i = scanstring(text, i + 1, True)
        i = _skip(text, i)
        if text[i : i + 1] != ":":
            raise JsonTextError("a colon is missing", i)
        start = _skip(text, i + 1)
        if key in found:
            raise JsonTextError(f"the key {key!r} stands twice in one object", start)
        member = (*path, key)
        found[key], i = _value(text, start, member, watch, spans)
        if any(wanted[: len(member)] == member for wanted in watch):
            spans[member] = (start, i)
        i = _skip(text, i)
        after = text[i : i + 1]
        if after == "}":
            return found, i + 1
        if after != ",":
            raise JsonTextError("a comma or a closing brace is missing", i)
        i = _skip(text, i + 1)


def _skip(text: str, i: int) -> int:
    end = len(text)
    while i < end and text[i] in BLANKS:
        i += 1
    return i


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise JsonTextError(f"the key {twice!r} stands twice in one object")
    return found


def _constant(name: str) -> Any:
    raise JsonTextError(f"{name} is no JSON number")


class _Context:
    """What the C scanner asks of its maker."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_pairs)
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_constant)
    memo: dict[str, str] = {}  # noqa: RUF012  (an attribute that the scanner wants to see)


_scan = make_scanner(_Context)  # type: ignore[arg-type]  # typeshed has the maker take itself
