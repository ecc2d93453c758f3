"""Options that all commands share, and what they stand for."""

from __future__ import annotations

import argparse
import os
import shutil
from typing import Any

from gpu_oci_hook.cli.errors import CommandError
from gpu_oci_hook.core.request import Context
from gpu_oci_hook.host.inventory import Inventory
from gpu_oci_hook.host.settings import Settings

# As in bin/gpu-oci-runtime.
USUAL_PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def new_command(commands: Any, name: str, summary: str, json: bool = True) -> argparse.ArgumentParser:
    """A parser for one command, with the common options. ``commands`` is what argparse's add_subparsers gave."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
    add_common(parser)
    if json:
        parser.add_argument("--json", action="store_true", help="print one JSON object (gpu-oci-hook schema NAME)")
    return parser


def add_common(parser: argparse.ArgumentParser) -> None:
    """Options that may stand before or after the command; the one after it wins."""
    unset = argparse.SUPPRESS
    parser.add_argument(
        "--config", metavar="FILE", default=unset, help="settings (default: /etc/gpu-oci-hook/config.toml)"
    )
    parser.add_argument(
        "--root", metavar="DIR", default=unset, help="where the host's /dev, /proc and /etc are (host_root)"
    )
    parser.add_argument("--debug", action="store_true", default=unset, help="show tracebacks")


def check_root(args: argparse.Namespace) -> None:
    """Raises CommandError for a --root that is no folder: all below it would pass for absent."""
    root = getattr(args, "root", "/")
    if not os.path.isdir(root):
        raise CommandError(f"--root {root} is no folder", "name the folder that has the host's dev, proc and etc")


def settings_of(args: argparse.Namespace) -> Settings:
    """The settings that a command line asks for. Raises host.settings_toml.SettingsError."""
    from gpu_oci_hook.host.settings_toml import load

    settings = load(getattr(args, "config", None))
    settings.host_root = getattr(args, "root", settings.host_root)
    return settings


def inventory_of(settings: Settings) -> Inventory:
    return Inventory(settings.host_root, settings.driver_roots, settings.families)


def context_of(settings: Settings, runtime: str = "") -> Context:
    """What a bundle is judged with: this host, the settings, and the runtime that the wrapper would hand over to."""
    runtime = runtime or _next_runtime(settings.runtimes)
    return Context(inventory_of(settings), settings.access, settings.policy, runtime)


def _next_runtime(names: list[str]) -> str:
    """The first of the settings' runtimes that is there; what the launcher finds, but for its guard against circles."""
    places = os.pathsep.join([os.environ.get("PATH", ""), USUAL_PLACES])
    return next((path for path in (shutil.which(name, path=places) for name in names) if path), "")
