"""Whether systemd's own list for a container opens a device: what the runtime sends, and what systemd makes of it."""

from __future__ import annotations

from gpu_oci_hook.core.deviceallow import (
    NUMBERS_FROM_TEXT,
    POLICY_SENT,
    SENDS_MAJORS,
    SPARES_GROUPS,
    STATS_PATHS,
    stats_paths,
)
from gpu_oci_hook.core.forecast.crun import listed_by_crun
from gpu_oci_hook.core.forecast.situation import (
    ALL,
    BEHIND,
    DENY_LIST,
    DROPPED,
    ERROR,
    EXACT,
    KEPT,
    LOST,
    NOT_IN_SPEC,
    UNKNOWN,
    WIDENED,
    Listed,
)
from gpu_oci_hook.core.versions import Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.forecast.situation import Situation

RUNC_1_0 = Version((1, 0, 0))
OLDEST = 219
NO_V1 = 258  # systemd 258 removed cgroup v1


def listed(situation: Situation) -> Listed:
    """What systemd's list does for the device when it is applied again, or why there is no telling."""
    if situation.rootless:
        return Listed(KEPT, "Not affected: a user's systemd cannot enforce device rules.")
    if situation.driver == "cgroupfs":
        return Listed(KEPT, "Not affected: with the cgroupfs driver, systemd does not own the container's cgroup.")
    if situation.driver != "systemd":
        return Listed(UNKNOWN, "Unknown: which cgroup driver is used could not be found out.")
    systemd, version = situation.systemd, situation.runtime_version
    if situation.runtime not in ("runc", "crun"):
        return Listed(UNKNOWN, "Unknown: no runtime was found that is runc or crun.")
    if systemd is None or version is None or situation.cgroup is None:
        missing = "systemd's version" if systemd is None else "the runtime's version" if version is None else "v1 or v2"
        return Listed(UNKNOWN, f"Unknown: {missing} could not be found out.")
    if systemd.major < OLDEST or (situation.cgroup == 1 and systemd.major >= NO_V1):
        return Listed(UNKNOWN, f"Unknown: nothing is known of systemd {systemd.major} on cgroup v{situation.cgroup}.")
    return (listed_by_crun if situation.runtime == "crun" else _by_runc)(situation, version, systemd)


def enforces_nothing(cgroup: int | None, systemd: Version | None) -> bool:
    """Whether systemd has no device control on this hierarchy (v2 before 240; measured with 239)."""
    return cgroup == 2 and systemd is not None and systemd < NUMBERS_FROM_TEXT


def _by_runc(situation: Situation, runc: Version, systemd: Version) -> Listed:
    if not situation.running and _does_not_start(situation, runc, systemd):
        return Listed(ERROR, f"runc {runc} does not start containers with systemd {systemd.major} here (measured).")
    if situation.covering == ALL:
        return Listed(KEPT, "Not affected: the spec allows every device, and systemd's list for it is empty.")
    if enforces_nothing(situation.cgroup, systemd):
        return Listed(KEPT, f"Not affected: systemd {systemd.major} enforces no device rules on cgroup v2.")
    if runc < POLICY_SENT:
        if situation.cgroup == 2:
            return Listed(KEPT, f"Not affected: runc {runc} gives systemd no list, and it then attaches no program.")
        return Listed(WIDENED, f"runc {runc} gives systemd no device policy, so systemd opens every device.")
    if situation.covering == BEHIND:
        return Listed(
            LOST, "The device is not in the spec's rules, so systemd does not know that it is allowed.", NOT_IN_SPEC
        )
    if situation.covering == DENY_LIST:
        return Listed(LOST, "systemd knows no lists of denied devices, and runc gives it an empty one.", DROPPED)
    return (_path if situation.covering == EXACT else _group)(situation, runc, systemd)


def _does_not_start(situation: Situation, runc: Version, systemd: Version) -> bool:
    """Pairs that were seen to fail, with systemd as upstream released it; distributions' builds differ."""
    if runc < POLICY_SENT and situation.cgroup == 2:
        return True
    unpatched = not systemd.vendor
    if systemd.major == 219:
        return unpatched and runc >= RUNC_1_0
    return systemd.major == 239 and unpatched and runc < POLICY_SENT


def _path(situation: Situation, runc: Version, systemd: Version) -> Listed:
    by_text = systemd >= NUMBERS_FROM_TEXT
    if by_text and not stats_paths(runc, systemd):
        return Listed(KEPT, "The rule is in the spec, and neither runc nor systemd needs the link for it.")
    if situation.link:
        return Listed(KEPT, "The rule is in the spec, and its /dev/char link is there.")
    if situation.link is None:
        return Listed(UNKNOWN, "Unknown: whether the /dev/char link is there could not be found out.")
    who = f"runc {runc}" if stats_paths(runc, systemd) else f"systemd {systemd.major}"
    return Listed(LOST, f"The rule is in the spec, but {who} drops it because its /dev/char link is missing.", DROPPED)


def _group(situation: Situation, runc: Version, systemd: Version) -> Listed:
    """Rules for all minors of a major, or for everything of a type."""
    if STATS_PATHS <= runc < SPARES_GROUPS:
        return Listed(LOST, f"runc {runc} drops rules for whole groups of devices.", DROPPED)
    every_major = situation.covering != "minors"
    if systemd >= NUMBERS_FROM_TEXT and (every_major or runc >= SENDS_MAJORS):
        return Listed(KEPT, "The rule for the whole group is in the spec, and systemd understands it by number.")
    if situation.group:
        return Listed(KEPT, "The rule for the whole group is in the spec, and the driver's name is in /proc/devices.")
    if situation.group is None:
        return Listed(UNKNOWN, "Unknown: whether /proc/devices names the major could not be found out.")
    return Listed(LOST, "The rule is for a group of devices that has no name in /proc/devices.", DROPPED)
