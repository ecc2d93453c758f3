"""Source: allow rules that name one device with reading and writing. They need no rule of ours, but the link.

A rule that a later deny-all voids gives nothing, and must not be brought back by us.
"""

from __future__ import annotations

from gpu_oci_hook.core.request.claim import Claim
from gpu_oci_hook.core.rules import FULL, PLACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.rules import Emulator
    from gpu_oci_hook.core.spec import Spec


def rule_claims(spec: Spec, emulator: Emulator) -> list[Claim]:
    """Claims for the rules that are in force after all of them; ``emulator`` has taken the spec's rules."""
    claims = [
        Claim("", (rule.type, rule.major, rule.minor), PLACE, f"{PLACE}[{rule.index}]")
        for rule in spec.rules
        if rule.allow and rule.exact and {"r", "w"} <= set(rule.access)
    ]
    return [claim for claim in claims if claim.number and emulator.access(claim.number) == FULL]
