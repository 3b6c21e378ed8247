"""Rows that came too late, as a Delta table: `SET sqlext.late_rows = name`, before CREATE STREAMING TABLE or INSERT.

The operator writes late rows into files in a folder of that table. The names of the files follow from its state, so a
micro-batch that is run again writes the same files. A second streaming query copies each file into the table once.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from sqlext.catalog.warehouse import local_path
from sqlext.errors import UnsupportedError
from sqlext.rewriter.match.match_plan import LATE_ROW, InputColumn, MatchPlan
from sqlext.rewriter.text.names import quote, split_name
from sqlext.rewriter.text.splice import join

LATE_ROWS = "sqlext.late_rows"
SCHEMA = "time TIMESTAMP, watermark TIMESTAMP, row STRING"
_TIMESTAMP = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class LateTable:
    """`name`: quoted; `folder`: where the operator of one clause writes its files."""

    name: str
    folder: Path
    checkpoint: Path


def table_setting(spark: SparkSession) -> str:
    """The name of the table for late rows, "" if there is none."""
    return spark.conf.get(LATE_ROWS, "") or ""


def with_rows(plan: MatchPlan) -> MatchPlan:
    """The plan with the whole rows of the relation as a further column."""
    return replace(plan, columns=(*plan.columns, InputColumn(LATE_ROW, join("to_json(struct(*))"))))


def open_table(spark: SparkSession, fingerprint: str) -> LateTable:
    """The table, created if it does not exist. Raises UnsupportedError if it is not in a folder of this machine."""
    name = quote(split_name(table_setting(spark)))
    spark.createDataFrame([], SCHEMA).write.format("delta").mode("ignore").saveAsTable(name)
    location = local_path(str(spark.sql(f"DESCRIBE DETAIL {name}").collect()[0]["location"]))
    if location is None:
        raise UnsupportedError(
            "LATE_ROWS_FOLDER",
            f"the table {name} for late rows is not on this machine",
            hint="unset sqlext.late_rows; late rows are counted in any case.",
        )
    table = LateTable(name, location / "_arriving" / fingerprint, location / "_checkpoints" / fingerprint)
    table.folder.mkdir(parents=True, exist_ok=True)
    return table


def write(late: pa.Table, time: str, watermark: int, folder: str, name: str) -> None:
    """Write the late rows of one step; to write them again changes nothing."""
    import pyarrow.parquet as pq  # takes 50 ms, and few workers meet late rows

    watermarks = pa.array(np.full(late.num_rows, watermark)).cast(_TIMESTAMP)
    rows = pa.table({"time": late.column(time).cast(_TIMESTAMP), "watermark": watermarks, "row": late.column(LATE_ROW)})
    part = os.path.join(folder, f"_{name}.part")  # Spark does not read files whose names begin with _
    pq.write_table(rows, part)
    os.replace(part, os.path.join(folder, f"{name}.parquet"))


def follow(spark: SparkSession, table: LateTable, trigger: dict) -> None:
    """Start the query that copies written files into the table; with availableNow wait until it has copied all."""
    files = spark.readStream.schema(SCHEMA).parquet(str(table.folder))
    writer = files.writeStream.format("delta").option("checkpointLocation", str(table.checkpoint))
    query = writer.trigger(**trigger).toTable(table.name) if trigger else writer.toTable(table.name)
    if trigger.get("availableNow"):
        query.awaitTermination()
