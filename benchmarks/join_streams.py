"""INTERVAL JOIN or ASOF JOIN of two streams: rows a second, times of micro-batches, and what the state holds.

    python -m benchmarks.join_streams [--join interval|asof] [--rows N] [--batches N] [--keys N] [--peer flink]

Both sides have a row every STEP_MS milliseconds, so micro-batches with the same number of rows cover the same time.
Each side has one Parquet file for each micro-batch. Times leave out the first tenth of the micro-batches. The peer
reads the same rows from one file for each side; of ASOF JOIN its counterpart is the event-time temporal join. Results
are compared.
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
from sqlext.spark.progress import kept_state

START_MS = 1_767_225_600_000  # 2026-01-01
STEP_MS, RANGE_MS = 10, 5_000
SIDES = ("left_side", "right_side")
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.join.stateFormatVersion": "3",  # one store for each task, not four
}
TOTALS = "count(*), sum(l.i), sum(r.i)"
WATERMARK = "WATERMARK ts DELAY OF INTERVAL 0 SECONDS"  # so that the last row of the left side is decided


@dataclass(frozen=True)
class Join:
    """`ours`: the join that follows SELECT; `flink`: the same for Flink, whose right relation has the key as its
    primary key if `is_versioned`."""

    ours: str
    flink: str
    is_versioned: bool

    def kept(self, rows_a_batch: int, keys: int) -> int:
        """How many rows the state needs: those of one micro-batch of both sides, and those that are still joined."""
        return 2 * rows_a_batch + (keys if self.is_versioned else 2 * RANGE_MS // STEP_MS)


def _interval(time: str) -> str:
    return f"ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL {time} AND l.ts + INTERVAL {time}"


JOINS = {
    "interval": Join(
        f"FROM STREAM left_side {WATERMARK} AS l INTERVAL JOIN STREAM right_side {WATERMARK} AS r "
        + _interval(f"{RANGE_MS} MILLISECONDS"),
        "FROM left_side AS l JOIN right_side AS r " + _interval(f"'{RANGE_MS / 1000:.3f}' SECOND(2, 3)"),
        is_versioned=False,
    ),
    "asof": Join(
        f"FROM STREAM left_side {WATERMARK} AS l ASOF JOIN STREAM right_side {WATERMARK} AS r "
        "MATCH_CONDITION (l.ts >= r.ts) ON l.k = r.k",
        "FROM left_side AS l JOIN right_side FOR SYSTEM_TIME AS OF l.ts AS r ON l.k = r.k",
        is_versioned=True,
    ),
}


@dataclass(frozen=True)
class Measured:
    """`growth`: the median time of the last quarter of the micro-batches over that of the second quarter; `states`:
    rows in the state at the end of each quarter; `state_bytes`: the most bytes of our own state, 0 where Spark keeps
    it; `expected`: rows that the state needs."""

    rows_s: float
    p50_s: float
    p99_s: float
    growth: float
    states: tuple[int, ...]
    state_bytes: int
    expected: int
    totals: tuple[int, ...]


def hashes(numbers: np.ndarray) -> np.ndarray:
    """The hashes of splitmix64."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(31))


def table(side: int, lo: int, hi: int, keys: int) -> pa.Table:
    """The rows lo to hi (exclusive) of a side, with random ones of `keys` keys."""
    i = np.arange(lo, hi)
    ms = START_MS + STEP_MS * i + side * STEP_MS // 2
    key = (hashes(2 * i + side + 1) % np.uint64(keys)).astype(np.int64)
    return pa.table({"i": i, "k": key, "ms": ms, "ts": pa.array(1000 * ms, pa.timestamp("us", "UTC"))})


