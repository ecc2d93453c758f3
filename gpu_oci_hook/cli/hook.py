"""hook: what an engine calls, as the administrator may call it by hand (bin/gpu-oci-hook takes a shorter way)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpu_oci_hook.cli.errors import FINE, PROBLEMS
from gpu_oci_hook.cli.options import new_command, settings_of
from gpu_oci_hook.hook import REFUSE, STAGES, Hook, run_hook
from gpu_oci_hook.host.settings import Settings
from gpu_oci_hook.host.settings_toml import SettingsError

if TYPE_CHECKING:
    import argparse


def add_parser(commands: Any) -> argparse.ArgumentParser:
    summary = "OCI hook: the state on standard input, or at precreate the spec, which goes on to standard output"
    parser = new_command(commands, "hook", summary, json=False)
    parser.add_argument("stage", metavar="STAGE", choices=STAGES, help=", ".join(STAGES))
    return parser


def run(args: argparse.Namespace) -> int:
    settings, problem = Settings(), ""
    try:
        settings = settings_of(args)
    except SettingsError as error:
        problem = f"{error.message}; the defaults are used"
    hook = Hook(args.stage, settings, problem)
    run_hook(hook)
    return PROBLEMS if hook.code == REFUSE else FINE
