"""One line where the administrator looks: the runtime's own log file, in its own format, or standard error."""

from __future__ import annotations

import posix
import time

from gpu_oci_hook.core.jsontext import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.argv import CommandLine

NAME = "gpu-oci-runtime"


def write_line(line: CommandLine | None, level: str, message: str, extra_file: str = "", name: str = NAME) -> None:
    """Leave one line: in the file of ``--log`` (engines read that), else on standard error; and in extra_file, if any.

    ``line`` is None for who is not called as a runtime. ``level`` is logrus's (``warning``, ``error``). A log that
    cannot be written is no reason to stop.
    """
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    text = f"{name}: {message}"
    as_json = f'{{"level":{quote(level)},"msg":{quote(text)},"time":{quote(stamp)}}}\n'
    as_text = f"time={quote(stamp)} level={level} msg={quote(text)}\n"
    if not (line and line.log and _append(line.log, as_json if line.log_format == "json" else as_text)):
        _write(2, f"{name}: {level}: {message}\n")
    if extra_file:
        _append(extra_file, as_json)


def _append(path: str, text: str) -> bool:
    flags = posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NONBLOCK | posix.O_NOCTTY
    try:
        descriptor = posix.open(path, flags, 0o644)
    except OSError:
        return False
    try:
        return _write(descriptor, text)
    finally:
        posix.close(descriptor)


def _write(descriptor: int, text: str) -> bool:
    try:
        posix.write(descriptor, text.encode("utf-8", "backslashreplace"))
    except OSError:
        return False
    return True
