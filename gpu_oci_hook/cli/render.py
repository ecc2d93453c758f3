"""Output for people: colour on a terminal only, columns, findings with their hints. Output for programs: JSON."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

from gpu_oci_hook.core.findings import ERROR, NOTE, WARNING, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpu_oci_hook.core.findings import Finding


class Style:
    """Colours for one stream; none when it is no terminal or NO_COLOR is set (no-color.org)."""

    def __init__(self, stream: TextIO) -> None:
        self.on = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on else text

    def red(self, text: str) -> str:
        return self._paint("31;1", text)

    def yellow(self, text: str) -> str:
        return self._paint("33;1", text)

    def green(self, text: str) -> str:
        return self._paint("32;1", text)

    def bold(self, text: str) -> str:
        return self._paint("1", text)

    def dim(self, text: str) -> str:
        return self._paint("2", text)


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    json.dump(value, sys.stdout, indent=2)
    sys.stdout.write("\n")


def count(number: int, thing: str) -> str:
    """``1 edit``, ``2 edits``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def table(rows: Iterable[Sequence[str]], indent: str = "  ") -> list[str]:
    """Rows as lines with aligned columns."""
    cells = [[printable(cell) for cell in row] for row in rows]
    if not cells:
        return []
    widths = [max(len(row[i]) for row in cells if i < len(row)) for i in range(max(map(len, cells)))]
    return [indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]


def print_findings(findings: Sequence[Finding], style: Style) -> None:
    """Findings, worst first, each with its hint on a line of its own."""
    paints = {ERROR: style.red, WARNING: style.yellow, NOTE: style.dim}
    for severity in (ERROR, WARNING, NOTE):
        for finding in findings:
            if finding.severity != severity:
                continue
            where = f"{finding.path}: " if finding.path else ""
            print(f"{paints[severity](severity + ':')} {printable(where + finding.message)}")
            if finding.hint:
                print(f"  {style.dim('hint:')} {printable(finding.hint)}")
