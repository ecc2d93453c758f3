"""Files of the host below a root: read whole, replaced atomically with mode, owner and attributes kept."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from gpu_oci_hook.engines.errors import FAILED, EngineError
from gpu_oci_hook.host.paths import below, real_path

SIZE_MAX = 4 << 20  # an engine's configuration has a few KB


def read(root: str, path: str) -> bytes | None:
    """A file's content, or None if there is none. Raises EngineError for what is no file or cannot be read."""
    try:
        full = below(root, real_path(root, path))
        with open(full, "rb") as file:
            content = file.read(SIZE_MAX + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EngineError(f"{path} cannot be read: {error.strerror}", "run this as root") from error
    if len(content) > SIZE_MAX:
        raise EngineError(f"{path} is larger than {SIZE_MAX >> 20} MB, so it is no engine's configuration")
    return content


def replace(root: str, path: str, content: bytes) -> None:
    """Put content in a file's place at one instant; the file that a link points at, not the link.

    Folders must exist. A new file gets mode 0644. Raises EngineError; the old file stands then.
    """
    target = _target(root, path)
    temporary = f"{target}.gpu-oci-hook-{os.getpid()}"
    try:
        with _exclusive(temporary) as descriptor:
            _like(descriptor, target)
            _write(descriptor, content)
        os.rename(temporary, target)
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise EngineError(f"{path} cannot be written: {error.strerror}", "run this as root", FAILED) from error


def remove(root: str, path: str) -> None:
    """Take a file away. Raises EngineError."""
    try:
        os.unlink(below(root, path))
    except FileNotFoundError:
        pass
    except OSError as error:
        raise EngineError(f"{path} cannot be removed: {error.strerror}", "run this as root", FAILED) from error


def make_folders(root: str, path: str) -> list[str]:
    """Make the folders above a file; those that were made, outermost first. Raises EngineError."""
    missing: list[str] = []
    folder = os.path.dirname(path)
    while not os.path.isdir(below(root, folder)):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    for folder in missing:
        try:
            os.mkdir(below(root, folder), 0o755)
        except FileExistsError:
            pass
        except OSError as error:
            raise EngineError(f"{folder} cannot be made: {error.strerror}", "run this as root", FAILED) from error
    return missing


def remove_folders(root: str, folders: list[str]) -> None:
    """Take folders away that are empty, innermost first."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(below(root, folder))


def is_program(root: str, path: str) -> bool:
    try:
        full = below(root, real_path(root, path))
    except OSError:
        return False
    return os.path.isfile(full) and os.access(full, os.X_OK)


def _target(root: str, path: str) -> str:
    try:
        return below(root, real_path(root, path))
    except FileNotFoundError:
        return below(root, path)
    except OSError as error:
        raise EngineError(f"{path} cannot be followed: {error.strerror}") from error


@contextlib.contextmanager
def _exclusive(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _like(descriptor: int, target: str) -> None:
    """Give a new file the mode, owner and extended attributes (SELinux labels) of the one that it will replace."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        os.fchmod(descriptor, 0o644)
        return
    if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
    with contextlib.suppress(OSError):  # ENOTSUP: a filesystem without attributes
        for name in os.listxattr(target):
            os.setxattr(descriptor, name, os.getxattr(target, name))


def _write(descriptor: int, content: bytes) -> None:
    written = 0
    while written < len(content):
        written += os.write(descriptor, content[written:])
    os.fsync(descriptor)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
