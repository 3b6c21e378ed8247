"""Run a MatchPlan on a stream: Spark computes scalars, a stateful operator orders the rows and matches them.

relation → keys, order, masks, arguments (Spark) → parcels by bucket of keys → transformWithState → parcels of the
result, each row with its time → measures (Spark). The operator is implemented in `step`, its state in `state_log`.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.engine.match.run_batch import check_types, result_query, unsorted_query
from sqlext.engine.planning.fingerprint import match_fingerprint
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import Queries
from sqlext.engine.shipped.output_schema import output_schema
from sqlext.engine.streams import side_tables
from sqlext.engine.streams.run_operator import decided_rows, result_columns, without_failures
from sqlext.operators.match.operator import MatchOperator
from sqlext.operators.rows.columns import FAILURE, LATE_ROW
from sqlext.operators.stateful.operator import TimesBy
from sqlext.rewriter.lowering.guard import guarded, guarded_measures
from sqlext.rewriter.lowering.match_plan import MatchPlan, ShownColumn
from sqlext.rewriter.lowering.operator_plan import is_time, stream_plan
from sqlext.rewriter.lowering.stream_checks import is_processing_time
from sqlext.rewriter.text.splice import Text, join
from sqlext.spark.versions import arrow_schema

NAME = "stream"
_EXTRA = (LATE_ROW, FAILURE)  # columns of rows that arrive, which the state does not keep


def run_stream(
    plan: MatchPlan,
    queries: Queries,
    prefix: Text,
    spark: SparkSession,
    *,
    writes_tables: bool,
    skips_failures: bool,
) -> DataFrame:
    """The clause's result, a streaming DataFrame. `prefix`: the WITH clause that the relation may need.

    `writes_tables`: late rows and failures are written into the tables that are set, which are created if they do not
    exist. `skips_failures`: a value that cannot be computed on a row is NULL (see `guard`).
    """
    folders: dict[str, str] = {}
    fingerprint = match_fingerprint(plan)
    if writes_tables:
        folders = side_tables.open_folders(spark, fingerprint, queries.identifier)
        plan = side_tables.with_rows(plan)
    rows = input_rows(plan, queries, prefix, is_guarded=skips_failures)
    operator = match_operator(plan, rows.schema, skips_failures=skips_failures)
    keys = plan.carried[: len(plan.partition_by)]
    shows_times = operator.plan.needs_times
    decided = decided_rows(rows, operator, fingerprint, keys, folders=folders, shows_times=shows_times)
    times, schema = returned_columns(plan, rows.schema)
    matches = result_columns(decided, times, schema, plan.clause.keyword.place)
    return _result(plan, queries, prefix, matches, is_guarded=skips_failures)


def kept_columns(arriving: T.StructType) -> T.StructType:
    """The columns of a row that arrives which the state keeps."""
    return T.StructType([field for field in arriving.fields if field.name not in _EXTRA])


def match_operator(plan: MatchPlan, arriving: T.StructType, *, skips_failures: bool) -> MatchOperator:
    """The operator of the clause. Raises UnsupportedError INTERVAL_COLUMN."""
    check_types(plan, arriving)
    kept = arrow_schema(kept_columns(arriving))  # in UTC: the state does not depend on the session's time zone
    stream = replace(stream_plan(plan, kept), skips_failures=skips_failures)
    extra = tuple(field.name for field in arriving.fields if field.name in _EXTRA)
    return MatchOperator(plan=stream, extra=extra, times_by=_times_by(plan))


def stream_clause(plan: MatchPlan) -> StreamClause:
    """The record of the clause that is stored beside the checkpoint."""
    pattern = plan.clause.pattern_text
    return StreamClause(
        text=f"PATTERN ({pattern.text})",
        place=pattern.place,
        fingerprint=match_fingerprint(plan),
        ends_by_clock=plan.task.is_within and is_processing_time(plan.clause),
    )


def input_rows(plan: MatchPlan, queries: Queries, prefix: Text, *, is_guarded: bool) -> DataFrame:
    """The rows with the columns that Spark computes."""

    def is_accepted(expression: Text) -> bool:
        return queries.accepts(join(prefix, "SELECT ", expression, " FROM ", plan.input))

    return queries.run(join(prefix, unsorted_query(guarded(plan, is_accepted) if is_guarded else plan)))


def _times_by(plan: MatchPlan) -> TimesBy:
    if not is_processing_time(plan.clause):
        return TimesBy.EVENTS
    return TimesBy.ARRIVAL_AND_CLOCK if plan.bounds else TimesBy.ARRIVAL


def _result(plan: MatchPlan, queries: Queries, prefix: Text, matches: DataFrame, *, is_guarded: bool) -> DataFrame:
    """The columns of the result; rows with a measure that cannot be computed are counted in the query's metrics."""
    name = queries.name(matches)

    def is_accepted(expression: Text) -> bool:
        return queries.accepts(result_query(replace(plan, shown=(ShownColumn(FAILURE, expression),)), name, prefix))

    guarded_plan = guarded_measures(plan, is_accepted) if is_guarded else plan
    rows = queries.run(result_query(guarded_plan, name, prefix))
    return rows if guarded_plan is plan else without_failures(rows)


def returned_columns(plan: MatchPlan, arriving: T.StructType) -> tuple[list[str], T.StructType]:
    """The columns that the operator returns: the time of each decision, then slots and carried columns as in batch."""
    times = [slot.name for slot in plan.slots if is_time(slot)]
    others = replace(plan, slots=tuple(slot for slot in plan.slots if not is_time(slot)))
    return times, output_schema(others, arriving)
