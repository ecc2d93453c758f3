"""install: register our wrapper with a container engine."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from gpu_oci_hook.cli.engines import add_engine, add_places, print_changes, print_result, request_of
from gpu_oci_hook.cli.errors import FINE, CommandError
from gpu_oci_hook.cli.options import new_command
from gpu_oci_hook.cli.render import Style, print_findings
from gpu_oci_hook.engines import service, transaction
from gpu_oci_hook.engines.registry import engine_named

if TYPE_CHECKING:
    import argparse

    from gpu_oci_hook.engines.engine import Engine
    from gpu_oci_hook.engines.transaction import Outcome

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*$")  # what TOML has as bare keys, Kubernetes as handlers, docker as names


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser = new_command(commands, "install", "register our wrapper with a container engine")
    add_engine(parser)
    parser.add_argument("--runtime-name", metavar="NAME", default="gpu", help="the runtime's name (default: gpu)")
    parser.add_argument("--set-default", action="store_true", help="make it the engine's default runtime")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written")
    parser.add_argument("--restart", action="store_true", help="make the engine read its configuration")
    add_places(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    if not NAME.match(args.runtime_name):
        raise CommandError(f"{args.runtime_name!r} cannot be a runtime's name", "use letters, digits, - and _")
    engine = engine_named(args.engine, request_of(args, wrapper_needed=True))
    outcome = transaction.install(engine, args.dry_run)
    restarted = service.restart(engine) if args.restart and outcome.changed and not args.dry_run else ""
    if args.json:
        value = {
            "engine": engine.name,
            "runtime_name": args.runtime_name,
            "wrapper": engine.request.wrapper,
            "applied": outcome.changed and not args.dry_run,
            "checked": outcome.checked,
            "restarted": bool(restarted),
        }
        print_result(value, outcome.changes, outcome.findings)
    else:
        _print(engine, outcome, args.dry_run, restarted)
    return FINE


def _print(engine: Engine, outcome: Outcome, dry_run: bool, restarted: str) -> None:
    style = Style(sys.stdout)
    print_changes(outcome.changes, style, dry_run)
    if not outcome.changed:
        print(style.green(f"Registered already with {engine.name}: nothing was written."))
    elif not dry_run:
        seen = f", and {engine.name} itself confirms it" if outcome.checked else ""
        print(style.green(f"Registered with {engine.name}{seen}."))
        print_next_step(engine, restarted)
    print_findings(outcome.findings, style)


def print_next_step(engine: Engine, restarted: str, removal: bool = False) -> None:
    """What makes the engine read it: done, or to be done."""
    command = service.command(engine, removal)
    if restarted:
        print(f"Done: {restarted}")
    elif command:
        print(f"It counts after: {' '.join(command)} (or use --restart)")
