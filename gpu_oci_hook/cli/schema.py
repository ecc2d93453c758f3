"""schema: print a JSON schema of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpu_oci_hook import schemas
from gpu_oci_hook.cli.errors import FINE, CommandError
from gpu_oci_hook.cli.options import new_command
from gpu_oci_hook.cli.render import print_json

if TYPE_CHECKING:
    import argparse


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser = new_command(
        commands, "schema", "print a JSON schema: of a --json output, of settings, of config.json", False
    )
    parser.add_argument("name", metavar="NAME", help=f"one of: {', '.join(schemas.names())}")
    return parser


def run(args: argparse.Namespace) -> int:
    if args.name not in schemas.names():
        raise CommandError(f"there is no schema named {args.name}", f"there are: {', '.join(schemas.names())}")
    print_json(schemas.load(args.name))
    return FINE
