"""What stops a registration."""

from __future__ import annotations

UNUSABLE, FAILED = 2, 1  # exit codes: the input cannot be used; something could not be done


class EngineError(Exception):
    """A sentence for the administrator, the hint that helps, and the exit code."""

    def __init__(self, message: str, hint: str = "", code: int = UNUSABLE) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code
