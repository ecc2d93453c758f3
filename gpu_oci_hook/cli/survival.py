"""Would this container keep its devices through a reload, with this runtime and this systemd?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.deviceallow import NUMBERS_FROM_TEXT
from gpu_oci_hook.core.devices import spell
from gpu_oci_hook.core.forecast import DENY_LIST, WIDENED, Forecast, Situation, forecast
from gpu_oci_hook.core.links import BLOCKED, RIGHT, WRONG
from gpu_oci_hook.core.procfs import is_registered
from gpu_oci_hook.core.rules import Emulator
from gpu_oci_hook.host import elf
from gpu_oci_hook.host.cgroup import CgroupError, hierarchies
from gpu_oci_hook.host.runtime_facts import Found, find_runtime, runtime_facts, systemd_facts

if TYPE_CHECKING:
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.request.claim import GivenDevice, Host
    from gpu_oci_hook.core.spec import Spec
    from gpu_oci_hook.host.settings import Settings


class Machine(NamedTuple):
    """What starts and owns containers here. ``cgroup`` is 1, 2, or None for unknown."""

    runtime: Found
    systemd: Found
    cgroup: int | None


class Fate(NamedTuple):
    """One device with what covers it, the state of its link, and its forecast."""

    device: GivenDevice
    covered: str
    link: str
    forecast: Forecast

    def as_json(self) -> dict[str, Any]:
        return {
            **self.device.as_json(),
            "covered": self.covered,
            "link": self.link,
            "survives": self.forecast.survives,
            "reason": self.forecast.reason,
            "fix": self.forecast.fix,
            "outcomes": self.forecast.outcomes,
        }


def look_at_machine(settings: Settings, runtime: str = "") -> Machine:
    """The next runtime (or the one at a path), systemd and the cgroup version below settings.host_root.

    Versions are asked of the programs themselves only where they are this machine's own.
    """
    root = settings.host_root
    own = root in ("", "/")
    path = runtime or find_runtime(settings.runtimes, root)
    found = runtime_facts(path, run=own or bool(runtime)) if path else Found("", "", None, "", "no runtime was found")
    try:
        cgroup = hierarchies(root).version
    except CgroupError:
        cgroup = None
    return Machine(found, systemd_facts(root, run=own), cgroup)


def fates(spec: Spec, devices: list[GivenDevice], host: Host, machine: Machine) -> list[Fate]:
    """The forecast for each device of a container, as its spec and the host's links are now."""
    emulator = Emulator(spec.rules)
    return [_fate(device, emulator, host, machine, driver_of(spec), bool(spec.rules)) for device in devices]


def _fate(device: GivenDevice, emulator: Emulator, host: Host, machine: Machine, driver: str, has_rules: bool) -> Fate:
    deny_list = emulator.default_allow and not emulator.allows_all
    covered = DENY_LIST if deny_list else emulator.covering(device.number)
    if not has_rules and machine.runtime.kind == elf.CRUN:
        covered = "all"  # crun restricts nothing where the spec has no rules
    link = host.link(device.number).state
    systemd = machine.systemd.version
    # From systemd 240 on only the link's name counts, and for runc that something is there.
    by_name = systemd is not None and systemd >= NUMBERS_FROM_TEXT and link in (WRONG, BLOCKED)
    situation = Situation(
        machine.runtime.kind,
        machine.runtime.version,
        systemd,
        machine.cgroup,
        covered,
        link == RIGHT or by_name,
        driver=driver or "systemd",
        group=is_registered(host.drivers(), device.number),
    )
    return Fate(device, covered, link, forecast(situation))


def driver_of(spec: Spec) -> str:
    """The cgroup driver that a spec's cgroupsPath is written for: ``slice:prefix:name`` or a path; empty if absent."""
    linux = spec.value.get("linux")
    path = linux.get("cgroupsPath") if isinstance(linux, dict) else None
    if not isinstance(path, str) or not path:
        return ""
    return "systemd" if path.count(":") == 2 and "/" not in path else "cgroupfs"


def survives(judged: list[Fate]) -> bool | None:
    """True if every device is kept, False if one is lost, None if that is not known."""
    answers = {fate.forecast.survives for fate in judged}
    return False if False in answers else None if None in answers else True


def survival_findings(judged: list[Fate], driver: str, machine: Machine) -> list[Finding]:
    """One finding for each reason, with the devices that it applies to."""
    groups: dict[str, list[Fate]] = {}
    for fate in judged:
        groups.setdefault(fate.forecast.reason, []).append(fate)
    found = []
    runtime_hint = "" if machine.runtime.version else "name the runtime with --runtime PATH"
    for reason, group in groups.items():
        names = ", ".join(f"{fate.device.path} ({spell(fate.device.number)})" for fate in group)
        first = group[0].forecast
        if first.survives is False:
            found.append(say.warning("lost-at-reload", "", f"{names}: {reason}", first.fix))
        elif WIDENED in first.outcomes.values():
            found.append(say.warning("opens-everything", "", f"{names}: {reason}", first.fix))
        elif first.survives is None:
            found.append(say.note("survival-unknown", "", f"{names}: {reason}", runtime_hint))
    if judged and not driver:
        found.append(
            say.note(
                "driver-assumed", "linux.cgroupsPath", "it is not set; the answer is for the systemd cgroup driver"
            )
        )
    return found
