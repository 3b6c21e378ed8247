"""IDLE AFTER: a source without new rows does not hold the watermark back.

Spark's `rate` source produces a row each second, with the time of the clock minus the idle time. Such a row passes
through the source's own watermark, moves the watermark on, and is dropped directly after it. A micro-batch in which the
source has rows gets no such row: otherwise the rest of a backlog would be late. The source is read twice, once only to
see whether it has rows.

The condition that drops these rows reads the time, because Spark moves other conditions below the watermark. It is not
deterministic, because Spark would otherwise move the conditions of the query below both of them, and NULL satisfies
none.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.engine.planning.planner import NOT_PORTABLE, Planned, Section
from sqlext.engine.queries.queries import Queries, SparkTypeResolver, watermarks
from sqlext.engine.queries.spark_errors import cast_hint
from sqlext.errors import BindError, UnsupportedError
from sqlext.operators.stateful.beats import beat_unless_marked, mark_if_any
from sqlext.rewriter.emit.durations import duration
from sqlext.rewriter.statements.idle_sources import IdleSource
from sqlext.rewriter.text.names import quoted, unquoted
from sqlext.rewriter.text.splice import Edit, Source, Text, join
from sqlext.rewriter.text.tokens import tokenize
from sqlext.spark.worker_functions import map_in_arrow

BEAT = "__beat"  # whether the row is a beat
_TIME_DDL = "at TIMESTAMP_LTZ"


@dataclass(frozen=True, kw_only=True)
class IdlePlanner:
    """Plans the idle sources of one statement. `is_portable`: the plan is printed as plain SQL and not run."""

    spark: SparkSession
    queries: Queries
    is_portable: bool = False

    def plan(self, idle: IdleSource, source: Source, prefix: Text) -> Planned:
        """The edits give the source its beats. For a table they only remove the words, which have no meaning there.

        Raises BindError (WATERMARK_TIME, IDLE_INTERVAL) and UnsupportedError (WATERMARK, STREAM).
        """
        relation = source.of(idle.relation)
        time = source.of(idle.time)
        named = join(", ", time, " AS ", source.of(idle.name)) if idle.name else Text()
        rows = self.queries.run(join(prefix, "SELECT *", named, " FROM ", relation))
        resolver = SparkTypeResolver(self.queries, prefix, relation)
        after = duration(idle.idle, source, resolver, error_class="IDLE_INTERVAL")
        if not rows.isStreaming:
            edit = Edit(idle.clause.start, idle.clause.stop, "")
            return Planned(edits=[edit], sections=[_section(idle, "a table has no watermark")])
        if self.is_portable:
            raise UnsupportedError(
                "STREAM", "plain SQL has no heartbeat for an idle source", place=idle.clause.place, hint=NOT_PORTABLE
            )
        column = self._time(idle, rows, join(prefix, "SELECT ", time, " FROM ", relation))
        name = self.queries.name(with_beats(rows, column, after, self.spark))
        delay = source.of(idle.delay)
        text = join(
            f"(SELECT * EXCEPT ({BEAT}) FROM {name} WATERMARK {quoted(column)} DELAY OF ",
            delay,
            f" WHERE IF({BEAT}, {quoted(column)} IS NULL, TRUE) AND spark_partition_id() >= 0)",
            f" AS {quoted(idle.own_name)}" if idle.own_name else "",
        )
        how = f"in a micro-batch without rows the watermark of {column} follows the clock, {idle.idle.text} after it"
        edit = Edit(idle.whole.start, idle.whole.stop, text)
        return Planned(edits=[edit], sections=[_section(idle, how)], needs_workers=True)

    def _time(self, idle: IdleSource, rows: DataFrame, query: Text) -> str:
        """The column with the event time. `query`: a query of that column alone."""
        words = tokenize((idle.name or idle.time).text)
        name = unquoted(words[-1].text)
        columns = [f for f in rows.schema.fields if f.name.lower() == name.lower()]
        kind = self.queries.run(query).schema.fields[0].dataType
        if len(columns) != 1 or len(words) % 2 == 0 or any(w.text != "." for w in words[1::2]):
            raise BindError(
                "WATERMARK_TIME",
                f"{idle.time.text} is not one column of the source",
                place=idle.time.place,
                hint=f"give it a name: WATERMARK {idle.time.text} AS event_time DELAY OF …",
            )
        if not isinstance(kind, T.TimestampType):
            raise BindError(
                "WATERMARK_TIME",
                f"the time of a watermark is a TIMESTAMP, not {kind.simpleString()}",
                place=idle.time.place,
                hint=cast_hint(idle.time.text),
            )
        if watermarks(rows):
            raise UnsupportedError(
                "WATERMARK",
                "the source has a watermark already",
                place=idle.clause.place,
                hint="write WATERMARK … IDLE AFTER … where the stream is read first.",
            )
        return columns[0].name


def _section(idle: IdleSource, how: str) -> Section:
    """The section of EXPLAIN MATCH. `how`: the sentence about the effect of IDLE AFTER."""
    return Section(kind="Idle source", text=lambda: f"{idle.whole.text}\n{how}")


def with_beats(rows: DataFrame, time: str, idle: int, spark: SparkSession) -> DataFrame:
    """The stream `rows` and its beats, with the column BEAT. `idle`: microseconds between the clock and a beat's time.

    The other columns of beats are NULL.
    """
    clock = spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    ticks = clock.select(F.timestamp_micros(F.unix_micros("timestamp") - F.lit(idle)).alias("at"))
    marks = map_in_arrow(rows.select(F.lit(True)), mark_if_any, _TIME_DDL)
    beats = map_in_arrow(ticks.union(marks).repartition(1), beat_unless_marked, _TIME_DDL)
    columns = (
        (F.col("at") if field.name == time else F.lit(None)).cast(field.dataType).alias(field.name)
        for field in rows.schema.fields
    )
    own = rows.select("*", F.lit(False).alias(BEAT))
    return own.union(beats.select(*columns, F.lit(True).alias(BEAT)))


def has_beats(text: Text) -> bool:
    """Return True if a planned statement itself reads an idle source."""
    return f"* EXCEPT ({BEAT})" in str(text)
