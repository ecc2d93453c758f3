"""Which unit is the container's own. A hook never touches another's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpu_oci_hook.core.spec import Spec
    from gpu_oci_hook.host.cgroup import ProcessCgroups

DEFAULT_PREFIXES = ("runc", "crun")


def expected_units(spec: Spec, id: str) -> set[str]:
    """The names that runtimes with the systemd driver give a container's scope; none with the cgroupfs driver.

    linux.cgroupsPath is ``slice:prefix:name`` then (runc libcontainer/specconv createCgroupConfig, crun
    cgroup-systemd.c), a path otherwise; absent, both runtimes use their own name and the container's id.
    """
    linux: Any = spec.value.get("linux") or {}
    path = linux.get("cgroupsPath")
    if not isinstance(path, str) or not path:
        return {f"{prefix}-{id}.scope" for prefix in DEFAULT_PREFIXES}
    parts = path.split(":")
    if len(parts) != 3:
        return set()
    _, prefix, name = parts
    if name.endswith(".slice"):
        return {name}
    return {f"{prefix}-{name}.scope"} | (set() if prefix else {f"{name}.scope"})


def not_own(place: ProcessCgroups, spec: Spec, id: str) -> str:
    """Why there is no unit of this container's to complete, in a sentence; empty if there is one."""
    if place.unit.startswith("user@"):
        return "rootless: a user's systemd enforces no device rules, so none are lost"
    expected = expected_units(spec, id)
    if not place.unit or not expected:
        return "cgroupfs driver: no unit of systemd's owns this container's devices, so a reload takes none"
    if place.unit not in expected:
        return f"its process is in {place.unit}, which is not its own unit; nothing was changed there"
    if place.path != place.unit_path and not place.path.startswith(place.unit_path + "/"):
        return f"its devices are those of {place.path}, not of {place.unit}; nothing was changed"
    return ""
