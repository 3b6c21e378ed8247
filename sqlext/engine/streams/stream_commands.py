"""Runs SHOW STREAMING TABLES, and DESCRIBE, STOP and REFRESH STREAMING TABLE."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.catalog import streams
from sqlext.catalog.checkpoint import Checkpoint, StoredQuery, stored_query
from sqlext.catalog.warehouse import WAREHOUSE, warehouse_tables
from sqlext.engine.queries.session_settings import temporary_settings, time_zone
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.streams import failed_values, reports
from sqlext.engine.streams.checkpoint_folders import stream_checkpoint
from sqlext.engine.streams.last_progress import LastKnown, last_known, recent_progress, rows_per_second
from sqlext.engine.streams.streaming_tables import TRIGGER
from sqlext.errors import BindError, SqlExtError
from sqlext.expressions.calendars import zone
from sqlext.expressions.time_texts import write_timestamp
from sqlext.formats.known_formats import current_format, table_location
from sqlext.rewriter.heads.stream_heads import DESCRIBE, SHOW, STOP, DescribeKey, StreamCommand
from sqlext.rewriter.heads.stream_target import StreamTarget
from sqlext.rewriter.heads.triggers import AVAILABLE_NOW
from sqlext.rewriter.heads.view_statements import fits
from sqlext.rewriter.statements.read_statement import read_statement
from sqlext.rewriter.text.names import Parts, quote
from sqlext.spark.kind import is_connect
from sqlext.spark.quiet_probes import quiet_probes
from sqlext.spark.user_warnings import warn

_COLUMNS = (
    "name STRING, state STRING, watermark STRING, lag INTERVAL DAY TO SECOND, "
    "rows_kept BIGINT, late_rows BIGINT, failed_rows BIGINT, failed_values BIGINT, last_error STRING, "
    "as_of TIMESTAMP_LTZ"
)
RUNNING, STOPPED, FAILED, UNKNOWN = "running", "stopped", "failed", "unknown"


class Status(NamedTuple):
    """A streaming table as SHOW STREAMING TABLES lists it.

    `watermark`: a text, since Python has no timestamps after the year 9999; `lag`: how much earlier than the clock it
    was when the last micro-batch began; `failed_values`: of Kafka, since this process started the query; `last_error`:
    why the query ended, or why nothing is known about the table; `as_of`: when the last micro-batch began, whose
    numbers these are.
    """

    name: str
    state: str
    watermark: str | None = None
    lag: timedelta | None = None
    rows_kept: int | None = None
    late_rows: int | None = None
    failed_rows: int | None = None
    failed_values: int | None = None
    last_error: str | None = None
    as_of: datetime | None = None


class Recorded(NamedTuple):
    """What is recorded of a table, read once: its checkpoint in the default place, and the query that wrote it, or the
    error if the record cannot be read."""

    checkpoint: Checkpoint | None = None
    record: StoredQuery | SqlExtError | None = None

    @property
    def query(self) -> StoredQuery | None:
        """The query; None if it is not recorded. Raises the error of the record."""
        if isinstance(self.record, SqlExtError):
            raise self.record
        return self.record


def run_command(call: SqlCall, command: StreamCommand) -> DataFrame:
    """The result of a command. Raises BindError: NOT_A_STREAMING_TABLE."""
    spark = call.spark
    if command.verb == SHOW:
        tables = _tables(spark)
        titles = [title for title in tables if fits(title, command.pattern)]
        return spark.createDataFrame([_status(spark, title, tables[title])[0] for title in titles], _COLUMNS)
    title, table = known_table(spark, command)
    if command.verb == DESCRIBE:
        status, known = _status(spark, title, table)
        description = [*status._asdict().items(), *_description(spark, known, table)]
        description += _extended(spark, title, known) if command.is_extended else []
        rows = [(name, None if value is None else str(value)) for name, value in description]
        return spark.createDataFrame(rows, "property STRING, value STRING")
    if command.verb == STOP:
        queries = streams.running(spark, title)
        if not streams.stop(spark, title):
            warn([_not_running(spark, title)])
        reports.settle(spark, queries)
    else:
        _refresh(spark, title, table, command)
    return spark.createDataFrame([], T.StructType([]))


def _not_running(spark: SparkSession, title: str) -> str:
    if _state(spark, title, _query(spark, title)) != UNKNOWN:
        return f"the streaming table {title} was not running."
    return (
        f"this client does not run the streaming table {title}. If another client does, even one that has ended, run "
        f"its CREATE STREAMING TABLE here, which takes the query over; STOP STREAMING TABLE {title} then ends it."
    )


def known_table(spark: SparkSession, command: StreamCommand | DescribeKey) -> tuple[str, Recorded]:
    """The name of the command's table in the names of its queries, and what is recorded of it. Raises BindError:
    NOT_A_STREAMING_TABLE."""
    assert command.name is not None
    title = streams.table_title(spark, command.name)
    table = _table(spark, command.name)
    if table.checkpoint is None and title not in streams.started() and not streams.running(spark, title):
        raise BindError(
            "NOT_A_STREAMING_TABLE",
            f"there is no streaming table {title}",
            place=command.place,
            hint="SHOW STREAMING TABLES lists them.",
        )
    return title, table


def _tables(spark: SparkSession) -> dict[str, Recorded]:
    """The streaming tables of the warehouse or of the catalog of a Connect server, and the ones that this process
    started, by name, in order."""
    warehouse = spark.conf.get(WAREHOUSE, None)
    if warehouse and not is_connect(spark):
        tables = [(table.name, str(table.folder)) for table in warehouse_tables(Path(warehouse))]
    else:
        of_session = current_format(spark)
        tables = list(of_session.tables(spark)) if of_session.is_listed or is_connect(spark) else []
    tables_of = {streams.table_title(spark, name): _recorded(spark, name, folder) for name, folder in tables}
    recorded = {title: table for title, table in tables_of.items() if table.record is not None}
    active = [query.name for query in spark.streams.active if query.name]
    titles = {name for name in (*recorded, *streams.started(), *active) if "/" not in name}
    return {title: recorded.get(title, Recorded()) for title in sorted(titles)}


def _recorded(spark: SparkSession, name: Parts, folder: str) -> Recorded:
    """What is recorded of the table in a folder."""
    checkpoint = stream_checkpoint(spark, name, folder)
    try:
        return Recorded(checkpoint, stored_query(checkpoint))
    except SqlExtError as error:
        return Recorded(checkpoint, error)


def _query(spark: SparkSession, title: str) -> Any | None:
    """The last query of the table, whether it is running or not."""
    return next((q for q in spark.streams.active if q.name == title), streams.started().get(title))


def _status(spark: SparkSession, title: str, table: Recorded) -> tuple[Status, LastKnown]:
    """The status of a table, and what is known of its last micro-batch. An error in reading it is shown in its row, so
    that it does not hide the other tables."""
    try:
        known = _known(spark, title, table.checkpoint)
        status = _status_of(spark, title, known)
    except Exception as error:  # a stream that fails to report may raise any error
        return Status(title, UNKNOWN, last_error=f"{type(error).__name__}: {error}"), LastKnown()
    record = table.record
    if isinstance(record, SqlExtError) and status.last_error is None:
        return status._replace(last_error=f"{record.error_class}: {record.message}"), known
    return status, known


def _status_of(spark: SparkSession, title: str, known: LastKnown) -> Status:
    query, kept = _query(spark, title), known.state
    error = _failure(query)
    return Status(
        title,
        FAILED if error else _state(spark, title, query),
        watermark=shown_time(spark, known.watermark_us),
        lag=known.lag,
        rows_kept=None if kept is None else kept.rows,
        late_rows=None if kept is None else kept.late_rows,
        failed_rows=None if kept is None else kept.failed_rows,
        failed_values=failed_values.counted(title),
        last_error=None if error is None else " ".join(streams.root_cause(error).split()),
        as_of=known.at,
    )


def _state(spark: SparkSession, title: str, query: Any | None) -> str:
    if query is None and is_connect(spark):  # the queries of other clients of a Connect server cannot be seen
        return UNKNOWN
    return RUNNING if streams.writing(spark, title) else STOPPED


def _known(spark: SparkSession, title: str, checkpoint: Checkpoint | None) -> LastKnown:
    """What is known of the last micro-batch, which another process may have run unless this one runs the table."""
    is_running = any(query.name == title for query in streams.running(spark, title))
    return last_known(title, _query(spark, title), None if is_running else checkpoint)


def _failure(query: Any | None) -> str | None:
    """The error of a query; None if it did not fail."""
    with suppress(PySparkException):  # the query belongs to a session that has ended
        return None if query is None or (error := query.exception()) is None else streams.whole_text(error)
    return None


def shown_time(spark: SparkSession, time_us: int | None) -> str | None:
    """A time as Spark prints it in the session's time zone."""
    return None if time_us is None else time_text(spark)(time_us)


