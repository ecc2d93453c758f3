"""Started by bin/gpu-oci-runtime with -I -S, which leaves this folder out of sys.path."""

import sys

sys.path.insert(0, sys.argv[0].rpartition("/")[0])

from gpu_oci_hook.runtime import main

main(sys.argv[1:])
