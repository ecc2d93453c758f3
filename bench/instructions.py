"""How many instructions a program takes, by valgrind's callgrind: nearly the same each time, whatever else runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence

FLAGS = ("-I", "-S", "-X", "utf8")  # as bin/gpu-oci-runtime starts the interpreter
NOTHING = "import posix; posix._exit(0)"


def available() -> bool:
    return shutil.which("valgrind") is not None


def count(command: Sequence[str], env: Mapping[str, str] | None = None, stdin: str = os.devnull) -> int:
    """Instructions from the first to the last, without those of child processes. Raises RuntimeError for no count."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    with open(stdin, "rb") as source:
        done = subprocess.run([*tool, *command], stdin=source, capture_output=True, text=True, env=env, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if not found or done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return int(found[1])


def interpreter(python: str) -> int:
    """What the bare interpreter takes to start and to end at once."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(NOTHING)
        script.flush()
        return count([python, *FLAGS, script.name])


def preparation(python: str, library: str, run_dir: str, source: str, bundle: str) -> list[str]:
    """The command that prepares one container with the installed copy in ``library``, as the launcher calls it."""
    arguments = [run_dir, source, "/usr/sbin/runc", "create", "--bundle", bundle, "c"]
    return [python, *FLAGS, f"{library}/prepare.py", *arguments]
