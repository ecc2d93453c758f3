"""What belongs to a container: by its spec, and by the devices that were mounted into it.

Law: a repair gives back at most what these, and the live cgroup, prove to be the container's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpu_oci_hook.core.jsontext import JsonTextError
from gpu_oci_hook.core.request import find_devices
from gpu_oci_hook.core.rules import DENIED, FULL, Emulator, SpecError
from gpu_oci_hook.core.spec import parse_spec
from gpu_oci_hook.host.bundle import BundleError, read_spec
from gpu_oci_hook.host.device_mounts import device_mounts
from gpu_oci_hook.host.paths import below, join

if TYPE_CHECKING:
    from gpu_oci_hook.core.devices import Number
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.rules import Rule
    from gpu_oci_hook.core.spec import Spec
    from gpu_oci_hook.running.discover import Container
    from gpu_oci_hook.running.host import Host


class Evidence(NamedTuple):
    """``devices``: number → its path in the container. ``rules``: those of them that the spec allows.

    ``spec_rules``: all rules of the spec. ``allows_all``: it opens every device (a privileged container).
    ``problem``: why there is no spec, or empty.
    """

    devices: dict[Number, str]
    rules: frozenset[Number]
    spec_rules: list[Rule]
    allows_all: bool
    findings: list[Finding]
    problem: str


def gather(container: Container, host: Host) -> Evidence:
    """Read a container's spec and its init's mounts. Never raises: what cannot be read is a problem in words."""
    spec, problem = _read(container, host)
    if spec is None:
        return Evidence(_mounted(container, host, {}), frozenset(), [], False, [], problem)
    emulator = Emulator(spec.rules)
    given, findings, _ = find_devices(spec, host.context)
    devices = {each.number: each.path for each in given if emulator.access(each.number) != DENIED}
    devices.update(_mounted(container, host, _binds(spec, host)))
    rules = frozenset(number for number in devices if emulator.access(number) == FULL)
    return Evidence(devices, rules, spec.rules, emulator.allows_all, findings, "")


def _read(container: Container, host: Host) -> tuple[Spec | None, str]:
    if not container.bundle:
        return None, "no runtime's state names its bundle"
    try:
        return parse_spec(read_spec(below(host.root, join(container.bundle, "config.json"))).text), ""
    except BundleError as error:
        return None, error.message
    except (JsonTextError, SpecError) as error:
        return None, f"{container.bundle}/config.json: {error}"


def _binds(spec: Spec, host: Host) -> dict[str, str]:
    """Mounts in the spec by destination. Who bind-mounts a node by hand gives no access with it (``report``)."""
    mounts = spec.value.get("mounts")
    if host.settings.bind_mounts == "grant" or not isinstance(mounts, list):
        return {}
    return {str(each.get("destination")): str(each.get("source")) for each in mounts if isinstance(each, dict)}


def _mounted(container: Container, host: Host, binds: dict[str, str]) -> dict[Number, str]:
    """Devices of the families that a hook has mounted, that is, those whose mount the spec does not have."""
    return {
        mount.number: mount.path
        for mount in device_mounts(container.pid, host.filesystems)
        if mount.path not in binds and host.inventory.family_of(mount.number)
    }
