"""ASOF JOIN of two streams: any history in any micro-batches, with a restart after each, gives the rows of batch."""

from __future__ import annotations

import random
from itertools import product

import pyarrow as pa
import pytest

from sqlext.operators.asof.operator import AsofOperator
from sqlext.operators.asof.plan import KEY, LEFT, OF_LEFT, OF_RIGHT, RIGHT, SIDE, TIME, WITHOUT_PARTNER, AsofPlan
from sqlext.operators.stateful.operator import KEYS
from sqlext.pattern.task.event_time import BEGINNING, NEVER
from tests.operators.driven import Driven
from tests.sampling import sample, seeded
from tests.zones import SECOND_US, zone_and_change

SCHEMA = pa.schema([
    (SIDE, pa.int32()), (TIME, pa.timestamp("us", "UTC")), (f"{KEY}0", pa.string()), (f"{LEFT}0", pa.int64()),
    (f"{RIGHT}0", pa.int64()), (f"{RIGHT}1", pa.string()),
])  # fmt: skip
# A row is (side, time, key, number of the left row, first and second column of the right row).
Row = tuple[int, int | None, str | None, int | None, int | None, str | None]
FORMS = [
    (operator, within, is_left)
    for operator, within, is_left in product((">=", ">", "<=", "<", "NEAREST"), (None, 0, 3, 7), (True, False))
    if operator in (">=", ">") or within is not None
]


def plan_of(operator: str, within: int | None, is_left: bool) -> AsofPlan:
    return AsofPlan(schema=SCHEMA, operator=operator, within=within, is_left=is_left)


def table(rows: list[Row]) -> pa.Table:
    columns = list(zip(*rows)) or [()] * len(SCHEMA)
    arrays = [pa.array(c, pa.int64()).cast(f.type) if f.name == TIME else pa.array(c, f.type)
              for c, f in zip(columns, SCHEMA)]  # fmt: skip
    return pa.table(arrays, schema=SCHEMA)


def history(rng: random.Random) -> list[Row]:
    """Rows of few keys and times, so that there are ties, twins, and keys of one relation alone."""
    rows: list[Row] = []
    for number in range(rng.randrange(25)):
        key, time = rng.choice(("a", "b", "c", None)), rng.randrange(1, 30)
        if rng.random() < 0.5:
            rows.append((rng.choice((OF_LEFT, OF_LEFT, OF_LEFT, WITHOUT_PARTNER)), time, key, number, None, None))
        else:
            rows.append((OF_RIGHT, time, key, None, rng.choice((None, 1, 2)), rng.choice((None, "", "x"))))
    return rows


def joined(rows: list[Row], plan: AsofPlan) -> list[tuple]:
    """The definition: (time at which it is decided, left number, right columns) of each row of the batch result."""
    result = []
    compare = {">=": lambda d: d >= 0, ">": lambda d: d > 0, "<=": lambda d: d <= 0, "<": lambda d: d < 0}
    for side, time, key, number, *_ in rows:
        if side == OF_RIGHT:
            continue
        near = [
            (abs(time - t), t, x is not None, x or 0, y is not None, y or "", x, y)
            for other, t, k, _, x, y in rows
            if (other, k, side) == (OF_RIGHT, key, OF_LEFT)
            and compare.get(plan.operator, lambda d: True)(time - t)
            and (plan.within is None or abs(time - t) <= plan.within)
        ]
        partner = min(near, default=None)
        decided = time
        if side == OF_LEFT and plan.operator not in (">=", ">"):
            is_found = partner is not None and plan.operator != "NEAREST"
            decided = partner[1] if is_found else min(time + plan.within, NEVER)
        if partner or plan.is_left:
            result.append((decided, number, *(partner[-2:] if partner else (None, None))))
    return sorted(result, key=str)


def emitted(driven: Driven) -> list[tuple]:
    rows = [
        (time, *row.values()) for times, batch in driven.results for time, row in zip(times.tolist(), batch.to_pylist())
    ]
    return sorted(rows, key=str)


def portions(rows: list[Row], rng: random.Random, begin: int) -> list[tuple[list[Row], int]]:
    """The rows in micro-batches, each with a watermark after it: in any order, but none of them late."""
    rest, watermark, steps = rng.sample(rows, len(rows)), begin, []
    while rest or watermark < begin + 45:
        watermark += rng.choice((0, 1, 2, 5, 20))
        due = [row for row in rest if row[1] <= watermark]
        early = [row for row in rest if row[1] > watermark and rng.random() < 0.3]
        steps.append((due + early, watermark))
        rest = [row for row in rest if row not in due + early]
    return steps


@pytest.mark.random(every=2)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_at_each_watermark_exactly_the_decided_rows_of_batch_are_emitted(form):
    plan = plan_of(*form)
    for seed in sample(range(200), 20):
        rng = seeded(seed)
        begin = rng.choice((0, zone_and_change(rng)[1] * SECOND_US))
        rows = [(side, begin + time, *rest) for side, time, *rest in dict.fromkeys(history(rng))]
        result = joined(rows, plan)
        driven = Driven(AsofOperator(plan=plan))
        for arriving, watermark in portions(rows, rng, begin):
            driven.step(watermark, rows=table(arriving))
            assert emitted(driven) == [row for row in result if row[0] <= watermark], (rows, watermark)
            check_state(driven, watermark, plan)


