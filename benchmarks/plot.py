"""python -m benchmarks.plot: draw docs/benchmark.png from results.json, time against rows, ours and the others."""

from __future__ import annotations

from pathlib import Path

from benchmarks import results
from benchmarks.runners import FLOOR, OURS

PNG = Path(__file__).parents[1] / "docs" / "benchmark.png"
SHOWN = ("funnel", "v_shape", "blow_up")
STYLES = {
    OURS: ("sqlext", "o-", "#d62728"),
    FLOOR: ("floor: scan, shuffle, sort, count", "--", "#999999"),
    **{
        runner: (name.replace("`", ""), style, colour)
        for (runner, name), style, colour in zip(
            results.NAMES.items(), ("v-", "s-", "D-", "^-"), ("#8c564b", "#9467bd", "#1f77b4", "#2ca02c")
        )
    },
}


def main() -> None:
    import matplotlib  # from the extra "bench", which the tests do not install

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(SHOWN), figsize=(4 * len(SHOWN), 3.6), constrained_layout=True)
    kept = list(results.load()["measurements"].values())
    for workload, ax in zip(SHOWN, axes):
        draw(ax, workload, [m for m in kept if m["workload"] == workload])
    axes[0].set_ylabel("seconds, median")
    handles = {label: h for ax in axes for h, label in zip(*ax.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), frameon=False)
    figure.savefig(PNG, dpi=140)
    print(PNG)


def draw(ax, workload: str, kept: list[results.Kept]) -> None:
    """Draw one workload: a line for each measured program, with logarithmic axes."""
    for runner, (name, style, colour) in STYLES.items():
        points = sorted((m["rows"], m["median_s"]) for m in kept if m["runner"] == runner)
        if points:
            ax.loglog(*zip(*points), style, color=colour, label=name, markersize=4)
    ax.set(title=workload, xlabel="rows")
    ax.grid(True, which="major", alpha=0.3)


if __name__ == "__main__":
    main()
