"""An engine's own program, asked below a root."""

from __future__ import annotations

import subprocess

from gpu_oci_hook.engines.engine import NotAskedError
from gpu_oci_hook.engines.errors import FAILED, EngineError
from gpu_oci_hook.engines.files import is_program

FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
SECONDS = 60


def find(root: str, name: str) -> str:
    """A program's path on the host. Raises NotAskedError if it is not installed."""
    for folder in FOLDERS:
        if is_program(root, f"{folder}/{name}"):
            return f"{folder}/{name}"
    raise NotAskedError(f"the program {name} is not installed here")


def call(root: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a program of the host, below its root if that is not ours. Raises NotAskedError if it cannot be started."""
    command = arguments if root in ("", "/") else ["chroot", root, *arguments]
    environment = {"PATH": ":".join(FOLDERS), "HOME": "/root", "LC_ALL": "C"}
    try:
        return subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise NotAskedError(f"{arguments[0]} did not answer within {SECONDS} seconds") from error
    except OSError as error:
        raise NotAskedError(f"{arguments[0]} cannot be started: {error.strerror}") from error


def ask(root: str, arguments: list[str]) -> str:
    """What a program of the host prints. Raises EngineError with its last words if it fails."""
    done = call(root, arguments)
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1]
        if root not in ("", "/") and done.returncode in (125, 126, 127):
            raise NotAskedError(f"{arguments[0]} cannot be started below {root}: {words}")
        raise EngineError(f"{' '.join(arguments)} fails: {words}", "", FAILED)
    return done.stdout
