"""Parsers for files of /proc that say which drivers and devices there are. Nonsense is passed over, never an error."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Driver = tuple[str, int, str]  # ("c", 195, "nvidia")


def parse_devices(text: str) -> list[Driver]:
    """The entries of /proc/devices, in order.

    One major may have several names (``195 nvidia`` and ``195 nvidiactl`` from driver 545/550 on) and one name several
    majors; names may hold blanks and slashes (``ttyS``, ``/dev/vc/0``).
    """
    found = []
    type_ = ""
    for line in text.splitlines():
        head, _, name = line.strip().partition(" ")
        if line.startswith("Character devices"):
            type_ = "c"
        elif line.startswith("Block devices"):
            type_ = "b"
        elif type_ and head.isdecimal() and head.isascii() and len(head) < 10 and name.strip():
            found.append((type_, int(head), name.strip()))
    return found
