"""precreate (podman, buildah): the spec comes on standard input and goes on, completed, on standard output.

It is the one stage at which the runtime has not read the spec yet, so links and rules do all there is to do, as the
wrapper does it (containers/common pkg/hooks/exec/runtimeconfigfilter.go).
"""

from __future__ import annotations

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.plan import make_plan
from gpu_oci_hook.core.request import Context
from gpu_oci_hook.core.rules import SpecError
from gpu_oci_hook.core.spec import parse_spec, splice_rules
from gpu_oci_hook.host.apply import apply_links
from gpu_oci_hook.host.inventory import Inventory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.host.settings import Settings


def complete_spec(text: str, settings: Settings) -> tuple[str, list[Finding]]:
    """A spec's text with the container's rules in it, and what was noticed; links are made.

    Where nothing is to be added, the very text that came in. Raises JsonTextError and SpecError.
    """
    spec = parse_spec(text)
    inventory = Inventory(settings.host_root, settings.driver_roots, settings.families)
    plan = make_plan(spec, Context(inventory, settings.access, settings.policy))
    findings = [finding for finding in plan.findings if finding.severity != say.NOTE]
    findings += apply_links(plan.links, settings.host_root)
    if not plan.rules:
        return text, findings
    try:
        return splice_rules(spec.document, [edit.rule for edit in plan.rules]), findings
    except SpecError as error:
        return text, [*findings, say.error("unusable-spec", error.path, error.message)]
