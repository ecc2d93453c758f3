"""plan: what would be done for a bundle, undone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpu_oci_hook.cli.bundles import add_bundle, open_bundle
from gpu_oci_hook.cli.errors import FINE, PROBLEMS
from gpu_oci_hook.cli.options import context_of, new_command, settings_of
from gpu_oci_hook.cli.render import Style, count, print_findings, print_json, table
from gpu_oci_hook.core.devices import spell
from gpu_oci_hook.core.findings import ERROR, WARNING, printable, worst
from gpu_oci_hook.core.plan import KEEP, Plan, make_plan

if TYPE_CHECKING:
    import argparse

    from gpu_oci_hook.core.findings import Finding


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser = new_command(commands, "plan", "show the edits that a bundle needs, and make none")
    add_bundle(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    _, spec = open_bundle(args.bundle)
    plan = make_plan(spec, context_of(settings))
    if args.json:
        print_json(plan.as_json())
    else:
        print_plan(plan, Style(sys.stdout), "to be done")
    return exit_code(plan.findings)


def exit_code(findings: list[Finding]) -> int:
    """Notes are no problem; warnings and errors are."""
    return PROBLEMS if worst(findings) in (ERROR, WARNING) else FINE


def print_plan(plan: Plan, style: Style, state: str) -> None:
    """Devices, edits and findings for people; ``state`` says what the edits are (``to be done``, ``done``)."""
    if not plan.devices:
        print("No GPU is given to this container.")
    else:
        print(style.bold(f"Given to this container: {count(len(plan.devices), 'device')}"))
        for line in table((device.path, spell(device.number), device.source) for device in plan.devices):
            print(line)
    if plan.changes:
        print(style.bold(f"{count(len(plan.changes), 'edit')} {state}:"))
        for edit in plan.changes:
            print(f"  {printable(edit.describe())}")
    elif plan.devices and not plan.findings:
        kept = sum(link.action == KEEP for link in plan.links)
        print(style.green(f"Already covered: every rule is there, right links: {kept}."))
    print_findings(plan.findings, style)
