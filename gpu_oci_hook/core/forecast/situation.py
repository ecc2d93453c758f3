"""What a forecast starts from, and its words."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.versions import Version

# Outcomes. DENIED: it cannot be opened from the start, whatever was granted behind the runtime's back.
KEPT, LOST, WIDENED, DENIED, ERROR, UNKNOWN = "kept", "lost", "widened", "denied", "error", "unknown"

# The two faults: the rule never was in the spec; it is there, and is dropped on the way to systemd's own list.
NOT_IN_SPEC, DROPPED = "A", "B"

# How the spec covers a device: Emulator.covering's words, and one for rules that deny some devices and allow the rest.
EXACT, MINORS, MAJORS, ALL, DENY_LIST, BEHIND = "exact", "minors", "majors", "all", "deny-list", ""


class Situation:
    """All that the outcome depends on. None stands for "not known" throughout.

    ``runtime`` is runc or crun; ``cgroup`` 1 or 2; ``driver`` systemd or cgroupfs; ``covering`` how the spec covers the
    device (empty: not at all, it is granted behind the runtime's back); ``link`` whether /dev/char/MAJOR:MINOR leads to
    it; ``group`` whether /proc/devices names the major; ``running`` whether the container is known to have started.
    """

    __slots__ = (
        "cgroup",
        "covering",
        "driver",
        "group",
        "link",
        "rootless",
        "running",
        "runtime",
        "runtime_version",
        "systemd",
    )

    def __init__(
        self,
        runtime: str,
        runtime_version: Version | None,
        systemd: Version | None,
        cgroup: int | None,
        covering: str,
        link: bool | None,
        *,
        driver: str | None = "systemd",
        rootless: bool = False,
        group: bool | None = None,
        running: bool = False,
    ) -> None:
        self.runtime = runtime
        self.runtime_version = runtime_version
        self.systemd = systemd
        self.cgroup = cgroup
        self.covering = covering
        self.link = link
        self.driver = driver
        self.rootless = rootless
        self.group = group
        self.running = running


class Listed:
    """What applying systemd's own list again leads to for the device, and why, in a sentence."""

    __slots__ = ("fault", "outcome", "reason")

    def __init__(self, outcome: str, reason: str, fault: str = "") -> None:
        self.outcome = outcome
        self.reason = reason
        self.fault = fault
