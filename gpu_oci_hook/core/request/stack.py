"""Which source of a request counts, and whether: CDI annotations, lists told by mounts, the environment.

NVIDIA's order (nvidia-container-toolkit internal/config/image, VisibleDevices): the first of them that asks for a
device is the one that counts.
"""

from __future__ import annotations

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.request.acting import Acting, is_privileged
from gpu_oci_hook.core.request.variables import VISIBLE, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.request.asks import Asks
    from gpu_oci_hook.core.request.claim import Claim, Context
    from gpu_oci_hook.core.spec import Spec


def stack_claims(spec: Spec, context: Context, asks: Asks) -> tuple[list[Claim], list[Finding]]:
    """The devices that a spec asks its stack for, as far as the stack will give them."""
    claims: list[Claim] = []
    findings: list[Finding] = []
    if asks.annotated and not _carried_out(spec, context):
        from gpu_oci_hook.core.request.granted import annotated

        claims, findings = annotated(context.host, asks.annotated)
    if not asks.annotates_gpus:
        more, noticed = _acted_on(spec, context, asks)
        claims, findings = claims + more, findings + noticed
    return claims, findings


def _carried_out(spec: Spec, context: Context) -> bool:
    """Whether the engine has done what CDI annotations ask for: it puts all of their nodes into linux.devices, or none.

    Then there is no need to read CDI specs, which for a large one in YAML costs more than all the rest.
    """
    return any(context.host.owns_path(node.path) for node in spec.nodes)


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
        what = f"{VISIBLE}={shown(items)}" if source == "environment" else f"the list in mounts ({shown(items)})"
        hint = "" if acting else 'if something outside of the spec does, set env = "always" under [request]'
        return [], [say.note("environment-ignored", items[0].place, f"{what} ignored: {refused}", hint)]
    from gpu_oci_hook.core.request.granted import requested

    return requested(context.host, asks, items, source, privileged, acting.beyond_the_hook)


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
