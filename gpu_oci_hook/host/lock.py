"""One process at a time: a lock that ends with its holder, however that ends."""

from __future__ import annotations

import fcntl
import posix

from gpu_oci_hook.host.paths import parent


class Lock:
    """Held inside a ``with`` block. Where the lock file cannot be made (not root), everybody goes in."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.descriptor = -1

    def __enter__(self) -> None:
        try:
            if not _is_folder(parent(self.path)):
                posix.mkdir(parent(self.path), 0o755)
        except OSError:
            pass
        try:
            self.descriptor = posix.open(self.path, posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC, 0o600)
        except OSError:
            return
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        if self.descriptor >= 0:
            posix.close(self.descriptor)


def _is_folder(path: str) -> bool:
    try:
        posix.listdir(path)
    except OSError:
        return False
    return True
