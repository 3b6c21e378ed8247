"""End-to-end time of a V-shape over a Delta table against its floor, in one run.

    python -m benchmarks.v_shape [ROWS] [RUNS]      # the table goes to benchmarks/RESULTS.md

The floor is what any matcher in Python workers pays: the same scan, shuffle and sort of the same columns, and a
`mapInArrow` that only counts rows. Both are run in turn, medians are compared.
"""

from __future__ import annotations

import datetime
import os
import pathlib
import platform
import statistics
import sys
import tempfile
import time

import pyarrow as pa

import sqlext

KEYS = 1000
CLAUSE = """
SELECT count(*), sum(drop), sum(n) FROM {table} MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY i
    MEASURES A.v AS top, LAST(B.v) AS bottom, A.v - LAST(B.v) AS drop, COUNT(*) AS n
    AFTER MATCH SKIP TO LAST C
    PATTERN (A B+ C+)
    DEFINE B AS v < PREV(v), C AS v > PREV(v)) AS m
"""


TABLE = """# Results

`make bench`, {day}, {machine}, Spark {spark}, Python {python}; medians of {runs} runs, ours and floor in turn.

| workload | rows | first run | ours | floor | ours / floor |
|---|---|---|---|---|---|
| V-shape `A B+ C+`, 1,000 keys, 4 measures | {rows:,} | {cold:.2f} s | {ours:.2f} s | {base:.2f} s | {ratio:.2f} |
"""


def count_rows(batches):
    n = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_arrays([pa.array([n])], ["n"])


def make_table(spark, path: pathlib.Path, rows: int) -> str:
    """`delta.`path``: k = i % 1000, v a hash of i below 1000."""
    if not path.exists():
        frame = spark.range(rows).selectExpr("id AS i", f"id % {KEYS} AS k", "pmod(xxhash64(id), 1000) AS v")
        frame.write.format("delta").save(str(path))
    return f"delta.`{path}`"


def floor(spark, table: str):
    frame = spark.sql(f"SELECT k, i, v FROM {table} DISTRIBUTE BY k SORT BY k, i")
    return frame.mapInArrow(count_rows, "n BIGINT").groupBy().sum().collect()


def clause(spark, table: str):
    return spark.sql(CLAUSE.format(table=table)).collect()


def timed(run, *arguments) -> float:
    start = time.perf_counter()
    run(*arguments)
    return time.perf_counter() - start


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    spark = sqlext.session("v_shape", master="local[2]", **{"spark.sql.shuffle.partitions": "8"})
    table = make_table(spark, pathlib.Path(tempfile.gettempdir()) / f"sqlext-bench-v-{rows}", rows)
    cold = timed(clause, spark, table), timed(floor, spark, table)
    pairs = [(timed(clause, spark, table), timed(floor, spark, table)) for _ in range(runs)]
    ours, base = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    text = TABLE.format(
        rows=rows, runs=runs, cold=cold[0], ours=ours, base=base, ratio=ours / base, python=platform.python_version(),
        spark=spark.version, day=datetime.date.today(), machine=f"{os.cpu_count()} cores, local[2]",
    )  # fmt: skip
    (pathlib.Path(__file__).parent / "RESULTS.md").write_text(text)
    print(text)
    spark.stop()


if __name__ == "__main__":
    main()
