"""explain: one container's state in words, its cause, and the one fix that applies."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpu_oci_hook.cli.audit import check_names
from gpu_oci_hook.cli.errors import FINE, PROBLEMS
from gpu_oci_hook.cli.options import new_command, settings_of
from gpu_oci_hook.cli.render import Style, print_findings
from gpu_oci_hook.running.judge import PROBLEMS as PROBLEM_VERDICTS

if TYPE_CHECKING:
    import argparse


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser = new_command(commands, "explain", "say why a container has lost its GPUs, or will, and what helps", False)
    parser.add_argument("container", metavar="CONTAINER", help="an id, its beginning, or a unit")
    return parser


def run(args: argparse.Namespace) -> int:
    from gpu_oci_hook.running.audit import audit
    from gpu_oci_hook.running.explain import explain
    from gpu_oci_hook.running.host import Host

    host = Host(settings_of(args))
    report = audit(host, [args.container])
    check_names(report, [args.container])
    style = Style(sys.stdout)
    for audited in report.containers:
        head, *lines = explain(audited, report, host)
        print(style.bold(head))
        for line in lines:
            print(f"  {line}")
        print_findings(audited.facts.evidence.findings, style)
    return PROBLEMS if any(each.verdict.name in PROBLEM_VERDICTS for each in report.containers) else FINE
