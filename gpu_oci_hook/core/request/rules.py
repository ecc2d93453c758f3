"""Source: allow rules that name one device with reading and writing. They need no rule of ours, but the link."""

from __future__ import annotations

from gpu_oci_hook.core.request.claim import Claim
from gpu_oci_hook.core.rules import PLACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.spec import Spec


def rule_claims(spec: Spec) -> list[Claim]:
    return [
        Claim("", (rule.type, rule.major, rule.minor), PLACE, f"{PLACE}[{rule.index}]")
        for rule in spec.rules
        if rule.allow and rule.exact and {"r", "w"} <= set(rule.access)
    ]
