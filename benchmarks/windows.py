"""Windows in batch beside Spark's own functions, and EMIT on streams: rows a second, state, times of micro-batches.

    python -m benchmarks.windows [--only plain,catching-up,one-window] [--rows N] [--batches N] [--peer flink] [--quick]

`plain`: grouping by TUMBLE, HOP and SESSION over a cached table, in turn with the same grouping by Spark's `window` and
`session_window`. `catching-up`: a backlog of rows of many keys, EMIT EARLY EVERY minute. `one-window`: all rows fall
into one window of one key, so that the bytes of state at the end of each quarter of the micro-batches are to be equal.
Rows a second leave out the first tenth of the micro-batches of a stream. Results go to results.json and RESULTS.md;
those of --quick, --rows and --batches are only printed.

The peer is Flink's window operator with a ContinuousEventTimeTrigger (`flink_windows_peer.py` beside the conformance
data, found by SQLEXT_PEERS). It reads the same rows as JSON, a share of the keys in each case, in one thread; the time
to read them counts.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sqlext
from benchmarks import results, window_results
from benchmarks.__main__ import names_of, run_of
from benchmarks.window_results import Measured, Pair
from sqlext.spark.progress import kept_state

START_US = 1_767_225_600_000_000  # 2026-01-01
HOUR_US = 3_600_000_000
KEYS = 10_000
SCHEMA = "k BIGINT, ts TIMESTAMP, v BIGINT"
PLAIN, CATCHING_UP, ONE_WINDOW = "plain", "catching-up", "one-window"
SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}
TOTALS = "count(*) AS n, sum(n) AS total, count(DISTINCT s) AS windows"
# Ours and Spark's, each a relation with the columns n and s.
PAIRS = {
    "TUMBLE": (
        "SELECT count(*) AS n, window_start AS s FROM TUMBLE(TABLE rows, DESCRIPTOR(ts), INTERVAL '10' MINUTES) "
        "GROUP BY k, window_start, window_end",
        "SELECT count(*) AS n, window.start AS s FROM rows GROUP BY k, window(ts, '10 minutes')",
    ),
    "HOP": (
        "SELECT count(*) AS n, window_start AS s FROM HOP(TABLE rows, DESCRIPTOR(ts), INTERVAL '5' MINUTES, "
        "INTERVAL '10' MINUTES) GROUP BY k, window_start, window_end",
        "SELECT count(*) AS n, window.start AS s FROM rows GROUP BY k, window(ts, '10 minutes', '5 minutes')",
    ),
    "SESSION": (
        "SELECT count(*) AS n, window_start AS s FROM SESSION(TABLE rows PARTITION BY k, DESCRIPTOR(ts), "
        "INTERVAL '30' SECONDS) GROUP BY k, window_start, window_end",
        "SELECT count(*) AS n, session_window.start AS s FROM rows GROUP BY k, session_window(ts, '30 seconds')",
    ),
}
EMIT = """SELECT k, window_start, count(*) AS n, sum(v) AS total, max(v) AS most, window_timing
  FROM TUMBLE(TABLE STREAM arriving WATERMARK ts DELAY OF INTERVAL 1 SECOND, DESCRIPTOR(ts), INTERVAL '{size}' MINUTES)
  GROUP BY k, window_start, window_end EMIT EARLY EVERY INTERVAL '1' MINUTE"""


def table(rows: int, keys: int) -> pa.Table:
    """Rows of one hour in the order of their times, with keys and values in no order."""
    pick = np.random.default_rng(1)
    times = START_US + np.arange(rows) * (HOUR_US // rows)
    stamps = pa.array(times, pa.timestamp("us", "UTC"))
    return pa.table({"k": pick.integers(0, keys, rows), "ts": stamps, "v": pick.integers(0, 1000, rows)})


# batch


def plain(spark, rows: int, turns: int) -> Iterator[Pair]:
    """The times of each pair in turn. Raises AssertionError if the results differ."""
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table(rows, KEYS), f"{folder}/rows.parquet")
        spark.read.parquet(folder).cache().createOrReplaceTempView("rows")
        for name, pair in PAIRS.items():
            times: tuple[list[float], list[float]] = ([], [])
            totals = set()
            for turn in range(turns + 1):  # the first one compiles
                for which, query in enumerate(pair):
                    began = time.perf_counter()
                    totals.add(tuple(spark.sql(f"SELECT {TOTALS} FROM ({query})").first()))
                    if turn:
                        times[which].append(time.perf_counter() - began)
            assert len(totals) == 1, (name, totals)
            ours, theirs = map(statistics.median, times)
            yield Pair(workload=name, rows=rows, ours_s=ours, spark_s=theirs)


# streams


def stream(spark, workload: str, rows: int, batches: int, keys: int, size_minutes: int) -> Measured:
    """Run EMIT over files with equally many rows, one in each micro-batch."""
    from pyspark.sql import functions as F

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        whole = table(rows, keys)
        (folder / "in").mkdir()
        for n in range(batches):
            path = folder / "in" / f"{n:05}.parquet"
            lo, hi = n * rows // batches, (n + 1) * rows // batches
            pq.write_table(whole.slice(lo, hi - lo), path)
            os.utime(path, (n, n))
        source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
        source.createOrReplaceTempView("arriving")
        counted = spark.sql(EMIT.format(size=size_minutes)).observe("firings", F.count(F.lit(1)).alias("n"))
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(batches + 10))
        writer = counted.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return measured(query.recentProgress, workload, keys)


def measured(progress, workload: str, keys: int) -> Measured:
    fed = [p for p in progress if p["numInputRows"]]
    times = [p["durationMs"]["triggerExecution"] / 1000 for p in fed]
    cold = -(-len(times) // 10)
    kept = [state.bytes for p in fed if (state := kept_state(p["observedMetrics"]))]
    counts = [p["observedMetrics"]["firings"]["n"] for p in progress if "firings" in p["observedMetrics"]]
    return Measured(
        workload=workload,
        keys=keys,
        rows=sum(p["numInputRows"] for p in fed),
        batches=len(fed),
        rows_s=sum(p["numInputRows"] for p in fed[cold:]) / sum(times[cold:]),
        times_s=tuple(statistics.median(times[n * len(times) // 4 : (n + 1) * len(times) // 4]) for n in range(4)),
        states=tuple(kept[(n + 1) * len(kept) // 4 - 1] for n in range(4)),
        firings=sum(counts),
    )


# Flink


def flink(rows: int, keys: int) -> float:
    """The rows a second of Flink's operator in the second of two runs. Each case has the rows of some keys, because an
    answer may ring 20,000 timers."""
    sys.path.insert(0, os.environ.get("SQLEXT_PEERS", "/work/shared/peers"))
    from flink_windows_peer import FlinkWindows  # type: ignore[import-not-found]

    whole = table(rows, keys)
    ms = (np.asarray(whole["ts"].cast(pa.int64())) // 1000).tolist()
    scripts: dict[int, list] = {}
    for number, (key, at, value) in enumerate(zip(whole["k"].to_pylist(), ms, whole["v"].to_pylist())):
        script = scripts.setdefault(key % max(1, rows // 2000), [])
        if script and at // 10_000 > script[-1][2] // 10_000:
            script.append(["watermark", at - at % 10_000 - 1])
        script.append(["row", str(key), at, value, number])
    common = {"assigner": ["tumble", 600_000, 0], "triggers": [["every_time", 60_000]], "discarding": False}
    cases = [
        {**common, "lateness": 0, "evict": None, "script": [*script, ["watermark", ms[-1] + 10**9]]}
        for script in scripts.values()
    ]
    with FlinkWindows() as oracle:
        for _ in range(2):
            began = time.perf_counter()
            answers = oracle.ask(cases)
            took = time.perf_counter() - began
    assert not any(answer["error"] for answer in answers)
    return rows / took


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.windows")
    parser.add_argument(
        "--only", type=names_of((PLAIN, CATCHING_UP, ONE_WINDOW)), default=[PLAIN, CATCHING_UP, ONE_WINDOW]
    )
    parser.add_argument("--rows", type=int, help="10 M in batch, 4 M of the backlog, 1 M in one window")
    parser.add_argument("--batches", type=int, help="8 of the backlog, 100 in one window")
    parser.add_argument("--peer", choices=["flink"])
    parser.add_argument("--quick", action="store_true", help="100,000 rows in 10 micro-batches")
    options = parser.parse_args()
    rows, batches = (100_000, 10) if options.quick else (options.rows, options.batches)
    began = time.perf_counter()
    spark = sqlext.session("windows", master="local[2]", **SETTINGS)
    about = run_of(spark, time.perf_counter() - began, "local[2]", SETTINGS, runs=1)
    is_kept = not (options.quick or options.rows or options.batches)

    def keep(measurement: Pair | Measured, text: str) -> None:
        print(text, f"load {os.getloadavg()[0]:.1f}", flush=True)
        if is_kept:
            results.save(results.merge_windows(results.load(), about, [measurement]))

    if PLAIN in options.only:
        for pair in plain(spark, rows or 10_000_000, 1 if options.quick else 5):
            keep(pair, window_results.pair_line(pair))
    if CATCHING_UP in options.only:
        backlog = stream(spark, CATCHING_UP, rows or 4_000_000, batches or 8, KEYS, size_minutes=10)
        if options.peer:
            backlog = replace(backlog, flink_rows_s=flink(min(rows or 1_000_000, 1_000_000), KEYS))
        keep(backlog, window_results.line(backlog))
    if ONE_WINDOW in options.only:
        window = stream(spark, ONE_WINDOW, rows or 1_000_000, batches or 100, 1, size_minutes=1440)
        keep(window, window_results.line(window))
    spark.stop()


if __name__ == "__main__":
    main()
