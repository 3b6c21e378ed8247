"""CREATE STREAMING TABLE and INSERT INTO … SELECT from a stream: streaming queries into Delta tables, exactly once.

The checkpoint of a query lies in the folder of its table, so it moves with the table, and a statement that is run again
resumes the query. Stopping a query does not end its input: what is undecided stays in the checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.catalog.checkpoint import StoredPattern, check_same_query
from sqlext.catalog.warehouse import local_path
from sqlext.engine.stream import late_rows
from sqlext.engine.stream.fingerprint import fingerprint
from sqlext.engine.stream.stream_checks import is_processing_time
from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.rewriter.heads import StreamTarget
from sqlext.rewriter.match.match_plan import MatchPlan
from sqlext.rewriter.text.names import quote, quoted

TRIGGER = "sqlext.stream.trigger"  # available-now, an interval, or nothing: each micro-batch starts at once
NAME = "sqlext.stream.name"  # of the checkpoint, where several INSERT write into one table
AVAILABLE_NOW = "available-now"


def start(spark: SparkSession, target: StreamTarget, frame: DataFrame, plans: Sequence[MatchPlan]) -> DataFrame:
    """Start or resume the query `frame`, a stream with the clauses `plans`; it has the table's name.

    Returns an empty DataFrame. Raises BindError: CHANGED_QUERY, if the checkpoint was written by another query.
    """
    name = quote(target.name)
    if target.rows is not None:
        raise UnsupportedError(
            "STREAM_INSERT", "an INSERT from a stream appends rows to all columns of its table", place=target.rows,
            hint="write INSERT INTO table SELECT …, with a value for every column in the table's order.",
        )  # fmt: skip
    if not target.is_insert:
        spark.createDataFrame([], frame.schema).write.format("delta").mode("ignore").saveAsTable(name)
    frame = _as_table(spark, name, frame, target)
    _check_ends(plans, _trigger(spark, target), target)
    checkpoint = target.checkpoint or _checkpoint(spark, name, target)
    folder = local_path(checkpoint)
    if folder is not None:
        check_same_query(Path(folder), _patterns(plans))
    started = _start(spark, name, frame, checkpoint, target)
    if late_rows.table_setting(spark):
        for plan in plans:
            table = late_rows.open_table(spark, fingerprint(plan))
            late_rows.follow(spark, table, _trigger_options(_trigger(spark, target)))
    return started


def _as_table(spark: SparkSession, name: str, frame: DataFrame, target: StreamTarget) -> DataFrame:
    """The query with the names and types of the table: INSERT goes by position, a stream into Delta by name."""
    fields = spark.table(name).schema.fields
    if len(fields) != len(frame.columns):
        raise BindError(
            "COLUMN_COUNT", f"{name} has {len(fields)} columns, the query returns {len(frame.columns)}",
            place=target.place, hint=f"the table's columns are {', '.join(f.name for f in fields)}.",
        )  # fmt: skip
    columns = (F.col(quoted(c)).cast(f.dataType).alias(f.name) for c, f in zip(frame.columns, fields))
    return frame.select(*columns) if target.is_insert else frame


def _checkpoint(spark: SparkSession, name: str, target: StreamTarget) -> str:
    """The folder of the checkpoint, in the table's folder but under a name that Delta ignores."""
    location = str(spark.sql(f"DESCRIBE DETAIL {name}").collect()[0]["location"])
    own = spark.conf.get(NAME, "") or ("insert" if target.is_insert else "stream")
    return f"{location.rstrip('/')}/_checkpoints/{own}"


def _patterns(plans: Sequence[MatchPlan]) -> list[tuple[StoredPattern, Place]]:
    texts = [plan.clause.pattern_text for plan in plans]
    return [
        (StoredPattern(" ".join(pattern.text.split()), fingerprint(plan)), pattern.place)
        for plan, pattern in zip(plans, texts)
    ]


def _trigger(spark: SparkSession, target: StreamTarget) -> str:
    return target.trigger or spark.conf.get(TRIGGER, "") or ""


def _trigger_options(trigger: str) -> dict[str, Any]:
    if not trigger:
        return {}
    return {"availableNow": True} if trigger == AVAILABLE_NOW else {"processingTime": trigger}


def _check_ends(plans: Sequence[MatchPlan], trigger: str, target: StreamTarget) -> None:
    if trigger == AVAILABLE_NOW and any(p.task.is_within and is_processing_time(p.clause) for p in plans):
        raise UnsupportedError(
            "STREAM_WITHOUT_END", "with ORDER BY PROCTIME() WITHIN ends by the clock, so the stream does not end",
            place=target.place, hint="use another trigger than available-now.",
        )  # fmt: skip


def _start(spark: SparkSession, name: str, frame: DataFrame, checkpoint: str, target: StreamTarget) -> DataFrame:
    trigger = _trigger(spark, target)
    writer = frame.writeStream.format("delta").outputMode("append").option("checkpointLocation", checkpoint)
    if trigger:
        writer = writer.trigger(**_trigger_options(trigger))
    query = writer.queryName(".".join(target.name)).toTable(name)
    if trigger == AVAILABLE_NOW:
        query.awaitTermination()  # the statement ends when the rows are in the table
    return spark.createDataFrame([], T.StructType([]))
