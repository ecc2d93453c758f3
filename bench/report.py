"""The page of the documentation that says what we cost."""

from __future__ import annotations

import os
import platform
import re
from typing import Any

from bench import memory
from bench.comparison import Comparison
from bench.growth import Growth
from bench.place import PYTHON, commit
from bench.table import comparisons, table
from tests.lab.container import RUNC
from tests.lab.machine import Machine

TEXT = """# Performance

What the wrapper costs, beside the bare runtime: real runc with the systemd cgroup driver under a booted systemd.
`make bench` measures it and writes this page (as root; `QUICK=yes` for a first look in under a minute).

![Ratios and growth](performance.png)

{where}

{short}

Each round runs both sides, in turns; *ratio* is the median of ours / bare within a round, *added* the median
difference. The machine had other work to do meanwhile: the quartiles show how far that reaches.

{comparisons}
{growth}
Peak resident memory of preparing a container with GPUs: {peak} above the interpreter's own {own} (wanted: ≤ 10 MB).

## In instructions

Milliseconds are the machine's and the moment's; instructions are not. tests/unit/test_instruction_budget.py counts them
with valgrind and holds them to tests/unit/instruction_budget.json. Nothing in the tests is timed.

## Why some are missed

- On an idle machine a runtime call takes about 5 ms, and starting any sh takes 1: no wrapper in sh stays
  within a tenth of `--version`, `kill` or `delete`. Only a compiled one would.
- With GPUs the interpreter's own start is most of what is added: 15 of 25 million instructions.
- A request by environment for 123 devices ends as 123 more rules for systemd. runc alone, given the same rules, takes
  that much longer too: the line below it has this taken out.

## What the time goes into

- Every call: dash starts, reads the launcher, finds the runtime, and execs it. Nothing is forked.
- create and run: mawk reads config.json and tells whether it is about no GPU (bin/plain-spec.awk). Only then, or in the
  least doubt, Python starts; two thirds of its time are the interpreter's own start.
- Python takes the create path's modules from one file (packaging/create_path.py), imports neither `re` nor `enum` nor
  `typing`, and reads a file of /proc only when a request needs it.
"""


class Results:
    """All that was measured on one machine."""

    def __init__(self, machine: Machine) -> None:
        self.runc = _first_line(machine, [RUNC, "--version"])
        self.systemd = _first_line(machine, ["systemctl", "--version"])
        self.python = _first_line(machine, [PYTHON, "--version"])
        self.cgroup = machine.version
        self.load = os.getloadavg()[1]
        self.comparisons: list[Comparison] = []
        self.growth: list[Growth] = []
        self.memory: dict[str, int] = {}

    def as_json(self) -> dict[str, Any]:
        found = dict(vars(self))
        found["comparisons"] = [each.as_json() for each in self.comparisons]
        found["growth"] = [each.as_json() for each in self.growth]
        return found


def _first_line(machine: Machine, command: list[str]) -> str:
    return machine.run(command).stdout.splitlines()[0]


def page(results: Results) -> str:
    """Markdown, tables included."""
    own = results.memory["interpreter"]
    peak = results.memory["preparation"] - own
    return TEXT.format(
        where=_where(results),
        short=_short(results.comparisons),
        comparisons=comparisons(results.comparisons),
        growth=_growth(results.growth),
        peak=f"{peak / 1024:.1f} MB" + ("" if peak <= memory.TARGET else " (**missed**)"),
        own=f"{own / 1024:.1f} MB",
    )


def _where(results: Results) -> str:
    kernel = re.match(r"[0-9.]*[0-9]", platform.release())
    parts = [results.runc, results.systemd, f"cgroup {results.cgroup}", results.python]
    parts += [
        f"Linux {kernel[0] if kernel else '?'}",
        f"{os.cpu_count()} processors, load {results.load:.1f} at the start",
    ]
    return f"Measured: {', '.join(parts)}; version {commit()}."


def _short(found: list[Comparison]) -> str:
    """The numbers that README quotes, and what was missed."""
    added = {each.name: f"{each.added * 1e3:.1f} ms (×{each.ratio:.2f})" for each in found}
    lines = [
        f"- a call that is handed on (state): {added['state']}",
        f"- a create without GPUs: {added['create, no GPU']}",
        f"- a create with GPUs in the spec: {added['create, GPUs in the spec']}",
        f"- a container's whole life without GPUs: {added['whole life, no GPU']}",
    ]
    missed = [f"{each.name} (×{each.ratio:.2f}, wanted ≤ {each.target:.2f})" for each in found if each.met is False]
    if missed:
        lines.append(f"- missed: {'; '.join(missed)}")
    return "In short, what we add:\n\n" + "\n".join(lines)


def _growth(growth: list[Growth]) -> str:
    if not growth:
        return ""
    rows = []
    for each in growth:
        sizes = sorted(each.points)
        cells = [f"{size:,}: {each.points[size] * 1e3:.1f}" for size in sizes]
        rows.append([each.name, *cells, f"{each.exponent:.2f}"])
    head = "Our own processor time in ms, with /bin/true as the runtime; exponent of the last step, 1 is linear:\n\n"
    return head + table(["", *(f"size {i + 1}: ms" for i in range(4)), "exponent"], rows)
