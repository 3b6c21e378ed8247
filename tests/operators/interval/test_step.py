"""INTERVAL JOIN … AGGREGATE of two streams: any history in any micro-batches, with a restart after each, gives the rows
of batch."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

from sqlext.aggregates.aggregator import fold
from sqlext.aggregates.bind import BoundAggregate
from sqlext.expressions.function import ExecutionSettings
from sqlext.operators.interval.aggregates_plan import OF_LEFT, OF_RIGHT, SIDE, AggregatesPlan, RangeCall
from sqlext.operators.interval.operator import AggregatesOperator
from sqlext.operators.interval.plan import LOWER, TIME, UPPER
from sqlext.operators.interval.stream_plan import StreamAggregatesPlan
from sqlext.operators.rows.columns import NOT_COMPUTED
from sqlext.pattern.task.event_time import BEGINNING, NEVER
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import join
from tests.operators.driven import Driven
from tests.sampling import sample, seeded
from tests.zones import SECOND_US, zone_and_change

ANSI = ExecutionSettings(is_ansi=True, time_zone="UTC")
_TIME = pa.timestamp("us", "UTC")
V, S, F = "__argument0", "__argument1", "__filter2"
MARK = NOT_COMPUTED + V
SCHEMA = pa.schema([
    (SIDE, pa.int32()), (TIME, _TIME), (LOWER, _TIME), (UPPER, _TIME), ("__key0", pa.string()), ("__left0", pa.int64()),
    (V, pa.int64()), (S, pa.string()), (F, pa.bool_()), (MARK, pa.bool_()),
])  # fmt: skip
# (side, time, lower and upper end of a left row's range, key, number of a left row, values of a right row)
Row = tuple[
    int, int | None, int | None, int | None, str | None, int | None, int | None, str | None, bool | None, bool | None
]
_BINDER = StaticBinder(columns={"__left0": "bigint", V: "bigint"}, settings=ANSI)
CONDITION = _BINDER.tree(join(f"__left0 < {V} + 10"))
CALLS = (
    BoundAggregate(function="count", types=(), result="bigint"),
    BoundAggregate(function="count", types=("bigint",), result="bigint"),
    BoundAggregate(function="sum", types=("bigint",), result="bigint"),
    BoundAggregate(function="avg", types=("bigint",), result="double"),
    BoundAggregate(function="var_pop", types=("bigint",), result="double"),
    BoundAggregate(function="min", types=("string",), result="string"),
    BoundAggregate(function="max", types=("bigint",), result="bigint"),
    BoundAggregate(function="first_value", types=("bigint",), result="bigint"),
    BoundAggregate(function="last_value", types=("string",), result="string", ignores_nulls=True),
    BoundAggregate(function="collect_list", types=("bigint",), result="array<bigint>"),
    BoundAggregate(function="count", types=("string",), result="bigint", is_distinct=True),
)


@dataclass(frozen=True, kw_only=True)
class Form:
    """A join: `before` and `after` are the distances of the ends of a range from its row; `after` is None if each row
    has another end. `compares`: the number of a left row is less than the value of its partner plus 10."""

    before: int
    after: int | None
    excludes_lower: bool = False
    excludes_upper: bool = False
    is_left: bool = True
    is_prevailing: bool = False
    null_safe: bool = False
    compares: bool = False
    calls: tuple[tuple[BoundAggregate, str], ...] = ((CALLS[0], ""),)


def random_form(rng: random.Random) -> Form:
    before = rng.choice((-9, -3, 0, 0, 4))
    is_prevailing = rng.random() < 0.5
    return Form(
        before=before, after=rng.choice((None, before - 1, before, before + 1, before + 6, 3)),
        excludes_lower=rng.random() < 0.3, excludes_upper=rng.random() < 0.3, is_left=rng.random() < 0.7,
        is_prevailing=is_prevailing, null_safe=rng.random() < 0.3, compares=not is_prevailing and rng.random() < 0.4,
        calls=tuple((rng.choice(CALLS), rng.choice(("", "", F))) for _ in range(rng.randrange(1, 4))),
    )  # fmt: skip


def plan_of(form: Form) -> StreamAggregatesPlan:
    calls = tuple(
        RangeCall(name=f"a{i}", call=call, filter=filter_, columns=tuple(S if t == "string" else V for t in call.types))
        for i, (call, filter_) in enumerate(form.calls)
    )
    ranges = AggregatesPlan(
        excludes_lower=form.excludes_lower, excludes_upper=form.excludes_upper, keys=("__key0",),
        null_safe=("__key0",) if form.null_safe else (), is_left=form.is_left, is_prevailing=form.is_prevailing,
        ties=(V, S), of_left={"id": "__left0"}, calls=calls, left={}, right={}, settings=ANSI,
    )  # fmt: skip
    return StreamAggregatesPlan(
        schema=SCHEMA,
        ranges=ranges,
        reach=-form.before,
        marks={V: MARK},
        condition=CONDITION if form.compares else None,
    )


def operator_of(form: Form) -> AggregatesOperator:
    return AggregatesOperator(plan=plan_of(form))


def table(rows: list[Row]) -> pa.Table:
    columns = list(zip(*rows)) or [()] * len(SCHEMA)
    arrays = [pa.array(c, pa.int64()).cast(f.type) if f.type == _TIME else pa.array(c, f.type)
              for c, f in zip(columns, SCHEMA)]  # fmt: skip
    return pa.table(arrays, schema=SCHEMA)


def left_row(number: int, time: int | None, key: str | None, form: Form, upper: int | None) -> Row:
    """A row that no key or condition lets have a partner has no range."""
    if time is None or (key is None and not form.null_safe):
        return (OF_LEFT, time, None, None, key, number, None, None, None, None)
    lower = min(max(time + form.before, BEGINNING), NEVER)
    end = upper if form.after is None else min(max(time + form.after, BEGINNING), NEVER)
    return (OF_LEFT, time, lower, end, key, number, None, None, None, None)


def right_row(rng: random.Random, time: int | None, key: str | None) -> Row:
    v, s, f = rng.choice((None, 1, 2, -7)), rng.choice((None, "", "x")), rng.choice((None, True, True, False))
    return (OF_RIGHT, time, None, None, key, None, v, s, f, None)


def history(rng: random.Random, form: Form) -> list[Row]:
    """Rows of few keys and times, so that there are ties, twins, and keys of one relation alone."""
    rows: list[Row] = []
    for number in range(rng.randrange(25)):
        key, time = rng.choice(("a", "b", "c", None)), rng.randrange(1, 30)
        if rng.random() < 0.5:
            rows.append(left_row(number, time, key, form, rng.choice((None, time, rng.randrange(1, 40)))))
        else:
            rows.append(right_row(rng, time, key))
    return rows


def joined(rows: list[Row], form: Form) -> list[tuple]:
    """The definition: (time at which it is decided, left number, aggregates) of each row of the batch result."""
    result = []
    rights = sorted((row for row in rows if row[0] == OF_RIGHT and row[1] is not None), key=_place)
    for side, time, lower, upper, key, number, *_ in rows:
        if side == OF_RIGHT or time is None:
            continue
        decided, partners = time, list[Row]()
        if None not in (lower, upper) and (key is not None or form.null_safe):
            own = [row for row in rights if row[4] == key]
            first, last = lower + form.excludes_lower, upper - form.excludes_upper
            decided = max(time, last if first <= last else BEGINNING, lower - 1 if form.is_prevailing else BEGINNING)
            earlier = [row for row in own if row[1] < lower]
            partners = earlier[-1:] if form.is_prevailing else []
            partners += [row for row in own if first <= row[1] <= last]
            if form.compares:
                partners = [row for row in partners if row[6] is not None and number < row[6] + 10]
        if partners or form.is_left:
            result.append((decided, number, *(_value(call, f, partners) for call, f in form.calls)))
    return sorted(result, key=str)


def _place(row: Row) -> tuple:
    return row[1], row[6] is not None, row[6] or 0, row[7] is not None, row[7] or ""


def _value(call: BoundAggregate, filter_: str, partners: list[Row]) -> Any:
    at = [7 if kind == "string" else 6 for kind in call.types]
    rows = (tuple(row[i] for i in at) for row in partners if not filter_ or row[8])
    value = fold(call.aggregator(ANSI), rows)
    return round(value, 9) if isinstance(value, float) else value


def emitted(driven: Driven) -> list[tuple]:
    rows = [
        (time, *(round(v, 9) if isinstance(v, float) else v for v in row.values()))
        for times, batch in driven.results
        for time, row in zip(times.tolist(), batch.to_pylist())
    ]
    return sorted(rows, key=str)


def portions(rows: list[Row], rng: random.Random, begin: int) -> list[tuple[list[Row], int]]:
    """The rows in micro-batches, each with a watermark after it: in any order, but none of them late."""
    rest, watermark, steps = rng.sample(rows, len(rows)), begin, []
    while rest or watermark < begin + 50:
        watermark += rng.choice((0, 1, 2, 5, 20))
        is_here = [row[1] <= watermark or rng.random() < 0.3 for row in rest]
        steps.append(([row for row, here in zip(rest, is_here) if here], watermark))
        rest = [row for row, here in zip(rest, is_here) if not here]
    return steps


@pytest.mark.random(every=3)
@pytest.mark.parametrize("seed", sample(range(900), 30))
def test_at_each_watermark_exactly_the_decided_rows_of_batch_are_emitted(seed):
    rng = seeded(seed)
    form = random_form(rng)
    begin = rng.choice((0, zone_and_change(rng)[1] * SECOND_US))
    moved = [tuple(v + begin if i in (1, 2, 3) and v is not None else v for i, v in enumerate(row))
             for row in history(rng, form)]  # fmt: skip
    result = joined(moved, form)
    driven = Driven(operator_of(form))
    for arriving, watermark in portions(moved, rng, begin):
        driven.step(watermark, rows=table(arriving))
        assert emitted(driven) == [row for row in result if row[0] <= watermark], (form, moved, watermark)
        check_state(driven, watermark, form)


def check_state(driven: Driven, watermark: int, form: Form) -> None:
    """Of the right rows that have passed, those that a left row may need are kept, and of each key what prevails."""
    rows = [dict(zip(SCHEMA.names, row)) for row in _numbers(driven.state.rows)]
    begin = {row["__key0"]: watermark + 1 + form.before for row in rows}
    for row in rows:
        if row[SIDE] == OF_LEFT and row[LOWER] is not None:
            begin[row["__key0"]] = min(begin[row["__key0"]], row[LOWER])
    passed = [row for row in rows if row[SIDE] == OF_RIGHT and row[TIME] <= watermark]
    earlier = [row for row in passed if row[TIME] < begin[row["__key0"]]]
    assert len(earlier) == (len({row["__key0"] for row in earlier}) if form.is_prevailing else 0)


def _numbers(rows: pa.Table) -> list[tuple]:
    columns = [c.cast(pa.int64()) if c.type == _TIME else c for c in rows.columns]
    return list(zip(*(column.to_pylist() for column in columns)))


# The first and the last times, NULL, and times around 1970, where the watermark begins.
HOSTILE_TIMES = (None, BEGINNING, BEGINNING + 1, -1, 0, 1, 2, 5, 6, NEVER - 8, NEVER - 3, NEVER - 1, NEVER)
HOSTILE_KEYS = (None, "", "\0", "nan", "NaN", "a" * 5000, "ä\U0001f600")


@pytest.mark.random
@pytest.mark.parametrize("seed", sample(range(600), 40))
def test_hostile_rows_in_any_order_join_as_those_in_time_do_in_batch(seed):
    """Rows without a time are late, as are those at or before the watermark; they join nothing."""
    rng = seeded(seed)
    form, of_left, steps = random_form(rng), rng.choice((0.0, 0.5, 0.5, 1.0)), rng.randrange(1, 6)
    rows = []
    for number in range(rng.randrange(30)):
        key, time = rng.choice(HOSTILE_KEYS[: rng.randrange(1, 8)]), rng.choice(HOSTILE_TIMES)
        if rng.random() < of_left:
            rows.append(left_row(number, time, key, form, rng.choice(HOSTILE_TIMES)))
        else:
            rows.append(right_row(rng, time, key))
    begins = rng.choice((BEGINNING, -1, 0, 3))
    watermarks = sorted(rng.choices([time for time in HOSTILE_TIMES if time is not None and time >= begins], k=steps))
    driven, in_time, before, late = Driven(operator_of(form), watermark=begins), list[Row](), begins, 0
    batch_of = [rng.randrange(steps) for _ in rows]
    for number, watermark in enumerate(watermarks):
        arriving = [row for row, of in zip(rows, batch_of) if of == number]
        taken = [row for row in arriving if row[1] is not None and (row[1] > before or before == BEGINNING)]
        late += len(arriving) - len(taken)
        in_time, before = in_time + taken, watermark
        driven.step(watermark, rows=table(arriving))
        result = [row for row in joined(in_time, form) if row[0] <= watermark]
        assert emitted(driven) == result, (form, rows, batch_of, watermarks)
    assert sum(step.late.num_rows for step in driven.steps) == late


def test_one_step_to_the_end_is_batch_also_without_keys_and_before_1970():
    schema = pa.schema([field for field in SCHEMA if field.name != "__key0"])
    plan = plan_of(Form(before=-3, after=0))
    plan = replace(plan, schema=schema, ranges=replace(plan.ranges, keys=()))
    driven = Driven(AggregatesOperator(plan=plan), watermark=BEGINNING)
    rng, form = random.Random(1), Form(before=-3, after=0)
    rows = [right_row(rng, -5, ""), left_row(7, -4, "", form, None), left_row(8, -9, "", form, None)]
    driven.step(NEVER, rows=table(rows).select(schema.names))
    assert emitted(driven) == [(-4, 7, 1), (-9, 8, 0)]


def test_a_value_that_cannot_be_computed_is_null_and_a_failure():
    total, listed = (CALLS[2], ""), (CALLS[9], F)
    form = Form(before=-3, after=0, calls=(total, listed))
    driven = Driven(operator_of(form))
    big = 2**62
    rows = [(OF_RIGHT, t, None, None, "a", None, v, None, True, None) for t, v in ((1, big), (2, big), (9, 5))]
    rows += [(OF_RIGHT, 20, None, None, "a", None, None, None, True, True)]
    lefts = [left_row(n, t, "a", form, None) for n, t in enumerate((2, 4, 5, 9, 21))]
    step = driven.step(30, rows=table([*rows, *lefts]))
    assert emitted(driven) == [
        (2, 0, None, [big, big]), (21, 4, None, None), (4, 1, None, [big, big]), (5, 2, big, [big]), (9, 3, 5, [5])
    ]  # fmt: skip
    assert [(row["error"].partition(":")[0], row["row"]) for row in step.failures.to_pylist()] == [
        ("SQLEXT_ARITHMETIC_OVERFLOW", '["a"]'), ("SQLEXT_ARITHMETIC_OVERFLOW", '["a"]'),
        ("SQLEXT_ARGUMENT_FAILED", '["a"]'), ("SQLEXT_ARGUMENT_FAILED", '["a"]'),
    ]  # fmt: skip
