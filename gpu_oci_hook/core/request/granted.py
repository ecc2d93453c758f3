"""What a request comes to on this host: the claims for the items that count, and what became of the others."""

from __future__ import annotations

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.cdi import is_qualified
from gpu_oci_hook.core.request.cdi_nodes import add_cdi
from gpu_oci_hook.core.request.claim import Item
from gpu_oci_hook.core.request.features import add_features, add_imex_channels, add_mig_management
from gpu_oci_hook.core.request.gpu_nodes import NodeClaims, add_gpus, driver_is_loaded
from gpu_oci_hook.core.request.selection import select
from gpu_oci_hook.core.request.variables import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.request.claim import Claim, Host
    from gpu_oci_hook.core.request.selection import Selection
    from gpu_oci_hook.core.request.variables import Variables

# CDI vendors whose specs NVIDIA's runtime makes up as it goes; no file has them.
AUTOMATIC = ("runtime.nvidia.com/", "management.nvidia.com/")


def annotated(host: Host, items: list[Item]) -> tuple[list[Claim], list[Finding]]:
    """The nodes of the CDI devices that annotations name."""
    nodes = NodeClaims(host, "annotations")
    add_cdi(nodes, items)
    return list(nodes.claims.values()), nodes.findings


class Wishes:
    """What is asked for besides devices, as far as it counts.

    ``beyond_the_hook`` says whether NVIDIA's runtime is there, which understands more than its hook.
    """

    __slots__ = ("beyond_the_hook", "capabilities", "channels", "privileged", "variables")

    def __init__(
        self,
        capabilities: set[str],
        variables: Variables,
        channels: list[Item],
        privileged: bool,
        beyond_the_hook: bool,
    ) -> None:
        self.capabilities = capabilities
        self.variables = variables
        self.channels = channels
        self.privileged = privileged
        self.beyond_the_hook = beyond_the_hook


def requested(host: Host, items: list[Item], source: str, wishes: Wishes) -> tuple[list[Claim], list[Finding]]:
    """The nodes that items of mounts or of the environment stand for, and those that go with them."""
    nodes = NodeClaims(host, source)
    named = [item for item in items if _is_named_by_cdi(item)]
    add_cdi(nodes, named)
    others = [_plain(item) for item in items if not _is_named_by_cdi(item)]
    selection = select(host, others)
    if others and not _is_absent(nodes, selection, others):
        _report(nodes, selection)
    if named or selection.gpus:
        add_gpus(nodes, selection, wishes.capabilities)
        add_imex_channels(nodes, wishes.channels)
        add_mig_management(nodes, selection, wishes.variables, wishes.privileged)
        add_features(nodes, wishes.variables, wishes.beyond_the_hook)
    return list(nodes.claims.values()), nodes.findings


def _is_named_by_cdi(item: Item) -> bool:
    return is_qualified(item.text) and not item.text.startswith(AUTOMATIC)


def _plain(item: Item) -> Item:
    """``runtime.nvidia.com/gpu=0`` → ``0``."""
    return Item(item.text.partition("=")[2], item.place) if item.text.startswith(AUTOMATIC) else item


def _is_absent(nodes: NodeClaims, selection: Selection, items: list[Item]) -> bool:
    """Say so, once, where there is no driver and so no GPU to choose from."""
    if selection.known.all or driver_is_loaded(nodes.host):
        return False
    if nodes.host.node("/dev/dxg"):
        finding = say.note("not-applicable", items[0].place, "WSL gives GPUs through /dev/dxg, which is not NVIDIA's")
    else:
        finding = say.warning(
            "driver-not-loaded",
            items[0].place,
            f"GPUs are asked for ({shown(items)}), but NVIDIA's driver is not loaded; the container starts without",
            "load the driver, then recreate the container",
        )
    nodes.findings.append(finding)
    return True


def _report(nodes: NodeClaims, selection: Selection) -> None:
    """What could not be chosen: one finding for all items of a kind, however many there are."""
    for note in selection.known.notes:
        nodes.findings.append(say.note("minor-by-order", "/proc/driver/nvidia/gpus", note))
    if selection.unknown:
        nodes.findings.append(
            say.warning(
                "unknown-device",
                selection.unknown[0].place,
                f"this host has no {shown(selection.unknown)}; no rule was added for it",
                "nvidia-smi -L lists what there is",
            )
        )
    if selection.unclear:
        nodes.findings.append(
            say.error(
                "unclear-device",
                selection.unclear[0].place,
                f"it cannot be told which device {shown(selection.unclear)} is; no rule was added for it",
                "install nvidia-ml-py for what only NVML knows, or name GPUs by their PCI address",
            )
        )
    if not (selection.gpus or selection.unknown or selection.unclear):
        nodes.findings.append(say.warning("node-missing", "", "the driver is loaded, but it has no GPU"))
