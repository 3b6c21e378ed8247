"""Runs a MatchPlan on a stream: Spark computes scalars, a stateful operator orders and matches.

relation → keys, order, masks, arguments (Spark) → parcels by bucket of keys → transformWithState → parcels of the
result, each row with its time → measures (Spark). What the operator does is `streams.step`, how its state is kept
`streams.log`.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

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
from sqlext.engine.stream import late_rows, stream_checks
from sqlext.engine.stream.key_buckets import SETTING
from sqlext.engine.stream.parcels import BUCKET, PARCEL_DDL, opened, pack, unpack
from sqlext.engine.stream.processing_time import is_processing_time
from sqlext.engine.stream.processor import OUTPUT_DDL, REPORT, RESULT, MatchProcessor, OperatorPlan
from sqlext.engine.stream.stream_plan import SortKey, StreamPlan
from sqlext.pattern.conditions import rows_back, walk
from sqlext.pattern.event_time import EventTimes
from sqlext.pattern.program import MatchStart
from sqlext.pattern.stream.decisions import choose
from sqlext.pattern.task import MATCH_NUMBER, Navigation, Operand
from sqlext.rewriter.match.match_plan import ROW_TIME, WITHIN_KEY, MatchPlan, Slot
from sqlext.rewriter.text.splice import Text, join
from sqlext.stream_state import METRICS

NAME = "stream"


def run(
    plan: MatchPlan, queries: Queries, prefix: Text, is_ansi: bool, spark: SparkSession, keeps_late_rows: bool
) -> DataFrame:
    """The clause's result, a streaming DataFrame.

    `keeps_late_rows`: late rows are written into a table, which is created if it does not exist.
    """
    folder = None
    if keeps_late_rows:
        folder = str(late_rows.open_table(spark, fingerprint(plan)).folder)
        plan = late_rows.with_rows(plan)
    rows = queries.run(_input_query(plan, prefix))
    given = T.StructType([field for field in rows.schema.fields if field.name != BUCKET])
    check_types(plan, given)
    stream = stream_plan(plan, given, is_ansi)
    operator = OperatorPlan(stream, fingerprint(plan), _buckets(plan, spark), folder, any(map(_is_time, plan.slots)))
    parcels = rows.mapInArrow(partial(pack, buckets=operator.buckets), PARCEL_DDL)
    decided = _stateful(parcels, operator)
    return queries.run(result_query(plan, queries.name(_columns(decided, plan, given))))


def warnings(plan: MatchPlan) -> list[str]:
    """Sentences about state that is kept for ever."""
    return stream_checks.warnings(plan, _counts_matches(plan), _rows_back(plan))


def _buckets(plan: MatchPlan, spark: SparkSession) -> int | None:
    """How many buckets of keys are asked for; None: as many as the state has partitions (`streams.buckets`)."""
    return int(spark.conf.get(SETTING, "") or 0) or None if plan.partition_by else 1


def reason(plan: MatchPlan) -> str:
    """How the rows of a stream are matched, for EXPLAIN MATCH."""
    nothing = np.empty(0, np.int64)
    event_times = EventTimes(key=nothing, watermark=0, end=nothing if plan.task.is_within else None)
    _, why = choose(plan.task, event_times, any(map(_is_time, plan.slots)))
    return f"the input is a stream, matches are given out when no later row can change them; {why}"


def _input_query(plan: MatchPlan, prefix: Text) -> Text:
    keys = plan.carried[: len(plan.partition_by)]
    hashed = f"hash({', '.join(keys)})" if keys else "0"
    return join(prefix, f"SELECT *, {hashed} AS {BUCKET} FROM (\n", unsorted_query(plan), ")")


def _is_time(slot: Slot) -> bool:
    return slot.kind == "rowtime"


def stream_plan(plan: MatchPlan, given: T.StructType, is_ansi: bool) -> StreamPlan:
    """What the operator needs to know; `given`: the columns of the rows that arrive."""
    worker = worker_plan(plan, is_ansi)
    worker = replace(worker, slots=tuple(slot for slot in plan.slots if not _is_time(slot)))
    return StreamPlan(
        worker,
        to_arrow_schema(given, timezone="UTC"),  # the session's time zone is not a matter of state
        WITHIN_KEY if plan.clause.within else ROW_TIME,
        tuple(_sort_key(name, direction) for name, _, direction in sort_keys(plan)[1:]),
        _rows_back(plan),
        _counts_matches(plan),
        any(isinstance(x, MatchStart) for x in plan.task.program.instructions),
        any(map(_is_time, plan.slots)),
        is_processing_time(plan.clause),
    )


def _rows_back(plan: MatchPlan) -> int:
    """How many rows before a match's first one are read."""
    slots = (-slot.navigation.step for slot in plan.slots if slot.kind == "value")
    return max([0, *slots, *map(rows_back, _conditions(plan))])


