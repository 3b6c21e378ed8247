"""MATCH_RECOGNIZE on streams: events a second, times of micro-batches, state.

    python -m benchmarks.streams [--rows N] [--batches N] [--only NAME,…] [--cores N] [--peer flink]

A workload's rows lie in as many Parquet files as there are micro-batches, one is read in each. The result goes nowhere
but is counted, and must be as large as is known. Micro-batches of the first tenth are left out: processes start there.
The peer reads the same rows from one file, on as many cores, as a stream.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sqlext
from sqlext.state import kept as kept_in

START_US = 1_767_225_600_000_000  # 2026-01-01
STEP_US = 1_000  # between rows
SCHEMA = "k BIGINT, ts TIMESTAMP, v INT, i BIGINT"


@dataclass(frozen=True)
class StreamWorkload:
    """Row i has key i % `keys`; the rows of a key have v = 0, 1, … in the order of `cycle`, again and again.

    `matches`: in one cycle. `within_rows`: how many rows WITHIN keeps alive at most, None without WITHIN.
    """

    name: str
    keys: int
    cycle: tuple[int, ...]
    clause: str
    rows: int
    batches: int
    matches: int = 1
    within_rows: int | None = None

    def query(self, relation: str) -> str:
        return f"SELECT * FROM {relation} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts {self.clause})"

    def expected(self, rows: int) -> int:
        """How many matches are decided behind all rows of whole cycles; the last cycle may wait for the watermark."""
        return rows // self.keys // len(self.cycle) * self.keys * self.matches


AB = "A AS v = 0, B AS v = 1"
WORKLOADS = (
    StreamWorkload("A B", 10_000, (0, 1, 2), f"MEASURES FIRST(i) AS f, LAST(i) AS l PATTERN (A B) DEFINE {AB}",
                   1_000_000, 100),
    StreamWorkload("A+ B+ C", 10_000, (0, 0, 1, 1, 2),
                   f"MEASURES FIRST(i) AS f, LAST(i) AS l PATTERN (A+ B+ C) DEFINE {AB}, C AS v = 2", 1_000_000, 100),
    StreamWorkload("rising", 10_000, (0, 1, 2, 3, 4),
                   "MEASURES FIRST(i) AS f, COUNT(*) AS n PATTERN (S R+) DEFINE R AS v > PREV(v)", 1_000_000, 100),
    StreamWorkload("A+ B within, 1 M keys", 1_000_000, (0, 1),
                   f"MEASURES FIRST(i) AS f, LAST(i) AS l PATTERN (A+ B) WITHIN INTERVAL 30 MINUTES DEFINE {AB}",
                   4_000_000, 40, within_rows=1_800_000),
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """`growth`: the median time of the last quarter of micro-batches over that of the second quarter."""

    rows_s: float
    p50_s: float
    p99_s: float
    growth: float
    state_rows: int
    state_bytes: int
    row_bytes: int


def write(workload: StreamWorkload, folder: Path) -> int:
    """The files of a workload; the bytes that one row takes as Arrow."""
    folder.mkdir(parents=True)
    size, cycle = workload.rows // workload.batches, np.array(workload.cycle, np.int32)
    for n in range(workload.batches):
        i = np.arange(n * size, (n + 1) * size)
        columns = {
            "k": i % workload.keys,
            "ts": pa.array(START_US + STEP_US * i, pa.timestamp("us", "UTC")),
            "v": cycle[i // workload.keys % len(cycle)],
            "i": i,
        }
        table = pa.table(columns)
        path = folder / f"{n:05}.parquet"
        pq.write_table(table, path)
        os.utime(path, (n, n))
    return table.nbytes // table.num_rows


def run(spark, workload: StreamWorkload, folder: Path) -> Measured:
    """All micro-batches of a workload. Raises AssertionError if the number of matches is not the known one."""
    from pyspark.sql import functions as F

    row_bytes = write(workload, folder / "in")
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    source.createOrReplaceTempView("arriving")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = spark.sql(workload.query("STREAM arriving WATERMARK ts DELAY OF INTERVAL 1 MILLISECONDS"))
    counted = frame.observe("matches", F.count(F.lit(1)).alias("n"))
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(workload.batches + 10))
    writer = counted.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    progress = query.recentProgress
    found = sum(p["observedMetrics"]["matches"]["n"] for p in progress if "matches" in p["observedMetrics"])
    assert found >= workload.expected(workload.rows) - workload.keys, (found, workload.expected(workload.rows))
    return measured(progress, workload, row_bytes)


def measured(progress, workload: StreamWorkload, row_bytes: int) -> Measured:
    fed = [p for p in progress if p["numInputRows"]]
    times = [p["durationMs"]["triggerExecution"] / 1000 for p in fed]
    warm = times[len(times) // 10 :]
    rows = sum(p["numInputRows"] for p in fed[len(times) // 10 :])
    quarters = [times[n * len(times) // 4 : (n + 1) * len(times) // 4] for n in range(4)]
    kept = [kept_in(p["observedMetrics"]) for p in fed]
    largest = max((k for k in kept if k is not None), key=lambda k: k.bytes)
    return Measured(
        rows / sum(warm),
        statistics.median(warm),
        sorted(warm)[int(0.99 * (len(warm) - 1))],
        statistics.median(quarters[3]) / statistics.median(quarters[1]),
        largest.rows,
        largest.bytes,
        row_bytes,
    )


def line(workload: StreamWorkload, m: Measured) -> str:
    """A row of the table."""
    justified = "" if workload.within_rows is None else f" ({m.state_rows / workload.within_rows:.2f} of WITHIN's)"
    size = m.state_bytes / max(1, m.state_rows * m.row_bytes)
    cells = (
        workload.name,
        f"{workload.keys:,}",
        f"{workload.rows:,} in {workload.batches}",
        f"{m.rows_s:,.0f}",
        f"{m.p50_s:.2f} s",
        f"{m.p99_s:.2f} s",
        f"{m.growth:.2f}",
        f"{m.state_rows:,}{justified}",
        f"{m.state_bytes:,} ({size:.1f} × rows)",
    )
    return f"| {' | '.join(cells)} |"


HEAD = (
    "| workload | keys | rows in micro-batches | rows/s | p50 | p99 | growth | rows kept | bytes kept |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def flink_rate(spark, workload: StreamWorkload, folder: Path) -> float:
    """Rows a second of PyFlink, the second of two runs, over the same rows as a stream."""
    from benchmarks.peers.flink import Flink

    table = "stream_peer"
    frame = spark.read.schema(SCHEMA).parquet(str(folder / "in"))
    frame.write.format("delta").mode("overwrite").option("path", str(folder / table)).saveAsTable(table)
    clause = workload.clause.replace("PATTERN", "ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN")
    sql = f"SELECT count(*) FROM {table} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts {clause})"
    with Flink(folder / "flink") as flink:
        flink.prepare_stream(spark, table, folder / table, "ts")
        for _ in range(2):
            began = time.perf_counter()
            flink.query(sql, is_stream=True)
            took = time.perf_counter() - began
    return workload.rows / took


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--batches", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--peer", choices=["flink"])
    asked = parser.parse_args()
    settings = {"spark.sql.shuffle.partitions": str(2 * asked.cores), "spark.sql.session.timeZone": "UTC"}
    spark = sqlext.session("streams", master=f"local[{asked.cores}]", **settings)
    print(HEAD)
    for workload in WORKLOADS:
        if asked.only and workload.name not in asked.only.split(","):
            continue
        sized = replace(workload, rows=asked.rows or workload.rows, batches=asked.batches or workload.batches)
        with tempfile.TemporaryDirectory() as folder:
            print(line(sized, run(spark, sized, Path(folder))), flush=True)
            if asked.peer:
                print(f"{workload.name}: Flink {flink_rate(spark, sized, Path(folder)):,.0f} rows/s", flush=True)


if __name__ == "__main__":
    main()
