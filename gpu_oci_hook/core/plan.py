"""What has to be done for one container: spec + inventory → devices, edits, findings.

Edits are values: a dry run prints the list that a real run applies (host/apply.py).
"""

from __future__ import annotations

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.devices import link_path, spell
from gpu_oci_hook.core.links import BLOCKED, MISSING, RIGHT, target_for
from gpu_oci_hook.core.request import find_devices
from gpu_oci_hook.core.rules import DENIED, FULL, PARTIAL, PLACE, Emulator, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpu_oci_hook.core.devices import Node, Number
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.request.claim import Context, GivenDevice, Host
    from gpu_oci_hook.core.spec import Spec

CREATE, REPLACE, KEEP, SKIP = "create", "replace", "keep", "skip"


class LinkEdit:
    """A link and what to do about it: create, replace, keep (it is right) or skip (something is in the way)."""

    __slots__ = ("action", "number", "reason", "target")

    def __init__(self, number: Number, target: str, action: str, reason: str = "") -> None:
        self.number = number
        self.target = target
        self.action = action
        self.reason = reason

    @property
    def path(self) -> str:
        return link_path(self.number)

    def describe(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.action} {self.path} -> {self.target}{reason}"

    def as_json(self) -> dict[str, str]:
        return {"path": self.path, "target": self.target, "action": self.action, "reason": self.reason}


class RuleEdit:
    """A rule to append to linux.resources.devices."""

    __slots__ = ("rule",)

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def describe(self) -> str:
        return f"allow {self.rule.spell()}"

    def as_json(self) -> dict[str, Any]:
        rule = self.rule
        return {
            "allow": rule.allow,
            "type": rule.type,
            "major": rule.major,
            "minor": rule.minor,
            "access": rule.access,
        }


class Plan:
    """Devices that the container is given, edits still to be made for them, and what was noticed on the way."""

    __slots__ = ("devices", "findings", "links", "rules")

    def __init__(self) -> None:
        self.devices: list[GivenDevice] = []
        self.rules: list[RuleEdit] = []
        self.links: list[LinkEdit] = []
        self.findings: list[Finding] = []

    @property
    def changes(self) -> list[RuleEdit | LinkEdit]:
        """The edits that change something, in the order in which they are made."""
        return [*(link for link in self.links if link.action in (CREATE, REPLACE)), *self.rules]

    def as_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "devices": [device.as_json() for device in self.devices],
            "edits": {
                "rules": [rule.as_json() for rule in self.rules],
                "links": [link.as_json() for link in self.links],
            },
            "findings": [finding.as_json() for finding in self.findings],
        }


def make_plan(spec: Spec, context: Context) -> Plan:
    """Work out the edits for one container. Nothing is changed."""
    plan = Plan()
    plan.devices, plan.findings, host_nodes = find_devices(spec, context)
    emulator = Emulator(spec.rules)
    for rule, reason in emulator.errors:
        plan.findings.append(say.warning("rule-refused", f"{PLACE}[{rule.index}]", f"{rule.spell()}: {reason}"))
    if plan.devices and not spec.rules and _is_crun(context.next_runtime):
        plan.findings.append(_unrestricted())
    else:
        for device in plan.devices:
            _plan_rule(plan, device, emulator, context.access)
    for node in host_nodes:
        edit = link_edit(node, context.host)
        plan.links.append(edit)
        if edit.action == SKIP:
            plan.findings.append(blocked_link(edit))
    return plan


def _is_crun(runtime: str) -> bool:
    """Whether a runtime is crun, by its file's name (krun is the same program)."""
    return runtime.rpartition("/")[2].startswith(("crun", "krun"))


def _unrestricted() -> Finding:
    """Crun writes no device rules for a spec that has none (cgroup-resources.c: ``if (resources->devices_len)``).

    The first rule would then close everything else on cgroup v2. runc denies all but its defaults in that case.
    """
    return say.note(
        "unrestricted",
        PLACE,
        "the spec has no device rules, and crun then restricts nothing; no rule was added, since one would restrict",
        "give the spec a deny-all rule if the container is to be restricted",
    )


def _plan_rule(plan: Plan, device: GivenDevice, emulator: Emulator, access: str) -> None:
    answer = emulator.access(device.number)
    name = f"{device.path} ({spell(device.number)})"
    if answer == FULL:
        return
    if answer == DENIED:
        plan.findings.append(
            say.warning(
                "explicit-deny",
                device.place,
                f"{name} is denied by a rule of the spec; none was added",
                "remove that deny rule if the container is to use the device",
            )
        )
    elif answer == PARTIAL:
        plan.findings.append(
            say.warning(
                "partial-access",
                device.place,
                f"{name} may be read or written but not both; nothing was added to what the spec says",
                'give it access "rw": NVML and CUDA open it for reading and writing',
            )
        )
    else:
        denied = emulator.denied_by_name(device.number)
        granted = "".join(letter for letter in access if letter not in denied)
        plan.rules.append(RuleEdit(Rule(True, *device.number, access=granted)))


def link_edit(node: Node, host: Host) -> LinkEdit:
    """What to do about the link of one node of the host."""
    state = host.link(node.number)
    target = target_for(node.file)
    if state.state == RIGHT:
        return LinkEdit(node.number, state.text or target, KEEP)
    if state.state == MISSING:
        return LinkEdit(node.number, target, CREATE)
    if state.state == BLOCKED:
        return LinkEdit(node.number, target, SKIP, state.text)
    return LinkEdit(node.number, target, REPLACE, f"it is {state.state}: {state.text}")


def blocked_link(edit: LinkEdit) -> Finding:
    return say.error(
        "link-blocked",
        edit.path,
        f"the link cannot be made: {edit.reason}",
        f"move it away, then run: ln -s {edit.target} {edit.path}",
    )
