"""What pairs of measurements say: medians, and the median of the pairs' ratios."""

from __future__ import annotations

import dataclasses
from statistics import median
from typing import Any


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One thing done with the bare runtime and through us, round by round; seconds. ``target`` is the ratio wanted."""

    name: str
    target: float | None
    bare: list[float]
    ours: list[float]

    @classmethod
    def of(cls, name: str, target: float | None, found: dict[str, Any], clock: str = "wall") -> Comparison:
        """From what the stopwatch printed."""
        bare, ours = ([round_[clock] for round_ in found[side]] for side in ("bare", "ours"))
        return cls(name, target, bare, ours)

    @property
    def ratio(self) -> float:
        """The median of ours / bare, each within its round."""
        return median(ours / bare for bare, ours in zip(self.bare, self.ours))

    @property
    def spread(self) -> tuple[float, float]:
        """The quartiles of that ratio: how far the machine's noise reaches."""
        ratios = sorted(ours / bare for bare, ours in zip(self.bare, self.ours))
        return ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]

    @property
    def added(self) -> float:
        """The median of what we add, in seconds."""
        return median(ours - bare for bare, ours in zip(self.bare, self.ours))

    @property
    def met(self) -> bool | None:
        return None if self.target is None else self.ratio <= self.target

    def as_json(self) -> dict[str, Any]:
        """All of it, the single measurements included."""
        return {
            **dataclasses.asdict(self),
            "rounds": len(self.ours),
            "bare_median": median(self.bare),
            "ours_median": median(self.ours),
            "ratio": self.ratio,
            "quartiles": self.spread,
            "added": self.added,
        }
