"""What a link in /dev/char can be found as, and how we spell one."""

from __future__ import annotations

MISSING, RIGHT, WRONG, DANGLING, BLOCKED = "missing", "right", "wrong", "dangling", "blocked"


class Link:
    """What stands at a link's place: one of the states above, and the link's text or what is in the way."""

    __slots__ = ("state", "text")

    def __init__(self, state: str, text: str = "") -> None:
        self.state = state
        self.text = text


def target_for(file: str) -> str:
    """The text of a link in /dev/char to a node's file: relative, so that it is right below any root.

    ``/dev/nvidia0`` → ``../nvidia0``; ``/run/nvidia/driver/dev/nvidia0`` → ``../../run/nvidia/driver/dev/nvidia0``.
    """
    return f"../{file[len('/dev/') :]}" if file.startswith("/dev/") else f"../..{file}"
