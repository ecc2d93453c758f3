"""config.json: reading it, and replacing it so that at every instant it is the old one or the new one, whole."""

from __future__ import annotations

import posix

from gpu_oci_hook.host.paths import REGULAR, TYPE_MASK, join, parent, read_descriptor, real_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.host.paths import Stat

SIZE_MAX = 32 << 20  # specs have 4 to 40 KB; more than this is no spec that an engine wrote


class BundleError(OSError):
    """The spec cannot be read. ``message`` is a sentence, ``hint`` what helps."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ChangedError(OSError):
    """Somebody else has replaced config.json since it was read."""


class SpecFile:
    """The text of a spec and the state of the file that it was read from."""

    __slots__ = ("path", "state", "text")

    def __init__(self, path: str, text: str, state: Stat) -> None:
        self.path = path
        self.text = text
        self.state = state


def read_spec(path: str) -> SpecFile:
    """Read a spec as UTF-8 text. Raises BundleError, with a sentence that names the cause."""
    try:
        descriptor = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    except OSError as error:
        raise BundleError(
            f"{path} cannot be read: {error.strerror}", "name a folder that holds a config.json"
        ) from error
    try:
        state = posix.fstat(descriptor)
        if state.st_mode & TYPE_MASK != REGULAR:
            raise BundleError(f"{path} is not a regular file")
        content = read_descriptor(descriptor, SIZE_MAX + 1)
    except OSError as error:
        if isinstance(error, BundleError):
            raise
        raise BundleError(f"{path} cannot be read: {error.strerror}") from error
    finally:
        posix.close(descriptor)
    if len(content) > SIZE_MAX:
        raise BundleError(f"{path} is larger than {SIZE_MAX >> 20} MB", "no engine writes such a spec; it was not read")
    try:
        return SpecFile(path, content.decode("utf-8"), state)
    except UnicodeDecodeError as error:
        raise BundleError(f"{path} is not UTF-8 text: byte {error.start} is {content[error.start]:#04x}") from error


def replace_spec(file: SpecFile, text: str) -> None:
    """Put new text in the place of a spec that was read before, with its mode, owner and attributes.

    Raises ChangedError if the file is not the one that was read any more, and OSError if it cannot be written; the old
    file stands in both cases.
    """
    path = real_path("/", file.path)
    folder, name = parent(path), path.rpartition("/")[2]
    temporary = join(folder, f".{name}.gpu-oci-hook-{posix.getpid()}")
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC
    try:
        posix.unlink(temporary)  # of an earlier process with our number that was killed
    except FileNotFoundError:
        pass
    descriptor = posix.open(temporary, flags, 0o600)
    try:
        _write(descriptor, text.encode("utf-8"), file, path)
        if _identity(posix.stat(path)) != _identity(file.state):
            raise ChangedError(f"{path} has changed since it was read")
        posix.rename(temporary, path)
    except BaseException:
        posix.unlink(temporary)
        raise
    finally:
        posix.close(descriptor)


def _write(descriptor: int, content: bytes, file: SpecFile, path: str) -> None:
    written = 0
    while written < len(content):
        written += posix.write(descriptor, content[written:])
    state = file.state
    own = posix.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (state.st_uid, state.st_gid):
        posix.fchown(descriptor, state.st_uid, state.st_gid)
    posix.fchmod(descriptor, state.st_mode & 0o7777)
    for name in _attributes(path):
        posix.setxattr(descriptor, name, posix.getxattr(path, name))


def _attributes(path: str) -> list[str]:
    """Extended attributes (SELinux labels among them). Filesystems without any raise ENOTSUP."""
    try:
        return posix.listxattr(path)
    except OSError:
        return []


def _identity(state: Stat) -> tuple[int, int, int, int]:
    return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
