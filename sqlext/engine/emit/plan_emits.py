"""Window functions and EMIT in a statement: bound to the columns of their data, and planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.emit.explain_emit import explained_call, explained_emit
from sqlext.engine.emit.local_emit import scan_of
from sqlext.engine.emit.planned_emit import PlannedEmit
from sqlext.engine.emit.run_emit import rows_query
from sqlext.engine.planning.planner import NOT_PORTABLE, Planned
from sqlext.engine.queries.queries import Queries, SparkTypeResolver, after_watermark, watermarks
from sqlext.engine.queries.session_settings import execution_settings
from sqlext.engine.queries.spark_errors import cast_hint
from sqlext.engine.reports.shown_values import shown_name
from sqlext.engine.scan.scan_plan import AUTO, LocalScan
from sqlext.engine.streams import side_tables
from sqlext.errors import BindError, UnsupportedError
from sqlext.operators.emit.parts import AFTER_WATERMARK, CUMULATE, GLOBAL, SESSION
from sqlext.rewriter.emit.durations import as_timestamp, duration, time_type
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.emit.grouped_stream import grouped_stream
from sqlext.rewriter.emit.lower_emit import WINDOW_KEYS, EmitPlan, lower_emit
from sqlext.rewriter.emit.upserted import is_whole_query, upserted
from sqlext.rewriter.emit.window_relations import windowed
from sqlext.rewriter.emit.window_tvf import WindowTvf
from sqlext.rewriter.heads.stream_target import StreamTarget
from sqlext.rewriter.scalars.scalar_keys import RowValue, check_scalar
from sqlext.rewriter.statements.parse_statement import ParsedStatement
from sqlext.rewriter.text.names import column_name, quoted
from sqlext.rewriter.text.splice import Edit, Source, Text, join

_MOST_WINDOWS = 100_000  # of one row; with slides of a minute this is a window of 69 days


@dataclass(frozen=True, kw_only=True)
class WindowTvfPlanner:
    """Plans the window functions of one statement. Functions in the data of another function are planned before it."""

    statement: ParsedStatement
    queries: Queries

    def plan(self, call: WindowTvf, source: Source, prefix: Text) -> Planned:
        """The plan of a window function: its edits replace it by Spark's own functions.

        A window function with EMIT stays as it is, because its query is planned as a whole.
        """
        if any(emit.call == call for emit in self.statement.of(EmitClause)):
            return Planned()
        rows, resolver = _bound(call, source, prefix, self.queries)
        durations = {
            name: duration(d, source, resolver, least=None if name == "OFFSET" else 1)
            for name, d in call.durations.items()
        }
        _check_durations(call, durations)
        time = None
        if call.time is not None:
            kind = time_type(call.time, source, resolver)
            time = as_timestamp(source.of(call.time), kind)
            if rows.isStreaming:
                _check_grouped_time(call, kind)
        if rows.isStreaming:
            edits = grouped_stream(self.statement.tree, call, source, durations)
            if edits is not None:
                section = explained_call(call, "Spark's own aggregation of a stream, by its window")
                return Planned(edits=edits, sections=[section])
            if call.kind == SESSION:
                raise UnsupportedError(
                    "SESSION_STREAM",
                    "the sessions of a stream are known only as groups",
                    place=call.whole.place,
                    hint="GROUP BY the keys of PARTITION BY, window_start and window_end.",
                )
        relation = windowed(call, source, durations, time)
        edit = Edit(call.whole.start, call.whole.stop, relation)
        section = explained_call(call, "Spark's own functions, in the statement for Spark")
        return Planned(edits=[edit], sections=[section])


@dataclass(frozen=True, kw_only=True)
class EmitPlanner:
    """Plans the queries with EMIT of one statement. `target`: the table that the statement writes, if it writes one;
    `read`: who reads the files of a table in batch, one of `scan_plan.MODES`; `cores`: those of this machine, None if
    Spark runs on others."""

    spark: SparkSession
    statement: ParsedStatement
    queries: Queries
    target: StreamTarget | None = None
    is_portable: bool = False
    skips_failures: bool = True
    read: str = AUTO
    cores: int | None = None

    def plan(self, emit: EmitClause, source: Source, prefix: Text) -> Planned:
        if self.is_portable:
            raise UnsupportedError(
                "PORTABLE_EMIT", "EMIT cannot be written in plain SQL", place=emit.keyword.place, hint=NOT_PORTABLE
            )
        rows, resolver = _bound(emit.call, source, prefix, self.queries, emit.alias)
        if rows.isStreaming:
            _check_stream(emit, rows)
        columns = [(f.name, f.dataType.simpleString()) for f in rows.schema.fields]
        watermark = next(iter(watermarks(rows)), None)
        plan = lower_emit(emit, source, columns, resolver, watermark, self.queries.is_aggregate)
        _check_durations(emit.call, plan.durations)
        key = [column.name.lower() for column in self.target.upsert_key] if self.target is not None else []
        if key and is_whole_query(emit.whole, self.target, self.statement.tree):
            plan = upserted(plan, key)
        plan = replace(plan, settings=execution_settings(self.spark))
        for aggregate in plan.aggregates:
            aggregate.call.check(plan.settings, aggregate.place)
        scan, why_read = None, ""
        if not rows.isStreaming:
            scan, why_read = self._scan(plan, prefix)
        planned = PlannedEmit(
            plan=plan,
            prefix=prefix,
            is_streaming=rows.isStreaming,
            has_effect=rows.isStreaming and bool(side_tables.table_names(self.spark)),
            skips_failures=self.skips_failures,
            scan=scan,
        )
        name = self.queries.name(replace(planned, has_effect=False).frame(self.queries, self.spark))
        edit = Edit(emit.whole.start, emit.whole.stop, f"SELECT * FROM {name}")
        section = explained_emit(plan, prefix, why_read, is_streaming=rows.isStreaming)
        return Planned(edits=[edit], relations={name: planned}, sections=[section], needs_workers=True)

    def _scan(self, plan: EmitPlan, prefix: Text) -> tuple[LocalScan | None, str]:
        rows = self.queries.run(rows_query(plan.columns, plan, prefix))
        return scan_of(plan, rows, self.read, self.cores)


def _bound(
    call: WindowTvf, source: Source, prefix: Text, queries: Queries, alias: str = ""
) -> tuple[DataFrame, SparkTypeResolver]:
    """The rows of the data, and the resolver of types of expressions over them."""
    values = [RowValue("PARTITION BY", key) for key in call.partition_by]
    values += [RowValue("DESCRIPTOR", call.time)] if call.time else []
    check_scalar(values, source, queries.is_aggregate)
    rows = queries.run(join(prefix, "SELECT * FROM ", call.data_as("", source)))
    taken = [name for name in rows.columns if name.lower() in WINDOW_KEYS]
    if taken:
        raise BindError(
            "WINDOW_COLUMN",
            f"the data of {call.kind} has a column {taken[0]}",
            place=call.data.place,
            hint=f"write TABLE (SELECT * EXCEPT ({taken[0]}) FROM …).",
        )
    return rows, SparkTypeResolver(queries, prefix, call.data_as(alias, source))


def _check_durations(call: WindowTvf, durations: Mapping[str, int]) -> None:
    step = durations.get("STEP" if call.kind == CUMULATE else "SLIDE")
    if step is None:
        return
    if call.kind == CUMULATE and durations["SIZE"] % step:
        raise BindError(
            "WINDOW_DURATION",
            "the size of CUMULATE must be a multiple of its step",
            place=call.durations["SIZE"].place,
            hint="write the step before the size: CUMULATE(…, INTERVAL '1' HOUR, INTERVAL '1' DAY).",
        )
    windows = durations["SIZE"] // step
    if windows > _MOST_WINDOWS:
        raise UnsupportedError(
            "WINDOW_DURATION",
            f"a row would be in {windows:,} windows, more than {_MOST_WINDOWS:,}",
            place=call.whole.place,
            hint="make the step longer, or the size smaller.",
        )


def _check_stream(emit: EmitClause, rows: DataFrame) -> None:
    """Raise UnsupportedError (WATERMARK, STREAM_HAS_NO_END) and BindError (WINDOW_TIME, EMIT_TRIGGER) for a stream."""
    known, call = watermarks(rows), emit.call
    if not known:
        column = "ts" if call.time is None else after_watermark(call.time.text)
        raise UnsupportedError(
            "WATERMARK",
            "a stream fires its windows when its watermark passes rows, and this one has none",
            place=call.data.place,
            hint=f"write TABLE STREAM t WATERMARK {column} DELAY OF INTERVAL 10 SECONDS.",
        )
    if call.time is not None and column_name(call.time.text).lower() not in map(str.lower, known):
        raise BindError(
            "WINDOW_TIME",
            f"the windows of a stream are those of its watermark column, and {call.time.text} is not",
            place=call.time.place,
            hint=f"write DESCRIPTOR({shown_name(quoted(known[0]))}).",
        )
    if emit.order is not None:
        raise UnsupportedError(
            "STREAM_HAS_NO_END",
            f"{emit.order.text} needs the end of the firings, and a stream has none",
            place=emit.order.place,
            hint="write it where you read the streaming table.",
        )
    if call.kind == GLOBAL and all(trigger.kind == AFTER_WATERMARK for trigger in emit.triggers):
        raise BindError(
            "EMIT_TRIGGER",
            "the global window of a stream is never complete, and without a trigger it never fires",
            place=emit.keyword.place,
            hint="write EMIT EVERY n ROWS, or EMIT EARLY EVERY interval.",
        )


def _check_grouped_time(call: WindowTvf, kind: str) -> None:
    """Raise UnsupportedError (WATERMARK) for windows of a stream over a time of type `kind` that has no watermark."""
    if call.time is not None and kind != "timestamp":
        raise UnsupportedError(
            "WATERMARK",
            f"on a stream the time of windows is a TIMESTAMP with a watermark, not {kind}",
            place=call.time.place,
            hint=cast_hint(call.time.text),
        )
