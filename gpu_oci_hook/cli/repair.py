"""repair: give running containers their GPUs back, without recreating them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpu_oci_hook.cli.audit import check_names
from gpu_oci_hook.cli.errors import FINE, PROBLEMS, CommandError
from gpu_oci_hook.cli.options import new_command, settings_of
from gpu_oci_hook.cli.render import Style, print_findings, print_json
from gpu_oci_hook.core.devices import spell

if TYPE_CHECKING:
    import argparse

    from gpu_oci_hook.running.repair import Outcome, Result


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser = new_command(commands, "repair", "complete the units of running containers, and check that it worked")
    parser.add_argument("container", nargs="*", metavar="CONTAINER", help="an id, its beginning, or a unit")
    parser.add_argument("--all", action="store_true", help="every container that needs it")
    parser.add_argument("--narrow", action="store_true", help="also close GPUs that a container was not given")
    parser.add_argument("--dry-run", action="store_true", help="show the exact calls, and make none")
    return parser


def run(args: argparse.Namespace) -> int:
    from gpu_oci_hook.running.host import Host
    from gpu_oci_hook.running.repair import repair

    if bool(args.container) == args.all:
        raise CommandError("repair wants containers, or --all", "gpu-oci-hook audit lists them")
    result = repair(Host(settings_of(args)), args.container, args.narrow, args.dry_run)
    check_names(result.report, args.container)
    if args.json:
        print_json(as_json(result, args.dry_run))
    else:
        _print(result, args.dry_run)
    return PROBLEMS if any(each.reason for each in result.outcomes) else FINE


def as_json(result: Result, dry_run: bool) -> dict[str, Any]:
    """The result as ``repair --json`` prints it (schemas/repair.json)."""
    return {
        "version": 1,
        "dry_run": dry_run,
        "repaired": [_done(each) for each in result.outcomes if not each.reason],
        "failed": [{"id": each.change.id, "reason": each.reason} for each in result.outcomes if each.reason],
        "links": [edit.as_json() for edit in result.links],
        "findings": [finding.as_json() for finding in result.findings],
    }


def _done(outcome: Outcome) -> dict[str, Any]:
    change = outcome.change
    return {
        "id": change.id,
        "unit": change.unit,
        "devices": [spell(number) for number in change.numbers],
        "call": change.describe() if change.properties else "",
    }


def _print(result: Result, dry_run: bool) -> None:
    style = Style(sys.stdout)
    for edit in result.links:
        print(f"{'to be done: ' if dry_run else ''}{edit.describe()}")
    for outcome in result.outcomes:
        change = outcome.change
        if outcome.reason:
            print(f"{style.red('failed')}    {change.id[:12]}: {outcome.reason}")
        elif dry_run:
            print(f"to be done: {change.describe()}")
        else:
            numbers = ", ".join(spell(number) for number in change.numbers)
            print(f"{style.green('repaired')}  {change.id[:12]}: {numbers or 'live list'}, checked")
    if not result.outcomes:
        print(style.green("Nothing to repair."))
    print_findings(result.findings, style)
