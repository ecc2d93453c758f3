"""Tiny ELF files made by hand: a header, one loadable segment over the whole file, and named sections."""

from __future__ import annotations

import struct

BASE = 0x400000
GO_MAGIC = b"\xff Go buildinf:"
MARK = bytes(range(16))
MODULE_TEXT = "path\t{path}\nmod\t{path}\t{version}\th1:abc=\nbuild\tGOOS=linux\n"


def elf_file(sections: dict[str, bytes], type_: int = 2) -> bytes:
    """A little-endian x86-64 file with these sections (type PROGBITS)."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in [*sections, ".shstrtab"])
    offset = 64 + 56
    body = b""
    headers = [struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)]
    for name, data in [*sections.items(), (".shstrtab", names)]:
        kind = 3 if name == ".shstrtab" else 1
        at = offset + len(body)
        name_at = names.index(b"\0" + name.encode() + b"\0") + 1
        headers.append(struct.pack("<IIQQQQIIQQ", name_at, kind, 2, BASE + at, at, len(data), 0, 0, 1, 0))
        body += data
    table = offset + len(body)
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = struct.pack(
        "<HHIQQQIHHHHHH", type_, 62, 1, BASE, 64, table, 0, 64, 56, 1, 64, len(headers), len(headers) - 1
    )
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, table, table, 4096)
    return identity + header + segment + body + b"".join(headers)


def module_text(path: str, version: str = "") -> bytes:
    text = MODULE_TEXT.format(path=path, version=version) if version else f"path\t{path}\nbuild\tGOOS=linux\n"
    return MARK + text.encode() + MARK


def varint(number: int) -> bytes:
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def go_inline(path: str, version: str = "", go: str = "go1.22.1") -> bytes:
    """As Go 1.18 and later write it."""
    texts = [go.encode(), module_text(path, version)]
    info = GO_MAGIC + bytes([8, 2]) + bytes(16) + b"".join(varint(len(text)) + text for text in texts)
    return elf_file({".go.buildinfo": info})


def go_pointers(path: str, version: str = "", go: str = "go1.17.9") -> bytes:
    """As Go before 1.18 writes it: addresses of two string headers, which have addresses and lengths."""
    texts = [go.encode(), module_text(path, version)]
    start = BASE + 64 + 56  # where the first section is
    headers_at = start + 32
    texts_at = headers_at + 32
    info = GO_MAGIC + bytes([8, 0]) + struct.pack("<QQ", headers_at, headers_at + 16)
    headers = struct.pack("<QQQQ", texts_at, len(texts[0]), texts_at + len(texts[0]), len(texts[1]))
    return elf_file({".go.buildinfo": info + headers + b"".join(texts)})


def needing(*libraries: str) -> bytes:
    """A file whose dynamic section asks for these libraries."""
    strings = b"\0" + b"".join(library.encode() + b"\0" for library in libraries)
    tags = b"".join(struct.pack("<QQ", 1, strings.index(library.encode())) for library in libraries) + bytes(16)
    data = bytearray(elf_file({".dynamic": tags, ".dynstr": strings}))
    table = struct.unpack_from("<Q", data, 40)[0]
    struct.pack_into("<I", data, table + 64 + 4, 6)  # SHT_DYNAMIC
    struct.pack_into("<I", data, table + 64 + 40, 2)  # its strings are in section 2
    struct.pack_into("<Q", data, table + 64 + 56, 16)
    struct.pack_into("<I", data, table + 128 + 4, 3)  # SHT_STRTAB
    return bytes(data)
