"""Results as Markdown tables, for a terminal and for the documentation alike."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from bench.comparison import Comparison

HEADER = ["", "bare, ms", "ours, ms", "added, ms", "ratio", "quartiles", "wanted", ""]


def comparisons(found: Iterable[Comparison]) -> str:
    """One line each: medians, what is added, the median of the pairs' ratios and its quartiles."""
    return table(HEADER, [_row(comparison) for comparison in found])


def _row(each: Comparison) -> list[str]:
    low, high = each.spread
    numbers = [f"{seconds * 1e3:.2f}" for seconds in (median(each.bare), median(each.ours), each.added)]
    wanted = "" if each.target is None else f"≤ {each.target:.2f}"
    verdict = {None: "", True: "met", False: "**missed**"}[each.met]
    return [each.name, *numbers, f"{each.ratio:.2f}", f"{low:.2f}-{high:.2f}", wanted, verdict]


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, its columns padded so that it reads well as text too; all but the first are flush right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    rule = [":" + "-" * (widths[0] - 1)] + ["-" * (width - 1) + ":" for width in widths[1:]]
    lines = [_line(header, widths), "|" + "|".join(f" {part} " for part in rule) + "|"]
    return "\n".join([*lines, *(_line(row, widths) for row in rows)]) + "\n"


def _line(cells: list[str], widths: list[int]) -> str:
    padded = [cells[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))]
    return f"| {' | '.join(padded)} |"
