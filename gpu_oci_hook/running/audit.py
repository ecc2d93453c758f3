"""The state of all running containers: which have lost GPUs, and which will."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpu_oci_hook.core.versions import parse_systemd
from gpu_oci_hook.host.bus import BusError
from gpu_oci_hook.host.systemd import Manager, UnitDevices
from gpu_oci_hook.running.discover import discover
from gpu_oci_hook.running.evidence import gather
from gpu_oci_hook.running.facts import Facts, collect
from gpu_oci_hook.running.judge import Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpu_oci_hook.running.discover import Container
    from gpu_oci_hook.running.host import Host


class Audited(NamedTuple):
    """One container with its verdict."""

    facts: Facts
    verdict: Verdict


class Report(NamedTuple):
    """``systemd`` is its version in systemd's own words, empty where it cannot be reached."""

    systemd: str
    cgroup: int
    containers: list[Audited]
    problem: str = ""


def audit(host: Host, names: Sequence[str] = (), manager: Manager | None = None) -> Report:
    """Examine the running containers, or those that ``names`` name (an id, the beginning of one, or a unit).

    Raises access_check.AccessCheckError where the kernel cannot be asked.
    """
    containers = [each for each in discover(host.root, host.hierarchies) if is_named(each, names)]
    version_text, units, problem = _ask_systemd(host, containers, manager)
    version = parse_systemd(version_text) if version_text else None
    facts = collect([(each, gather(each, host)) for each in containers], units, host, version)
    audited = [Audited(each, judge(each, host, version)) for each in facts]
    return Report(version_text, host.hierarchies.version, audited, problem)


def is_named(container: Container, names: Sequence[str]) -> bool:
    """Whether one of the names means this container; no names mean all."""
    return not names or any(
        name in (container.id, container.unit) or (len(name) >= 3 and container.id.startswith(name)) for name in names
    )


def _ask_systemd(
    host: Host, containers: Sequence[Container], manager: Manager | None
) -> tuple[str, dict[str, UnitDevices | str], str]:
    names = sorted({each.unit for each in containers if each.unit and not each.rootless})
    try:
        connection = manager or Manager(host.root)
        try:
            answers = connection.devices_of(names)
            version = connection.version()
        finally:
            if manager is None:
                connection.close()
    except BusError as error:
        return "", dict.fromkeys(names, error.message), error.message
    return version, {n: a if isinstance(a, UnitDevices) else str(a) for n, a in zip(names, answers)}, ""
