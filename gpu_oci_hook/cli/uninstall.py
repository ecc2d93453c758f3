"""uninstall: take our registration with a container engine away."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpu_oci_hook.cli.engines import add_engine, add_places, print_changes, print_result, request_of
from gpu_oci_hook.cli.errors import FINE, PROBLEMS
from gpu_oci_hook.cli.install import print_next_step
from gpu_oci_hook.cli.options import new_command
from gpu_oci_hook.cli.render import Style, print_findings
from gpu_oci_hook.core.findings import WARNING, worst
from gpu_oci_hook.engines import references, service, transaction
from gpu_oci_hook.engines.registry import engine_named

if TYPE_CHECKING:
    import argparse


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser = new_command(commands, "uninstall", "take our registration with a container engine away")
    add_engine(parser)
    parser.add_argument("--dry-run", action="store_true", help="show what would be written")
    parser.add_argument("--restart", action="store_true", help="make the engine read its configuration")
    add_places(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    engine = engine_named(args.engine, request_of(args))
    names = list(engine.registered())
    outcome = transaction.uninstall(engine, args.dry_run)
    outcome.findings += references.find(engine, names, outcome.changes)
    restarted = service.restart(engine, removal=True) if args.restart and outcome.changed and not args.dry_run else ""
    if args.json:
        value = {
            "engine": engine.name,
            "applied": outcome.changed and not args.dry_run,
            "checked": outcome.checked,
            "restarted": bool(restarted),
        }
        print_result(value, outcome.changes, outcome.findings)
        return PROBLEMS if worst(outcome.findings) == WARNING else FINE
    style = Style(sys.stdout)
    print_changes(outcome.changes, style, args.dry_run)
    if not outcome.changed:
        print(f"Nothing of ours is registered with {engine.name}.")
    elif not args.dry_run:
        print(style.green(f"Taken away from {engine.name}."))
        print_next_step(engine, restarted, removal=True)
    print_findings(outcome.findings, style)
    return PROBLEMS if worst(outcome.findings) == WARNING else FINE
