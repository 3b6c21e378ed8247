"""CREATE STREAMING TABLE and INSERT INTO … SELECT from a stream: streaming queries into Delta tables, exactly once.

A query's checkpoint lies in the folder of its table, so that it goes where the table goes, and a statement that is run
again resumes. Stopping is not the end of the input: what is undecided stays in the checkpoint.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.catalog.checkpoint import StoredPattern, check_same_query
from sqlext.catalog.warehouse import local_path
from sqlext.engine.physical import Physical
from sqlext.engine.stream import late_rows, run_stream
from sqlext.engine.stream.processing_time import is_processing_time
from sqlext.errors import BindError, UnsupportedError
from sqlext.rewriter.heads import StreamTarget
from sqlext.rewriter.match.match_plan import MatchPlan
from sqlext.rewriter.text.names import quote, quoted

if TYPE_CHECKING:
    from sqlext.engine.statement import Statement

TRIGGER = "sqlext.stream.trigger"  # 'available-now', an interval, or nothing: the next micro-batch at once
NAME = "sqlext.stream.name"  # of the checkpoint, where several INSERT write into one table
AVAILABLE_NOW = "available-now"


def run(statement: Statement, target: StreamTarget) -> DataFrame | None:
    """Start or resume the query, which has the table's name. None: the query is no stream, and INSERT is Spark's.

    Raises BindError: CHANGED_QUERY, if the checkpoint was written by another query.
    """
    ways = statement.run_clauses()
    frame = statement.queries.run(statement.source.slice(target.query_start, target.query_stop))
    if not frame.isStreaming:
        if target.is_insert:
            return None
        raise UnsupportedError(
            "NOT_A_STREAM", "the query of a streaming table reads no stream", place=target.place,
            hint="write FROM STREAM t, or CREATE TABLE … AS for the rows that are there now.",
        )  # fmt: skip
    spark, name = statement.spark, quote(target.name)
    if not target.is_insert:
        spark.createDataFrame([], frame.schema).write.format("delta").mode("ignore").saveAsTable(name)
    frame = _as_table(spark, name, frame, target)
    _check_ends(ways, _trigger(spark, target), target)
    checkpoint = target.checkpoint or _checkpoint(spark, name, target)
    folder = local_path(checkpoint)
    if folder is not None:
        check_same_query(Path(folder), _patterns(ways))
    started = _start(spark, name, frame, checkpoint, target)
    if late_rows.asked_for(spark):
        for plan in _plans(ways):
            table = late_rows.open_table(spark, run_stream.fingerprint(plan))
            late_rows.follow(spark, table, _trigger_of(_trigger(spark, target)))
    return started


def _as_table(spark: SparkSession, name: str, frame: DataFrame, target: StreamTarget) -> DataFrame:
    """INSERT goes by position, a stream into Delta by name."""
    fields = spark.table(name).schema.fields
    if len(fields) != len(frame.columns):
        raise BindError(
            "COLUMN_COUNT", f"{name} has {len(fields)} columns, the query gives {len(frame.columns)}",
            place=target.place, hint=f"the table's columns are {', '.join(f.name for f in fields)}.",
        )  # fmt: skip
    columns = (F.col(quoted(c)).cast(f.dataType).alias(f.name) for c, f in zip(frame.columns, fields))
    return frame.select(*columns) if target.is_insert else frame


def _checkpoint(spark: SparkSession, name: str, target: StreamTarget) -> str:
    """A folder of the table that Delta does not look into."""
    location = str(spark.sql(f"DESCRIBE DETAIL {name}").collect()[0]["location"])
    own = spark.conf.get(NAME, "") or ("insert" if target.is_insert else "stream")
    return f"{location.rstrip('/')}/_checkpoints/{own}"


def _patterns(ways: list) -> list:
    return [
        (
            StoredPattern(" ".join(p.clause.pattern_text.text.split()), run_stream.fingerprint(p)),
            p.clause.pattern_text.place,
        )
        for p in _plans(ways)
    ]


def _trigger(spark: SparkSession, target: StreamTarget) -> str:
    return target.trigger or spark.conf.get(TRIGGER, "") or ""


def _trigger_of(trigger: str) -> dict[str, Any]:
    if not trigger:
        return {}
    return {"availableNow": True} if trigger == AVAILABLE_NOW else {"processingTime": trigger}


def _plans(ways: list) -> list[MatchPlan]:
    return [way.plan for way in ways if isinstance(way, Physical) and way.is_streaming]


def _check_ends(ways: list, trigger: str, target: StreamTarget) -> None:
    plans = _plans(ways)
    if trigger == AVAILABLE_NOW and any(p.task.is_within and is_processing_time(p.clause) for p in plans):
        raise UnsupportedError(
            "STREAM_WITHOUT_END", "with ORDER BY PROCTIME() WITHIN ends by the clock, and so the stream does not end",
            place=target.place, hint="leave the trigger available-now out.",
        )  # fmt: skip


def _start(spark: SparkSession, name: str, frame: DataFrame, checkpoint: str, target: StreamTarget) -> DataFrame:
    trigger = _trigger(spark, target)
    writer = frame.writeStream.format("delta").outputMode("append").option("checkpointLocation", checkpoint)
    if trigger:
        writer = writer.trigger(**_trigger_of(trigger))
    query = writer.queryName(".".join(target.name)).toTable(name)
    if trigger == AVAILABLE_NOW:
        query.awaitTermination()  # the statement is done when the rows are there
    return spark.createDataFrame([], T.StructType([]))
