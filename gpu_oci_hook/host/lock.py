"""One process at a time: a lock that ends with its holder, however that ends."""

from __future__ import annotations

import fcntl
import posix
import time

from gpu_oci_hook.host.paths import parent

PATIENCE = 10.0  # seconds; what the lock is for can be done twice, a container cannot wait for ever
PAUSES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)  # growing: hundreds may wait at once


class Lock:
    """Held inside a ``with`` block. Everybody goes in after PATIENCE, or where no lock can be made (not root)."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.descriptor = -1

    def __enter__(self) -> None:
        try:
            make_folder(parent(self.path))
            self.descriptor = posix.open(self.path, posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC, 0o600)
        except OSError:
            return
        until = time.monotonic() + PATIENCE
        attempt = 0
        while not self._taken() and time.monotonic() < until:
            time.sleep(PAUSES[min(attempt, len(PAUSES) - 1)])
            attempt += 1

    def __exit__(self, *_: object) -> None:
        if self.descriptor >= 0:
            posix.close(self.descriptor)

    def _taken(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def make_folder(path: str) -> None:
    """A folder that everybody may read, whatever the umask is. Raises OSError, but not where it is there already."""
    try:
        posix.mkdir(path, 0o755)
    except FileExistsError:
        return
    posix.chmod(path, 0o755)
