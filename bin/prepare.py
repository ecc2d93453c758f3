"""Started by bin/gpu-oci-runtime with -I -S, which leaves this folder out of sys.path.

Kept short, since Python compiles it anew at each start.
"""

import gc
import marshal
import posix
import sys

gc.disable()  # a process of some milliseconds, without cycles
folder = sys.argv[0].rpartition("/")[0]
sys.path.insert(0, folder)
try:
    descriptor = posix.open(f"{folder}/create-path.{sys.implementation.cache_tag}", posix.O_RDONLY | posix.O_CLOEXEC)
    loader, modules, later = marshal.loads(posix.read(descriptor, 1 << 24))  # noqa: S302  (root's own file)
except (OSError, EOFError, ValueError, TypeError):
    pass  # none for this interpreter: the plain modules do the same, slower
else:
    exec(loader)  # noqa: S102
    load(folder, modules, later)  # noqa: F821

from gpu_oci_hook.runtime import main  # noqa: E402

main(sys.argv[1:])
