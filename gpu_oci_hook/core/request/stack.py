"""Which source of a request counts, and whether: CDI annotations, lists told by mounts, the environment.

NVIDIA's order (nvidia-container-toolkit internal/config/image, VisibleDevices): the first of them that asks for a
device is the one that counts.
"""

from __future__ import annotations

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.request.acting import Acting, is_privileged
from gpu_oci_hook.core.request.nvidia_config import ENVIRONMENT, MOUNTS, PATH, accepts
from gpu_oci_hook.core.request.variables import VISIBLE, Variables, driver_capabilities, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.request.asks import Asks
    from gpu_oci_hook.core.request.claim import Claim, Context, Item
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
    acting = Acting(spec, context)
    privileged = is_privileged(spec)
    ignored = []
    for source, items in (("mounts", asks.listed.devices), ("environment", asks.visible)):
        refused = _refusal(context, acting, source, privileged) if items else ""
        if refused:
            ignored.append(_ignored(source, items, refused, acting))
        elif items:
            claims, findings = _granted(context, asks, source, items, acting, privileged)
            return claims, ignored + findings
    return [], ignored


def _granted(
    context: Context, asks: Asks, source: str, items: list[Item], acting: Acting, privileged: bool
) -> tuple[list[Claim], list[Finding]]:
    from gpu_oci_hook.core.request.granted import Wishes, requested

    # Mounts may count where the environment does not.
    environment_counts = source == "environment" or not _refusal(context, acting, "environment", privileged)
    wishes = Wishes(
        driver_capabilities(asks.variables),
        asks.variables if context.policy.env != "never" else Variables([]),
        asks.listed.channels or (asks.channels if environment_counts else []),
        privileged,
        acting.beyond_the_hook,
    )
    return requested(context.host, items, source, wishes)


def _ignored(source: str, items: list[Item], refused: str, acting: Acting) -> Finding:
    what = f"{VISIBLE}={shown(items)}" if source == "environment" else f"the list in mounts ({shown(items)})"
    hint = "" if acting else 'if something outside of the spec does, set env = "always" under [request]'
    return say.note("environment-ignored", items[0].place, f"{what} ignored: {refused}", hint)


def _refusal(context: Context, acting: Acting, source: str, privileged: bool) -> str:
    """Why a request does not count; empty if it does."""
    policy = context.policy
    if source == "environment" and policy.env == "never":
        return 'the settings say env = "never"'
    if not acting:
        return "nothing in this spec acts on it"
    if source == "environment" and not privileged:
        if not policy.env_when_unprivileged:
            return "the container has no CAP_SYS_ADMIN, and the settings say env_when_unprivileged = false"
        if not acting.always and not accepts(context.host, ENVIRONMENT):
            return f"the container has no CAP_SYS_ADMIN, and {PATH} wants that"
    if source == "mounts" and not acting.always and not accepts(context.host, MOUNTS):
        return f"{PATH} does not say {MOUNTS[0]} = true"
    return ""
