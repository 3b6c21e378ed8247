"""Flink's MATCH_RECOGNIZE in streaming mode, over the rows of a workload of benchmarks/streams.py.

The rows are in one Parquet file in the order of their times. Flink keeps its state on the heap and takes no checkpoint,
which is its fastest mode. We write a checkpoint after every micro-batch.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.flink import Flink
from benchmarks.processes import descendants, ticks_of

_TICKS_S = 100


@dataclass(frozen=True)
class FlinkRate:
    """The fastest run; `cores`: processor time over time."""

    rows_s: float
    cores: float
    matches: int


def rate(spark, rows_folder: Path, schema: str, clause: str, folder: Path, cores: int, runs: int = 2) -> FlinkRate:
    """The rows a second over the Parquet files in `rows_folder`, with columns i (milliseconds of the time) and ts.

    `clause`: the text after ORDER BY in MATCH_RECOGNIZE. The first run also warms up.
    """
    table = "stream_peer"
    frame = spark.read.schema(schema).parquet(str(rows_folder))
    rows = frame.count()
    frame.write.format("delta").mode("overwrite").option("path", str(folder / table)).saveAsTable(table)
    clause = clause.replace("PATTERN", "ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN")
    sql = f"SELECT count(*) FROM {table} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts {clause})"
    rates = []
    with Flink(folder / "flink", cores=cores) as flink:
        flink.prepare_stream(spark, table, folder / table, "i")
        for _ in range(runs):
            began, ticks = time.perf_counter(), _ticks(flink)
            answer = flink.query(sql, is_stream=True)
            took = time.perf_counter() - began
            rates.append(FlinkRate(rows / took, (_ticks(flink) - ticks) / _TICKS_S / took, answer[-1][-1]))
    spark.sql(f"DROP TABLE {table}")
    return max(rates, key=lambda run: run.rows_s)


def _ticks(flink: Flink) -> int:
    own = flink.pid
    return sum(map(ticks_of, (own, *descendants(own))))
