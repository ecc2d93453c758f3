"""A table of two columns, lost on the left and kept on the right."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

from gpu_oci_hook.cli.render import Style


class Table:
    """Rows of a label and two cells; cells are coloured where standard output is a terminal."""

    def __init__(self, left: str, right: str) -> None:
        self.style = Style(sys.stdout)
        self.rows: list[tuple[str, str, str, bool]] = []
        self._heading("", left, right)

    def access(self, title: str, nodes: Iterable[str], left: Mapping[str, str], right: Mapping[str, str]) -> None:
        """Add what two containers can open, as Container.probe answers."""
        self._heading(title)
        for node in nodes:
            self.rows.append((f"  open {node}", _access(left[node]), _access(right[node]), False))

    def entries(self, title: str, paths: Iterable[str], left: Iterable[str], right: Iterable[str]) -> None:
        """Add whether two units' DeviceAllow lists have an entry for each path."""
        self._heading(title)
        for path in paths:
            self.rows.append((f"  {path}", _entry(path, left), _entry(path, right), False))

    def text(self) -> str:
        """Return the table."""
        widths = max(len(row[0]) for row in self.rows), max(len(row[1]) for row in self.rows)
        lines = []
        for label, left, right, is_heading in self.rows:
            cells = [f"{label:{widths[0]}}", f"{left:{widths[1]}}", right]
            cells = (
                [self.style.bold(cell) for cell in cells] if is_heading else [cells[0], *map(self._paint, cells[1:])]
            )
            lines.append("   ".join(cells).rstrip())
        return "\n".join(lines)

    def _heading(self, label: str, left: str = "", right: str = "") -> None:
        self.rows.append((label, left, right, True))

    def _paint(self, cell: str) -> str:
        return self.style.green(cell) if cell.startswith(("yes", "allow")) else self.style.red(cell)


def _access(answer: str) -> str:
    return {"open": "yes", "denied": "NO: Operation not permitted"}.get(answer, answer)


def _entry(path: str, entries: Iterable[str]) -> str:
    found = [entry.partition(" ")[2] for entry in entries if entry.partition(" ")[0] == path]
    return f"allow {found[0]}" if found else "MISSING"