def time_text(spark: SparkSession) -> Callable[[int], str]:
    """The function that writes a time, in microseconds, as Spark prints it in the session's time zone."""
    of_session = zone(time_zone(spark))
    return lambda time_us: write_timestamp(of_session.to_local(time_us))


def _table(spark: SparkSession, parts: tuple[str, ...]) -> Recorded:
    """What is recorded of a table, if there is a checkpoint in the default place."""
    with suppress(PySparkException), quiet_probes():
        table = _recorded(spark, parts, table_location(spark, parts))
        return table if table.record is not None else Recorded()
    return Recorded()


def _description(spark: SparkSession, known: LastKnown, table: Recorded) -> Iterator[tuple[str, Any]]:
    """What DESCRIBE shows besides the status."""
    kept = known.state
    yield "micro_batch", known.batch
    yield "rows_per_second", known.rows_per_second
    yield "bytes_kept", kept and kept.bytes
    yield "oldest_row", kept and shown_time(spark, kept.oldest_us)
    yield "open_windows", kept and kept.windows
    yield "emitted_rows", kept and kept.emitted
    yield "checkpoint", table.checkpoint
    stored = table.record if isinstance(table.record, StoredQuery) else None
    yield "upsert_key", ", ".join(stored.upsert_key) or None if stored is not None else None
    yield "statement", stored.statement if stored is not None else None


