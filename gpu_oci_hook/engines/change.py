"""One file's change, as a value: a dry run prints what a real run applies."""

from __future__ import annotations

import dataclasses
import difflib

CREATE, EDIT, DELETE, KEEP = "create", "edit", "delete", "keep"


@dataclasses.dataclass(frozen=True)
class Change:
    """A file of the host, its path as the host names it; its content before and after, None where there is none."""

    file: str
    before: bytes | None
    after: bytes | None

    @property
    def action(self) -> str:
        """``create``, ``edit``, ``delete``, or ``keep`` for a file that stays as it is."""
        if self.before == self.after:
            return KEEP
        if self.before is None:
            return CREATE
        return DELETE if self.after is None else EDIT

    def describe(self) -> str:
        return f"{self.action} {self.file}"

    def diff(self) -> str:
        """A unified diff; empty when nothing changes. Carriage returns are shown as backslash and r."""
        names = [self.file if content is not None else "/dev/null" for content in (self.before, self.after)]
        lines = difflib.unified_diff(_lines(self.before), _lines(self.after), names[0], names[1], lineterm="")
        return "".join(f"{line}\n" for line in lines)

    def as_json(self) -> dict[str, str]:
        return {"file": self.file, "action": self.action, "diff": self.diff()}


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode("utf-8", "backslashreplace")
    lines = text.replace("\r\n", "\\r\n").split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], f"{lines[-1]}\n\\ No newline at end of file"]