# The first and the last times, NULL, and times around 1970, where the watermark begins.
HOSTILE_TIMES = (None, BEGINNING, BEGINNING + 1, -1, 0, 1, 2, 5, 6, NEVER - 8, NEVER - 3, NEVER - 1, NEVER)
HOSTILE_KEYS = (None, "", "\0", "nan", "NaN", "a" * 5000, "ä\U0001f600")


def hostile_history(rng: random.Random) -> list[Row]:
    """Rows at few times, among them the ends of the range; sometimes all of one relation."""
    rows: list[Row] = []
    of_left = rng.choice((0.0, 0.5, 0.5, 1.0))
    for number in range(rng.randrange(30)):
        key, time = rng.choice(HOSTILE_KEYS[: rng.randrange(1, 8)]), rng.choice(HOSTILE_TIMES)
        if rng.random() < of_left:
            rows.append((rng.choice((OF_LEFT, OF_LEFT, WITHOUT_PARTNER)), time, key, number, None, None))
        else:
            rows.append((OF_RIGHT, time, key, None, rng.choice((None, BEGINNING, NEVER)), rng.choice(HOSTILE_KEYS)))
    return list(dict.fromkeys(rows))


@pytest.mark.random
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_hostile_rows_in_any_order_join_as_those_in_time_do_in_batch(form):
    """Rows without a time are late, as are those at or before the watermark; they join nothing."""
    plan = plan_of(*form)
    for seed in sample(range(200), 20):
        rng = seeded(seed)
        rows, steps = hostile_history(rng), rng.randrange(1, 6)
        begins = rng.choice((BEGINNING, -1, 0, 3))
        watermarks = sorted(
            rng.choices([time for time in HOSTILE_TIMES if time is not None and time >= begins], k=steps)
        )
        driven, in_time, before, late = Driven(AsofOperator(plan=plan), watermark=begins), [], begins, 0
        batch_of = [rng.randrange(steps) for _ in rows]
        for number, watermark in enumerate(watermarks):
            arriving = [row for row, of in zip(rows, batch_of) if of == number]
            taken = [row for row in arriving if row[1] is not None and (row[1] > before or before == BEGINNING)]
            late += len(arriving) - len(taken)
            in_time, before = in_time + taken, watermark
            driven.step(watermark, rows=table(arriving))
            result = [row for row in joined(in_time, plan) if row[0] <= watermark]
            assert emitted(driven) == result, (rows, batch_of, watermarks)
        assert sum(step.late.num_rows for step in driven.steps) == late


def check_state(driven: Driven, watermark: int, plan: AsofPlan) -> None:
    """Of the right rows that have passed, `>=` keeps the last one of each key, `<=` none; with a distance, none that is
    too far away."""
    state = driven.state.rows.to_pydict()
    times = [int(t.timestamp() * 1e6 + 0.5) for t in state[TIME]]
    passed = [(s, t, k) for s, t, k in zip(state[SIDE], times, state[f"{KEY}0"]) if t <= watermark]
    rights = [(k, t) for s, t, k in passed if s == OF_RIGHT]
    if plan.operator in (">=", ">"):
        assert len(passed) == len(rights) == len({k for k, _ in rights})
        assert plan.within is None or all(t + plan.within > watermark for _, t in rights)
    elif plan.operator in ("<=", "<"):
        assert not rights and all(t + plan.within > watermark for _, t, _ in passed)
    else:
        assert all(t + 2 * plan.within > watermark for _, t in rights)


def test_one_step_to_the_end_is_batch_also_without_keys_and_before_1970():
    schema = pa.schema([field for field in SCHEMA if not field.name.startswith(KEY)])
    rows = [(OF_RIGHT, -5, "", None, 1, "x"), (OF_LEFT, -5, "", 7, None, None), (OF_LEFT, -6, "", 8, None, None)]
    plan = AsofPlan(schema=schema, operator=">=", within=None, is_left=True)
    driven = Driven(AsofOperator(plan=plan), watermark=BEGINNING)
    driven.step(NEVER, rows=table(rows).select(schema.names))
    assert emitted(driven) == [(-5, 7, 1, "x"), (-6, 8, None, None)]
    assert driven.state.tables[KEYS].num_rows == 0


def test_late_rows_of_both_sides_are_set_aside_and_join_nothing():
    driven = Driven(AsofOperator(plan=plan_of(">=", None, True)))
    driven.step(10, rows=table([(OF_RIGHT, 5, "a", None, 1, "x")]))
    late = [(OF_RIGHT, 7, "a", None, 2, "y"), (OF_LEFT, 10, "a", 1, None, None)]
    step = driven.step(20, rows=table([*late, (OF_LEFT, 11, "a", 2, None, None)]))
    assert emitted(driven) == [(11, 2, 1, "x")]
    assert step.late.num_rows == 2
