"""The Delta tables of the workloads: made from row numbers, written once, and kept in a temporary folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.workload import Workload


def warehouse() -> Path:
    """The folder that Spark and Trino read."""
    return Path(tempfile.gettempdir()) / "sqlext-bench"


def frame(spark, workload: Workload, rows: int):
    """The rows of a workload as a DataFrame; i is computed first, so that columns may have any name."""
    columns = [f"{e} AS {name}".replace("{rows}", str(rows)) for name, e in workload.columns.items()]
    return spark.range(rows).withColumnRenamed("id", "i").selectExpr(*columns)


def ensure(spark, workload: Workload, rows: int) -> Path:
    """The folder of the table with that many rows, which is written if it does not exist."""
    path = warehouse() / workload.table_name(rows)
    if not any((path / "_delta_log").glob("*.json")):  # a writer that was killed leaves an empty log
        frame(spark, workload, rows).write.format("delta").mode("overwrite").save(str(path))
    return path
