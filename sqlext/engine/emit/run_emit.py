"""Run a query that EMITs: Spark computes columns of rows, workers fire, Spark computes the result from the firings."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from sqlext.engine.emit.window_plan import Assigner, Emit, Evictor, FiringAggregate, Trigger, WindowPlan
from sqlext.engine.queries import Queries
from sqlext.engine.stream.stream_plan import SortKey
from sqlext.errors import UnsupportedError
from sqlext.expressions.values import arrow_type
from sqlext.rewriter.emit.lower_emit import TIME, EmitPlan
from sqlext.rewriter.emit.window_call import CUMULATE, HOP, SESSION
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Text, join


def run_emit(plan: EmitPlan, queries: Queries, prefix: Text, *, is_ansi: bool) -> DataFrame:
    """The result of the query. `prefix`: the WITH clause that the data may need."""
    columns = join(*(join(text, f" AS {name}") for name, text in plan.columns), separator=",\n       ")
    query = join(prefix, "SELECT ", columns, "\nFROM ", plan.relation)
    if queries.run(query).isStreaming:
        raise UnsupportedError("EMIT_STREAM", "EMIT over a stream is not built yet", place=plan.clause.keyword.place)
    keys = ", ".join(name for name, _ in plan.columns[: plan.keys]) or "0"
    rows = queries.run(join("SELECT * FROM (", query, f") DISTRIBUTE BY {keys}"))
    worker = window_plan(plan, rows.schema, is_ansi)

    def fire(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sqlext.engine.emit.fire_batch import fire_batch

        return fire_batch(batches, worker)

    fired = rows.mapInArrow(fire, firing_schema(worker))
    return queries.run(result_query(plan, queries.name(fired)))


def result_query(plan: EmitPlan, firings: str) -> Text:
    """The columns of the result, from the relation `firings` that workers return."""
    shown = join(*(join(text, f" AS {quoted(name)}") for name, text in plan.shown), separator=", ")
    having = join("\n WHERE ", plan.having) if plan.having is not None else Text()
    return join("SELECT ", shown, f"\n  FROM {firings}", having)


def window_plan(plan: EmitPlan, rows: T.StructType, is_ansi: bool) -> WindowPlan:
    """What workers need to know; `rows`: the columns that Spark computes."""
    durations = plan.durations
    assigner = Assigner(
        kind=plan.clause.call.kind,
        size=durations.get("GAP", 0) if plan.clause.call.kind == SESSION else durations.get("SIZE", 0),
        step=durations.get({HOP: "SLIDE", CUMULATE: "STEP"}.get(plan.clause.call.kind, ""), 0),
        offset=durations.get("OFFSET", 0),
    )
    evictor = plan.evictor
    aggregates = tuple(
        FiringAggregate(
            function=a.function,
            columns=a.columns,
            types=a.types,
            result=a.result,
            is_distinct=a.is_distinct,
            filter=a.filter,
            constants=a.constants,
            order_by=a.order_by,
            ignores_nulls=a.ignores_nulls,
        )
        for a in plan.aggregates
    )
    return WindowPlan(
        schema=to_arrow_schema(rows, timezone="UTC"),
        time=TIME,
        keys=tuple(name for name, _ in plan.columns[: plan.keys]),
        sort=tuple(SortKey(name) for name, _ in plan.columns[plan.keys + 1 :]),
        assigner=assigner,
        emit=Emit(
            triggers=tuple(Trigger(t.kind, t.amount, t.column) for t in plan.triggers),
            is_discarding=plan.clause.is_discarding,
            lateness=plan.lateness,
            evictor=None if evictor is None else Evictor(evictor.kind, evictor.amount, evictor.column),
        ),
        aggregates=aggregates,
        keeps_rows=evictor is not None or plan.lateness > 0,
        is_ansi=is_ansi,
    )


def firing_schema(plan: WindowPlan) -> T.StructType:
    """The columns of a firing as Spark's types."""
    return from_arrow_schema(plan.result_schema([pa.nulls(0, arrow_type(a.result)) for a in plan.aggregates]))
