"""What install, uninstall and status share: the engine on the command line, and how changes are shown."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from gpu_oci_hook.cli.errors import CommandError
from gpu_oci_hook.cli.options import settings_of
from gpu_oci_hook.cli.render import Style, print_json
from gpu_oci_hook.engines.change import KEEP
from gpu_oci_hook.engines.files import is_program
from gpu_oci_hook.engines.registry import NAMES
from gpu_oci_hook.engines.request import WRAPPER_NAME, Request

if TYPE_CHECKING:
    import argparse

    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.engines.change import Change


def add_engine(parser: argparse.ArgumentParser, optional: bool = False) -> None:
    parser.add_argument(
        "engine", metavar="ENGINE", choices=NAMES, nargs="?" if optional else None, help=", ".join(NAMES)
    )


def add_places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config-path", metavar="FILE", default="", help="the engine's configuration, where it is not the usual one"
    )
    parser.add_argument(
        "--wrapper", metavar="FILE", default="", help=f"our wrapper (default: {WRAPPER_NAME} beside this program)"
    )


def request_of(args: argparse.Namespace, wrapper_needed: bool = False) -> Request:
    """What a command line asks for. Raises CommandError for paths that cannot be used."""
    settings = settings_of(args)
    if args.config_path and not args.config_path.startswith("/"):
        raise CommandError(f"--config-path {args.config_path} is no absolute path", "name it as the host names it")
    request = Request(
        wrapper=args.wrapper or own_wrapper(),
        runtime_name=getattr(args, "runtime_name", "gpu"),
        set_default=getattr(args, "set_default", False),
        config_path=args.config_path,
        root=settings.host_root,
        runtimes=tuple(settings.runtimes),
    )
    if wrapper_needed and not is_program(request.root, request.wrapper):
        root = "" if request.root in ("", "/") else request.root
        where, destination = (f" below {root}", f" DESTDIR={root}") if root else ("", "")
        raise CommandError(
            f"there is no program {request.wrapper}{where}, and containers would not start with it missing",
            f"install it first (make install{destination}), or name it with --wrapper",
        )
    return request


def own_wrapper() -> str:
    """Our wrapper, as `make install` puts it: PREFIX/bin, where this package is in PREFIX/lib/gpu-oci-hook."""
    library = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    prefix = os.path.dirname(os.path.dirname(library))
    beside = os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), WRAPPER_NAME)
    return beside if os.path.exists(beside) else os.path.join(prefix, "bin", WRAPPER_NAME)


def print_changes(changes: list[Change], style: Style, dry_run: bool) -> None:
    """The changes for people: the diff of each in a dry run, else one line."""
    for change in changes:
        if change.action == KEEP:
            continue
        print(style.bold(f"{'would ' if dry_run else ''}{change.describe()}"))
        if dry_run:
            print("".join(f"{_paint(line, style)}\n" for line in change.diff().splitlines()), end="")


def _paint(line: str, style: Style) -> str:
    paint = {"+": style.green, "-": style.red, "@": style.dim}.get(line[:1])
    return paint(line) if paint else line


def print_result(value: dict[str, Any], changes: list[Change], findings: list[Finding]) -> None:
    """The one JSON object of a command."""
    shown = [change.as_json() for change in changes if change.action != KEEP]
    print_json({"version": 1, **value, "changes": shown, "findings": [finding.as_json() for finding in findings]})
