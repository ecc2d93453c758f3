"""The host's NVIDIA GPUs as NVIDIA's tools number them, and what a request's item means among them.

The index is the order on the PCI bus; the minor of /dev/nvidiaN is another number (google/gvisor#9389: index 0, 1, 2
have minors 2, 3, 0). /proc/driver/nvidia/gpus tells them apart; no library is needed for that.
"""

from __future__ import annotations

from gpu_oci_hook.core.devices import MINOR_MAX, NVIDIA_MAJOR
from gpu_oci_hook.core.procfs import is_number, parse_information

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpu_oci_hook.core.request.claim import Host

    Address = tuple[int, int, int, int]  # domain, bus, device, function
    NvmlGpu = tuple[str, int, str, list[tuple[str, int, int]]]  # UUID, minor, PCI address, MIG devices: UUID, gi, ci

FOLDER = "/proc/driver/nvidia/gpus"
UNKNOWN = -1


class Gpu:
    """One GPU. ``minor`` is UNKNOWN and ``uuid`` empty where the driver does not tell."""

    __slots__ = ("address", "minor", "name", "uuid")

    def __init__(self, name: str, address: Address | None, minor: int, uuid: str) -> None:
        self.name = name
        self.address = address
        self.minor = minor
        self.uuid = uuid

    @property
    def path(self) -> str:
        return f"/dev/nvidia{self.minor}"

    def __repr__(self) -> str:
        return f"Gpu({self.name} minor {self.minor})"


class Gpus:
    """All GPUs of a host, in the order of their index.

    ``ordered`` is False where that order is not known (the driver's /proc files cannot be read). ``notes`` says which
    fallback was used, if any.
    """

    def __init__(self, host: Host, nvml: Iterable[NvmlGpu] = ()) -> None:
        self.notes: list[str] = []
        self.ordered = True
        self.all = [Gpu(address, parse_address(address), minor, uuid) for uuid, minor, address, _ in nvml]
        if not self.all:
            self._read(host)

    def _read(self, host: Host) -> None:
        self.all = sorted(_from_proc(host), key=lambda gpu: gpu.address or (0, 0, 0, 0))
        if not self.all:
            self.all = [Gpu(f"/dev/nvidia{minor}", None, minor, "") for minor in _node_minors(host)]
            self.ordered = len(self.all) < 2
        elif any(gpu.minor == UNKNOWN for gpu in self.all):
            self._fill_minors(_node_minors(host))

    def _fill_minors(self, nodes: list[int]) -> None:
        """Old drivers tell no minors; they gave them out in PCI order. That is exact if every node finds its GPU."""
        known = {gpu.minor for gpu in self.all}
        free = [minor for minor in nodes if minor not in known]
        nameless = [gpu for gpu in self.all if gpu.minor == UNKNOWN]
        if len(free) != len(nameless):
            self.notes.append(f"{len(nameless)} GPUs have no Device Minor, and {len(free)} nodes are left for them")
            return
        for gpu, minor in zip(nameless, free):
            gpu.minor = minor
        self.notes.append("the driver tells no Device Minor; nodes were taken in PCI order, since their counts agree")

    def by_index(self, text: str) -> Gpu | None:
        """``2`` → the third GPU; None where there is none or the order is not known."""
        index = int(text) if is_number(text) else len(self.all)
        return self.all[index] if self.ordered and index < len(self.all) else None

    def by_address(self, text: str) -> Gpu | None:
        """A PCI address in any spelling that has a domain: ``0000:0f:00.0``, ``00000000:0F:00.0``, ``0:f:0``."""
        address = parse_address(text)
        return next((gpu for gpu in self.all if address and gpu.address and gpu.address[:3] == address[:3]), None)

    def by_uuid(self, text: str) -> Gpu | None:
        """A full UUID in any case."""
        return next((gpu for gpu in self.all if gpu.uuid and gpu.uuid.lower() == text.lower()), None)

    def without_uuid(self) -> list[Gpu]:
        return [gpu for gpu in self.all if not gpu.uuid]


def parse_address(text: str) -> Address | None:
    """A PCI address with its domain, as numbers; the function may be left out."""
    parts = text.partition(".")[0].split(":")
    function = text.partition(".")[2] or "0"
    try:
        numbers = [int(part, 16) for part in (*parts, function) if _is_hexadecimal(part)]
    except ValueError:
        return None
    return (numbers[0], numbers[1], numbers[2], numbers[3]) if len(parts) == 3 and len(numbers) == 4 else None


def _is_hexadecimal(text: str) -> bool:
    return 0 < len(text) <= 8 and not text.strip("0123456789abcdefABCDEF")


def _from_proc(host: Host) -> list[Gpu]:
    found = []
    for name in host.listing(FOLDER):
        address = parse_address(name)
        if address:
            fields = parse_information(host.read(f"{FOLDER}/{name}/information"))
            if fields.get("GPU Excluded", "").lower() != "yes":  # the driver leaves it out of its own numbering
                found.append(_gpu(name, address, fields))
    return found


def _gpu(name: str, address: Address, fields: dict[str, str]) -> Gpu:
    minor = fields.get("Device Minor", "")
    uuid = fields.get("GPU UUID", "")
    known = is_number(minor) and int(minor) <= MINOR_MAX
    return Gpu(name, address, int(minor) if known else UNKNOWN, "" if "?" in uuid else uuid)


def _node_minors(host: Host) -> list[int]:
    """The minors of the GPU nodes that there are, by their own numbers."""
    return sorted(
        node.number[2]
        for node in host.nodes()
        if node.family == "nvidia" and is_number(node.path[len("/dev/nvidia") :]) and node.number[1] == NVIDIA_MAJOR
    )
