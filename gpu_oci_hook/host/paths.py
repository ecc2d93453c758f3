"""Paths below a root, and reading small files, with posix alone (the create path has no os module)."""

from __future__ import annotations

import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    Stat = posix.stat_result

TYPE_MASK = 0o170000
CHARACTER, BLOCK, DIRECTORY, REGULAR, LINK = 0o020000, 0o060000, 0o040000, 0o100000, 0o120000
LINKS_MAX = 40  # as the kernel's


def below(root: str, path: str) -> str:
    """An absolute path of the host as seen from here: ``/host`` + ``/dev/nvidia0``."""
    return path if root in ("", "/") else root.rstrip("/") + path


def join(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def parent(path: str) -> str:
    return path.rpartition("/")[0] or ("/" if path.startswith("/") else ".")


def read_bytes(path: str, limit: int) -> bytes:
    """A file's content, up to limit bytes. Raises OSError."""
    descriptor = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    try:
        return read_descriptor(descriptor, limit)
    finally:
        posix.close(descriptor)


def read_descriptor(descriptor: int, limit: int) -> bytes:
    parts = []
    left = limit
    while left > 0:
        part = posix.read(descriptor, min(left, 1 << 20))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def read_text(path: str, limit: int = 1 << 20) -> str:
    """A small text file; empty when it cannot be read. Bytes that are no UTF-8 become question marks."""
    try:
        return read_bytes(path, limit).decode("utf-8", "replace")
    except OSError:
        return ""


def device_type(mode: int) -> str:
    """``c``, ``b``, or empty for what is no device."""
    kind = mode & TYPE_MASK
    return "c" if kind == CHARACTER else "b" if kind == BLOCK else ""


def real_path(root: str, path: str) -> str:
    """Where a path of the host ends after the links of its last component, staying below root.

    Absolute link texts are the host's own, so with a root of /host they must not be followed from here by the kernel.
    Raises OSError when the path does not exist or its links go in circles.
    """
    for _ in range(LINKS_MAX):
        full = below(root, path)
        if posix.lstat(full).st_mode & TYPE_MASK != LINK:
            return path
        text = posix.readlink(full)
        path = text if text.startswith("/") else join(parent(path), text)
    raise OSError(40, "too many levels of symbolic links", path)  # ELOOP
