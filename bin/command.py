"""The administrator's program. The libraries that it needs lie beside its package, or are the distribution's own."""

import sys

sys.path.insert(0, sys.argv[0].rpartition("/")[0])

from gpu_oci_hook.cli.main import main

sys.exit(main())
