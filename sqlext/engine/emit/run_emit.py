"""Run a query with EMIT: Spark computes columns of rows, workers compute the firings, Spark computes the result from
them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sqlext.engine.planning.fingerprint import Fingerprint, digest_of, fingerprint_of, recorded_words
from sqlext.engine.planning.plan_parts import words_of
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import with_whole_keys
from sqlext.engine.shipped.data_types import arrow_schema, with_char_types
from sqlext.errors import Place, UnsupportedError
from sqlext.expressions.spark_types import COLLATED, as_recorded
from sqlext.expressions.values import arrow_type
from sqlext.operators.emit.aggregate_states import depends_on_order
from sqlext.operators.emit.operator import fire_batch
from sqlext.operators.emit.parts import CUMULATE, HOP, SESSION, Evictor, FiringAggregate, Trigger
from sqlext.operators.emit.plan import Assigner, EmitOperatorPlan
from sqlext.operators.rows.columns import SortKey
from sqlext.rewriter.checkpoint_words.resumed_words import without_read_options
from sqlext.rewriter.emit.lower_emit import TIME, EmitPlan
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Text, join
from sqlext.spark.versions import spark_schema
from sqlext.spark.worker_functions import map_in_arrow

_NO_COLUMNS = T.StructType()


def rows_query(columns: Sequence[tuple[str, Text]], plan: EmitPlan, prefix: Text) -> Text:
    """The columns that Spark computes of each row. Of keys that are numbers, -0.0 is 0.0, as in GROUP BY of Spark."""
    zeros = {name: {"float": " + 0F", "double": " + 0D"}[of] for name, of in plan.float_keys.items()}
    texts = ((name, join("(", text, ")", zeros[name]) if name in zeros else text) for name, text in columns)
    named = join(*(join(text, f" AS {name}") for name, text in texts), separator=",\n       ")
    return join(prefix, "SELECT ", named, "\nFROM ", plan.relation)


def kept_of_window(plan: EmitPlan) -> tuple[bool, str]:
    """Whether the rows of a window are kept until it is complete, rather than its partial aggregates; and the
    reason."""
    evictor = plan.clause.evictor
    if evictor is not None:
        return True, f"its rows, because {evictor.whole.text} chooses among them"
    ordered = next((a.call.function for a in plan.aggregates if depends_on_order(a)), None)
    if plan.emit.lateness and ordered is not None:
        return True, f"its rows, because a late row changes the order in which {ordered} takes them"
    return False, "its partial aggregates"


def batch_firings(rows: DataFrame, windows: EmitOperatorPlan) -> DataFrame:
    """The firings over all rows."""
    whole = with_whole_keys(rows, windows.keys)
    return map_in_arrow(whole, partial(fire_batch, windows=windows), firing_schema(windows, rows.schema))


def stream_clause(plan: EmitPlan) -> StreamClause:
    """The record of the query that is stored beside the checkpoint."""
    whole, keyword = plan.clause.whole, plan.clause.keyword
    emit = Fragment(whole.source, keyword.start, whole.stop)
    return StreamClause(
        text=emit.text,
        place=emit.place,
        fingerprint=emit_fingerprint(plan),
        has_merged_rows=plan.clause.call.kind == SESSION and plan.emit.lateness > 0,
    )


def emit_fingerprint(plan: EmitPlan) -> Fingerprint:
    """The fingerprint: which rows are kept, in which columns, when windows fire, and what their firings contain."""
    emit, having = plan.emit, [] if plan.having is None else [plan.having]
    window = [plan.clause.call.kind, sorted(plan.durations.items())]
    fires = [
        [_part(t) for t in emit.triggers],
        [emit.is_discarding, emit.lateness, emit.evictor and _part(emit.evictor)],
    ]
    aggregates = [_aggregate(call) for call in plan.aggregates]
    parts = {
        "the window": window,
        "EMIT": fires,
        "GROUP BY and the columns that it keeps": [[name, recorded_words(text)] for name, text in plan.columns],
        "the aggregates": aggregates,
        "SELECT": [[name, recorded_words(text)] for name, text in plan.shown],
        "HAVING": [recorded_words(text) for text in having],
    }
    former = [
        window,
        *fires,
        [[name, as_recorded(str(text))] for name, text in plan.columns],
        aggregates,
        [[name, str(text)] for name, text in plan.shown],
        as_recorded(str(plan.having)),
    ]
    relations = dict.fromkeys((str(plan.relation), without_read_options(str(plan.relation))))
    read = [text for _, text in plan.columns]
    return fingerprint_of(
        parts, read, plan.input_types, plan.relation, (digest_of([*former, relation]) for relation in relations)
    )


def _part(part: Trigger | Evictor) -> list[Any]:
    return [part.kind, part.amount, part.column]


def _aggregate(aggregate: FiringAggregate) -> list[Any]:
    call = aggregate.call
    values = [call.function, aggregate.columns, call.types, call.result, call.is_distinct, aggregate.filter]
    order = [[key.spark_type, key.is_descending, key.nulls_last] for key in call.order_by]
    constants = [[position, _constant(value)] for position, value in call.constants]
    return [*values, call.ignores_nulls, constants, order, *words_of(call)]


def _constant(value: Any) -> str:
    """A constant in the form that fingerprints have always had here: decimals without their point."""
    if not isinstance(value, Decimal):
        return str(value)
    sign, digits, _ = value.as_tuple()
    return str(int("".join(map(str, digits))) * (-1 if sign else 1))


def result_query(plan: EmitPlan, firings: str) -> Text:
    """The columns of the result, from the relation `firings` that workers return."""
    shown = join(*(join(text, f" AS {quoted(name)}") for name, text in plan.shown), separator=", ")
    having = join("\n WHERE ", plan.having) if plan.having is not None else Text()
    return join("SELECT ", shown, f"\n  FROM {firings}", having)


def window_plan(plan: EmitPlan, rows: T.StructType) -> EmitOperatorPlan:
    """The plan for workers; `rows`: the columns that Spark computes."""
    _check_keys(rows.fields[: plan.keys], plan)
    durations = plan.durations
    assigner = Assigner(
        kind=plan.clause.call.kind,
        size=durations.get("GAP", 0) if plan.clause.call.kind == SESSION else durations.get("SIZE", 0),
        step=durations.get({HOP: "SLIDE", CUMULATE: "STEP"}.get(plan.clause.call.kind, ""), 0),
        offset=durations.get("OFFSET", 0),
    )
    return EmitOperatorPlan(
        schema=arrow_schema(rows.fields, lambda i: _place(plan.columns[i][1], plan)),
        time=TIME,
        keys=tuple(name for name, _ in plan.columns[: plan.keys]),
        sort=tuple(SortKey(name) for name, _ in plan.columns[plan.keys + 1 :]),
        assigner=assigner,
        emit=plan.emit,
        aggregates=plan.aggregates,
        keeps_rows=kept_of_window(plan)[0],
        settings=plan.settings,
    )


def _check_keys(keys: Sequence[T.StructField], plan: EmitPlan) -> None:
    """Raise UnsupportedError (KEY_TYPE) for keys that workers cannot compare."""
    for field, (_, text) in zip(keys, plan.columns):
        is_nested = isinstance(field.dataType, (T.ArrayType, T.MapType, T.StructType, T.VariantType))
        name = field.dataType.simpleString()
        if is_nested or name.startswith(COLLATED):
            raise UnsupportedError(
                "KEY_TYPE",
                f"a query that EMITs cannot be grouped by {name}",
                place=_place(text, plan),
                hint="write its parts as keys, or to_json(…)." if is_nested else "CAST it AS STRING.",
            )


def _place(text: Text, plan: EmitPlan) -> Place:
    """Where the user wrote the expression of a column."""
    origins = text.origins(0, len(str(text)))
    return Place(plan.clause.whole.source, min(origins), max(origins) + 1) if origins else plan.clause.keyword.place


def firing_schema(plan: EmitOperatorPlan, rows: T.StructType = _NO_COLUMNS) -> T.StructType:
    """The columns of a firing, in Spark's types; `rows`: the columns that Spark computes."""
    fired = plan.result_schema([pa.nulls(0, arrow_type(a.call.result)) for a in plan.aggregates])
    return with_char_types(spark_schema(fired), rows)
