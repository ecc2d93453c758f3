"""What stops a command."""

from __future__ import annotations

FINE, PROBLEMS, UNUSABLE = 0, 1, 2  # exit codes of all commands


class CommandError(Exception):
    """A sentence for the administrator, the hint that helps, and the exit code (2: the input cannot be used)."""

    def __init__(self, message: str, hint: str = "", code: int = UNUSABLE) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code
