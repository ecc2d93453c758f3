"""status: which engines have our wrapper registered."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpu_oci_hook.cli.engines import add_engine, add_places, print_result, request_of
from gpu_oci_hook.cli.errors import FINE, PROBLEMS
from gpu_oci_hook.cli.options import new_command
from gpu_oci_hook.cli.render import Style, print_findings, table
from gpu_oci_hook.core.findings import ERROR, WARNING, worst
from gpu_oci_hook.engines import state
from gpu_oci_hook.engines.registry import NAMES

if TYPE_CHECKING:
    import argparse


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser = new_command(commands, "status", "show which engines have our wrapper registered")
    add_engine(parser, optional=True)
    add_places(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    request = request_of(args)
    states = [state.look(name, request) for name in ([args.engine] if args.engine else NAMES)]
    findings = [finding for each in states for finding in each.findings]
    changes = [change for each in states for change in each.changes]
    if args.json:
        print_result({"engines": [each.as_json() for each in states]}, changes, findings)
    else:
        rows = [(each.engine, each.describe(), each.config_file) for each in states]
        print("\n".join(table(rows, indent="")))
        print_findings(findings, Style(sys.stdout))
    return PROBLEMS if worst(findings) in (ERROR, WARNING) else FINE
