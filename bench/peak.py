"""Peak resident memory of the create path. Runs inside the lab: ``peak.py PREPARE ARGUMENTS...`` prints KiB.

VmHWM is asked for in the process itself, just before it ends: what wait4 tells of a child holds its parent's pages too.
"""

from __future__ import annotations

import posix
import sys


def tell(_: int) -> None:
    descriptor = posix.open("/proc/self/status", posix.O_RDONLY)
    lines = posix.read(descriptor, 1 << 16).decode().splitlines()
    posix.write(1, next(line for line in lines if line.startswith("VmHWM")).encode())
    end(0)


end = posix._exit
posix._exit = tell  # type: ignore[assignment]
if len(sys.argv) == 1:
    tell(0)
sys.argv = sys.argv[1:]
descriptor = posix.open(sys.argv[0], posix.O_RDONLY)
exec(posix.read(descriptor, 1 << 16))
