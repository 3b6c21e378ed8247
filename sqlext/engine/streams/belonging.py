"""Refuses a checkpoint and a table that do not belong together, as after a backup of only one of them is put back.

A micro-batch whose number the table has is not written again, and Spark goes on from its checkpoint. So the rows of the
micro-batches in between would be missing without a word.

| the last micro-batch | error |
|---|---|
| in the table is after the last one that the checkpoint has begun | CHECKPOINT_BEHIND |
| in the table is before the last one that the checkpoint has completed | CHECKPOINT_AHEAD |
| was taken back by a RESTORE of the table | CHECKPOINT_AHEAD |
| is in the table, and an INSERT has no checkpoint | CHECKPOINT_GONE |

An INSERT is found without a checkpoint by a mark of ours in the table, which its first start commits. It contains the
name of the INSERT. MERGE commits no micro-batch without rows, so the checkpoint of an UPSERT KEY has the number of the
last one that was merged.
"""

from __future__ import annotations

from contextlib import suppress

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.catalog.checkpoint import STATE_FORMAT, Checkpoint
from sqlext.engine.streams.checkpoint_folders import NAME, CheckpointFolders, own_name
from sqlext.errors import BindError, DataError
from sqlext.formats.format import WrittenBatches
from sqlext.formats.known_formats import format_of
from sqlext.rewriter.heads.stream_target import StreamTarget
from sqlext.rewriter.text.names import quote


def check_belongs(
    spark: SparkSession, target: StreamTarget, folders: CheckpointFolders, checkpoint: Checkpoint
) -> None:
    """Raise DataError if the table lacks micro-batches of the checkpoint, or the checkpoint those of the table. A log
    that Spark cannot read tells nothing."""
    query = checkpoint.query_id
    if query is None:
        if target.is_insert and not spark.table(quote(target.name)).isEmpty():
            _check_not_begun(spark, target, folders)
        return
    # In this order, because another process may run the query: Spark writes into the checkpoint that a micro-batch has
    # begun, then into the table, then that it is completed.
    completed = checkpoint.last_merged if target.upsert_key else checkpoint.last_number("commits")
    written = _written_batches(spark, target, folders, query)
    begun = checkpoint.last_number("offsets")
    if written is None:
        return
    last = written.last
    if last is not None and (begun is None or last > begun):
        raise _behind(target, checkpoint, last, begun)
    if written.bring_back is not None:
        raise _taken_back(target, written.bring_back)
    if completed is not None and (last is None or last < completed) and not folders.forgets:
        raise _ahead(target, checkpoint, last, completed)


def check_state_format(spark: SparkSession, target: StreamTarget, checkpoint: Checkpoint) -> None:
    """Raise BindError if the state was written with another value of STATE_FORMAT, with which Spark does not go on."""
    before, now = checkpoint.state_format, str(spark.conf.get(STATE_FORMAT, "1"))
    if before is not None and before != now:
        raise BindError(
            "CHANGED_QUERY",
            f"the state of the checkpoint was written with {STATE_FORMAT} = {before}, and now it is {now}",
            place=target.place,
            hint=f"SET {STATE_FORMAT} = {before} resumes it; {anew(target)}.",
        )


def mark_begun(spark: SparkSession, written: DataFrame, target: StreamTarget, folders: CheckpointFolders) -> None:
    """Commit that an INSERT of this name has begun, unless the table has it. `written`: the columns that it writes."""
    if _has_begun(spark, target, folders) is False:
        columns = T.StructType([T.StructField(field.name, field.dataType) for field in written.schema])
        tables, location = format_of(spark, target.name), folders.table
        tables.mark_begun(spark, target.name, location, _mark(spark, target), columns)


def _mark(spark: SparkSession, target: StreamTarget) -> str:
    return f"sqlext/{own_name(spark, target)}"


def _has_begun(spark: SparkSession, target: StreamTarget, folders: CheckpointFolders) -> bool | None:
    """Whether the table has the mark; None if that cannot be read."""
    with suppress(PySparkException):
        tables, location = format_of(spark, target.name), folders.table
        return tables.has_begun(spark, target.name, location, _mark(spark, target))
    return None


def _written_batches(
    spark: SparkSession, target: StreamTarget, folders: CheckpointFolders, query: str
) -> WrittenBatches | None:
    with suppress(PySparkException):
        return format_of(spark, target.name).written_batches(spark, target.name, folders.table, query)
    return None


def _check_not_begun(spark: SparkSession, target: StreamTarget, folders: CheckpointFolders) -> None:
    if _has_begun(spark, target, folders):
        raise DataError(
            "CHECKPOINT_GONE",
            f"this INSERT has written into {quote(target.name)} before, and its checkpoint {folders.own} is gone: all "
            "rows would be written a second time",
            place=target.place,
            hint=f"put the folder back; {anew(target)}.",
        )


def _behind(target: StreamTarget, checkpoint: Checkpoint, written: int, begun: int | None) -> DataError:
    last = "has none" if begun is None else f"ends with micro-batch {begun}"
    return DataError(
        "CHECKPOINT_BEHIND",
        f"{quote(target.name)} has micro-batch {written} of the query, and its checkpoint {checkpoint} {last}: it is "
        "an older copy, and the rows of the micro-batches in between would be missing",
        place=target.place,
        hint=f"put back the newest checkpoint, or a copy of the whole table with its checkpoint; {anew(target)}.",
    )


def _ahead(target: StreamTarget, checkpoint: Checkpoint, written: int | None, completed: int) -> DataError:
    last = "none" if written is None else f"only {written}"
    return DataError(
        "CHECKPOINT_AHEAD",
        f"the checkpoint {checkpoint} has completed micro-batch {completed} of the query, and {quote(target.name)} has "
        f"{last}: the table is an older copy or another one, and its rows would be missing",
        place=target.place,
        hint=f"put back the table that belongs to the checkpoint; {anew(target)}.",
    )


def _taken_back(target: StreamTarget, bring_back: str) -> DataError:
    return DataError(
        "CHECKPOINT_AHEAD",
        f"rows of the query were taken back from {quote(target.name)}, which was restored to an earlier version, and "
        "the query would not write them again",
        place=target.place,
        hint=f"{bring_back} brings them back; {anew(target)}.",
    )


def anew(target: StreamTarget) -> str:
    """What to write to begin anew, in words: the table of an INSERT may have other writers."""
    if target.is_insert:
        return f"SET {NAME} = a new name, before it, begins another query into the table, whose rows stay"
    return "CREATE OR REPLACE STREAMING TABLE begins anew, without the table's rows"
