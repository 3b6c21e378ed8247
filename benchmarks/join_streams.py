"""INTERVAL JOIN of two streams: rows a second, times of micro-batches, and how many rows the state holds.

    python -m benchmarks.join_streams [--rows N] [--batches N] [--peer flink]

Both sides have a row every STEP_MS milliseconds, so micro-batches with the same number of rows cover the same time.
Each side has one Parquet file for each micro-batch. Times leave out the first tenth of the micro-batches. The peer
reads the same rows from one file for each side. Results are compared.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sqlext

START_MS = 1_767_225_600_000  # 2026-01-01
STEP_MS, RANGE_MS, KEYS = 10, 5_000, 1_000
SIDES = ("left_side", "right_side")
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.join.stateFormatVersion": "3",  # one store for each task, not four
}
TOTALS = "count(*), sum(l.i), sum(r.i)"


@dataclass(frozen=True)
class Measured:
    """`growth`: the median time of the last quarter of the micro-batches over that of the second quarter; `states`:
    rows in the state at the end of each quarter; `expected`: rows that the state needs for the range and one
    micro-batch."""

    rows_s: float
    p50_s: float
    p99_s: float
    growth: float
    states: tuple[int, ...]
    expected: int
    totals: tuple[int, ...]


def hashes(numbers: np.ndarray) -> np.ndarray:
    """The hashes of splitmix64."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(31))


def table(side: int, lo: int, hi: int) -> pa.Table:
    """The rows lo to hi (exclusive) of a side."""
    i = np.arange(lo, hi)
    ms = START_MS + STEP_MS * i + side * STEP_MS // 2
    keys = (hashes(2 * i + side + 1) % np.uint64(KEYS)).astype(np.int64)
    return pa.table({"i": i, "k": keys, "ms": ms, "ts": pa.array(1000 * ms, pa.timestamp("us", "UTC"))})


def write(folder: Path, rows: int, batches: int) -> None:
    for side, name in enumerate(SIDES):
        (folder / name).mkdir(parents=True)
        for n in range(batches):
            path = folder / name / f"{n:05}.parquet"
            pq.write_table(table(side, n * rows // batches, (n + 1) * rows // batches), path)
            os.utime(path, (n, n))


def query(watermark: str, interval: str, stream: str) -> str:
    left, right = (f"{stream}{name}{watermark} AS {alias}" for name, alias in zip(SIDES, "lr"))
    on = f"l.k = r.k AND r.ts BETWEEN l.ts - {interval} AND l.ts + {interval}"
    return f"FROM {left} {{}} {right} ON {on}"


def run(spark, folder: Path, batches: int, rows: int) -> Measured:
    """Run all micro-batches of a join of the files in `folder`."""
    from pyspark.sql import functions as F

    for name in SIDES:
        source = spark.readStream.schema("i BIGINT, k BIGINT, ms BIGINT, ts TIMESTAMP").option("maxFilesPerTrigger", 1)
        source.parquet(str(folder / name)).createOrReplaceTempView(name)
    text = query(" WATERMARK ts DELAY OF INTERVAL 1 MILLISECONDS", f"INTERVAL {RANGE_MS} MILLISECONDS", "STREAM ")
    frame = spark.sql(f"SELECT l.i AS i, r.i AS j {text.format('INTERVAL JOIN')}")
    counted = frame.observe("pairs", F.count(F.lit(1)).alias("n"), F.sum("i").alias("i"), F.sum("j").alias("j"))
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(batches + 10))
    writer = counted.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    return measured(running.recentProgress, rows, batches)


def measured(progress, rows: int, batches: int) -> Measured:
    fed = [p for p in progress if p["numInputRows"]]
    times = [p["durationMs"]["triggerExecution"] / 1000 for p in fed]
    warm = times[len(times) // 10 :]
    quarters = [times[n * len(times) // 4 : (n + 1) * len(times) // 4] for n in range(4)]
    kept = [sum(operator["numRowsTotal"] for operator in p["stateOperators"]) for p in fed]
    counts = [p["observedMetrics"]["pairs"] for p in progress if "pairs" in p["observedMetrics"]]
    return Measured(
        sum(p["numInputRows"] for p in fed[len(times) // 10 :]) / sum(warm),
        statistics.median(warm),
        sorted(warm)[int(0.99 * (len(warm) - 1))],
        statistics.median(quarters[3]) / statistics.median(quarters[1]),
        tuple(kept[(n + 1) * len(kept) // 4 - 1] for n in range(4)),
        2 * (rows // batches + RANGE_MS // STEP_MS),
        tuple(sum(count[name] or 0 for count in counts) for name in ("n", "i", "j")),
    )


def line(m: Measured) -> str:
    times = f"{m.rows_s:,.0f} rows/s, micro-batches p50 {m.p50_s:.2f} s, p99 {m.p99_s:.2f} s, growth {m.growth:.2f}"
    states = ", ".join(f"{n:,}" for n in m.states)
    return f"{times}; state {states} rows, {m.expected:,} needed; {m.totals[0]:,} pairs"


def flink(spark, folder: Path, rows: int) -> tuple[float, tuple[int, ...]]:
    """The rows a second of PyFlink in the second of two runs, and its totals."""
    from benchmarks.peers.flink import Flink

    interval = f"INTERVAL '{RANGE_MS / 1000:.3f}' SECOND(2, 3)"
    sql = f"SELECT {TOTALS} {query('', interval, '').format('JOIN')}"
    with Flink(folder / "flink") as system:
        for name in SIDES:
            spark.read.parquet(str(folder / name)).write.format("delta").save(str(folder / f"{name}_delta"))
            system.prepare_stream(spark, name, folder / f"{name}_delta", "ms")
        for _ in range(2):
            began = time.perf_counter()
            last = system.query(sql, is_stream=True)[-1]
            took = time.perf_counter() - began
    return 2 * rows / took, tuple(map(int, last))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.join_streams")
    parser.add_argument("--rows", type=int, default=1_000_000, help="the number of rows of each side")
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--peer", choices=["flink"])
    options = parser.parse_args()
    spark = sqlext.session("join streams", master="local[2]", **SETTINGS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write(folder, options.rows, options.batches)
        ours = run(spark, folder, options.batches, options.rows)
        print(line(ours), flush=True)
        if options.peer:
            rows_s, totals = flink(spark, folder, options.rows)
            print(f"Flink: {rows_s:,.0f} rows/s, our rate is {ours.rows_s / rows_s:.2f} of it; {totals[0]:,} pairs")
            # An inner join waits for nothing, so all pairs have been emitted when the query stops.
            assert totals == ours.totals, (totals, ours.totals)
    spark.stop()


if __name__ == "__main__":
    main()
