"""CREATE STREAMING TABLE and INSERT INTO … SELECT from a stream: streaming queries into tables, exactly once.

The checkpoint of a query is in the folder of its table (`checkpoint_folders`), so it moves with the table, and a
statement that is run again resumes the query. Stopping a query does not end its input: undecided rows stay in the
checkpoint.

| CREATE STREAMING TABLE, and the table | effect |
|---|---|
| does not exist | creates it and starts the query; an error if its folder holds files |
| exists, the query is stopped | resumes it; an error if the text of the query has changed |
| exists, the query is running | nothing, with a warning |
| exists, IF NOT EXISTS | nothing, with a warning |
| exists, OR REPLACE | drops it first, with its files and its checkpoint |
| exists and has rows, but no checkpoint | an error |
"""

from __future__ import annotations

import itertools
import re
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from sqlext.catalog import streams, views
from sqlext.catalog.checkpoint import (
    Checkpoint,
    StoredClause,
    StoredQuery,
    check_same_query,
    record_query,
    stored_query,
)
from sqlext.engine.planning.fingerprint import COLUMN, recorded_words
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.session_settings import temporary_settings, time_zone, timestamp_type, values_of_settings
from sqlext.engine.queries.spark_errors import user_error
from sqlext.engine.shipped.data_types import holds_chars
from sqlext.engine.sources.tables import SourceRows
from sqlext.engine.sources.topics import check_topics, topics_of
from sqlext.engine.streams import failed_values, reports, side_tables
from sqlext.engine.streams.belonging import anew, check_state_format
from sqlext.engine.streams.checkpoint_folders import folders_of, own_name
from sqlext.engine.streams.idle_sources import has_beats
from sqlext.engine.streams.kafka_sink import KafkaSink
from sqlext.engine.streams.last_progress import last_known
from sqlext.engine.streams.silent_sources import warn_of_silent_sources
from sqlext.engine.streams.sinks import Sink, StreamRows, Writing
from sqlext.engine.streams.table_sink import TableSink
from sqlext.engine.streams.target_table import as_table, casts_times, prepare, renamed
from sqlext.engine.streams.upsert import plan_upsert
from sqlext.engine.views.temporary_objects import is_table, is_temporary_view
from sqlext.engine.views.view_plans import view_meanings
from sqlext.errors import BindError, Place, SetupError, UnsupportedError
from sqlext.expressions.spark_types import TIMESTAMP_TYPE, times_in
from sqlext.rewriter.checkpoint_words.local_times import INSTANTS, reads_local_times
from sqlext.rewriter.checkpoint_words.read_settings import ALL_SETTINGS, SETTINGS_OF_CHARS, read_settings
from sqlext.rewriter.checkpoint_words.resumed_words import resumed_tokens
from sqlext.rewriter.emit.upserted import HIDDEN
from sqlext.rewriter.heads.stream_target import StreamTarget
from sqlext.rewriter.heads.triggers import AVAILABLE_NOW, TRIGGER_HINT, trigger_of
from sqlext.rewriter.text.fragments import in_line
from sqlext.rewriter.text.names import Parts, quote, unquoted
from sqlext.rewriter.text.splice import Text
from sqlext.rewriter.text.tokens import tokenize
from sqlext.rewriter.tree.sources import relations, renames_columns
from sqlext.spark.kind import is_connect
from sqlext.spark.progress import WRITTEN
from sqlext.spark.quiet_probes import quiet_probes
from sqlext.spark.user_warnings import warn

TRIGGER = "sqlext.stream.trigger"  # available-now, an interval, or empty: each micro-batch starts at once
_ACTIONS = (  # the actions that show or collect all rows of a DataFrame
    "show", "collect", "count", "first", "head", "take", "tail", "isEmpty", "toPandas", "toArrow", "toLocalIterator",
)  # fmt: skip
# Without this setting Spark runs available-now in one micro-batch if a source, such as that of heartbeats, does not
# support it. It is set while the query runs, because Spark reads it some time after the start.
_SEVERAL_BATCHES = "spark.sql.streaming.triggerAvailableNowWrapper.enabled"
# Words whose meaning `spark.sql.timestampType` decides. Rules are in a table, and may have them, too.
_OF_TIMESTAMP_TYPE = re.compile(r"\b(timestamp|(try_)?(to|make)_timestamp|match_rules)\b", re.IGNORECASE)


