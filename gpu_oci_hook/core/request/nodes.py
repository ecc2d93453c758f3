"""Source: the nodes in linux.devices. The runtime makes them in the container; by themselves they allow nothing."""

from __future__ import annotations

from gpu_oci_hook.core.request.claim import Claim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.spec import Spec


def node_claims(spec: Spec) -> list[Claim]:
    return [
        Claim(node.path, node.number, "linux.devices", node.place, type=node.type)
        for node in spec.nodes
        if node.type != "p"
    ]
