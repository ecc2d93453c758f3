"""The command lines of runc and crun, as their engines write them.

runc parses with Go's flag package (one dash or two, ``--opt=V`` or ``--opt V``, options after the container id too),
crun with argp (the same, and ``-bDIR``). bin/gpu-oci-runtime holds the shorter twin of ``find_command`` in sh.
"""

from __future__ import annotations

# Global options that take a value: runc 1.0 to 1.5 (--criu up to 1.1) and crun 0.17 to 1.28.
GLOBAL_VALUES = ("root", "log", "log-format", "log-level", "criu", "rootless", "cgroup-manager")
# Options of create and run that take a value; -b and -f are the short forms of bundle and (crun) config.
COMMAND_VALUES = ("bundle", "b", "config", "f", "console-socket", "pidfd-socket", "pid-file", "preserve-fds")
SHORT = {"b": "bundle", "f": "config"}


class CommandLine:
    """What a runtime's command line says. Paths are as given; ``bundle`` is ``.`` when none is."""

    __slots__ = ("bundle", "command", "container", "log", "log_format", "spec_file")

    def __init__(self) -> None:
        self.command = ""
        self.bundle = "."
        self.spec_file = ""
        self.container = ""
        self.log = ""
        self.log_format = "text"

    def config_path(self) -> str:
        """The spec's file: crun's ``--config``, otherwise config.json in the bundle.

        crun takes a path from where it is called, but the plain name ``config.json`` (its default) from the bundle.
        """
        if self.spec_file in ("", "config.json"):
            return f"{self.bundle}/config.json"
        return self.spec_file


def find_command(args: list[str]) -> int:
    """The index of the subcommand in args (without argv[0]); len(args) when there is none."""
    i = 0
    while i < len(args):
        if args[i] == "--":
            return i + 1
        if not args[i].startswith("-") or args[i] == "-":
            return i
        name, has_value, _ = _split(args[i])
        i += 2 if name in GLOBAL_VALUES and not has_value else 1
    return len(args)


def parse(args: list[str]) -> CommandLine:
    """Read a whole command line, without argv[0]. An option whose value is missing counts as not given."""
    line = CommandLine()
    at = find_command(args)
    for name, value in _options(args[:at], GLOBAL_VALUES):
        _set_global(line, name, value)
    if at < len(args):
        line.command = args[at]
        _read_command(line, args[at + 1 :])
    return line


def _set_global(line: CommandLine, name: str, value: str) -> None:
    if name == "log":
        line.log = value
    elif name == "log-format" and value:
        line.log_format = value


def _read_command(line: CommandLine, args: list[str]) -> None:
    for name, value in _options(args, COMMAND_VALUES):
        if name == "":
            line.container = line.container or value
        elif SHORT.get(name, name) == "bundle":
            line.bundle = value or "."
        elif SHORT.get(name, name) == "config":
            line.spec_file = value


def _options(args: list[str], with_value: tuple[str, ...]) -> list[tuple[str, str]]:
    """Options and their values in order; a positional argument has the name ``""``."""
    found = []
    i = 0
    while i < len(args):
        arg = args[i]
        i += 1
        if arg == "--":
            found += [("", rest) for rest in args[i:]]
            break
        if not arg.startswith("-") or arg == "-":
            found.append(("", arg))
            continue
        name, has_value, value = _split(arg)
        if name in with_value and not has_value:
            if i == len(args):
                break
            value = args[i]
            i += 1
        found.append((name, value))
    return found


def _split(arg: str) -> tuple[str, bool, str]:
    """``--opt=V`` → (opt, True, V); ``-bDIR`` (argp) → (b, True, DIR); ``--opt`` → (opt, False, "")."""
    dashes = 2 if arg.startswith("--") else 1
    name, equals, value = arg[dashes:].partition("=")
    known = name in GLOBAL_VALUES or name in COMMAND_VALUES
    if dashes == 1 and not known and name[:1] in SHORT:
        return name[0], True, arg[2:]
    return name, bool(equals), value
