"""The peak memory of the worker that reads a pattern's table, beside the Arrow size of the columns that it reads.

    python -m benchmarks.peak_memory [--only funnel,interleaved_funnel_1000000] [--rows 1000000,10000000]

`above its start`: the largest share of memory of all workers, less that of workers that have matched a small table.
Tables are made once; 100 M rows take 4 minutes and 1 GB of disk.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

import sqlext
from benchmarks import tables
from benchmarks.__main__ import BY_NAME, SETTINGS, check_form
from benchmarks.processes import Watch
from benchmarks.workload import Workload

SMALL, EVERY_S = 1000, 0.01


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="funnel,interleaved_funnel_1000000")
    parser.add_argument("--rows", default="1000000,10000000")
    options = parser.parse_args()
    spark = sqlext.session("peak memory", master="local[2]", **SETTINGS)
    for name in options.only.split(","):
        for rows in map(int, options.rows.split(",")):
            measure(spark, BY_NAME[name], rows)
    spark.stop()


def measure(spark: Any, workload: Workload, rows: int) -> None:
    start = peak_of(spark, workload, SMALL)
    peak, arrow = peak_of(spark, workload, rows) - start, arrow_bytes(workload, tables.ensure(spark, workload, rows))
    print(
        f"{workload.name:28} {rows:>11,} rows  start {start >> 20:5,} MB  above its start {peak >> 20:6,} MB  "
        f"Arrow {arrow >> 20:6,} MB  {peak / arrow:.2f} x",
        flush=True,
    )


def peak_of(spark: Any, workload: Workload, rows: int) -> int:
    """The largest share of the workers in bytes while the query runs. A small query runs until one was seen."""
    query = workload.query(f"delta.`{tables.ensure(spark, workload, rows)}`", rows)
    check_form(spark, query)
    spark.sql(query).collect()
    with Watch(EVERY_S) as watch:
        spark.sql(query).collect()
        while not watch.workers:
            spark.sql(query).collect()
    return watch.workers


def arrow_bytes(workload: Workload, path: Path) -> int:
    batches = ds.dataset(sorted(path.glob("*.parquet"))).to_batches(columns=list(workload.reads))
    return sum(batch.nbytes for batch in batches)


if __name__ == "__main__":
    main()
