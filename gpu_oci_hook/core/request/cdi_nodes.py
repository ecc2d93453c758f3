"""Source: names of CDI devices, resolved by the host's CDI specs, since those name the nodes."""

from __future__ import annotations

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.cdi import CdiError, is_qualified, vendor_of
from gpu_oci_hook.core.request.claim import Claim
from gpu_oci_hook.core.request.gpu_nodes import FAMILY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.cdi import CdiNode, Registry
    from gpu_oci_hook.core.request.claim import Item
    from gpu_oci_hook.core.request.gpu_nodes import NodeClaims


def add_cdi(nodes: NodeClaims, items: list[Item]) -> None:
    """Claim the nodes of CDI devices; for names that cannot be resolved there is a finding."""
    bad = [item for item in items if not is_qualified(item.text)]
    good = [item for item in items if is_qualified(item.text)]
    for item in bad[:1]:
        nodes.findings.append(
            say.warning("unknown-device", item.place, f"{item.text[:60]!r} is no CDI name (vendor.com/class=device)")
        )
    if good:
        registry = nodes.host.cdi({item.text.partition("=")[0] for item in good})
        unresolved = [item for item in good if not _add_device(nodes, registry, item)]
        for path, problem in registry.problems:
            nodes.findings.append(say.warning("cdi-unreadable", path, f"this CDI spec cannot be used: {problem}"))
        if unresolved:
            names = ", ".join(item.text[:60] for item in unresolved[:3])
            nodes.findings.append(
                say.warning(
                    "unknown-device",
                    unresolved[0].place,
                    f"no CDI spec names {names} ({len(unresolved)} in all), or two of them do; no rule was added",
                    "nvidia-ctk cdi list shows what there is",
                )
            )


def _add_device(nodes: NodeClaims, registry: Registry, item: Item) -> bool:
    try:
        found = registry.find(item.text)
    except CdiError as error:
        registry.problems.append((item.text, str(error)))
        return False
    for node in found or []:
        _add_node(nodes, node, item)
    return found is not None


def _add_node(nodes: NodeClaims, node: CdiNode, item: Item) -> None:
    """Claim one node. What the spec gives for less than reading and writing is not made more of."""
    family = FAMILY if vendor_of(item.text).endswith("nvidia.com") else ""
    if node.number is None and nodes.host.node(node.path) is None:
        nodes.add(node.path, item.place)
    elif {"r", "w"} <= set(node.permissions):
        nodes.claims.setdefault(node.path, Claim(node.path, node.number, nodes.source, item.place, family))
    else:
        nodes.findings.append(
            say.note("partial-access", item.place, f"{node.path} is given with access {node.permissions!r} only")
        )
