"""What systemd and its journal are told: readiness, watchdog, lines with fields (sd_notify(3), journal-fields(7))."""

from __future__ import annotations

import os
import socket
import sys
import time

JOURNAL = "/run/systemd/journal/socket"
ERROR, WARNING, INFO = 3, 4, 6


def notify(*lines: str) -> None:
    """Tell the service manager, such as ``READY=1``. Nothing happens where none is listening."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if path:
        _send("\0" + path[1:] if path.startswith("@") else path, "\n".join(lines).encode())


def reloading() -> None:
    """Settings are being read anew; READY=1 ends it. Type=notify-reload wants the time as well (systemd 253)."""
    notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")


def log(priority: int, message: str, **fields: str) -> None:
    """One line to the journal with fields (CONTAINER_ID=…), or to standard error where there is no journal."""
    text = message.replace("\n", " ")
    values = {"MESSAGE": text, "PRIORITY": str(priority), "SYSLOG_IDENTIFIER": "gpu-oci-hook", **fields}
    lines = [f"{name}={value}".replace("\n", " ") for name, value in values.items()]
    # JOURNAL_STREAM says that standard error is the journal's; run by hand, people want to see the lines.
    if "JOURNAL_STREAM" not in os.environ or not _send(JOURNAL, ("\n".join(lines) + "\n").encode()):
        sys.stderr.write(f"<{priority}>{text}\n" if "JOURNAL_STREAM" in os.environ else f"{text}\n")
        sys.stderr.flush()


def _send(address: str, data: bytes) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagram:
        try:
            datagram.sendto(data, address)
        except OSError:
            return False
    return True
