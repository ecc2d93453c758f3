"""The runtime and the systemd of this host: kind and version, from their files and, where allowed, from themselves."""

from __future__ import annotations

import os
import subprocess
from typing import NamedTuple

from gpu_oci_hook.core.versions import Version, parse_runtime, parse_systemd
from gpu_oci_hook.host import elf

TIMEOUT = 2.0
OUTPUT_MAX = 4096
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
RUNTIME_FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


class Found(NamedTuple):
    """A program's kind and version and how they were found. ``reason`` says why something is missing."""

    path: str
    kind: str
    version: Version | None
    how: str
    reason: str = ""


def runtime_facts(path: str, run: bool = False) -> Found:
    """What the runtime at a path is; with ``run`` its ``--version`` is asked where the file does not say the version.

    For a wrapper, the version (and with ``run`` the kind) is that of the runtime which it passes the option on to.
    """
    program = elf.examine(path)
    if program.version or not run or (program.kind == elf.UNKNOWN and program.machine == ""):
        missing = "" if program.version else "its file does not say the version"
        return Found(path, program.kind, program.version, "its ELF file", program.reason or missing)
    output, reason = ask(path)
    kind, version = parse_runtime(output)
    kind = kind or program.kind
    if not version:
        return Found(path, kind, None, "its ELF file", reason or "its --version could not be understood")
    return Found(path, kind, version, "its --version")


def systemd_facts(root: str = "/", run: bool = False) -> Found:
    """The systemd installed below a root. ``run`` asks systemctl first, which also knows the distribution's version."""
    if run and root in ("", "/"):
        output, _ = ask("systemctl")
        asked = parse_systemd(output)
        if asked:
            return Found("systemctl", "systemd", asked, "systemctl --version")
    version = elf.systemd_version(root)
    reason = "" if version else "no installed systemd names its version"
    return Found(elf.SYSTEMD[0], "systemd", version, "its ELF file", reason)


def find_runtime(names: list[str], root: str = "/") -> str:
    """The first real runtime among names and absolute paths, as seen from here; empty if there is none.

    Scripts are passed over: they are wrappers, ours among them.
    """
    for name in names:
        for path in [name] if name.startswith("/") else [f"{folder}/{name}" for folder in RUNTIME_FOLDERS]:
            try:
                file = elf.resolve_below(root, path)
            except OSError:
                continue
            if os.access(file, os.X_OK) and elf.examine(file).kind not in (elf.SCRIPT, elf.UNKNOWN):
                return file
    return ""


def ask(program: str) -> tuple[str, str]:
    """The output of a program's ``--version``, and why there is none."""
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            cwd="/",
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"its --version took longer than {TIMEOUT:.0f} s"
    except (OSError, ValueError) as error:
        return "", f"it cannot be run: {getattr(error, 'strerror', None) or error}"
    return done.stdout[:OUTPUT_MAX].decode("utf-8", "replace"), ""
