"""What EMIT on a stream keeps for a key, for DESCRIBE STREAMING TABLE … FOR KEY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from sqlext.engine.emit.run_emit import firing_schema, result_query, stream_clause
from sqlext.engine.planning.answers import ClauseInput, KeptClause
from sqlext.engine.queries.queries import Queries
from sqlext.engine.streams.kept_rows import NUMBER, as_json, coming_rows, shown_columns, texts_of_rows
from sqlext.operators.emit.operator import EmitOperator
from sqlext.operators.emit.parts import Emit
from sqlext.operators.emit.state_facts import emit_facts
from sqlext.operators.stateful.fact import Fact, ShowTime
from sqlext.operators.stateful.key_state import Coming
from sqlext.operators.stateful.operator import State
from sqlext.rewriter.emit.lower_emit import TIME, EmitPlan
from sqlext.rewriter.text.names import column_name
from sqlext.rewriter.text.splice import join


def kept_emit(plan: EmitPlan, operator: EmitOperator, queries: Queries, spark: SparkSession) -> KeptClause:
    """The query with EMIT that an operator runs."""
    # A value of DELTA is kept as a double. It comes last, so a column that is kept as well is shown with its own type.
    columns = [(name, str(text)) for name, text in plan.columns[plan.keys :] if name not in (TIME, *plan.deltas)]
    deltas = [(name, str(text)) for name, text in plan.deltas.items()]
    texts = texts_of_rows(spark, shown_columns([*columns, *deltas], plan.input_types, always=plan.deltas))

    def facts(state: State, show: ShowTime) -> Sequence[Fact]:
        return list(emit_facts(operator, state, lambda rows: texts(_unscaled(rows, plan.emit)), show))

    def results(coming: Sequence[Coming]) -> Sequence[str | None]:
        firings = queries.name(coming_rows(spark, coming, (), firing_schema(operator.windows)))
        numbered = replace(plan, shown=(*plan.shown, (NUMBER, join(NUMBER))))
        return as_json(queries, result_query(numbered, firings), len(coming))

    return KeptClause(
        kind="EMIT",
        clause=stream_clause(plan),
        operator=operator,
        keys={column: _key_name(plan, i) for i, column in enumerate(operator.windows.keys)},
        inputs=[ClauseInput(plan.input_types, [str(text) for _, text in plan.columns[: plan.keys]])],
        facts=facts,
        results=results,
    )


def _unscaled(rows: pa.Table, emit: Emit) -> pa.Table:
    """Rows with the values of DELTA as users know them, of decimals too."""
    scales = {part.column: part.scale for part in (*emit.triggers, emit.evictor) if part is not None and part.scale}
    for column, scale in scales.items():
        values = pc.divide(rows.column(column), 10.0**scale)
        rows = rows.set_column(rows.column_names.index(column), column, values)
    return rows


def _key_name(plan: EmitPlan, i: int) -> str:
    """The name of a key: its column, or the name under which the result shows it."""
    column, text = plan.columns[i]
    shown = (name for name, expression in plan.shown if str(expression) == column)
    return next(shown, column_name(str(text)))
