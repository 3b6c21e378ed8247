"""Aggregates of ranges (INTERVAL JOIN … AGGREGATE) beside the same in plain SQL, interleaved in one run.

    python -m benchmarks.facts [--left 1000000] [--right 3000000] [--times 3] [--slow]

Rows of an hour, 500 keys; each left row gets count, sum and max of the right rows within a second, or within a minute,
before and after it. Peers: DuckDB, if it is installed; with --slow, our INTERVAL JOIN with GROUP BY and plain SQL of
Spark's, once each, and at most LIMIT_S seconds. The floor reads both sides, shuffles them by key and hands them to
workers once. The memory is that of all workers at its peak, in a run after the timed ones.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import sqlext
from benchmarks.processes import Watch
from benchmarks.runners import count_rows

KEYS, HOUR_US, LIMIT_S = 500, 3_600_000_000, 600
WIDTHS = {"±1 s": 1, "±60 s": 60}
TOTALS = "SELECT sum(n) AS n, sum(s) AS s, sum(m) AS m FROM"
CALLS = "count(*) AS n, sum(r.v) AS s, max(r.v) AS m"


def write(folder: Path, left: int, right: int) -> None:
    """Tables l(i, k, ts) and r(k, ts, v) as Parquet, in the order of time."""
    rng = np.random.default_rng(1)
    for name, rows in (("l", left), ("r", right)):
        columns = {"k": rng.integers(0, KEYS, rows), "ts": np.sort(rng.integers(0, HOUR_US, rows))}
        columns |= {"i": np.arange(rows)} if name == "l" else {"v": rng.random(rows)}
        table = pa.table(columns)
        times = table["ts"].cast(pa.timestamp("us"))
        pq.write_table(table.set_column(1, "ts", times), folder / f"{name}.parquet", row_group_size=1 << 20)


def on(seconds: int) -> str:
    width = f"INTERVAL {seconds} SECONDS"
    return f"r.k = l.k AND r.ts BETWEEN l.ts - {width} AND l.ts + {width}"


def ours(seconds: int) -> str:
    return f"{TOTALS} (SELECT l.i, n, s, m FROM l LEFT INTERVAL JOIN r ON {on(seconds)} AGGREGATE ({CALLS}))"


def plain(seconds: int, join: str = "LEFT JOIN") -> str:
    calls = CALLS.replace("count(*)", "count(r.v)")
    return f"{TOTALS} (SELECT l.i, {calls} FROM l {join} r ON {on(seconds)} GROUP BY l.i)"


def floor(spark: Any) -> tuple:
    """Both sides, shuffled by key and handed to workers, which count them."""
    both = "SELECT k, ts, i, NULL AS v FROM l UNION ALL SELECT k, ts, NULL, v FROM r"
    rows = spark.sql(f"SELECT * FROM ({both}) DISTRIBUTE BY k")
    return tuple(rows.mapInArrow(count_rows, "n BIGINT").groupBy().sum().collect()[0])


def collected(spark: Any, sql: str, settings: str = "") -> tuple:
    name, _, value = settings.partition("=")
    before = spark.conf.get(name, None) if name else None
    if name:
        spark.conf.set(name, value)
    try:
        return tuple(spark.sql(sql).collect()[0])
    finally:
        if name:
            spark.conf.unset(name) if before is None else spark.conf.set(name, before)


def runners(spark: Any, folder: Path) -> dict[str, Callable[[], tuple]]:
    made: dict[str, Callable[[], tuple]] = {"floor": partial(floor, spark)}
    for width, seconds in WIDTHS.items():
        made[f"ours {width}"] = partial(collected, spark, ours(seconds))
        made[f"ours {width}, rows by Spark"] = partial(collected, spark, ours(seconds), "sqlext.read=spark")
    try:
        import duckdb
    except ImportError:
        return made
    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    for name in ("l", "r"):
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{folder}/{name}.parquet'")
    made["DuckDB ±1 s"] = lambda: connection.execute(plain(1)).fetchall()[0]
    return made


def timed(run: Callable[[], tuple]) -> tuple[float, tuple]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--left", type=int, default=1_000_000)
    parser.add_argument("--right", type=int, default=3_000_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--slow", action="store_true")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="facts-"))
    write(folder, options.left, options.right)
    spark = sqlext.session("facts", "local[2]", folder / "warehouse")
    for name in ("l", "r"):
        spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    made, times, results = runners(spark, folder), dict[str, list[float]](), dict[str, tuple]()
    for turn in range(options.times + 1):  # the first one compiles
        for name, run in made.items():
            if name.startswith("DuckDB") and turn != 1:
                continue
            seconds, results[name] = timed(run)
            if turn:
                times.setdefault(name, []).append(seconds)
    for name, seconds in times.items():
        print(f"{name:28} {median(seconds):8.2f} s  {' '.join(f'{s:.2f}' for s in seconds)}  {results[name]}")
    for width in WIDTHS:
        with Watch(0.01) as watch:
            made[f"ours {width}"]()
        print(f"ours {width}: {watch.workers >> 20:,} MB", flush=True)
    for name, join in (("own pairs ±1 s", "LEFT INTERVAL JOIN"), ("Spark ±1 s", "LEFT JOIN")) if options.slow else ():
        end = threading.Timer(LIMIT_S, spark.interruptAll)
        end.start()
        try:
            seconds, result = timed(partial(collected, spark, plain(1, join)))
            print(f"{name:28} {seconds:8.2f} s  {result}", flush=True)
        except (PySparkException, Py4JJavaError):
            print(f"{name:28} more than {LIMIT_S} s", flush=True)
        end.cancel()


if __name__ == "__main__":
    main()
