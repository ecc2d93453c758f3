"""crun: its processes are in SCOPE/container, with a list or a program of their own.

Sources: crun's src/libcrun/cgroup-systemd.c (1.8 to 1.29), and measurements with 0.17, 1.8.1, 1.21, 1.27.1 and 1.28.
"""

from __future__ import annotations

from gpu_oci_hook.core.forecast.situation import (
    ALL,
    BEHIND,
    DENIED,
    DENY_LIST,
    KEPT,
    NOT_IN_SPEC,
    UNKNOWN,
    WIDENED,
    Listed,
)
from gpu_oci_hook.core.versions import Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.forecast.situation import Situation

SEPARATE_ON_V1 = Version((1, 8, 1))  # the oldest that was seen with a list of its own in the sub-cgroup
SENDS_LIST = Version((1, 18))  # crun 01fa4993
ALLOW_ALL_IS_AUTO = Version((1, 18, 1))  # crun 7c4a3f9c
OPENS_ON_V1 = (Version((0, 17)), Version((0, 18)))
LISTS_BY_TEXT = Version((240,))


def listed_by_crun(situation: Situation, crun: Version, systemd: Version) -> Listed:
    """What systemd's list means for a container of crun."""
    if situation.covering == ALL and (crun < SENDS_LIST or crun >= ALLOW_ALL_IS_AUTO):
        return Listed(KEPT, "Not affected: the spec allows every device, and systemd's list for it is empty.")
    if crun < SENDS_LIST:
        return _without_list(situation, crun)
    if situation.covering == BEHIND:
        return Listed(
            DENIED,
            f"The device is not in the spec's rules, and crun {crun}'s processes have a list of their own without it.",
            NOT_IN_SPEC,
        )
    if situation.covering in (DENY_LIST, ALL):
        return Listed(UNKNOWN, f"Unknown: what crun {crun} makes of such rules depends on their order.")
    if systemd < LISTS_BY_TEXT:
        return Listed(UNKNOWN, f"Unknown: crun {crun} was not measured with systemd {systemd.major}.")
    return Listed(KEPT, "The rule is in the spec; crun needs no /dev/char link for it.")


def _without_list(situation: Situation, crun: Version) -> Listed:
    if situation.cgroup == 2 or crun >= SEPARATE_ON_V1:
        return Listed(KEPT, f"Not affected: crun {crun} keeps the device list in a cgroup below the unit's.")
    if OPENS_ON_V1[0] <= crun < OPENS_ON_V1[1]:
        return Listed(WIDENED, f"crun {crun} gives systemd no device policy, so systemd opens every device.")
    return Listed(UNKNOWN, f"Unknown: crun {crun} was not measured on cgroup v1.")