def start(
    spark: SparkSession,
    target: StreamTarget,
    frame: DataFrame,
    clauses: Sequence[StreamClause],
    text: Text,
    *,
    sources: Sequence[SourceRows],
    identifier: str,
    is_repeatable: bool,
) -> DataFrame:
    """Start or resume the query `frame`, a stream with these clauses; returns an empty DataFrame.

    `text`: the query with a name in place of each clause; `sources`: the tables of Kafka that it reads; `identifier`:
    see `identifier_of`; `is_repeatable`: the statement has no parameters.

    Raises BindError: CHANGED_QUERY if the checkpoint was written by another query, TABLE_EXISTS, LEFTOVERS; DataError
    if table and checkpoint do not belong together.
    """
    if target.rows is not None:
        raise UnsupportedError(
            "STREAM_INSERT",
            "an INSERT from a stream appends rows",
            place=target.rows,
            hint="write INSERT INTO table [(column, …) or BY NAME] SELECT ….",
        )
    name, title = quote(target.name), streams.table_title(spark, target.name)
    nothing = spark.createDataFrame([], T.StructType([]))
    sink = sink_of(spark, target)
    check(spark, target, clauses)
    frame = renamed(frame, target).observe(WRITTEN, F.count(F.lit(1)).alias("rows"))
    upsert = plan_upsert(frame, target, clauses) if target.upsert_key else None
    written, is_new = frame.drop(*HIDDEN), False
    if not target.is_insert:
        if target.if_not_exists and spark.catalog.tableExists(name):
            streams.note_effect(title, streams.SKIPPED)
            warn([_skipped(spark, target, title)])
            return nothing
        is_new = prepare(spark, written, target)
    fields = sink.fields(written)
    is_cast_by_zone = casts_times(written, fields, target)
    written = as_table(written, fields, target)
    if upsert is not None:
        sink.check_upsert(upsert)
    folders = sink.folders()
    stored = Checkpoint(spark, folders.own) if is_new else folders.current(spark)
    checkpoint = stored.location
    recorded = _stored_query(
        spark, target, clauses, text, columns=written.columns, is_repeatable=is_repeatable, casts_times=is_cast_by_zone
    )
    before, topics = stored_query(stored), topics_of(sources)
    recorded = replace(recorded, identifier=identifier, topics={**(before.topics if before else {}), **topics})
    places, former = [clause.place for clause in clauses], [clause.fingerprint.former for clause in clauses]
    effect = streams.STARTED if before is None else streams.RESUMED
    check_same_query(stored, recorded, former, places, _places(text, target), _key_place(target), anew(target))
    check_topics(before, topics, sources, anew(target))
    query_name = f"{title}/{own_name(spark, target)}" if target.is_insert else title
    if running := [query for query in streams.running(spark, title) if query.name == query_name]:
        batch = (running[0].lastProgress or {}).get("batchId")
        at = "" if batch is None else f", at micro-batch {batch}"
        warn([f"{query_name} is running{at}; the statement started nothing. STOP STREAMING TABLE {title} ends it."])
        return nothing
    if not is_new:
        check_state_format(spark, target, stored)
        sink.check_belongs(folders, stored)
    sink.begin(written, folders)
    streams.note_effect(query_name, effect)
    record_query(stored, recorded)
    stored.remove_unfinished()
    stored.write_own_paths()
    writing = sink.writing(StreamRows(frame=frame, written=written, upsert=upsert), folders, checkpoint)
    writer = writing.writer.option("checkpointLocation", checkpoint).queryName(query_name)
    writing = replace(writing, writer=writer)
    failed_values.count_values(spark, sources, query_name)
    try:
        with temporary_settings(spark, {_SEVERAL_BATCHES: "true"} if has_beats(text) else {}):
            query = _run(spark, writing, target)
        if trigger(spark, target) == AVAILABLE_NOW:
            warn_of_silent_sources(spark, frame, query)
            warn(list(failed_values.warnings_about(spark, sources, query_name)))
    except (AnalysisException, SetupError) as e:  # errors of the checks when a stream starts
        if is_new:
            spark.sql(f"DROP TABLE {name}").collect()
        if isinstance(e, SetupError):
            raise
        error = user_error(e, text, target.text)
        raise (error if error.place else error.with_(place=target.place)) from None
    opened = (side_tables.open_tables(spark, clause.fingerprint, identifier) for clause in clauses)
    for table in dict.fromkeys(itertools.chain.from_iterable(opened)):  # two clauses may be equal
        side_tables.follow(spark, table, title, _trigger_options(trigger(spark, target)))
    failed_values.follow(spark, sources, query_name, identifier, _trigger_options(trigger(spark, target)))
    return nothing


