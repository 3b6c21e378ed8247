"""What small statements cost: plan and rows of each kind of clause over ten rows, beside Spark's own statements.

    python -m benchmarks.small [--only NAME,…] [--times 7]

`driver`: processor time of this process until the DataFrame exists. All numbers are medians of warm runs, in seconds,
except `CREATE VIEW`, of which the first one creates the table of views, and `session()`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from statistics import median

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import sqlext

CLAUSE = """SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.v AS a, B.v AS b
    PATTERN (A B) DEFINE B AS B.v > A.v)"""
STATEMENTS = {
    "plain window": "SELECT k, v, lead(v) OVER (PARTITION BY k ORDER BY ts) AS n FROM events",
    "plain JOIN": "SELECT a.v, b.v AS w FROM events a JOIN events b ON a.k = b.k AND a.ts <= b.ts",
    "clause": CLAUSE,
    "INTERVAL JOIN": "SELECT a.v, b.v AS w FROM events a INTERVAL JOIN events b ON a.k = b.k "
    "AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 3 SECONDS",
    "ASOF JOIN": "SELECT a.v, b.v AS w FROM events a ASOF JOIN events b MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k",
    "EMIT": "SELECT k, window_end, sum(v) AS s FROM TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL 5 SECONDS) "
    "GROUP BY k, window_start, window_end EMIT EVERY 2 ROWS",
    "row pattern in a window": "SELECT k, v, b OVER w FROM events WINDOW w AS (PARTITION BY k ORDER BY ts "
    "MEASURES B.v AS b ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B) DEFINE B AS B.v > A.v)",
    "stored view": "SELECT * FROM small_view",
}


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def bare_worker(spark: SparkSession) -> DataFrame:
    """A shuffle, a sort and a worker that returns its rows: the floor of a clause."""
    rows = spark.table("events")
    return rows.repartition("k").sortWithinPartitions("k", "ts").mapInArrow(same, rows.schema)


def measure(name: str, statement: Callable[[], DataFrame], times: int) -> None:
    for _ in range(2):
        statement().collect()
    plans, drivers, wholes = [], [], []
    for _ in range(times):
        start, cpu = time.perf_counter(), time.process_time()
        frame = statement()
        plans.append(time.perf_counter() - start)
        drivers.append(time.process_time() - cpu)
        frame.collect()
        wholes.append(time.perf_counter() - start)
    print(f"{name:24} plan {median(plans):.3f}  driver {median(drivers):.3f}  whole {median(wholes):.3f}", flush=True)


def once(name: str, action: Callable[[], object]) -> None:
    start = time.perf_counter()
    action()
    print(f"{name:24} {time.perf_counter() - start:.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--times", type=int, default=7)
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        spark = sqlext.session(master="local[2]", warehouse=folder)
        print(f"{'session()':24} {time.perf_counter() - start:.3f}")
        spark.sql("CREATE TABLE events AS SELECT id % 3 AS k, id AS v, timestamp_seconds(id) AS ts FROM range(10)")
        once("first clause", lambda: spark.sql(CLAUSE).collect())
        once("first CREATE VIEW", lambda: spark.sql(f"CREATE VIEW small_view AS {CLAUSE}"))
        once("CREATE VIEW", lambda: spark.sql(f"CREATE VIEW other_view AS {CLAUSE}"))
        once("CREATE OR REPLACE VIEW", lambda: spark.sql(f"CREATE OR REPLACE VIEW other_view AS {CLAUSE}"))
        if not only or "mapInArrow" in only:
            measure("mapInArrow", lambda: bare_worker(spark), options.times)
        for name, text in STATEMENTS.items():
            if not only or name in only:
                measure(name, lambda text=text: spark.sql(text), options.times)
        spark.stop()


if __name__ == "__main__":
    main()
