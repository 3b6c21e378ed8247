"""Runs SHOW STREAMING TABLES, and DESCRIBE, STOP and REFRESH STREAMING TABLE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.catalog import streams
from sqlext.catalog.checkpoint import Checkpoint, StoredQuery, stored_query
from sqlext.catalog.warehouse import WAREHOUSE, warehouse_tables
from sqlext.engine.streams import reports
from sqlext.engine.streams.streaming_tables import AVAILABLE_NOW, CHECKPOINTS, STREAM, TRIGGER
from sqlext.errors import BindError, SqlExtError
from sqlext.expressions.calendars import zone
from sqlext.expressions.time_texts import read_timestamp, write_timestamp
from sqlext.rewriter.heads.stream_heads import DESCRIBE, SHOW, STOP, StreamCommand
from sqlext.rewriter.text.names import quote
from sqlext.spark.progress import StreamState, kept_state
from sqlext.spark.quiet_probes import quiet_probes
from sqlext.spark.user_warnings import warn

_COLUMNS = (
    "name STRING, state STRING, watermark STRING, lag INTERVAL DAY TO SECOND, "
    "rows_kept BIGINT, late_rows BIGINT, failed_rows BIGINT, last_error STRING"
)
RUNNING, STOPPED, FAILED, UNKNOWN = "running", "stopped", "failed", "unknown"


class Status(NamedTuple):
    """A streaming table as SHOW STREAMING TABLES lists it.

    `watermark`: a text, since Python has no timestamps after the year 9999; `lag`: how much earlier than the clock it
    was when the last micro-batch began; `last_error`: why the query ended, or why nothing is known about the table.
    """

    name: str
    state: str
    watermark: str | None = None
    lag: timedelta | None = None
    rows_kept: int | None = None
    late_rows: int | None = None
    failed_rows: int | None = None
    last_error: str | None = None


def run_command(spark: SparkSession, command: StreamCommand) -> DataFrame:
    """The result of a command. Raises BindError: NOT_A_STREAMING_TABLE."""
    if command.verb == SHOW:
        return spark.createDataFrame(
            [_status(spark, title, record) for title, record in _records(spark).items()], _COLUMNS
        )
    assert command.name is not None
    title = streams.table_title(spark, command.name)
    checkpoint = _checkpoint(spark, command.name)
    if checkpoint is None and title not in streams.started() and not streams.running(spark, title):
        raise BindError(
            "NOT_A_STREAMING_TABLE", f"there is no streaming table {title}", place=command.place,
            hint="SHOW STREAMING TABLES lists them.",
        )  # fmt: skip
    if command.verb == DESCRIBE:
        rows = [(name, None if value is None else str(value)) for name, value in _description(spark, title, checkpoint)]
        return spark.createDataFrame(rows, "property STRING, value STRING")
    if command.verb == STOP:
        queries = streams.running(spark, title)
        if not streams.stop(spark, title):
            warn([f"the streaming table {title} was not running."])
        reports.settle(spark, queries)
    else:
        _refresh(spark, title, checkpoint, command)
    return spark.createDataFrame([], T.StructType([]))


Record = StoredQuery | SqlExtError | None  # the query of a table, or the error if the record cannot be read


def _records(spark: SparkSession) -> dict[str, Record]:
    """The streaming tables of the warehouse, and the ones that this process started, by name, in order."""
    warehouse = spark.conf.get(WAREHOUSE, None)
    tables = warehouse_tables(Path(warehouse)) if warehouse else []
    records = {streams.table_title(spark, t.name): _record(_checkpoint_of(spark, t.folder)) for t in tables}
    active = [query.name for query in spark.streams.active if query.name]
    names = [title for title, record in records.items() if record is not None]
    titles = {name for name in (*names, *streams.started(), *active) if "/" not in name}
    return {title: records.get(title) for title in sorted(titles)}


def _record(checkpoint: Checkpoint | None) -> Record:
    try:
        return None if checkpoint is None else stored_query(checkpoint)
    except SqlExtError as error:
        return error


def _query(spark: SparkSession, title: str) -> Any | None:
    """The last query of the table, whether it is running or not."""
    return next((q for q in spark.streams.active if q.name == title), streams.started().get(title))


def _status(spark: SparkSession, title: str, record: Record) -> Status:
    """The status of a table. An error in reading it is shown in its row, so that it does not hide the other tables."""
    try:
        status = _status_of(spark, title, _query(spark, title))
    except Exception as error:  # a stream that fails to report may raise any error
        return Status(title, UNKNOWN, last_error=f"{type(error).__name__}: {error}")
    if isinstance(record, SqlExtError) and status.last_error is None:
        return status._replace(last_error=f"{record.error_class}: {record.message}")
    return status


def _status_of(spark: SparkSession, title: str, query: Any | None) -> Status:
    if query is None:
        return Status(title, STOPPED)
    error = _failure(query)
    state = FAILED if error else RUNNING if streams.running(spark, title) else STOPPED
    progress, kept = _progress(query)
    watermark = _time_us((progress.get("eventTime") or {}).get("watermark"))
    now = _time_us(progress.get("timestamp"))
    return Status(
        title,
        state,
        watermark=_shown_time(spark, watermark),
        lag=None if watermark is None or now is None else timedelta(microseconds=now - watermark),
        rows_kept=None if kept is None else kept.rows,
        late_rows=None if kept is None else kept.late_rows,
        failed_rows=None if kept is None else kept.failed_rows,
        last_error=error,
    )


def _failure(query: Any) -> str | None:
    """Why a query failed, in one line; None if it did not."""
    with suppress(PySparkException):  # the query belongs to a session that has ended
        error = query.exception()
        return None if error is None else " ".join(streams.root_cause(streams.whole_text(error)).split())
    return None


def _progress(query: Any) -> tuple[dict[str, Any], StreamState | None]:
    """The last progress of a query, and the last state that its clauses reported."""
    with suppress(PySparkException):
        recent = query.recentProgress
        states = (kept_state(progress["observedMetrics"]) for progress in reversed(recent))
        return (recent[-1] if recent else {}), next((state for state in states if state is not None), None)
    return {}, None


def _time_us(text: str | None) -> int | None:
    """The microseconds of a time in a progress; Spark writes years after 9999 as `+57971-02-26T03:46:40.000Z`."""
    return None if text is None else read_timestamp(text, "UTC")


def _shown_time(spark: SparkSession, time_us: int | None) -> str | None:
    """A time as Spark prints it in the session's time zone."""
    if time_us is None:
        return None
    return write_timestamp(zone(spark.conf.get("spark.sql.session.timeZone", "UTC") or "UTC").to_local(time_us))