def _skipped(spark: SparkSession, target: StreamTarget, title: str) -> str:
    """What IF NOT EXISTS has left as it was, and what processes its rows."""
    if streams.writing(spark, title):
        return f"{title} is running, so CREATE STREAMING TABLE IF NOT EXISTS did nothing."
    if stored_query(folders_of(spark, target).current(spark)) is None:
        return (
            f"{title} is a table that no streaming table has written, so CREATE STREAMING TABLE IF NOT EXISTS did "
            "nothing: take another name."
        )
    return (
        f"the streaming table {title} is there and stopped, so CREATE STREAMING TABLE IF NOT EXISTS did nothing, and "
        f"no new rows were processed: leave IF NOT EXISTS out, which resumes the query, or write REFRESH STREAMING "
        f"TABLE {title}."
    )


def is_first_run(spark: SparkSession, target: StreamTarget) -> bool:
    """Return True if the query of a streaming table or an INSERT has had no micro-batch."""
    stored = _checkpoint(spark, target)
    return stored is None or stored.last_number("offsets") is None


def identifier_of(spark: SparkSession, target: StreamTarget) -> str:
    """The identifier of the query of a streaming table or an INSERT, as its checkpoint records it: "" from earlier
    versions, and a new one if the query begins."""
    stored = _checkpoint(spark, target)
    before = None if stored is None else stored_query(stored)
    return uuid.uuid4().hex if before is None else before.identifier


def _checkpoint(spark: SparkSession, target: StreamTarget) -> Checkpoint | None:
    """The checkpoint of the query of a statement; None if its table does not exist or is replaced."""
    sink = sink_of(spark, target)
    if target.or_replace or (isinstance(sink, TableSink) and not is_table(spark, target.name)):
        return None
    return sink.folders().current(spark)


def check(spark: SparkSession, target: StreamTarget, clauses: Sequence[StreamClause]) -> None:
    """Raise the errors that the target and the settings of a stream have before anything is created."""
    sink_of(spark, target).check()
    if trigger(spark, target) == AVAILABLE_NOW and any(clause.ends_by_clock for clause in clauses):
        raise UnsupportedError(
            "STREAM_WITHOUT_END",
            "ORDER BY PROCTIME() makes WITHIN depend on the clock, so available-now would never end",
            place=target.place,
            hint="use another trigger than available-now.",
        )


def sink_of(spark: SparkSession, target: StreamTarget) -> Sink:
    """What the query of a statement is written into."""
    return topic_of(spark, target) or TableSink(spark, target)


