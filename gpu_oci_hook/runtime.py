"""The wrapper's preparation of a container: bin/gpu-oci-runtime runs this before it execs the real runtime.

It runs as a child with a deadline, and not in the place of the runtime: whatever happens to Python here (an upgrade
half done, memory short, a hung filesystem), the container still starts.
"""

from __future__ import annotations

import posix
import sys
from _signal import (  # type: ignore[import-not-found]  # the signal module imports enum
    SIG_DFL,
    SIG_UNBLOCK,
    SIGALRM,
    alarm,
    pthread_sigmask,
    signal,
)

from gpu_oci_hook.core import argv
from gpu_oci_hook.core.findings import ERROR, NOTE, printable
from gpu_oci_hook.core.jsontext import JsonTextError
from gpu_oci_hook.core.plan import make_plan
from gpu_oci_hook.core.request.claim import Context
from gpu_oci_hook.core.rules import SpecError
from gpu_oci_hook.core.spec import parse_spec
from gpu_oci_hook.host.apply import apply_plan
from gpu_oci_hook.host.bundle import BundleError, ChangedError, read_spec
from gpu_oci_hook.host.inventory import Inventory
from gpu_oci_hook.host.settings import Settings, read_compiled, seems_current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from gpu_oci_hook.core.argv import CommandLine
    from gpu_oci_hook.core.findings import Finding

# Seconds by the clock; hundreds of starts at once on few cores take their time. SIGALRM then ends this process, and the
# launcher goes on.
DEADLINE = 30
ATTEMPTS = 3
GO, UNUSABLE, REFUSE, LOOK_AGAIN = 0, 2, 3, 4  # exit codes that the launcher understands


def main(args: list[str]) -> NoReturn:
    """Called as ``prepare.py RUN_DIR SETTINGS REAL-RUNTIME ARGUMENTS-OF-THE-RUNTIME...``.

    ``prepare.py --compile RUN_DIR SETTINGS ARGUMENTS-OF-THE-RUNTIME...`` only prints the settings in compiled form.
    """
    _set_deadline()
    if args[0] == "--compile":
        posix._exit(_print_compiled(args[1], args[2], argv.parse(args[3:])))
    line = argv.parse(args[3:])
    settings, changed = Settings(), False
    try:
        settings, changed = _settings(args[0], args[1], line)
        findings = prepare(line, settings, args[2])
    except Exception as error:  # a fault of ours must not stop the container
        _report(line, settings, "error", f"internal error, the container starts unprepared: {error!r}")
        posix._exit(REFUSE if settings.on_error == "fail" else GO)
    code = report(line, settings, findings)
    posix._exit(LOOK_AGAIN if changed and code == GO else code)


def _set_deadline() -> None:
    """End this process in time, also where the engine ignores or blocks SIGALRM, which we would inherit."""
    signal(SIGALRM, SIG_DFL)
    pthread_sigmask(SIG_UNBLOCK, [SIGALRM])
    alarm(DEADLINE)


def prepare(line: CommandLine, settings: Settings, next_runtime: str = "") -> list[Finding]:
    """Make the links and add the rules that the container of a create or run command needs."""
    path = line.config_path()
    for attempt in range(ATTEMPTS):
        try:
            return _prepare_once(path, settings, next_runtime)
        except ChangedError:
            if attempt == ATTEMPTS - 1:
                raise
        except (BundleError, JsonTextError, SpecError) as error:
            return [_unusable(path, error)]
    return []


def _prepare_once(path: str, settings: Settings, next_runtime: str) -> list[Finding]:
    file = read_spec(path)
    spec = parse_spec(file.text)
    inventory = Inventory(settings.host_root, settings.driver_roots, settings.families)
    plan = make_plan(spec, Context(inventory, settings.access, settings.policy, next_runtime))
    return plan.findings + apply_plan(plan, spec, file, settings.host_root)


def _unusable(path: str, error: BundleError | JsonTextError | SpecError) -> Finding:
    from gpu_oci_hook.core.findings import error as finding

    place = error.path if isinstance(error, SpecError) else path
    return finding("unusable-spec", place, f"{error.message}; the spec is passed on as it is")


def report(line: CommandLine, settings: Settings, findings: list[Finding]) -> int:
    """Log what is worth a line, and say whether the container may start."""
    refuse = settings.on_error == "fail" and any(finding.severity == ERROR for finding in findings)
    for finding in findings:
        if finding.severity != NOTE:
            level = "error" if refuse and finding.severity == ERROR else "warning"
            _report(line, settings, level, f"{printable(line.container)}: {finding.as_line()}", as_json=refuse)
    return REFUSE if refuse else GO


def _report(line: CommandLine, settings: Settings, level: str, message: str, as_json: bool = False) -> None:
    from gpu_oci_hook.host.log import write_line

    if as_json:
        line.log_format = "json"  # the launcher exits 1: engines look for the reason as JSON
    write_line(line, level, message, settings.log_file)


def _settings(run_dir: str, source: str, line: CommandLine) -> tuple[Settings, bool]:
    """The settings for a container, and whether the launcher has taken older ones for them.

    Those that cannot be used are one warning and the defaults.
    """
    compiled = read_compiled(run_dir, source) if source else Settings()
    if compiled:
        return compiled, False
    changed = seems_current(run_dir, source)
    from gpu_oci_hook.host.current_settings import current_settings

    settings, problem = current_settings(run_dir, source)
    if problem:
        _report(line, settings, "warning", problem)
    return settings, changed


def _print_compiled(run_dir: str, source: str, line: CommandLine) -> int:
    """Print the settings in compiled form, for a launcher that has none that are current."""
    from gpu_oci_hook.host.current_settings import compiled_text

    text, problem = compiled_text(run_dir, source)
    if problem:
        _report(line, Settings(), "warning", problem)
        return UNUSABLE
    posix.write(1, text.encode("utf-8", "surrogateescape"))
    return GO


if __name__ == "__main__":
    main(sys.argv[1:])