def _counts_matches(plan: MatchPlan) -> bool:
    return any(slot.kind == "match number" for slot in plan.slots) or any(map(_reads_number, _conditions(plan)))


def _sort_key(column: str, direction: str) -> SortKey:
    return SortKey(column, is_descending(direction), are_nulls_last(direction))


def _conditions(plan: MatchPlan) -> list:
    return [c for c in (*plan.task.conditions, *(mask.neighbours for mask in plan.masks)) if c is not None]


def _reads_number(condition) -> bool:
    sources = (part.source for part in walk(condition) if isinstance(part, Operand))
    return any(isinstance(source, Navigation) and source.argument == MATCH_NUMBER for source in sources)


def fingerprint(plan: MatchPlan) -> str:
    """Of all that the state depends on: which rows are kept, in which columns, and what has been decided of them."""
    parts = [
        str(plan.task),
        *(f"{column.name} = {column.text}" for column in plan.columns),
        *(str(mask.text) for mask in plan.masks),
        *(f"{text}{direction}" for text, direction in plan.order_by),
        str(plan.slots),
        str(plan.input_types),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _stateful(parcels: DataFrame, operator: OperatorPlan) -> DataFrame:
    """The rows of the result, as OUTPUT_DDL says; what there is to tell of the buckets goes to the query's metrics."""
    by_clock = operator.stream.is_processing_time
    # In processing time Spark runs micro-batches without end, for availableNow too: only where the clock ends matches.
    mode = "EventTime" if not by_clock else "ProcessingTime" if operator.stream.worker.bounds else "None"
    told = parcels.groupBy("bucket").transformWithStateInPandas(
        MatchProcessor(operator),
        OUTPUT_DDL,
        "Append",
        mode,
        eventTimeColumnName="at" if operator.shows_times and not by_clock else "",
    )
    report = F.col("kind") == REPORT
    observed = told.observe(
        f"{METRICS}_{uuid.uuid4().hex[:8]}",  # a query with two of one name is refused
        F.coalesce(F.sum(F.when(report, F.col("kept"))), F.lit(0)).alias("rows"),
        F.coalesce(F.sum(F.when(report, F.col("bytes"))), F.lit(0)).alias("bytes"),
        F.min(F.when(report, F.col("oldest"))).alias("oldest"),
        F.coalesce(F.sum(F.when(report, F.col("late"))), F.lit(0)).alias("late_rows"),
    )
    return observed.where(F.col("kind") == RESULT)


def _columns(decided: DataFrame, plan: MatchPlan, given: T.StructType) -> DataFrame:
    """Slots and carried columns, as the workers of batch make them."""
    times = [slot.name for slot in plan.slots if _is_time(slot)]
    others = replace(plan, slots=tuple(slot for slot in plan.slots if not _is_time(slot)))
    schema = output_schema(others, given)
    if not times:
        return decided.select("rows").mapInArrow(opened, schema)
    # Not deterministic, so that Spark neither filters nor repeats below it: the parcels count on their order.
    columns = F.arrow_udf(_unpack, returnType=schema).asNondeterministic()  # type: ignore[call-overload]
    read = decided.select("at", columns(F.col("rows")).alias("row"))
    return read.select(*(F.col("at").alias(name) for name in times), *(f"row.{f.name}" for f in schema.fields))


def _unpack(parcels: Iterator[pa.Array]) -> Iterator[pa.Array]:
    return unpack(parcels)