def topic_of(spark: SparkSession, target: StreamTarget) -> KafkaSink | None:
    """The topic that an INSERT writes into; None if it writes into a table of Spark's. Raises UnsupportedError for
    UPSERT KEY, which no INSERT into a table of Spark's has."""
    if not target.is_insert:
        return None
    view = None if is_table(spark, target.name) else views.lookup(spark, spark.sql, target.name)
    if view is not None and view.is_table:
        return KafkaSink(spark, target, view)
    if target.upsert_key:
        raise UnsupportedError(
            "STREAM_INSERT",
            "an INSERT with UPSERT KEY writes into a topic of Kafka, and this is no table of one",
            place=target.upsert_key[0].place,
            hint="write CREATE STREAMING TABLE name UPSERT KEY (…) AS SELECT ….",
        )
    return None


# the record of a query


def _stored_query(
    spark: SparkSession,
    target: StreamTarget,
    clauses: Sequence[StreamClause],
    text: Text,
    *,
    columns: Sequence[str],
    is_repeatable: bool,
    casts_times: bool,
) -> StoredQuery:
    """The record of a query. `columns`: those of the table that it writes."""
    stored = (
        StoredClause(in_line(clause.text), clause.fingerprint.digest, dict(clause.fingerprint.parts))
        for clause in clauses
    )
    texts = [target.text, *(clause.text for clause in clauses)]
    # Spark keeps the texts of temporary views, so such a query may depend on all settings.
    has_views = any(is_temporary_view(spark, name.parts) for name in relations(target.text))
    reads_zone = (
        casts_times
        or has_views
        or any(map(reads_local_times, texts))
        or _has_two_kinds_of_times(spark, target, clauses)
    )
    names = {*ALL_SETTINGS, TIMESTAMP_TYPE} if has_views else frozenset().union(*map(read_settings, texts))
    if not any(_may_read_chars(spark, name.parts) for name in relations(target.text)):
        names -= SETTINGS_OF_CHARS
    return StoredQuery(
        clauses=tuple(stored),
        words=tuple(recorded_words(text)),
        statement=target.text.strip() if is_repeatable else "",
        timestamp_type=_timestamp_type(spark, texts),
        time_zone=time_zone(spark) if reads_zone else "",
        settings=values_of_settings(spark, names),
        upsert_key=tuple(column.name.lower() for column in target.upsert_key),
        into=tuple(map(str.lower, columns)) if target.by_name else tuple(c.name.lower() for c in target.into),
        views=view_meanings(spark, target.text),
        spark=spark.version,
    )


def _has_two_kinds_of_times(spark: SparkSession, target: StreamTarget, clauses: Sequence[StreamClause]) -> bool:
    """Return True if a clause, or the query around them, reads a TIMESTAMP and a date or local time, which Spark
    compares in the time zone."""
    names = {unquoted(token.text).lower() for token in tokenize(target.text) if token.is_name}
    fields = itertools.chain.from_iterable(_columns(spark, name.parts) for name in relations(target.text))
    reads_any = renames_columns(target.text)
    of_query = {field.dataType.simpleString() for field in fields if reads_any or field.name.lower() in names}
    if INSTANTS & {name.upper() for name in names}:
        of_query.add("timestamp")
    of_clauses = (
        {kind for name, kind in clause.fingerprint.parts.items() if name.startswith(COLUMN)} for clause in clauses
    )
    kinds_of_times = (frozenset().union(*map(times_in, types)) for types in (of_query, *of_clauses))
    return any("timestamp" in kinds and len(kinds) > 1 for kinds in kinds_of_times)


def _may_read_chars(spark: SparkSession, name: Parts) -> bool:
    """Return False for a table without CHAR columns. A view may read other columns than it shows."""
    return not is_table(spark, name) or any(map(holds_chars, _columns(spark, name)))


def _columns(spark: SparkSession, name: Parts) -> Sequence[T.StructField]:
    """The columns of a table; none if Spark has no table of that name, but, for example, we have a view."""
    try:
        with quiet_probes():
            return spark.table(quote(name)).schema.fields
    except PySparkException:
        return []


