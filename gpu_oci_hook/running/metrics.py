"""Audit results as Prometheus text, for node_exporter's textfile collector."""

from __future__ import annotations

import os
import tempfile
import time
from typing import TYPE_CHECKING

from gpu_oci_hook.running import judge

if TYPE_CHECKING:
    from gpu_oci_hook.running.audit import Report

VERDICTS = (
    judge.OK,
    judge.AT_RISK,
    judge.LOST,
    judge.WIDER,
    judge.RECREATE,
    judge.NOT_AFFECTED,
    judge.NO_GPU,
    judge.UNKNOWN,
)


def metrics(report: Report, now: float) -> str:
    """The text. Every verdict has its line, also at 0: an alert on a line that is missing never fires."""
    names = [each.verdict.name for each in report.containers]
    lines = [
        "# HELP gpu_oci_hook_containers Running containers by the verdict of the last audit.",
        "# TYPE gpu_oci_hook_containers gauge",
        *(f'gpu_oci_hook_containers{{verdict="{verdict}"}} {names.count(verdict)}' for verdict in VERDICTS),
        "# HELP gpu_oci_hook_container_problem A container that has lost GPUs, will lose them, or has too many.",
        "# TYPE gpu_oci_hook_container_problem gauge",
    ]
    for audited in report.containers:
        if audited.verdict.name in judge.PROBLEMS:
            container = audited.facts.container
            pairs = {"id": container.id, "unit": container.unit, "verdict": audited.verdict.name}
            labels = ",".join(f'{name}="{_escape(value)}"' for name, value in pairs.items())
            lines.append(f"gpu_oci_hook_container_problem{{{labels}}} 1")
    lines += [
        "# HELP gpu_oci_hook_audit_timestamp_seconds When the audit was made.",
        "# TYPE gpu_oci_hook_audit_timestamp_seconds gauge",
        f"gpu_oci_hook_audit_timestamp_seconds {now:.3f}",
    ]
    return "\n".join(lines) + "\n"


def write_metrics(path: str, report: Report) -> None:
    """Replace the file whole: the collector may read it at any instant. Raises OSError."""
    folder = os.path.dirname(os.path.abspath(path))
    descriptor, temporary = tempfile.mkstemp(prefix=".gpu-oci-hook-", dir=folder)  # not *.prom: the collector skips it
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(metrics(report, time.time()))
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