def _checkpoint_of(spark: SparkSession, table: str | Path) -> Checkpoint:
    """The default place of the checkpoint of a table; `table`: its folder."""
    return Checkpoint(spark, f"{str(table).rstrip('/')}/{CHECKPOINTS}/{STREAM}")


def _checkpoint(spark: SparkSession, parts: tuple[str, ...]) -> Checkpoint | None:
    """The table's checkpoint, if there is one in the default place."""
    with suppress(PySparkException), quiet_probes():
        location = str(spark.sql(f"DESCRIBE DETAIL {quote(parts)}").collect()[0]["location"])
        checkpoint = _checkpoint_of(spark, location)
        return checkpoint if _record(checkpoint) is not None else None
    return None


def _description(spark: SparkSession, title: str, checkpoint: Checkpoint | None) -> Iterator[tuple[str, Any]]:
    record, query = _record(checkpoint), _query(spark, title)
    status = _status(spark, title, record)
    yield from status._asdict().items()
    progress, kept = ({}, None) if query is None or status.state == UNKNOWN else _progress(query)
    for name, key in (("micro_batch", "batchId"), ("rows_per_second", "processedRowsPerSecond")):
        yield name, progress.get(key)
    yield "bytes_kept", kept and kept.bytes
    yield "oldest_row", kept and _shown_time(spark, kept.oldest_us)
    yield "open_windows", kept and kept.windows
    yield "emitted_rows", kept and kept.emitted
    yield "checkpoint", checkpoint
    known = record if isinstance(record, StoredQuery) else None
    yield "upsert_key", ", ".join(known.upsert_key) or None if known is not None else None
    yield "statement", known.statement if known is not None else None


def _refresh(spark: SparkSession, title: str, checkpoint: Checkpoint | None, command: StreamCommand) -> None:
    """Process the rows that exist now: by the running query, or by the statement that created the table."""
    if running := [query for query in streams.running(spark, title) if query.name == title]:
        running[0].processAllAvailable()
        reports.settle(spark, running)
        return
    record = stored_query(checkpoint) if checkpoint is not None else None
    if record is None or not record.statement:
        raise BindError(
            "NOT_A_STREAMING_TABLE", f"the statement that created {title} is not recorded", place=command.place,
            hint="run its CREATE STREAMING TABLE again; statements with parameters are not kept.",
        )  # fmt: skip
    before = spark.conf.get(TRIGGER, None)
    spark.conf.set(TRIGGER, AVAILABLE_NOW)
    try:
        spark.sql(record.statement)
    finally:
        spark.conf.unset(TRIGGER) if before is None else spark.conf.set(TRIGGER, before)
