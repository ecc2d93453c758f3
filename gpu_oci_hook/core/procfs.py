"""Parsers for files of /proc that say which drivers and devices there are. Nonsense is passed over, never an error."""

from __future__ import annotations

from gpu_oci_hook.core.devices import MINOR_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.devices import Number

    Driver = tuple[str, int, str]  # ("c", 195, "nvidia")


def is_registered(drivers: list[Driver], number: Number) -> bool:
    """Whether any driver has registered a number's major."""
    return any((kind, major) == number[:2] for kind, major, _ in drivers)


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
        elif type_ and is_number(head) and name.strip():
            found.append((type_, int(head), name.strip()))
    return found


def parse_information(text: str) -> dict[str, str]:
    """The fields of /proc/driver/nvidia/gpus/PCI/information: ``Device Minor`` → ``2``.

    ``Device Minor`` is missing with old drivers (lxd#3950); ``GPU UUID`` is full of question marks until the GPU has
    been initialised for the first time.
    """
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields[key.strip()] = value.strip()
    return fields


def parse_capability_minors(text: str) -> dict[str, int]:
    """The table of /proc/driver/nvidia-caps/mig-minors: ``gpu0/gi1/ci0/access`` → 13, ``config`` → 1.

    The GPUs in it are numbered by their device minor, and it names every instance that could be, not those that are
    (NVIDIA's MIG user guide; libnvidia-container nvc_info.c).
    """
    minors: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and is_number(words[1]) and int(words[1]) <= MINOR_MAX:
            minors.setdefault(words[0], int(words[1]))
    return minors


def is_number(text: str) -> bool:
    """Whether text is a plain decimal number of a size that devices have."""
    return text.isdecimal() and text.isascii() and len(text) < 10
