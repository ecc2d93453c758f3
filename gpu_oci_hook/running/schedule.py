"""When the guard looks at what. A scope is there before its container's hooks have run, so it is looked at again."""

from __future__ import annotations

# Seconds after a scope's start. Between it and the container's program lie the hooks, which for GPUs take up to
# some seconds (nvidia-container-cli loads the driver); a reload in between is healed by its own signal.
AFTER_START = (0.2, 0.6, 1.5, 4.0, 10.0, 30.0)
AFTER_NODES = (0.0, 0.5, 2.0, 10.0)  # seconds after a driver's event: its nodes are made by a program that comes later
PERIOD = 60.0  # seconds between looks at everything, for what no signal tells


class Schedule:
    """Times are those of time.monotonic()."""

    def __init__(self, now: float) -> None:
        self._everything = [now]
        self._units: dict[str, list[float]] = {}

    def started(self, unit: str, now: float) -> None:
        """A scope or service was started."""
        self._units[unit] = [now + delay for delay in AFTER_START]

    def everything(self, now: float) -> None:
        """Look at all containers as soon as possible. Many calls at once, as a storm of reloads makes, are one look."""
        self._everything = [now]

    def nodes(self, now: float) -> None:
        """Device nodes may have changed, and links with them."""
        self._everything = sorted({*self._everything, *(now + delay for delay in AFTER_NODES)})

    def wait(self, now: float) -> float:
        """Seconds until something is due."""
        times = [*self._everything[:1], *(times[0] for times in self._units.values())]
        return max(0.0, min(times) - now)

    def take(self, now: float) -> set[str] | None:
        """What is due now: some units, none of them (an empty set), or everything (None)."""
        due = {unit for unit, times in self._units.items() if times[0] <= now}
        for unit in due:
            self._units[unit] = [time for time in self._units[unit] if time > now]
        self._units = {unit: times for unit, times in self._units.items() if times}
        if self._everything[0] > now:
            return due
        later = [time for time in self._everything if time > now]
        self._everything = later or [now + PERIOD]
        return None
