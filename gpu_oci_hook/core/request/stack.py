"""Sources that the container's own stack acts on: CDI annotations, lists told by mounts, the environment.

NVIDIA's order (nvidia-container-toolkit internal/config/image, VisibleDevices): the first of them that asks for a
device is the one that counts.
"""

from __future__ import annotations

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.cdi import is_qualified, vendor_of
from gpu_oci_hook.core.request.acting import Acting, is_privileged
from gpu_oci_hook.core.request.cdi_nodes import add_cdi
from gpu_oci_hook.core.request.claim import Item
from gpu_oci_hook.core.request.features import add_features, add_imex_channels, add_mig_management
from gpu_oci_hook.core.request.gpu_nodes import NodeClaims, add_gpus, driver_is_loaded
from gpu_oci_hook.core.request.selection import select
from gpu_oci_hook.core.request.variables import VISIBLE, driver_capabilities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.request.asks import Asks
    from gpu_oci_hook.core.request.claim import Claim, Context
    from gpu_oci_hook.core.request.selection import Selection
    from gpu_oci_hook.core.spec import Spec

# CDI vendors whose specs NVIDIA's runtime makes up as it goes; no file has them.
AUTOMATIC = ("runtime.nvidia.com/", "management.nvidia.com/")
SHOWN = 60  # characters of a request in a message


def stack_claims(spec: Spec, context: Context, asks: Asks) -> tuple[list[Claim], list[Finding]]:
    """The devices that a spec asks its stack for, as far as the stack will give them."""
    by_cdi = NodeClaims(context.host, "annotations")
    if asks.annotated:
        add_cdi(by_cdi, asks.annotated)
    claims, findings = list(by_cdi.claims.values()), by_cdi.findings
    if not any(vendor_of(item.text).endswith("nvidia.com") for item in asks.annotated):
        more, noticed = _acted_on(spec, context, asks)
        claims, findings = claims + more, findings + noticed
    return claims, findings


def _acted_on(spec: Spec, context: Context, asks: Asks) -> tuple[list[Claim], list[Finding]]:
    """What lists in mounts, or else the environment, ask for, where anything acts on that."""
    items = asks.listed.devices or asks.visible
    if not items:
        return [], []
    source = "mounts" if asks.listed.devices else "environment"
    acting = Acting(spec, context)
    privileged = is_privileged(spec)
    refused = _refusal(context, acting, source, privileged)
    if refused:
        what = f"{VISIBLE}={_shown(items)}" if source == "environment" else f"the list in mounts ({_shown(items)})"
        return [], [say.note("environment-ignored", items[0].place, f"{what} ignored: {refused}")]
    nodes = NodeClaims(context.host, source)
    named = [item for item in items if is_qualified(item.text) and not item.text.startswith(AUTOMATIC)]
    add_cdi(nodes, named)
    others = [_plain(item) for item in items if item not in named]
    selection = select(context.host, others)
    if others and not _is_absent(nodes, selection, others):
        _report(nodes, selection)
    if named or selection.gpus:
        add_gpus(nodes, selection, driver_capabilities(asks.variables))
        add_imex_channels(nodes, asks.channels)
        add_mig_management(nodes, selection, asks.variables, privileged)
        add_features(nodes, asks.variables, acting.beyond_the_hook)
    return list(nodes.claims.values()), nodes.findings


def _refusal(context: Context, acting: Acting, source: str, privileged: bool) -> str:
    """Why a request does not count; empty if it does."""
    policy = context.policy
    if source == "environment" and policy.env == "never":
        return 'the settings say env = "never"'
    if not acting:
        return "nothing in this spec acts on it"
    if source == "environment" and not (policy.env_when_unprivileged or privileged):
        return "the container has no CAP_SYS_ADMIN, and the settings say env_when_unprivileged = false"
    return ""


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
            f"{_shown(items)} asks for GPUs, but NVIDIA's driver is not loaded; the container starts without them",
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
                f"this host has no {_shown(selection.unknown)}; no rule was added for it",
                "nvidia-smi -L lists what there is",
            )
        )
    if selection.unclear:
        nodes.findings.append(
            say.error(
                "unclear-device",
                selection.unclear[0].place,
                f"it cannot be told which device {_shown(selection.unclear)} is; no rule was added for it",
                "install nvidia-ml-py for what only NVML knows, or name GPUs by their PCI address",
            )
        )
    if not (selection.gpus or selection.unknown or selection.unclear):
        nodes.findings.append(say.warning("node-missing", "", "the driver is loaded, but it has no GPU"))


def _shown(items: list[Item]) -> str:
    text = ",".join(item.text for item in items[:20])
    return text if len(text) <= SHOWN and len(items) <= 20 else f"{text[:SHOWN]}… ({len(items)} items)"
