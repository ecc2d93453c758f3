"""Findings: what was noticed, where, and what to do about it. Their codes are stable (docs/findings.md lists them)."""

from __future__ import annotations

ERROR = "error"
WARNING = "warning"
NOTE = "note"


class Finding:
    """One thing that was noticed.

    ``path`` is a place in config.json (``linux.resources.devices[3].access``), a file, or empty.
    """

    __slots__ = ("code", "hint", "message", "path", "severity")

    def __init__(self, code: str, severity: str, path: str, message: str, hint: str = "") -> None:
        self.code = code
        self.severity = severity
        self.path = path
        self.message = message
        self.hint = hint

    def __repr__(self) -> str:
        return f"Finding({self.code}, {self.severity}, {self.path!r}, {self.message!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Finding) and self.as_json() == other.as_json()

    def __hash__(self) -> int:
        return hash((self.code, self.path, self.message))

    def as_json(self) -> dict[str, str]:
        """The finding as ``--json`` prints it."""
        return {
            "code": self.code,
            "severity": self.severity,
            "path": self.path,
            "message": self.message,
            "hint": self.hint,
        }

    def as_line(self) -> str:
        """The finding in one line, for logs."""
        where = f"{self.path}: " if self.path else ""
        hint = f" ({self.hint})" if self.hint else ""
        return printable(f"{where}{self.message}{hint}")


def printable(text: str) -> str:
    """Text for terminals and logs: whatever could begin a line or an escape sequence of its own is spelt out."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def error(code: str, path: str, message: str, hint: str = "") -> Finding:
    return Finding(code, ERROR, path, message, hint)


def warning(code: str, path: str, message: str, hint: str = "") -> Finding:
    return Finding(code, WARNING, path, message, hint)


def note(code: str, path: str, message: str, hint: str = "") -> Finding:
    return Finding(code, NOTE, path, message, hint)


def worst(findings: list[Finding]) -> str:
    """The highest severity among findings; empty when there are none."""
    for severity in (ERROR, WARNING, NOTE):
        if any(finding.severity == severity for finding in findings):
            return severity
    return ""
