"""Making an engine read its configuration: said, or done when that was asked for."""

from __future__ import annotations

import os

from gpu_oci_hook.engines import programs
from gpu_oci_hook.engines.engine import Engine, NotAskedError
from gpu_oci_hook.engines.errors import FAILED, EngineError
from gpu_oci_hook.host.paths import below

FOLDERS = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)


def command(engine: Engine, removal: bool = False) -> list[str]:
    """The command that does it; empty for engines that read their configuration for each container."""
    if not engine.units:
        return []
    installed = [unit for unit in engine.units if _is_installed(engine.request.root, unit)]
    verb = engine.removal_verb if removal else engine.reload_verb
    return ["systemctl", verb, (installed or list(engine.units))[0]]


def restart(engine: Engine, removal: bool = False) -> str:
    """Do it; what was done, empty if there was nothing to do. Raises EngineError if it fails."""
    wanted = command(engine, removal)
    if not wanted:
        return ""
    try:
        done = programs.call(engine.request.root, [programs.find(engine.request.root, wanted[0]), *wanted[1:]])
    except NotAskedError as error:
        raise EngineError(f"{' '.join(wanted)}: {error}", "the registration stands; do this by hand", FAILED) from error
    if done.returncode != 0:
        words = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        hint = f"the registration stands; look at: journalctl -u {wanted[2]}"
        raise EngineError(f"{' '.join(wanted)} failed: {words}", hint, FAILED)
    return " ".join(wanted)


def _is_installed(root: str, unit: str) -> bool:
    return any(os.path.exists(below(root, f"{folder}/{unit}")) for folder in FOLDERS)
