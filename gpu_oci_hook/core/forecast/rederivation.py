"""What makes systemd apply a unit's device list again, by version."""

from __future__ import annotations

from gpu_oci_hook.core.versions import Version

TYPE_CHECKING = False

CREATE = "create"
RELOAD = "daemon-reload"
REEXEC = "daemon-reexec"
RELOAD_TWICE = "daemon-reload, twice"
RELOAD_START = "daemon-reload, then a start in the slice"
RELOAD_SERVICE = "daemon-reload, then a service's start"
REEXEC_START = "daemon-reexec, then a start in the slice"
RELOAD_SIBLING_PROPERTY = "daemon-reload, then a sibling's property"
START = "a start in the slice"
SET_PROPERTY = "set-property"
UPDATE = "update"
UPDATE_NOTHING = "update of nothing"

RELOADS = (RELOAD, REEXEC, RELOAD_TWICE)
THEN_STARTS = (RELOAD_START, RELOAD_SERVICE, REEXEC_START)
TRIGGERS = (CREATE, *RELOADS, *THEN_STARTS, RELOAD_SIBLING_PROPERTY, START, SET_PROPERTY, UPDATE, UPDATE_NOTHING)

RELOAD_APPLIES = 235  # systemd 58d83430e1: every setting of every unit after a reload
LAZY = (219, 256, 257)  # measured: a reload marks the unit only; what realizes the slice next applies the list
NOT_MEASURED = range(258, 262)  # between lazy 257 and 262, which applies at once; where it changed was not found


def rederives(trigger: str, systemd: Version | None) -> bool | None:
    """Whether this systemd applies a unit's device list at this trigger; None where that is not known.

    UPDATE stands for an update that changes a property of the unit, UPDATE_NOTHING for one that changes none.
    """
    if trigger in (CREATE, START, UPDATE_NOTHING):
        return False
    if systemd is None or systemd.major < LAZY[0] or _left_alone_by_vendor(systemd):
        return None
    if trigger in (SET_PROPERTY, UPDATE):
        return True  # cgroup_context_apply takes the whole mask once anything is invalid (read: v219 to v256)
    if trigger in RELOADS:
        return _at_once(systemd.major)
    if trigger in THEN_STARTS:
        return True if systemd.major in LAZY or systemd.major >= RELOAD_APPLIES else None
    return True if systemd.major == 257 or _at_once(systemd.major) else None


def lazily(systemd: Version) -> bool:
    """Whether a container still works after a reload with this systemd, and is hit by what comes next."""
    return systemd.major in LAZY


def _at_once(major: int) -> bool | None:
    if major in NOT_MEASURED:
        return None
    return major >= RELOAD_APPLIES and major not in LAZY


def _left_alone_by_vendor(systemd: Version) -> bool:
    """Alibaba's builds from 239-78.0.4 leave the lists of delegated units alone (FullDelegationDeviceCGroup)."""
    return ".al" in systemd.vendor
