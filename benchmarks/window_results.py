"""The measurements of windows in batch and on streams, and their tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

GOAL_BATCH, GOAL_FLINK = 1.1, 2  # at most Spark's own time; at least so many times Flink's rows a second


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A grouping by windows of ours, and the same by Spark's own function: medians of the times of both."""

    workload: str
    rows: int
    ours_s: float
    spark_s: float


@dataclass(frozen=True, kw_only=True)
class Measured:
    """`times_s`: the median time of the micro-batches of each quarter; `states`: bytes of state at its end."""

    workload: str
    keys: int
    rows: int
    batches: int
    rows_s: float
    times_s: tuple[float, ...]
    states: tuple[int, ...]
    firings: int
    flink_rows_s: float | None = None


TEXT = "## Windows\n\nMeasured by `python -m benchmarks.windows`."
BATCH = f"""
In batch: a count grouped by the windows of {10_000:,} keys, beside the same grouping by Spark's `window` and
`session_window`, in turn; the goal is at most {GOAL_BATCH} times Spark's time.

| workload | rows | ours | Spark | ours / Spark |
|---|---|---|---|---|"""
STREAMS = f"""
On streams: `EMIT EARLY EVERY INTERVAL '1' MINUTE` with `count`, `sum` and `max`, over Parquet files, one in each
micro-batch. `catching-up` is a backlog; in `one-window` all rows fall into one window of one key, so that time and
state are to be equal in all quarters of the micro-batches. Flink's operator with a ContinuousEventTimeTrigger reads the
same rows as JSON, in one thread; the goal is {GOAL_FLINK} times its rows a second.

| workload | keys | rows | micro-batches | rows/s | median of each quarter | bytes of state | firings | Flink rows/s |
|---|---|---|---|---|---|---|---|---|"""


def lines(windows: Mapping[str, Mapping]) -> Iterator[str]:
    """Both tables, from what results.json keeps."""
    for head, kind, show, is_kind in (
        (BATCH, Pair, pair_line, lambda kept: "ours_s" in kept),
        (STREAMS, Measured, line, lambda kept: "states" in kept),
    ):
        rows = [
            show(kind(**{f.name: kept[f.name] for f in fields(kind)})) for kept in windows.values() if is_kind(kept)
        ]
        yield from ([head, *rows] if rows else [])


def pair_line(pair: Pair) -> str:
    """A row of the table of windows in batch.

    >>> print(pair_line(Pair(workload="TUMBLE", rows=2000, ours_s=0.6, spark_s=0.5)))
    | TUMBLE | 2,000 | 0.60 s | 0.50 s | **1.20** |
    """
    ratio = pair.ours_s / pair.spark_s
    marked = f"{ratio:.2f}" if ratio <= GOAL_BATCH else f"**{ratio:.2f}**"
    return f"| {pair.workload} | {pair.rows:,} | {pair.ours_s:.2f} s | {pair.spark_s:.2f} s | {marked} |"


def line(m: Measured) -> str:
    """A row of the table of windows on streams.

    >>> print(line(Measured(workload="w", keys=1, rows=40, batches=4, rows_s=9.6, times_s=(0.1, 0.2), states=(7, 8),
    ...                     firings=3, flink_rows_s=5)))
    | w | 1 | 40 | 4 | 10 | 0.10, 0.20 s | 7, 8 | 3 | 5 (1.9 x) |
    """
    times, states = ", ".join(f"{t:.2f}" for t in m.times_s), ", ".join(f"{n:,}" for n in m.states)
    theirs = "" if m.flink_rows_s is None else f"{m.flink_rows_s:,.0f} ({m.rows_s / m.flink_rows_s:.1f} x)"
    cells = (m.workload, f"{m.keys:,}", f"{m.rows:,}", m.batches, f"{m.rows_s:,.0f}", f"{times} s", states,
             f"{m.firings:,}", theirs)  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"
