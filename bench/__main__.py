"""``make bench``: measure all, print a table, leave it and a plot where the documentation has them."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys

from bench import calls, creates, growth, hooks, many, memory, plot, report
from bench.comparison import Comparison
from bench.place import installed_machine
from bench.report import Results
from tests.lab.machine import Machine

ROUNDS = 40


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few rounds: under a minute, for a first look")
    parser.add_argument("--cgroup", choices=("v1", "v2"), default="v2")
    parser.add_argument("--out", default="bench/out", metavar="DIR", help="where performance.md and the plots go")
    options = parser.parse_args()
    with installed_machine(options.cgroup) as machine:
        results = measure(machine, options.quick)
    os.makedirs(options.out, exist_ok=True)
    with open(f"{options.out}/performance.json", "w", encoding="utf-8") as file:
        json.dump(results.as_json(), file, indent=1)
    page = report.page(results)
    with open(f"{options.out}/performance.md", "w", encoding="utf-8") as file:
        file.write(page)
    if importlib.util.find_spec("matplotlib"):
        plot.draw(f"{options.out}/performance", results.comparisons, results.growth)
    else:
        print("bench: no plot without matplotlib: pip install 'gpu-oci-hook[bench]'", file=sys.stderr)
    print(page)
    return 0


def measure(machine: Machine, quick: bool) -> Results:
    """All scenes in turn, each said on standard error when it is done."""
    rounds = ROUNDS // 5 if quick else ROUNDS
    results = Results(machine)
    for scene in (calls.compare, creates.compare, creates.compare_environment, hooks.compare):
        results.comparisons += map(_said, scene(machine, rounds))
    results.comparisons.append(_said(many.compare(machine, 20 if quick else 200, 1 if quick else 2)))
    results.growth = [] if quick else growth.grow(machine, 3)
    results.memory = memory.peaks(machine)
    return results


def _said(comparison: Comparison) -> Comparison:
    print(f"  {comparison.name}: {comparison.ratio:.2f}", file=sys.stderr, flush=True)
    return comparison


if __name__ == "__main__":
    sys.exit(main())
