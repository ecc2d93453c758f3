"""apply: what plan shows, done."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpu_oci_hook.cli.bundles import add_bundle, open_bundle
from gpu_oci_hook.cli.errors import PROBLEMS, CommandError
from gpu_oci_hook.cli.options import context_of, new_command, settings_of
from gpu_oci_hook.cli.plan import exit_code, print_plan
from gpu_oci_hook.cli.render import Style, print_json
from gpu_oci_hook.core.plan import make_plan
from gpu_oci_hook.host.apply import apply_plan
from gpu_oci_hook.host.bundle import ChangedError

if TYPE_CHECKING:
    import argparse


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser = new_command(commands, "apply", "make the edits that a bundle needs: links on the host, rules in its spec")
    add_bundle(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    file, spec = open_bundle(args.bundle)
    plan = make_plan(spec, context_of(settings))
    try:
        failed = apply_plan(plan, spec, file, settings.host_root)
    except ChangedError as error:
        raise CommandError(f"{file.path} was changed by somebody else meanwhile", "run it again", PROBLEMS) from error
    applied = not failed
    plan.findings += failed
    if args.json:
        print_json({**plan.as_json(), "applied": applied})
    else:
        print_plan(plan, Style(sys.stdout), "done" if applied else "tried")
    return PROBLEMS if failed else exit_code(plan.findings)
