"""A verdict in full sentences: what was looked at, what was found, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_oci_hook.core.devices import spell
from gpu_oci_hook.running.judge import NO_GPU, NOT_AFFECTED, OK

if TYPE_CHECKING:
    from gpu_oci_hook.running.audit import Audited, Report
    from gpu_oci_hook.running.facts import Facts
    from gpu_oci_hook.running.host import Host

ELSEWHERE = (
    "The device cgroup is fine. If a program still fails, it is not the device cgroup, look elsewhere: "
    "fabric manager and NVSwitch state, driver and library versions, a missing control node (audit --host)."
)
WSL = "This host has /dev/dxg and no NVIDIA nodes: under WSL2 GPUs do not go through these devices. Look elsewhere."
NO_NODES = "This host has no GPU node at all: look at the driver first."


def explain(audited: Audited, report: Report, host: Host) -> list[str]:
    """Lines for an administrator; the first is the verdict."""
    facts, verdict = audited
    container = facts.container
    lines = [f"{container.id}: {verdict.name}", verdict.cause]
    if verdict.fix:
        lines.append(f"Fix: {verdict.fix}")
    if verdict.name == OK or (verdict.name == NOT_AFFECTED and facts.given):
        lines.append(ELSEWHERE)
    if verdict.name == NO_GPU and not host.names:
        lines.append(WSL if host.inventory.node("/dev/dxg") else NO_NODES)
    lines += [
        "",
        f"unit      {container.unit or 'none'} (in {container.slice}), systemd {report.systemd or 'not reached'}",
        f"cgroup    v{report.cgroup} {container.cgroups[0].path}" + (" (below its unit's)" if facts.inner else ""),
        f"spec      {container.bundle or facts.evidence.problem}",
    ]
    if facts.unit_devices:
        listed = f"{facts.unit_devices.policy}, {len(facts.unit_devices.allow)} entries"
        lines.append(f"policy    {listed}" + ("".join(f", BPFProgram={p}" for _, p in facts.unit_devices.bpf_programs)))
    return [*lines, *_devices(facts, host)]


def _devices(facts: Facts, host: Host) -> list[str]:
    words = {True: "yes", False: "no", None: "?"}
    lines = []
    for number in sorted(facts.given):
        source = "spec rule" if number in facts.evidence.rules else "no rule"
        now, later = words[facts.live.get(number)], words[facts.unit.get(number)]
        lines.append(f"{spell(number):<10}{host.name(number)}: open now {now}, in the unit's list {later}, {source}")
    return lines