def write(folder: Path, rows: int, batches: int, keys: int) -> None:
    for side, name in enumerate(SIDES):
        (folder / name).mkdir(parents=True)
        for n in range(batches):
            path = folder / name / f"{n:05}.parquet"
            pq.write_table(table(side, n * rows // batches, (n + 1) * rows // batches, keys), path)
            os.utime(path, (n, n))


def run(spark, folder: Path, join: Join, options: argparse.Namespace) -> Measured:
    """Run all micro-batches of a join of the files in `folder`."""
    from pyspark.sql import functions as F

    for name in SIDES:
        source = spark.readStream.schema("i BIGINT, k BIGINT, ms BIGINT, ts TIMESTAMP").option("maxFilesPerTrigger", 1)
        source.parquet(str(folder / name)).createOrReplaceTempView(name)
    frame = spark.sql(f"SELECT l.i AS i, r.i AS j {join.ours}")
    counted = frame.observe("pairs", F.count(F.lit(1)).alias("n"), F.sum("i").alias("i"), F.sum("j").alias("j"))
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(options.batches + 10))
    writer = counted.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    return measured(running.recentProgress, join.kept(options.rows // options.batches, options.keys))


def measured(progress, expected: int) -> Measured:
    fed = [p for p in progress if p["numInputRows"]]
    times = [p["durationMs"]["triggerExecution"] / 1000 for p in fed]
    warm = times[len(times) // 10 :]
    quarters = [times[n * len(times) // 4 : (n + 1) * len(times) // 4] for n in range(4)]
    states = [kept_state(p["observedMetrics"]) for p in fed]
    kept = [s.rows if s else sum(o["numRowsTotal"] for o in p["stateOperators"]) for p, s in zip(fed, states)]
    counts = [p["observedMetrics"]["pairs"] for p in progress if "pairs" in p["observedMetrics"]]
    return Measured(
        sum(p["numInputRows"] for p in fed[len(times) // 10 :]) / sum(warm),
        statistics.median(warm),
        sorted(warm)[int(0.99 * (len(warm) - 1))],
        statistics.median(quarters[3]) / statistics.median(quarters[1]),
        tuple(kept[(n + 1) * len(kept) // 4 - 1] for n in range(4)),
        max(state.bytes if state else 0 for state in states),
        expected,
        tuple(sum(count[name] or 0 for count in counts) for name in ("n", "i", "j")),
    )


def line(m: Measured) -> str:
    times = f"{m.rows_s:,.0f} rows/s, micro-batches p50 {m.p50_s:.2f} s, p99 {m.p99_s:.2f} s, growth {m.growth:.2f}"
    states = ", ".join(f"{n:,}" for n in m.states)
    size = f", {m.state_bytes / 1e6:.1f} MB" * bool(m.state_bytes)
    return f"{times}; state {states} rows{size}, {m.expected:,} rows needed; {m.totals[0]:,} pairs"


def flink(spark, folder: Path, join: Join, rows: int) -> tuple[float, tuple[int, ...]]:
    """The rows a second of PyFlink in the second of two runs, and its totals."""
    from benchmarks.peers.flink import Flink

    sql = f"SELECT {TOTALS} {join.flink}"
    with Flink(folder / "flink") as system:
        for name in SIDES:
            spark.read.parquet(str(folder / name)).write.format("delta").save(str(folder / f"{name}_delta"))
            key = "k" if join.is_versioned and name == "right_side" else None
            system.prepare_stream(spark, name, folder / f"{name}_delta", "ms", key)
        for _ in range(2):
            began = time.perf_counter()
            last = system.query(sql, is_stream=True)[-1]
            took = time.perf_counter() - began
    return 2 * rows / took, tuple(map(int, last))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.join_streams")
    parser.add_argument("--join", choices=list(JOINS), default="interval")
    parser.add_argument("--rows", type=int, default=1_000_000, help="the number of rows of each side")
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--peer", choices=["flink"])
    options = parser.parse_args()
    join = JOINS[options.join]
    spark = sqlext.session("join streams", master="local[2]", **SETTINGS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write(folder, options.rows, options.batches, options.keys)
        ours = run(spark, folder, join, options)
        print(line(ours), flush=True)
        if options.peer:
            rows_s, totals = flink(spark, folder, join, options.rows)
            print(f"Flink: {rows_s:,.0f} rows/s, our rate is {ours.rows_s / rows_s:.2f} of it; {totals[0]:,} pairs")
            # All pairs have been emitted: INTERVAL JOIN waits for nothing, and the last left row is at the watermark.
            assert totals == ours.totals, (totals, ours.totals)
    spark.stop()


if __name__ == "__main__":
    main()
