"""What a request may name besides GPUs: IMEX channels, MIG's management, and the features that variables switch on."""

from __future__ import annotations

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.procfs import is_number
from gpu_oci_hook.core.request.gpu_nodes import add_capability

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.request.claim import Item
    from gpu_oci_hook.core.request.gpu_nodes import NodeClaims
    from gpu_oci_hook.core.request.selection import Selection
    from gpu_oci_hook.core.request.variables import Variables

IMEX = "NVIDIA_IMEX_CHANNELS"
IMEX_FOLDER = "/dev/nvidia-caps-imex-channels"
# nvidia-container-toolkit internal/discover: gds.go, mofed.go, nvswitch.go, gdrcopy.go
FEATURES = {
    "NVIDIA_GDS": ("/dev", "nvidia-fs"),
    "NVIDIA_MOFED": ("/dev/infiniband", "uverbs"),
    "NVIDIA_NVSWITCH": ("/dev", "nvidia-nvswitch"),
    "NVIDIA_GDRCOPY": ("/dev", "gdrdrv"),
}
MIG_MANAGEMENT = {"NVIDIA_MIG_CONFIG_DEVICES": "config", "NVIDIA_MIG_MONITOR_DEVICES": "monitor"}


def add_imex_channels(nodes: NodeClaims, items: list[Item]) -> None:
    """Claim IMEX channels by number. ``all`` names none, as in NVIDIA's own reading."""
    bogus = [item for item in items if not is_number(item.text)]
    for item in items:
        if is_number(item.text):
            nodes.add(f"{IMEX_FOLDER}/channel{int(item.text)}", item.place)
    if bogus:
        named = ", ".join(repr(item.text[:40]) for item in bogus[:3])
        nodes.findings.append(
            say.warning("unknown-channel", bogus[0].place, f"{IMEX} names no channel with {named}; no rule was added")
        )


def add_mig_management(nodes: NodeClaims, selection: Selection, variables: Variables, privileged: bool) -> None:
    """Claim the nodes that let a container configure or monitor MIG. Only privileged containers may."""
    for variable, name in MIG_MANAGEMENT.items():
        value, place = variables.get(variable), variables.place(variable)
        if not value:
            continue
        if not privileged:
            nodes.findings.append(
                say.warning(
                    "not-privileged",
                    place,
                    f"{variable} needs CAP_SYS_ADMIN, which this container has not; no rule was added",
                    "NVIDIA's hook refuses such a container",
                )
            )
        elif value.lower() != "all":
            nodes.findings.append(say.warning("unknown-device", place, f"{variable} may be 'all' only, not {value!r}"))
        else:
            add_capability(nodes, selection, name, place)


def add_features(nodes: NodeClaims, variables: Variables, acts: bool) -> None:
    """Claim what the variables of FEATURES switch on. ``acts`` says whether NVIDIA's runtime is there to see them."""
    for variable, (folder, prefix) in FEATURES.items():
        place = variables.place(variable)
        if variables.get(variable) != "enabled":
            continue
        if not acts:
            nodes.findings.append(
                say.note(
                    "environment-ignored",
                    place,
                    f"{variable} is ignored: NVIDIA's hook does not know it, only NVIDIA's runtime does",
                )
            )
            continue
        paths = [f"{folder}/{name}" for name in nodes.host.device_names(folder) if name.startswith(prefix)]
        if variable == "NVIDIA_MOFED":
            paths.append(f"{folder}/rdma_cm")
        for path in paths:
            nodes.add(path, place)
        if not paths:
            nodes.findings.append(say.note("node-missing", place, f"{variable}: the host has no {folder}/{prefix}*"))
