"""links: the /dev/char links of every node of the host, for boot and for udev."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpu_oci_hook.cli.errors import FINE, PROBLEMS
from gpu_oci_hook.cli.options import inventory_of, new_command, settings_of
from gpu_oci_hook.cli.render import Style, count, print_findings, print_json, table
from gpu_oci_hook.core.findings import NOTE
from gpu_oci_hook.core.plan import SKIP, blocked_link, link_edit
from gpu_oci_hook.host.apply import apply_links

if TYPE_CHECKING:
    import argparse

    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.plan import LinkEdit


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser = new_command(commands, "links", "make the /dev/char link of every GPU node of the host")
    parser.add_argument("--dry-run", action="store_true", help="show what would be done")
    return parser


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    inventory = inventory_of(settings)
    edits = [link_edit(node, inventory) for node in inventory.nodes()]
    findings = [blocked_link(edit) for edit in edits if edit.action == SKIP]
    if not args.dry_run:
        findings += apply_links(edits, settings.host_root)
    if args.json:
        print_json(
            {
                "version": 1,
                "links": [edit.as_json() for edit in edits],
                "findings": [finding.as_json() for finding in findings],
            }
        )
    else:
        _print(edits, findings, args.dry_run)
    return PROBLEMS if any(finding.severity != NOTE for finding in findings) else FINE


def _print(edits: list[LinkEdit], findings: list[Finding], dry_run: bool) -> None:
    style = Style(sys.stdout)
    if not edits:
        print("This host has no GPU node, so there is nothing to link.")
    failed = {finding.path for finding in findings if finding.code == "link-failed"}
    changed = [edit for edit in edits if edit.action in ("create", "replace") and edit.path not in failed]
    for line in table((edit.action, edit.path, f"-> {edit.target}", edit.reason) for edit in changed):
        print(line)
    kept = sum(edit.action == "keep" for edit in edits)
    if edits:
        print(style.bold(f"{count(len(changed), 'link')} {'to make' if dry_run else 'made'}, {kept} right already."))
    print_findings(findings, style)