def _extended(spark: SparkSession, title: str, known: LastKnown) -> Iterator[tuple[str, Any]]:
    """What EXTENDED adds: how far the sources have been read, the rate of the last hour, and the whole error."""
    query = _query(spark, title)
    for number, source in enumerate(known.sources, 1):
        yield f"source {number}", source
    yield "rows_per_second_of_last_hour", rows_per_second(recent_progress(query))
    error = _failure(query)
    yield "whole_error", None if error is None else error.strip()


def _refresh(spark: SparkSession, title: str, table: Recorded, command: StreamCommand) -> None:
    """Process the rows that exist now: by the running query, or by the statement that created the table."""
    if running := [query for query in streams.running(spark, title) if query.name == title]:
        running[0].processAllAvailable()
        reports.settle(spark, running)
        return
    record = table.query
    if record is None or not record.statement:
        raise BindError(
            "NOT_A_STREAMING_TABLE",
            f"the statement that created {title} is not recorded",
            place=command.place,
            hint="run its CREATE STREAMING TABLE again; statements with parameters are not kept.",
        )
    assert command.name is not None
    with temporary_settings(spark, {TRIGGER: AVAILABLE_NOW}):
        spark.sql(_resuming_statement(spark, record.statement, command.name))


def _resuming_statement(spark: SparkSession, statement: str, name: Parts) -> str:
    """The statement that resumes the query of a table: the one that created it, which may have replaced another table
    or have had another name."""
    target = read_statement(statement)
    assert isinstance(target, StreamTarget)
    is_named = streams.table_title(spark, target.name) == streams.table_title(spark, name)
    if is_named and not target.or_replace and not target.if_not_exists:
        return statement
    return f"CREATE STREAMING TABLE {quote(name)}{statement[target.place.stop :]}"
