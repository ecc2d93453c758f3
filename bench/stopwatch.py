"""Times commands side by side. Runs inside the lab: a plan in JSON comes in, measurements in JSON go out.

``{"rounds": 50, "sides": {"bare": {"before": [], "timed": [["/usr/sbin/runc", "--version"]], "after": []}, ...}}``

Every round runs every side once, each round beginning with another side, so that what else the machine does meets all
of them alike. Only the commands under ``timed`` count, as one sum.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from typing import Any

Measurement = dict[str, float]  # seconds of wall clock, and of processor time with all children that were waited for


def measure(plan: dict[str, Any]) -> dict[str, list[Measurement]]:
    """Run a plan's rounds. Raises SystemExit with the command's own words when one fails."""
    sides = list(plan["sides"])
    found: dict[str, list[Measurement]] = {side: [] for side in sides}
    for number in range(-1, plan["rounds"]):
        first = number % len(sides)
        for side in sides[first:] + sides[:first]:
            measurement = _measure_side(plan["sides"][side])
            if number >= 0:  # the round before the first fills caches
                found[side].append(measurement)
    return found


def _measure_side(side: dict[str, Any]) -> Measurement:
    for command in side.get("before", []):
        _run(command)
    total = {"wall": 0.0, "cpu": 0.0}
    for command in side["timed"]:
        wall, cpu = _run(command)
        total["wall"] += wall
        total["cpu"] += cpu
    for command in side.get("after", []):
        _run(command)
    return total


def _run(command: list[str]) -> tuple[float, float]:
    with tempfile.TemporaryFile() as words:
        actions: list[Any] = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1)]
        actions.append((os.POSIX_SPAWN_DUP2, words.fileno(), 2))
        start = time.perf_counter()
        process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
        _, status, usage = os.wait4(process, 0)
        wall = time.perf_counter() - start
        if status:
            words.seek(0)
            said = words.read().decode("utf-8", "replace")
            raise SystemExit(f"{' '.join(command)}: exit {os.waitstatus_to_exitcode(status)}\n{said}")
    return wall, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    os.setpriority(os.PRIO_PROCESS, 0, -15)  # before whatever else the machine does, on both sides alike
    json.dump(measure(json.load(sys.stdin)), sys.stdout)
