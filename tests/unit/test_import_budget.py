"""The create path's modules, by name: each costs every container of every node its start-up time."""

from __future__ import annotations

import subprocess
import sys

from tests.unit.conftest import REPOSITORY

OURS = {
    "gpu_oci_hook",
    "gpu_oci_hook.core",
    "gpu_oci_hook.core.argv",
    "gpu_oci_hook.core.devices",
    "gpu_oci_hook.core.findings",
    "gpu_oci_hook.core.glob",
    "gpu_oci_hook.core.jsontext",
    "gpu_oci_hook.core.links",
    "gpu_oci_hook.core.plan",
    "gpu_oci_hook.core.procfs",
    "gpu_oci_hook.core.request",
    "gpu_oci_hook.core.request.asks",
    "gpu_oci_hook.core.request.claim",
    "gpu_oci_hook.core.request.mounts",
    "gpu_oci_hook.core.request.nodes",
    "gpu_oci_hook.core.request.resolve",
    "gpu_oci_hook.core.request.rules",
    "gpu_oci_hook.core.request.variables",
    "gpu_oci_hook.core.rules",
    "gpu_oci_hook.core.spec",
    "gpu_oci_hook.core.spec_values",
    "gpu_oci_hook.host",
    "gpu_oci_hook.host.apply",
    "gpu_oci_hook.host.bundle",
    "gpu_oci_hook.host.inventory",
    "gpu_oci_hook.host.links",
    "gpu_oci_hook.host.paths",
    "gpu_oci_hook.host.settings",
    "gpu_oci_hook.runtime",
}
LIBRARY = {"__future__", "_json"}  # sys, posix and _signal are there before the first line runs


def test_the_create_path_imports_what_is_written_here() -> None:
    program = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1])\n"
        "import gpu_oci_hook.runtime\n"
        "print('\\n'.join(sorted(set(sys.modules) - before)))"
    )
    arguments = [sys.executable, "-I", "-S", "-c", program, str(REPOSITORY)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == OURS | LIBRARY
