"""The links /dev/char/MAJOR:MINOR and /dev/block/MAJOR:MINOR: judging them, making them.

systemd below 240 stats them, runc 1.1.3 to 1.1.6 does for every systemd, later systemd reads the numbers from the
path's text. udev makes them for devices in sysfs, and NVIDIA's driver registers no device there.
"""

from __future__ import annotations

import posix

from gpu_oci_hook.core.devices import link_path
from gpu_oci_hook.core.links import BLOCKED, DANGLING, MISSING, RIGHT, WRONG, Link
from gpu_oci_hook.host.paths import DIRECTORY, LINK, TYPE_MASK, below, device_type, parent, real_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.devices import Number

TEMPORARY = ".gpu-oci-hook-"


def judge(root: str, number: Number) -> Link:
    """Whether a number's link leads to that device, whatever its form (relative, absolute, a node itself)."""
    path = link_path(number)
    try:
        mode = posix.lstat(below(root, path)).st_mode
    except FileNotFoundError:
        return Link(MISSING)
    except OSError as error:
        return Link(BLOCKED, f"its place cannot be examined: {error.strerror}")
    if mode & TYPE_MASK != LINK:
        right = device_type(mode) and leads_to(root, path, number)
        return Link(RIGHT) if right else Link(BLOCKED, _name_of(mode))
    text = posix.readlink(below(root, path))
    if leads_to(root, path, number):
        return Link(RIGHT, text)
    return Link(WRONG if _exists(root, path) else DANGLING, text)


def leads_to(root: str, path: str, number: Number) -> bool:
    """Whether a path of the host is, or leads to, the device of that number."""
    return number_at(root, path) == number


def number_at(root: str, path: str) -> Number | None:
    """The device that a path of the host is, or leads to."""
    try:
        state = posix.stat(below(root, real_path(root, path)))
    except OSError:
        return None
    kind = device_type(state.st_mode)
    return (kind, posix.major(state.st_rdev), posix.minor(state.st_rdev)) if kind else None


def make(root: str, number: Number, target: str) -> None:
    """Make or replace a link, at once and whole: at no instant is there none where there was one.

    Another process that makes the same right link at the same time is no error. Raises OSError.
    """
    path = below(root, link_path(number))
    _make_folder(parent(path))
    try:
        posix.symlink(target, path)
    except FileExistsError:
        if judge(root, number).state != RIGHT:
            _replace(path, target)


def _make_folder(folder: str) -> None:
    """Make /dev/char where there is none. What else may lie there, a dangling link say, shows in the next call."""
    try:
        posix.mkdir(folder, 0o755)
    except FileExistsError:
        pass


def _replace(path: str, target: str) -> None:
    folder, _, name = path.rpartition("/")
    temporary = f"{folder}/{TEMPORARY}{posix.getpid()}-{name}"
    try:
        posix.unlink(temporary)  # of an earlier process with our number that was killed
    except FileNotFoundError:
        pass
    posix.symlink(target, temporary)
    try:
        posix.rename(temporary, path)
    except OSError:
        posix.unlink(temporary)
        raise


def _exists(root: str, path: str) -> bool:
    try:
        real_path(root, path)
    except OSError:
        return False
    return True


def _name_of(mode: int) -> str:
    if mode & TYPE_MASK == DIRECTORY:
        return "a directory is in its place"
    return "a device node of another number is in its place" if device_type(mode) else "a file is in its place"