def _timestamp_type(spark: SparkSession, texts: Sequence[str]) -> str:
    """The value of TIMESTAMP_TYPE if a text has words that mean something else by Spark's default, else ""."""
    if timestamp_type(spark) == "timestamp" or not any(map(_OF_TIMESTAMP_TYPE.search, texts)):
        return ""
    return "TIMESTAMP_NTZ"


def _key_place(target: StreamTarget) -> Place:
    """The place of the columns of UPSERT KEY or INSERT, or the place where they would be written."""
    key = target.upsert_key or target.into
    return Place(target.text, key[0].place.start, key[-1].place.stop) if key else target.place


def _places(text: Text, target: StreamTarget) -> list[Place | None]:
    """The place in the user's text of each token of the query."""
    places: list[Place | None] = []
    for token in resumed_tokens(tokenize(str(text))):
        origin = text.origin(token.start)
        places.append(None if origin is None else Place(target.text, origin, origin + len(token.text)))
    return places


# the query


def trigger(spark: SparkSession, target: StreamTarget | None = None) -> str:
    """The trigger of a streaming table, or of the session: AVAILABLE_NOW, a duration or "". Raises BindError."""
    if target is not None and target.trigger:
        return target.trigger
    setting = spark.conf.get(TRIGGER, "") or ""
    found = trigger_of(setting) if setting.strip() else ""
    if found is None:
        place = None if target is None else target.place
        raise BindError(
            "STREAM_TRIGGER", f"{TRIGGER} is {setting}, which is no trigger", place=place, hint=TRIGGER_HINT
        )
    return found


def _trigger_options(trigger: str) -> dict[str, Any]:
    if not trigger:
        return {}
    return {"availableNow": True} if trigger == AVAILABLE_NOW else {"processingTime": trigger}


def _run(spark: SparkSession, writing: Writing, target: StreamTarget) -> StreamingQuery:
    """Start the query, and wait for the end of available-now."""
    options = _trigger_options(trigger(spark, target))
    writer = writing.writer.outputMode("append")
    if options:
        writer = writer.trigger(**options)
    if writing.table is None:
        query = _start_writer(spark, writer, writing.what, target)
    else:
        query = writer.toTable(writing.table)
    last_known(query.name, streams.started().get(query.name))  # keeps what the query before has reported
    streams.remember(query)
    if options.get("availableNow"):
        try:
            query.awaitTermination()  # the statement ends when the rows and the reports are in their tables
        finally:
            reports.settle(spark, [query])
    return query


def _start_writer(spark: SparkSession, writer: DataStreamWriter, what: str, target: StreamTarget) -> StreamingQuery:
    """Start a query with a writer of ours, for `what`. Raises SetupError if a Connect server has no Python for it."""
    try:
        return writer.start()
    except PySparkException as error:
        if isinstance(error, AnalysisException) or not is_connect(spark):
            raise
        reason = str(error).partition("\n")[0]
        raise SetupError(
            "WORKER_WITHOUT_SQLEXT",
            f"the server did not start a Python for {what}: {reason}",
            place=target.upsert_key[0].place if target.upsert_key else target.place,
            hint="install spark-sqlext, with all that it requires, into the Python that the server's PYSPARK_PYTHON "
            "names.",
        ) from None


def check_ends(frame: DataFrame) -> None:
    """Raise UnsupportedError for a stream."""
    if frame.isStreaming:
        refuse()


def refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise the error of an action over a stream; takes the arguments of any action."""
    raise UnsupportedError(
        "STREAM_WITHOUT_TABLE",
        "the result is a stream, which has no end and cannot be shown",
        hint="write CREATE STREAMING TABLE name AS … and SELECT from the table.",
    )


def with_end_required(frame: DataFrame) -> DataFrame:
    """The frame; the actions of a stream raise our error, because Spark's own error names no remedy in SQL."""
    if frame.isStreaming:
        for action in _ACTIONS:
            setattr(frame, action, refuse)
    return frame
