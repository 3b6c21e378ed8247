"""What MATCH_RECOGNIZE on a stream keeps for a key, for DESCRIBE STREAMING TABLE … FOR KEY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from sqlext.engine.match.failed_in_state import failed_in_state
from sqlext.engine.match.forms import PhysicalPlan
from sqlext.engine.match.run_batch import result_query
from sqlext.engine.match.run_stream import input_rows, match_operator, returned_columns, stream_clause
from sqlext.engine.planning.answers import ClauseInput, KeptClause
from sqlext.engine.queries.queries import Queries
from sqlext.engine.streams.kept_rows import NUMBER, as_json, coming_rows, shown_columns, texts_of_rows
from sqlext.operators.match.open_matches import kept_key, with_times
from sqlext.operators.match.state_facts import match_facts
from sqlext.operators.rows.columns import LATE_ROW, ROW_TIME, WITHIN_END, WITHIN_KEY
from sqlext.operators.stateful.fact import Fact, ShowTime
from sqlext.operators.stateful.key_state import Coming
from sqlext.operators.stateful.operator import State
from sqlext.rewriter.lowering.match_plan import ShownColumn
from sqlext.rewriter.text.splice import join


def kept_match(planned: PhysicalPlan, queries: Queries, spark: SparkSession) -> KeptClause:
    """The clause of a plan on a stream."""
    plan, failed = planned.plan, failed_in_state(planned, queries, spark)
    arriving = input_rows(plan, queries, planned.prefix, is_guarded=planned.skips_failures).schema
    operator = match_operator(plan, arriving, skips_failures=planned.skips_failures)
    operator = replace(operator, plan=with_times(operator.plan))
    times, schema = returned_columns(plan, arriving)
    hidden = {*plan.carried[: len(plan.partition_by)], LATE_ROW, WITHIN_END, WITHIN_KEY, ROW_TIME}
    columns = ((column.name, str(column.text)) for column in plan.columns if column.name not in hidden)
    texts = texts_of_rows(spark, shown_columns(columns, plan.input_types))

    def facts(state: State, show: ShowTime) -> Sequence[Fact]:
        return list(match_facts(kept_key(state, operator.plan, plan.clause.pattern), texts, failed, show))

    def results(coming: Sequence[Coming]) -> Sequence[str | None]:
        matches = queries.name(coming_rows(spark, coming, times, schema))
        shown = (*plan.shown, ShownColumn(NUMBER, join(NUMBER)))
        numbered = replace(plan, carried=(*plan.carried, NUMBER), shown=shown)
        return as_json(queries, result_query(numbered, matches, planned.prefix), len(coming))

    shown = (column.name for column in plan.shown)
    return KeptClause(
        kind="MATCH_RECOGNIZE",
        clause=stream_clause(plan),
        operator=operator,
        keys=dict(zip(operator.plan.keys, shown)),
        inputs=[ClauseInput(plan.input_types, list(map(str, plan.partition_by)))],
        facts=facts,
        results=results,
    )
