"""What still names our runtime after it was taken away."""

from __future__ import annotations

import glob
import json
import os

from gpu_oci_hook.core.findings import Finding, warning
from gpu_oci_hook.engines.change import Change
from gpu_oci_hook.engines.engine import Engine
from gpu_oci_hook.engines.request import WRAPPER_NAME
from gpu_oci_hook.host.paths import below, read_text

# Files and folders in which engines keep what starts runtimes.
PLACES = (
    "/etc/containerd/**/*.toml",
    "/etc/docker/daemon.json",
    "/etc/crio/crio.conf",
    "/etc/crio/crio.conf.d/*",
    "/etc/containers/containers.conf",
    "/etc/containers/containers.conf.d/*.conf",
    "/etc/containers/oci/hooks.d/*.json",
    "/etc/nvidia-container-runtime/config.toml",
)
DOCKER_CONTAINERS = "/var/lib/docker/containers/*/hostconfig.json"


def find(engine: Engine, names: list[str], changes: list[Change]) -> list[Finding]:
    """Warnings for other files that name our wrapper, and for Docker's containers that remember the runtime."""
    root = engine.request.root
    after = {change.file: change.after for change in changes}
    found = []
    cut = len(below(root, "/")) - 1
    for pattern in PLACES:
        for path in sorted(glob.glob(below(root, pattern), recursive=True)):
            content = after.get(path[cut:], read_text(path).encode()) or b""
            if names_wrapper(content):
                found.append(_still(path[cut:]))
    return found + (_containers(root, names) if engine.name == "docker" else [])


def names_wrapper(content: bytes) -> bool:
    """Tell whether a configuration names our wrapper, comments aside."""
    lines = (line for line in content.split(b"\n") if not line.lstrip().startswith(b"#"))
    return any(WRAPPER_NAME.encode() in line for line in lines)


def _still(path: str) -> Finding:
    hint = "do not remove the program before that is gone: containers would not start"
    return warning("still-referred", path, "our wrapper is still named here", hint)


def _containers(root: str, names: list[str]) -> list[Finding]:
    """Docker keeps the runtime's name with each container (nvidia-container-toolkit#150)."""
    stuck = []
    for path in sorted(glob.glob(below(root, DOCKER_CONTAINERS))):
        try:
            if json.loads(read_text(path)).get("Runtime") in names:
                stuck.append(os.path.basename(os.path.dirname(path))[:12])
        except ValueError:
            continue
    if not stuck:
        return []
    shown = ", ".join(stuck[:5]) + (f" and {len(stuck) - 5} more" if len(stuck) > 5 else "")
    hint = "they will not start again: create them anew, or keep the runtime"
    return [warning("still-referred", "", f"containers of Docker remember the runtime: {shown}", hint)]
