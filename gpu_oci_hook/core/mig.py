"""MIG instances: which there are on a GPU, and the capability nodes that open them."""

from __future__ import annotations

from gpu_oci_hook.core.procfs import is_number, parse_capability_minors, parse_information

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.request.claim import Host

TABLE = "/proc/driver/nvidia-caps/mig-minors"
TREE = "/proc/driver/nvidia/capabilities"


class Instance:
    """A compute instance of a GPU instance of a GPU, which is named by its device minor."""

    __slots__ = ("compute", "gpu", "graphics")

    def __init__(self, gpu: int, graphics: int, compute: int) -> None:
        self.gpu = gpu
        self.graphics = graphics
        self.compute = compute

    @property
    def key(self) -> tuple[int, int, int]:
        return (self.gpu, self.graphics, self.compute)

    def __repr__(self) -> str:
        return f"Instance(gpu{self.gpu}/gi{self.graphics}/ci{self.compute})"


class Capabilities:
    """The driver's capability minors, read when they are asked for."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._minors: dict[str, int] | None = None
        self._instances: dict[int, list[Instance]] = {}

    @property
    def minors(self) -> dict[str, int]:
        """The driver's table, which has a thousand lines on a host with eight GPUs."""
        if self._minors is None:
            self._minors = parse_capability_minors(self.host.read(TABLE))
        return self._minors

    def minor(self, name: str) -> int | None:
        """The minor of ``config``, ``monitor`` or ``gpu0/gi1/ci0/access``; None where the driver names none."""
        if name in self.minors:
            return self.minors[name]
        gpu, _, rest = name.partition("/")
        file = f"{gpu}/mig/{rest}" if rest else f"mig/{gpu}"
        text = parse_information(self.host.read(f"{TREE}/{file}")).get("DeviceFileMinor", "")
        return int(text) if is_number(text) else None

    def instances(self, gpu: int) -> list[Instance]:
        """The MIG instances of a GPU in the order in which NVML numbers them: by GPU instance, then compute instance.

        The driver's tree has a folder for each that exists. Where that tree cannot be read, those of the table count
        whose nodes are there; the table alone lists all that are possible.
        """
        if gpu not in self._instances:
            found = self._in_tree(gpu) or self._with_nodes(gpu)
            self._instances[gpu] = sorted(found, key=lambda instance: instance.key)
        return self._instances[gpu]

    def exists(self, instance: Instance) -> bool:
        return any(other.key == instance.key for other in self.instances(instance.gpu))

    def _in_tree(self, gpu: int) -> list[Instance]:
        folder = f"{TREE}/gpu{gpu}/mig"
        return [
            Instance(gpu, graphics, compute)
            for graphics in _numbers(self.host.listing(folder), "gi")
            for compute in _numbers(self.host.listing(f"{folder}/gi{graphics}"), "ci")
        ]

    def _with_nodes(self, gpu: int) -> list[Instance]:
        if self.host.listing(TREE):
            return []
        found = []
        for name in self.minors:
            parts = name.split("/")
            if len(parts) == 4 and parts[0] == f"gpu{gpu}" and parts[3] == "access":
                pairs = [(a, b) for a in _numbers([parts[1]], "gi") for b in _numbers([parts[2]], "ci")]
                found += [Instance(gpu, a, b) for a, b in pairs]
        return [instance for instance in found if all(map(self._has_node, access_names(instance)))]

    def _has_node(self, name: str) -> bool:
        minor = self.minor(name)
        return minor is not None and self.host.node(node_path(minor)) is not None


def access_names(instance: Instance) -> tuple[str, str]:
    """The two capabilities that a MIG device needs, as the driver's table names them."""
    gpu, graphics, compute = instance.key
    return f"gpu{gpu}/gi{graphics}/access", f"gpu{gpu}/gi{graphics}/ci{compute}/access"


def node_path(minor: int) -> str:
    return f"/dev/nvidia-caps/nvidia-cap{minor}"


def _numbers(names: list[str], prefix: str) -> list[int]:
    rests = [name[len(prefix) :] for name in names if name.startswith(prefix)]
    return [int(rest) for rest in rests if is_number(rest)]
