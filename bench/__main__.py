"""``make bench``: measure all, print a table, leave it and a plot where the documentation has them."""

from __future__ import annotations

import argparse
import json
import os
import sys

from bench import calls, creates, hooks, table
from bench.place import installed_machine


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: under a minute, for a first look")
    parser.add_argument("--cgroup", choices=("v1", "v2"), default="v2")
    parser.add_argument("--out", default="bench/out", metavar="DIR")
    options = parser.parse_args()
    rounds = 8 if options.quick else 60
    found = []
    with installed_machine(options.cgroup) as machine:
        for scene in (calls, creates, hooks):
            for comparison in scene.compare(machine, rounds):
                found.append(comparison)
                print(f"  {comparison.name}: {comparison.ratio:.2f}", file=sys.stderr, flush=True)
    print(table.comparisons(found))
    os.makedirs(options.out, exist_ok=True)
    with open(f"{options.out}/results.json", "w", encoding="utf-8") as file:
        json.dump([comparison.as_json() for comparison in found], file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
