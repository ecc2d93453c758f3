"""The nodes that come with chosen GPUs, as NVIDIA's tools give them."""

from __future__ import annotations

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.devices import NVIDIA_MAJOR
from gpu_oci_hook.core.mig import access_names, node_path
from gpu_oci_hook.core.request.claim import Claim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.gpus import Gpu
    from gpu_oci_hook.core.request.claim import Host
    from gpu_oci_hook.core.request.selection import Selection

FAMILY = "nvidia"
PCI = "/sys/bus/pci/devices"
# What in a node's path tells the driver that makes it, as /proc/devices names it; the others are major 195's.
DRIVERS = (
    ("nvidia-uvm", "nvidia-uvm"),
    ("nvidia-caps-imex-channels", "nvidia-caps-imex-channels"),
    ("nvidia-caps", "nvidia-caps"),
    ("/dri/", "drm"),
)


class NodeClaims:
    """Collects one source's claims about nodes of the host; those that are missing become findings."""

    def __init__(self, host: Host, source: str) -> None:
        self.host = host
        self.source = source
        self.claims: dict[str, Claim] = {}
        self.findings: list[Finding] = []

    def add(self, path: str, place: str, needed: bool = False) -> None:
        """Claim a node by its path on the host; ``needed`` says whether a container cannot do without it."""
        node = self.host.node(path)
        if path in self.claims:
            return
        if node is None:
            self.findings.append(_missing(self.host, path, place, needed))
        else:
            self.claims[path] = Claim(path, None, self.source, place, FAMILY)

    def add_gpu(self, gpu: Gpu, place: str) -> None:
        """Claim a GPU's node: the one of its name if it has the number that the driver tells, else the number's."""
        number = ("c", NVIDIA_MAJOR, gpu.minor)
        node = self.host.node(gpu.path)
        if node is not None and node.number != number:
            node = self.host.by_number(number)
            if node is None:
                self.findings.append(_missing(self.host, f"a node for c {NVIDIA_MAJOR}:{gpu.minor}", place, True))
                return
        self.add(node.path if node else gpu.path, place, needed=True)


def _missing(host: Host, path: str, place: str, needed: bool) -> Finding:
    driver = next((driver for part, driver in DRIVERS if part in path), FAMILY)
    loaded = driver_is_loaded(host) if driver == FAMILY else any(name == driver for _, _, name in host.drivers())
    because = (
        f"the driver {driver} is loaded but has not made it yet" if loaded else f"the driver {driver} is not loaded"
    )
    message = f"{path} is not there: {because}; no rule was added"
    if not needed:
        return say.note("node-missing", place, message)
    return say.warning("node-missing", place, message, "run nvidia-modprobe on the host before containers start")


def driver_is_loaded(host: Host) -> bool:
    """Whether NVIDIA's driver has registered its character devices."""
    return any(kind == "c" and major == NVIDIA_MAJOR for kind, major, _ in host.drivers())


def add_gpus(nodes: NodeClaims, selection: Selection, capabilities: set[str]) -> None:
    """Claim the chosen GPUs and MIG instances, and what goes with them under these driver capabilities.

    libnvidia-container (src/nvc_mount.c) gives nvidiactl always, what is not of major 195 with ``compute``, and modeset
    with ``display``; nvidia-container-toolkit (internal/modifier/graphics.go) gives the DRM nodes of the chosen GPUs
    with ``graphics`` or ``display``.
    """
    places = [item.place for _, item in (*selection.gpus.values(), *selection.instances.values())]
    for gpu, item in selection.gpus.values():
        nodes.add_gpu(gpu, item.place)
    for instance, item in selection.instances.values():
        for name in access_names(instance):
            add_capability(nodes, selection, name, item.place)
    if not places:
        return
    nodes.add("/dev/nvidiactl", places[0], needed=True)
    if capabilities & {"all", "compute"}:
        nodes.add("/dev/nvidia-uvm", places[0])
        nodes.add("/dev/nvidia-uvm-tools", places[0])
    if capabilities & {"all", "display"}:
        nodes.add("/dev/nvidia-modeset", places[0])
    if capabilities & {"all", "display", "graphics"}:
        for gpu, item in selection.gpus.values():
            _add_drm(nodes, gpu, item.place)


def add_capability(nodes: NodeClaims, selection: Selection, name: str, place: str) -> None:
    """Claim the node of a capability such as ``gpu0/gi1/access`` or ``config``."""
    minor = selection.capabilities.minor(name)
    if minor is None:
        nodes.findings.append(say.warning("node-missing", place, f"the driver tells no minor for {name}"))
    else:
        nodes.add(node_path(minor), place, needed=True)


def _add_drm(nodes: NodeClaims, gpu: Gpu, place: str) -> None:
    """Claim a GPU's own card and render nodes, as sysfs or udev's links name them. Headless drivers make none."""
    if gpu.address is None:
        return
    domain, bus, device, function = gpu.address
    pci = f"{domain:04x}:{bus:02x}:{device:02x}.{function:x}"
    names = [name for name in nodes.host.listing(f"{PCI}/{pci}/drm") if name.startswith(("card", "renderD"))]
    if not names:
        by_path = (f"by-path/pci-{pci}-card", f"by-path/pci-{pci}-render")
        names = [name for name in by_path if nodes.host.node(f"/dev/dri/{name}")]
    for name in names:
        nodes.add(f"/dev/dri/{name}", place)
