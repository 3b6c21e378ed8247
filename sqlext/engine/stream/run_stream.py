"""Run a MatchPlan on a stream: Spark computes scalars, a stateful operator orders the rows and matches them.

relation → keys, order, masks, arguments (Spark) → parcels by bucket of keys → transformWithState → parcels of the
result, each row with its time → measures (Spark). What the operator does is in `step`, its state in `state_log`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.cluster.worker_functions import map_in_arrow
from sqlext.engine.batch.run_batch import (
    are_nulls_last,
    check_types,
    is_descending,
    output_schema,
    result_query,
    sort_keys,
    unsorted_query,
    worker_plan,
)
from sqlext.engine.queries import Queries
from sqlext.engine.stream import side_tables, stream_checks
from sqlext.engine.stream.bucket import Bucket
from sqlext.engine.stream.decided_rows import bucket_count, decided_rows, result_columns, without_failures
from sqlext.engine.stream.fingerprint import match_fingerprint
from sqlext.engine.stream.guard import guarded, guarded_measures
from sqlext.engine.stream.match_operator import MatchOperator
from sqlext.engine.stream.operator import TimesBy
from sqlext.engine.stream.parcels import BUCKET, PARCEL_DDL, pack
from sqlext.engine.stream.stream_checks import is_processing_time
from sqlext.engine.stream.stream_clause import StreamClause
from sqlext.engine.stream.stream_plan import SortKey, StreamPlan, stream_facts
from sqlext.pattern.program import MatchStart
from sqlext.pattern.strategy import choose_on_stream
from sqlext.rewriter.match.match_plan import FAILURE, LATE_ROW, ROW_TIME, WITHIN_KEY, MatchPlan, ShownColumn, Slot
from sqlext.rewriter.text.splice import Text, join
from sqlext.spark_versions import arrow_schema

NAME = "stream"
_EXTRA = (LATE_ROW, FAILURE)  # columns of rows that arrive, which the state does not keep


def run_stream(
    plan: MatchPlan,
    queries: Queries,
    prefix: Text,
    is_ansi: bool,
    spark: SparkSession,
    *,
    writes_tables: bool,
    skips_failures: bool,
) -> DataFrame:
    """The clause's result, a streaming DataFrame. `prefix`: the WITH clause that the relation may need.

    `writes_tables`: late rows and failures are written into the tables that are set, which are created if they do not
    exist. `skips_failures`: what cannot be computed on a row is NULL (see `guard`).
    """
    folders: dict[str, str] = {}
    fingerprint = match_fingerprint(plan)
    if writes_tables:
        folders = {t.setting: t.folder for t in side_tables.open_tables(spark, fingerprint)}
        plan = side_tables.with_rows(plan)
    rows = _input_rows(plan, queries, prefix, skips_failures)
    arriving = T.StructType([field for field in rows.schema.fields if field.name != BUCKET])
    check_types(plan, arriving)
    stream = replace(stream_plan(plan, arriving, is_ansi), skips_failures=skips_failures)
    extra = tuple(field.name for field in arriving.fields if field.name in _EXTRA)
    bucket = Bucket(
        operator=MatchOperator(plan=stream, extra=extra, times_by=_times_by(plan)),
        fingerprint=fingerprint.digest,
        former=fingerprint.former,
        buckets=bucket_count(spark, plan.partition_by),
        folders=folders,
        shows_times=stream.needs_times,
    )
    parcels = map_in_arrow(rows, partial(pack, buckets=bucket.buckets), PARCEL_DDL)
    decided = decided_rows(parcels, bucket)
    return _result(plan, queries, prefix, _columns(decided, plan, arriving), skips_failures)


def stream_clause(plan: MatchPlan) -> StreamClause:
    """What is recorded of the clause beside the checkpoint."""
    pattern = plan.clause.pattern_text
    return StreamClause(
        text=f"PATTERN ({pattern.text})",
        place=pattern.place,
        fingerprint=match_fingerprint(plan),
        ends_by_clock=plan.task.is_within and is_processing_time(plan.clause),
    )


def engine(plan: MatchPlan) -> tuple[str, str]:
    """The name of the engine that decides the matches, and why."""
    facts = stream_facts(plan.task, (mask.neighbours for mask in plan.masks), plan.slots, _shows_times(plan))
    name, why = choose_on_stream(plan.task, facts)
    return (
        name,
        f"the input is a stream: a match is emitted as soon as no later row can change it. {why[0].upper()}{why[1:]}",
    )


def _input_rows(plan: MatchPlan, queries: Queries, prefix: Text, is_guarded: bool) -> DataFrame:
    """What Spark computes of each row."""

    def is_accepted(expression: Text) -> bool:
        return queries.accepts(join(prefix, "SELECT ", expression, " FROM ", plan.input))

    return queries.run(_input_query(guarded(plan, is_accepted) if is_guarded else plan, prefix))


def _input_query(plan: MatchPlan, prefix: Text) -> Text:
    keys = plan.carried[: len(plan.partition_by)]
    hashed = f"hash({', '.join(keys)})" if keys else "0"
    return join(prefix, f"SELECT *, {hashed} AS {BUCKET} FROM (\n", unsorted_query(plan), ")")


def _is_time(slot: Slot) -> bool:
    return slot.kind == "rowtime"


def _shows_times(plan: MatchPlan) -> bool:
    return any(map(_is_time, plan.slots))


def stream_plan(plan: MatchPlan, arriving: T.StructType, is_ansi: bool) -> StreamPlan:
    """What a step needs to know; `arriving`: the columns of the rows that arrive."""
    worker = worker_plan(plan, is_ansi)
    worker = replace(worker, slots=tuple(slot for slot in plan.slots if not _is_time(slot)))
    kept = T.StructType([field for field in arriving.fields if field.name not in _EXTRA])
    return StreamPlan(
        worker=worker,
        schema=arrow_schema(kept),  # the state does not depend on the session's time zone
        time=WITHIN_KEY if plan.clause.within else ROW_TIME,
        sort=tuple(_sort_key(name, direction) for name, _, direction in sort_keys(plan)[1:]),
        back=stream_checks.rows_read_back(plan),
        counts_matches=stream_checks.counts_matches(plan),
        keeps_all_keys=any(isinstance(x, MatchStart) for x in plan.task.program.instructions),
        needs_times=_shows_times(plan),
        engine=engine(plan)[0],
    )


def _times_by(plan: MatchPlan) -> TimesBy:
    if not is_processing_time(plan.clause):
        return TimesBy.EVENTS
    return TimesBy.ARRIVAL_AND_CLOCK if plan.bounds else TimesBy.ARRIVAL


def _sort_key(column: str, direction: str) -> SortKey:
    return SortKey(column, is_descending(direction), are_nulls_last(direction))


def _result(plan: MatchPlan, queries: Queries, prefix: Text, matches: DataFrame, is_guarded: bool) -> DataFrame:
    """The columns of the result; those with a measure that cannot be computed are counted in the query's metrics."""
    name = queries.name(matches)

    def is_accepted(expression: Text) -> bool:
        return queries.accepts(result_query(replace(plan, shown=(ShownColumn(FAILURE, expression),)), name, prefix))

    guarded_plan = guarded_measures(plan, is_accepted) if is_guarded else plan
    rows = queries.run(result_query(guarded_plan, name, prefix))
    return rows if guarded_plan is plan else without_failures(rows)


def _columns(decided: DataFrame, plan: MatchPlan, arriving: T.StructType) -> DataFrame:
    """The slots and the carried columns, as the workers of batch return them."""
    times = [slot.name for slot in plan.slots if _is_time(slot)]
    others = replace(plan, slots=tuple(slot for slot in plan.slots if not _is_time(slot)))
    schema = output_schema(others, arriving)
    return result_columns(decided, times, schema, plan.clause.keyword.place)
