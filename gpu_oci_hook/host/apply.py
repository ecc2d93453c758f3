"""Carrying out a plan: links first, since a rule without its link is dropped by older runtimes, then the spec."""

from __future__ import annotations

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.plan import CREATE, REPLACE
from gpu_oci_hook.core.spec import splice_rules
from gpu_oci_hook.host import links
from gpu_oci_hook.host.bundle import ChangedError, replace_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.plan import LinkEdit, Plan
    from gpu_oci_hook.core.spec import Spec
    from gpu_oci_hook.host.bundle import SpecFile


def apply_links(edits: list[LinkEdit], root: str) -> list[Finding]:
    """Make the links that are to be created or replaced. Each that fails is a finding; the others are made."""
    failed = []
    for edit in edits:
        if edit.action not in (CREATE, REPLACE):
            continue
        try:
            links.make(root, edit.number, edit.target)
        except OSError as error:
            failed.append(
                say.error(
                    "link-failed",
                    edit.path,
                    f"the link cannot be made: {error.strerror}",
                    f"as root: ln -s {edit.target} {edit.path}",
                )
            )
    return failed


def apply_plan(plan: Plan, spec: Spec, file: SpecFile, root: str) -> list[Finding]:
    """Make a plan's links and add its rules to the spec's file; what failed comes back as findings.

    A spec that needs no rule is not written at all. Raises ChangedError if the file was replaced meanwhile: read it
    anew then.
    """
    failed = apply_links(plan.links, root)
    if plan.rules:
        try:
            replace_spec(file, splice_rules(spec.document, [edit.rule for edit in plan.rules]))
        except ChangedError:
            raise
        except OSError as error:
            failed.append(
                say.error(
                    "spec-not-written",
                    file.path,
                    f"the rules could not be added: {error.strerror}",
                    "the bundle must be on a writable filesystem with space left",
                )
            )
    return failed
