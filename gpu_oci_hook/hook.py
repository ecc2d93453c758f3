"""The OCI hook: where bin/gpu-oci-hook and `gpu-oci-hook hook STAGE` begin.

Whatever happens here, the container starts as it would have without us, unless the administrator wants it otherwise
(on_error = "fail"). The engine reads nothing from us but an exit code and, at precreate, the spec.
"""

from __future__ import annotations

import posix
import sys
from _signal import SIGALRM, alarm, signal  # type: ignore[import-not-found]  # the signal module imports enum

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.jsontext import JsonTextError
from gpu_oci_hook.core.rules import SpecError
from gpu_oci_hook.host.bundle import BundleError
from gpu_oci_hook.host.current_settings import current_settings
from gpu_oci_hook.host.log import write_line
from gpu_oci_hook.host.paths import read_descriptor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.host.settings import Settings

PRECREATE = "precreate"
STAGES = ("prestart", "createRuntime", "poststart", PRECREATE)
GO, REFUSE = 0, 3  # exit codes that the launcher understands
DEADLINE = 8  # seconds for all we do; hooks.d/ gives us 10
INPUT_MAX = 1 << 30  # what comes in at precreate goes out again, whole


class Hook:
    """One call of the hook. ``code`` is GO or REFUSE once it has run."""

    def __init__(self, stage: str, settings: Settings, problem: str = "") -> None:
        self.stage = stage
        self.settings = settings
        self.problem = problem
        self.container = ""
        self.text = ""
        self.code = GO

    def run(self, given: bytes) -> bytes:
        """Do what the stage is for, and give back what belongs on standard output. Raises nothing."""
        output = given if self.stage == PRECREATE else b""
        try:
            if self.stage == PRECREATE:
                text, findings = self._precreate(given.decode("utf-8"))
                output = text.encode("utf-8")
            else:
                findings = self._protect(given.decode("utf-8", "replace"))
        except (BundleError, JsonTextError, SpecError) as error:
            findings = [say.error("unusable-spec", "", f"{error.message}; nothing was done")]
        except UnicodeDecodeError:
            findings = [say.error("unusable-spec", "", "the spec is not UTF-8 text; nothing was done")]
        except Exception as error:  # a fault of ours must not stop the container
            findings = [say.error("internal", "", f"internal error, nothing more was done: {error!r}")]
        self.report(findings)
        return output

    def _precreate(self, text: str) -> tuple[str, list[Finding]]:
        from gpu_oci_hook.hooks.precreate import complete_spec

        return complete_spec(text, self.settings)

    def _protect(self, text: str) -> list[Finding]:
        from gpu_oci_hook.hooks.container import protect
        from gpu_oci_hook.hooks.state import StateError, parse_state

        try:
            state = parse_state(text)
        except StateError as error:
            return [say.error("no-state", "", f"{error.message}; nothing was done")]
        self.container = state.id
        return protect(self.stage, state, self.settings)

    def report(self, findings: list[Finding]) -> None:
        """All that is worth saying, in one line on standard error and in log_file; and the exit code."""
        if self.problem:
            findings = [say.warning("settings", "", self.problem), *findings]
        if not findings:
            return
        severity = say.worst(findings)
        if severity == say.ERROR and self.settings.on_error == "fail":
            self.code = REFUSE
        level = {say.ERROR: "error", say.WARNING: "warning"}.get(severity, "info")
        subject = f"{self.container}: " if self.container else ""
        text = "; ".join(finding.as_line() for finding in findings)
        write_line(None, level, f"{self.stage}: {subject}{text}", self.settings.log_file, "gpu-oci-hook")


def main(arguments: list[str]) -> NoReturn:
    """Called as ``STAGE RUN_DIR SETTINGS``; exits with GO, or with REFUSE where the container is not to start."""
    stage, run_dir, source = arguments
    hook = Hook(stage, *current_settings(run_dir, source))
    run_hook(hook)
    posix._exit(hook.code)


def run_hook(hook: Hook) -> None:
    """From standard input to standard output, within DEADLINE."""
    given = _read_input(hook)
    output = hook.run(given)
    alarm(0)
    _write_output(output)


def _read_input(hook: Hook) -> bytes:
    """Standard input. From now on a deadline runs, at which the input goes out as it came."""
    given = b""

    def give_up(*_: object) -> NoReturn:
        hook.report([say.error("deadline", "", f"not done within {DEADLINE} s; the container goes on as it is")])
        _write_output(given if hook.stage == PRECREATE else b"")
        posix._exit(hook.code)

    signal(SIGALRM, give_up)
    alarm(DEADLINE)
    given = read_descriptor(0, INPUT_MAX)
    return given


def _write_output(content: bytes) -> None:
    while content:
        content = content[posix.write(1, content) :]


if __name__ == "__main__":
    main(sys.argv[1:])
