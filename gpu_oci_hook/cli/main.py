"""gpu-oci-hook: the administrator's program. Each command is a module of this package."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys

from gpu_oci_hook import __version__
from gpu_oci_hook.cli.errors import PROBLEMS, CommandError
from gpu_oci_hook.cli.options import add_common, check_root
from gpu_oci_hook.cli.render import Style
from gpu_oci_hook.core.findings import printable

# In the order in which --help shows them. Each module has add_parser(commands) and run(args) -> exit code; only the
# module of the command that was given is imported, so a command costs what it needs itself.
COMMANDS = (
    "validate",
    "plan",
    "apply",
    "hook",
    "links",
    "audit",
    "explain",
    "repair",
    "watch",
    "install",
    "uninstall",
    "status",
    "schema",
)


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code; errors are two short lines on standard error."""
    arguments = sys.argv[1:] if argv is None else argv
    _open_streams()
    args = build_parser(arguments).parse_args(arguments)
    try:
        if args.command != "hook":  # which never stops a container
            check_root(args)
        code = int(args.run(args))
        sys.stdout.flush()
    except BrokenPipeError:
        code = PROBLEMS
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        if getattr(args, "debug", False):
            raise
        code = report(error)
    _close_output()
    return code


def _open_streams() -> None:
    """Standard streams that the caller has closed are none for Python; and names in specs need not be UTF-8."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (open until we end)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _close_output() -> None:
    """Let Python end without a complaint of its own, and exit code 120, about output that nobody takes."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report(error: Exception) -> int:
    """Print an exception as one sentence and a hint; its exit code, 1 if it has none."""
    style = Style(sys.stderr)
    message, hint = getattr(error, "message", ""), getattr(error, "hint", "")
    if isinstance(error, OSError) and not message:
        message = error.strerror or str(error)
    if isinstance(error, ImportError):
        message = f"the Python library {error.name} is missing for {sys.executable}"
        hint = "install the distribution's package of it, or install this program with BUNDLE=yes"
    if not message:
        message, hint = f"internal error: {error!r}", "run it again with --debug and report what it says"
    print(f"{style.red('error:')} {printable(message)}", file=sys.stderr)
    if hint:
        print(f"{style.dim('hint:')}  {printable(hint)}", file=sys.stderr)
    return int(getattr(error, "code", None) or (2 if hasattr(error, "message") else PROBLEMS))


def build_parser(arguments: list[str]) -> argparse.ArgumentParser:
    """The parser for these arguments: with the commands that they name, or with all."""
    parser = argparse.ArgumentParser(
        prog="gpu-oci-hook",
        description="Keeps the GPUs of containers through every re-derivation of their device rules by systemd.",
        epilog="Exit codes: 0 fine, 1 problems found or something could not be done, 2 unusable input.",
    )
    parser.add_argument("--version", action="version", version=f"gpu-oci-hook {__version__}")
    add_common(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    named = [name for name in COMMANDS if name in arguments]
    for name in named or COMMANDS:  # more than one may be named: gpu-oci-hook schema audit
        module = importlib.import_module(f"gpu_oci_hook.cli.{name}")
        module.add_parser(commands).set_defaults(run=module.run)
    return parser


__all__ = ["COMMANDS", "CommandError", "build_parser", "main", "report"]

if __name__ == "__main__":
    sys.exit(main())
