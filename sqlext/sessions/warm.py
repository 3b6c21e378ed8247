"""Compiles the kernels of all engines into Numba's cache, so that the first statement of a worker does not wait for
them.

Each clause below is lowered without Spark, and is matched over a few rows as a worker would match them: by every
strategy that accepts it, and in a micro-batch of a stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa

from sqlext.aggregates.bind import BoundAggregate
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.values import arrow_type
from sqlext.operators.asof.plan import OF_LEFT, OF_RIGHT, SIDE, TIME, PairsPlan
from sqlext.operators.interval.aggregates_plan import AggregatesPlan, RangeCall
from sqlext.operators.interval.plan import LOWER, UPPER, RangesPlan
from sqlext.operators.match.operator import MatchOperator
from sqlext.operators.rows.columns import WITHIN_END
from sqlext.operators.rows.limits import Limits
from sqlext.operators.stateful.operator import ROWS, Clock, first_state
from sqlext.pattern.batch.parts import refusal
from sqlext.pattern.strategy import STRATEGIES, accepts
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.lower_clause import lower
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.lowering.operator_plan import mask_columns, sort_of, stream_plan, worker_plan
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import Source
from sqlext.rewriter.text.tokens import tokenize
from sqlext.spark.versions import arrow_schema, spark_schema

COLUMNS = {"k": "bigint", "ts": "timestamp", "i": "int", "x": "bigint", "y": "double", "s": "string"}
HEAD = "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES MATCH_NUMBER() AS m, CLASSIFIER() AS c,"
MEASURES = (
    "FIRST(x) AS f, PREV(LAST(x)) AS p, LAST(B.s) AS l, COUNT(*) AS n, COUNT(B.x) AS nb, MATCH_ROWTIME() AS at",
    "SUM(x) AS sx, SUM(y) AS sy, MIN(x) AS nx, MAX(y) AS ny, MIN(i) AS ni, AVG(y) AS a, array_agg(s) AS r",
)
ROWS_PER_MATCH = ("ONE ROW PER MATCH", "ALL ROWS PER MATCH")
REST = (
    "AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C?) DEFINE B AS x > PREV(x), C AS y < PREV(y))",
    "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+? (A | B)) DEFINE B AS x > 0)",
    "AFTER MATCH SKIP TO LAST B PATTERN (A B{1,70}) DEFINE B AS x > 0)",
    "PATTERN (A B+) WITHIN INTERVAL 1 HOUR DEFINE B AS x > 0)",
    "PATTERN (A B+ C?) DEFINE B AS x > FIRST(A.x), C AS y < AVG(B.y))",
    "AFTER MATCH SKIP TO FIRST B PATTERN (A B+ C) WITHIN INTERVAL 1 HOUR DEFINE B AS x > FIRST(A.x), C AS s > A.s)",
    "PATTERN (A -> B) WITHIN INTERVAL 1 HOUR DEFINE B AS x > 0)",
    "PATTERN (A -> B+ ->> C) WITHIN INTERVAL 1 HOUR DEFINE B AS x > 0)",
    "AFTER MATCH NO SKIP PATTERN (A ->> B+ -> C) WITHIN INTERVAL 1 HOUR DEFINE B AS x > A.x)",
    "AFTER MATCH NO SKIP PATTERN (A ->> B+ -> C) WITHIN INTERVAL 1 HOUR DEFINE B AS x > 50)",
)
KEYS, ROWS_A_KEY, HOUR = 3, 40, 3600
_SECOND = 1_000_000  # in microseconds
# these have no kernels
_BATCH_STRATEGIES = tuple(name for name in STRATEGIES if name not in ("reference", "interpreted"))


def warm() -> Iterator[str]:
    """Compile the kernels; yields each clause as soon as the kernels that it needs have been compiled."""
    pair_both_sides()
    pair_read_sides()
    aggregate_read_sides()
    order_texts()
    for text in clauses():
        plan, types = lowered(text)
        rows = input_rows(plan, types)
        match_in_batch(plan, rows)
        match_unsorted(plan, rows)
        match_in_ranges(plan, rows)
        match_on_stream(plan, rows)
        yield text


def clauses() -> list[str]:
    """The statements whose clauses together need all kernels."""
    parts = product(MEASURES, ROWS_PER_MATCH, REST)
    return [f"{HEAD} {measures} {rows_per_match} {rest}" for measures, rows_per_match, rest in parts]


def lowered(text: str) -> tuple[MatchPlan, dict[str, str]]:
    """The plan of a clause over the columns COLUMNS, and the Spark types of the columns that workers read."""
    texts = StaticBinder(columns=COLUMNS, settings=ExecutionSettings(is_ansi=True, time_zone="UTC"), text=text)
    relation = InputRelation(
        columns=tuple(COLUMNS.items()), resolver=texts, is_aggregate=lambda name: False, is_streaming=True
    )
    plan = lower(parse_match(text, tokenize(text), scan(text)[0]), Source(text), relation)
    return plan, {column.name: texts.tree(column.text).type for column in plan.columns}


def input_rows(plan: MatchPlan, types: dict[str, str]) -> pa.Table:
    """Sorted rows as Spark would send them: keys, times a second apart, random values and random bits."""
    chance = np.random.default_rng(1)
    n = KEYS * ROWS_A_KEY
    columns = {}
    for name, spark_type in types.items():
        values = chance.integers(0, 100, n)
        if name in plan.carried[: len(plan.partition_by)]:
            values = np.repeat(np.arange(KEYS), ROWS_A_KEY)
        elif spark_type == "timestamp":
            values = _SECOND * (np.tile(np.arange(1, 1 + ROWS_A_KEY), KEYS) + (HOUR if name == WITHIN_END else 0))
        columns[name] = pa.array(values).cast(arrow_type(spark_type))
    for name, _ in mask_columns(plan):
        columns[name] = pa.array(chance.integers(-128, 128, n), pa.int8())
    return pa.table(columns)


def match_in_batch(plan: MatchPlan, rows: pa.Table) -> list[str]:
    """Match by every strategy that compiles kernels and accepts the clause; returns their names."""
    from sqlext.operators.match.match_rows import match_batches  # loads Numba

    worker = worker_plan(plan)
    names = [name for name in _BATCH_STRATEGIES if accepts(replace(plan.task, strategy=name))]
    for name in names:
        list(match_batches(iter(rows.to_batches()), replace(worker, task=replace(plan.task, strategy=name))))
    return names


def match_unsorted(plan: MatchPlan, rows: pa.Table) -> int:
    """Match the rows in the opposite order, so that workers must sort them. Returns the number of result rows."""
    from sqlext.operators.match.match_rows import match_batches  # loads Numba

    worker = replace(worker_plan(plan), sort=sort_of(plan))
    for key in worker.sort:
        if key.column not in rows.column_names:
            rows = rows.append_column(key.column, pa.array(range(rows.num_rows)))
    unsorted = rows.take(pa.array(range(rows.num_rows - 1, -1, -1)))
    return sum(batch.num_rows for batch in match_batches(iter(unsorted.to_batches()), worker))


def pair_both_sides() -> int:
    """Pair rows of both relations of an ASOF JOIN. Returns the number of result rows."""
    from sqlext.operators.asof.pair_rows import pair_batches  # loads Numba

    sides = [OF_RIGHT, OF_LEFT] * ROWS_A_KEY
    rows = pa.record_batch([pa.array(sides, pa.int8()), pa.array(range(len(sides)))], [SIDE, TIME])
    plan = PairsPlan(operator=">=", keys=(), ties=(), of_left={"at": TIME}, of_right={"of": TIME}, is_left=False)
    return sum(batch.num_rows for batch in pair_batches(iter([rows]), plan))


def pair_read_sides() -> int:
    """Pair rows of two relations by both joins on time, as a worker that has read them. Returns the number of pairs."""
    from sqlext.operators.asof.pair_sides import pair_sides  # loads Numba
    from sqlext.operators.interval.pair_ranges import range_batches

    times = pa.array(range(ROWS_A_KEY))
    nearest = PairsPlan(operator=">=", keys=(), ties=(), of_left={"at": TIME}, of_right={"of": TIME}, is_left=False)
    within = RangesPlan(join_type="INNER", time_is_left=True, of_left={"at": TIME}, of_right={"from": LOWER})
    pairs = [
        *pair_sides({TIME: times}, {TIME: times}, nearest),
        *range_batches({TIME: times}, {LOWER: times, UPPER: times}, within),
    ]
    return sum(batch.num_rows for batch in pairs)


def aggregate_read_sides() -> int:
    """Aggregate the rows of ranges as an INTERVAL JOIN with AGGREGATE does. Returns the number of result rows."""
    from sqlext.operators.interval.aggregate_ranges import aggregate_sides  # loads Numba

    times, names = pa.array(range(ROWS_A_KEY)), ("sum", "max", "stddev")
    calls = [
        RangeCall(name=name, call=BoundAggregate(function=name, types=("double",), result="double"), columns=("of",))
        for name in names
    ]
    plan = AggregatesPlan(
        is_left=True, is_prevailing=True, ties=(TIME,), of_left={"at": LOWER}, calls=tuple(calls), left={}, right={}
    )
    right = {TIME: times, "of": times.cast(pa.float64())}
    return sum(batch.num_rows for batch in aggregate_sides({LOWER: times, UPPER: times}, right, plan))


def order_texts() -> int:
    """Order texts as workers order many of them. Returns the number of distinct ones."""
    from sqlext.operators.rows.text_order import text_numbers  # loads Numba

    numbers = text_numbers(pa.array(["b", "a", "b"]))
    return 0 if numbers is None else len(set(numbers.tolist()))


def match_in_ranges(plan: MatchPlan, rows: pa.Table) -> int:
    """Match one range of the rows, divided into pieces, and the seams. Returns the number of result rows; 0 if it is
    not possible."""
    from sqlext.operators.match.match_ranges import match_range, match_seams  # load Numba

    if refusal(plan.task) is not None:
        return 0
    worker = worker_plan(plan)
    worker = replace(worker, slots=tuple(slot for slot in worker.slots if slot.kind != "rowtime"))  # needs all rows
    worker = replace(worker, limits=Limits(rows=ROWS_A_KEY))
    parcels = match_range(iter(rows.to_batches(max_chunksize=ROWS_A_KEY)), worker, 0)
    return sum(batch.num_rows for batch in match_seams(parcels, worker))


def match_on_stream(plan: MatchPlan, rows: pa.Table) -> int:
    """Match in one micro-batch: with a watermark in the middle of the rows, and with one after them. Returns the number
    of result rows."""
    operator = MatchOperator(plan=stream_plan(plan, arrow_schema(spark_schema(rows.schema))))
    clocks = [Clock(watermark=_SECOND * seconds, now=0) for seconds in (ROWS_A_KEY // 2, HOUR + ROWS_A_KEY)]
    steps = [operator.advance(first_state(operator.tables), {ROWS: rows}, clock) for clock in clocks]
    return sum(batch.num_rows for step in steps for _, batch in step.results)
