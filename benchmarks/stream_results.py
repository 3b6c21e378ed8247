"""The measurements of a stream, and their table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

LATENCY, THROUGHPUT = "latency", "throughput"
GOAL = 3  # times as fast as Flink


@dataclass(frozen=True)
class Measured:
    """`rows_s`: rows a second after the first micro-batches; `cores`: processor time over time, of the whole run;
    `growth`: the median time of the last quarter of the micro-batches over that of the second quarter; `state_rows` and
    `state_bytes`: the largest state; `kept_bytes`: the size as Arrow of the rows that WITHIN keeps alive.
    """

    workload: str
    kind: str
    keys: int
    rows: int
    batches: int
    rows_s: float
    cores: float
    p50_s: float
    p99_s: float
    growth: float
    state_rows: int
    state_bytes: int
    kept_bytes: int | None = None
    flink_rows_s: float | None = None
    flink_cores: float | None = None


HEAD = (
    "| workload | keys | rows | micro-batches | p50 | p99 | growth | rows kept | bytes kept | rows/s | cores "
    "| Flink rows/s | cores | ours / Flink |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)
TEXT = f"""## Streams

Rows of many keys in turn, from Parquet files, one file in each micro-batch. The result is only counted; the checkpoint
is written to a local folder. Small micro-batches show the latency and large ones (a backlog) the throughput, without
the first tenth of them. Growth is the median time of the last quarter of the micro-batches over that of the second
quarter. Bytes kept are those of the state store at its largest; in brackets, over the size as Arrow of the rows that
WITHIN keeps alive. Flink reads the same rows from one file in streaming mode, with the same number of tasks, its state
on the heap and no checkpoints. Of both, the faster of two runs counts; the goal is {GOAL} times Flink's rows a second.

{HEAD}
"""


def lines(streams: dict[str, dict]) -> Iterator[str]:
    """The rows of the table, from what results.json keeps."""
    names = [f.name for f in fields(Measured)]
    for kept in streams.values():
        yield line(Measured(**{name: kept[name] for name in names}))


def line(m: Measured) -> str:
    """A row of the table.

    >>> print(line(Measured("A B", "latency", 10, 1000, 5, 50.0, 1.2, 0.1, 0.2, 1.0, 7, 99, 50, 10.0, 1.1)))
    | A B | 10 | 1,000 | 5 | 0.10 s | 0.20 s | 1.00 | 7 | 99 (1.98) | 50 | 1.2 | 10 | 1.1 | 5.0 |
    """
    size = f"{m.state_bytes:,}"
    if m.kept_bytes and m.kind == LATENCY:  # most rows of a backlog only wait for the next micro-batch
        size += f" ({m.state_bytes / m.kept_bytes:.2f})"
    theirs = ("", "", "")
    if m.flink_rows_s and m.flink_cores:
        ratio = m.rows_s / m.flink_rows_s
        marked = f"{ratio:.1f}" if ratio >= GOAL else f"**{ratio:.1f}**"
        theirs = (f"{m.flink_rows_s:,.0f}", f"{m.flink_cores:.1f}", marked)
    cells = (
        m.workload,
        f"{m.keys:,}",
        f"{m.rows:,}",
        str(m.batches),
        f"{m.p50_s:.2f} s",
        f"{m.p99_s:.2f} s",
        f"{m.growth:.2f}",
        f"{m.state_rows:,}",
        size,
        f"{m.rows_s:,.0f}",
        f"{m.cores:.1f}",
        *theirs,
    )
    return f"| {' | '.join(cells)} |"
