"""What is known about a container when its verdict is given: what is its own, what it may do, what its unit says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpu_oci_hook.core import deviceallow
from gpu_oci_hook.host.access_check import Question, check_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpu_oci_hook.core.devices import Number
    from gpu_oci_hook.core.versions import Version
    from gpu_oci_hook.host.access_check import Answer
    from gpu_oci_hook.host.systemd import UnitDevices
    from gpu_oci_hook.running.discover import Container
    from gpu_oci_hook.running.evidence import Evidence
    from gpu_oci_hook.running.host import Host

# A number that no driver has and no container is given: who may open it may open everything.
CANARY: Number = ("c", 4095, 1048575)


class Facts(NamedTuple):
    """``live``: number → whether all of the container's processes may read and write the device now.

    ``unit``: number → whether the unit's list opens it when it is applied anew; empty where no unit is known.
    ``shared``: control nodes of the host; ``makes``: kinds of nodes that its init may make, some of ``cb``.
    ``problem``: why ``live`` is empty; ``gone``: it is, because the container has ended; ``unit_problem``: why
    ``unit_devices`` is None.
    """

    container: Container
    evidence: Evidence
    live: dict[Number, bool]
    unit: dict[Number, bool]
    unit_devices: UnitDevices | None
    shared: frozenset[Number] = frozenset()
    makes: str = ""
    problem: str = ""
    unit_problem: str = ""
    gone: bool = False

    @property
    def given(self) -> dict[Number, str]:
        """The container's devices, with their paths in it: by its spec and mounts, and by its live cgroup.

        A cgroup that opens everything proves nothing. Of one that does not, control nodes are the container's, which a
        hook adds to any GPU; GPUs only where nothing else says which ones it was given.
        """
        if self.live.get(CANARY, True):
            return self.evidence.devices
        granted = {number: "" for number in self.granted if not self.evidence.devices or number in self.shared}
        return {**granted, **self.evidence.devices}

    @property
    def granted(self) -> list[Number]:
        """What its processes may open now, of all that was asked for."""
        return [number for number, open_ in self.live.items() if open_ and number != CANARY]

    @property
    def inner(self) -> bool:
        """Whether its processes are in a cgroup below the unit's own, as crun's are."""
        place = self.container.cgroups[0]
        return place.path != place.unit_path and place.path.startswith(place.unit_path + "/")

    @property
    def outside(self) -> bool:
        """Whether the cgroup that decides about devices is not the unit's at all (v1)."""
        place = self.container.cgroups[0]
        return place.path != place.unit_path and not self.inner


def collect(
    containers: Sequence[tuple[Container, Evidence]],
    units: dict[str, UnitDevices | str],
    host: Host,
    systemd: Version | None,
) -> list[Facts]:
    """Ask the kernel about all containers with one child. ``units`` has a problem in words where systemd has no answer.

    Raises access_check.AccessCheckError.
    """
    questions = [
        Question(place.directory, (*dict.fromkeys([*host.names, *evidence.devices]), CANARY))
        for container, evidence in containers
        for place in container.cgroups
    ]
    answers = iter(check_all(questions))
    return [
        _facts(container, evidence, [next(answers) for _ in container.cgroups], units, host, systemd)
        for container, evidence in containers
    ]


def _facts(
    container: Container,
    evidence: Evidence,
    answers: list[Answer],
    units: dict[str, UnitDevices | str],
    host: Host,
    systemd: Version | None,
) -> Facts:
    known = [answer.allowed for answer in answers if answer.allowed]
    live = {number: all(allowed[number] for allowed in known) for number in (known[0] if answers[0].allowed else ())}
    facts = Facts(
        container,
        evidence,
        live,
        {},
        None,
        frozenset(number for number in host.names if not host.is_gpu(number)),
        answers[0].makes,
        answers[0].problem,
        gone=answers[0].gone,
    )
    unit = units.get(container.unit, "")
    if isinstance(unit, str):
        return facts._replace(unit_problem=unit)
    if not systemd:
        return facts._replace(unit_devices=unit, unit_problem="systemd's version is unclear")
    opened = {number: _opens(number, unit, host, systemd) for number in live}
    return facts._replace(unit=opened, unit_devices=unit)


def _opens(number: Number, unit: UnitDevices, host: Host, systemd: Version) -> bool:
    """Whether a unit's list opens a device. Containers of one kind have the same list, so answers are remembered."""
    if unit.bpf_programs:
        return True
    key = (number, unit.policy, unit.allow)
    if key not in host.opened:
        access = deviceallow.opens(number, unit.policy, unit.allow, systemd, host.lists)
        host.opened[key] = {"r", "w"} <= set(access)
    return host.opened[key]
