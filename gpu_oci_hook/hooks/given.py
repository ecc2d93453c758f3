"""What a started container was given besides its spec: nodes of the host that were mounted, and that it may open.

Both together: a mount without access gives nothing (``docker -v /dev/nvidia1``), and access without a mount of the
host's node may be to something that the container itself has made with mknod.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.plan import RuleEdit, link_edit
from gpu_oci_hook.core.request import Claim, GivenDevice
from gpu_oci_hook.core.rules import NONE, Emulator, Rule
from gpu_oci_hook.host import access_check, cgroup
from gpu_oci_hook.host.device_mounts import DeviceMount, HostFilesystems, device_mounts
from gpu_oci_hook.host.paths import below

if TYPE_CHECKING:
    from gpu_oci_hook.core.devices import Number
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.hooks.container import Subject

ACCESS_TIMEOUT = 2.0  # seconds for a check that takes a few milliseconds


def add_given_devices(subject: Subject) -> list[Finding]:
    """Put the families' devices that were mounted, and can be opened, into the container's plan."""
    known = {device.number for device in subject.plan.devices}
    mounts = {
        mount.number: mount.path
        for mount in mounted_nodes(subject)
        if mount.number not in known and subject.inventory.family_of(mount.number)
    }
    if not mounts:
        return []
    try:
        where = cgroup.hierarchies(subject.settings.host_root)
        directory = cgroup.of_process(subject.state.pid, where).directory
        answer = access_check.check(directory, mounts, ACCESS_TIMEOUT)
    except (cgroup.CgroupError, access_check.AccessCheckError) as error:
        return [say.warning("not-checked", "", error.message, error.hint)]
    for number, allowed in answer.allowed.items():
        if allowed:
            _add(subject, number, mounts[number])
    return [say.warning("not-checked", "", answer.problem)] if answer.problem and not answer.gone else []


def mounted_nodes(subject: Subject) -> list[DeviceMount]:
    """The host's device nodes, of whatever kind, that stand in the container as mounts."""
    directories = [below(root, "/dev") for root in subject.settings.driver_roots]
    host = HostFilesystems(subject.settings.host_root, directories)
    return device_mounts(subject.state.pid, host)


def _add(subject: Subject, number: Number, path: str) -> None:
    plan, inventory = subject.plan, subject.inventory
    source = Claim(path, number, "mountinfo", path)
    plan.devices.append(GivenDevice(path, number, inventory.family_of(number), source))
    if Emulator(subject.spec.rules).access(number) == NONE:
        plan.rules.append(RuleEdit(Rule(True, *number, access=subject.settings.access)))
    node = inventory.by_number(number)
    if node and node.number not in {edit.number for edit in plan.links}:
        plan.links.append(link_edit(node, inventory))
