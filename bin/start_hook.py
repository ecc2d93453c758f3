"""Started by bin/gpu-oci-hook with -I -S, which leaves this folder out of sys.path."""

import sys

sys.path.insert(0, sys.argv[0].rpartition("/")[0])

from gpu_oci_hook.hook import main

main(sys.argv[1:])
