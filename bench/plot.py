"""The results as one picture, PNG and SVG."""

from __future__ import annotations

from bench.comparison import Comparison
from bench.growth import Growth

MET, MISSED, NEUTRAL = "#2a7f62", "#c8553d", "#7a8a99"


def draw(path: str, found: list[Comparison], growth: list[Growth]) -> None:
    """Write ``path``.png and ``path``.svg: ratios with their quartiles on the left, growth on the right."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "gpu-oci-hook"
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5.2), constrained_layout=True)
    _ratios(left, found)
    _growth(right, growth)
    figure.savefig(f"{path}.png", dpi=110)
    figure.savefig(f"{path}.svg", metadata={"Date": None})


def _ratios(axes, found: list[Comparison]) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    shown = found[::-1]
    for i, each in enumerate(shown):
        low, high = each.spread
        colour = {True: MET, False: MISSED, None: NEUTRAL}[each.met]
        axes.plot([low, high], [i, i], color=colour, linewidth=6, alpha=0.35, solid_capstyle="round")
        axes.plot(each.ratio, i, "o", color=colour)
        if each.target:
            axes.plot([each.target] * 2, [i - 0.3, i + 0.3], color="black", linewidth=1.5)
    axes.axvline(1, color="black", linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(shown)), [each.name for each in shown])
    axes.set_xlabel("ours / bare runc: median of pairs, quartiles; black mark: wanted at most")
    axes.set_title("What a call costs")


def _growth(axes, growth: list[Growth]) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    for each in growth:
        sizes = sorted(each.points)
        label = f"{each.name} (last step: exponent {each.exponent:.2f})"
        axes.plot(sizes, [each.points[size] * 1e3 for size in sizes], "o-", label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("number, or bytes")
    axes.set_ylabel("our processor time, ms")
    axes.set_title("How it grows (the runtime's place taken by /bin/true)")
    if growth:
        axes.legend(loc="best", fontsize="small")
