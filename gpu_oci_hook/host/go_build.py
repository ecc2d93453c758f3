"""Go's build information in an ELF file: the section .go.buildinfo, as debug/buildinfo reads it.

Go 1.18 and later have the texts in the section itself; before, it holds the addresses of two string headers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

MAGIC = b"\xff Go buildinf:"
HEADER = 32
INLINE = 2
BIG_ENDIAN = 1
TEXT_MAX = 1 << 20
MARKS = 16  # random bytes before and after the module text, so that it can be found in memory


class GoBuild(NamedTuple):
    """``path`` is the main package; ``module`` and ``version`` are empty where it was built without modules' info."""

    go: str
    path: str = ""
    module: str = ""
    version: str = ""


def go_build(elf: Any) -> GoBuild | None:
    """The build information of a Go program; None for other programs."""
    section = elf.get_section_by_name(".go.buildinfo")
    if section is None or section.compressed:
        return None
    data = section.data()
    if not data.startswith(MAGIC) or len(data) < HEADER:
        return None
    pointer_size, flags = data[14], data[15]
    go, module_text = _inline(data) if flags & INLINE else _by_pointers(elf, data, pointer_size, flags)
    return _parse(go.decode("utf-8", "replace"), module_text)


def _inline(data: bytes) -> tuple[bytes, bytes]:
    go, end = _text(data, HEADER)
    return go, _text(data, end)[0]


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    """A text with its length before it, as an unsigned varint; and where it ends."""
    length = shift = 0
    while at < len(data) and shift < 63:
        byte = data[at]
        at += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return data[at : at + length], at + length


def _by_pointers(elf: Any, data: bytes, size: int, flags: int) -> tuple[bytes, bytes]:
    if size not in (4, 8):
        return b"", b""
    order = "big" if flags & BIG_ENDIAN else "little"
    texts = []
    for at in (16, 16 + size):
        header = _memory(elf, _integer(data[at : at + size], order), 2 * size)
        texts.append(_memory(elf, _integer(header[:size], order), _integer(header[size:], order)))
    return texts[0], texts[1]


def _integer(data: bytes, order: Any) -> int:
    return int.from_bytes(data, order)


def _memory(elf: Any, address: int, length: int) -> bytes:
    """Bytes at an address of the loaded program; empty where no segment has them."""
    if not 0 < length <= TEXT_MAX:
        return b""
    for segment in elf.iter_segments():
        start = segment["p_vaddr"]
        if segment["p_type"] == "PT_LOAD" and start <= address and address + length <= start + segment["p_filesz"]:
            elf.stream.seek(segment["p_offset"] + address - start)
            return bytes(elf.stream.read(length))
    return b""


def _parse(go: str, text: bytes) -> GoBuild:
    if len(text) > 2 * MARKS and text[-MARKS - 1 : -MARKS] == b"\n":
        text = text[MARKS:-MARKS]
    path = module = version = ""
    for line in text.decode("utf-8", "replace").splitlines():
        key, *values = line.split("\t")
        if key == "path" and values:
            path = values[0]
        elif key == "mod" and len(values) > 1:
            module, version = values[:2]
    return GoBuild(go, path, module, version)
