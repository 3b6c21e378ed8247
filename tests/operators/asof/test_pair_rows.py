"""ASOF JOIN in a worker, against a search through all pairs: few keys and times, so that there are ties and NULLs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pyarrow as pa
import pytest

from sqlext.errors import DataError
from sqlext.operators.asof.pair_rows import pair_batches
from sqlext.operators.asof.pair_sides import pair_sides
from sqlext.operators.asof.plan import KEY, NEAREST, OF_LEFT, OF_RIGHT, SIDE, TIME, VALUE, WITHOUT_PARTNER, PairsPlan
from sqlext.operators.rows.columns import IS_ABLE
from sqlext.operators.rows.limits import Limits

SCHEMA = pa.schema([
    (SIDE, pa.int8()), (TIME, pa.timestamp("us")), (f"{KEY}0", pa.string()), (f"{KEY}1", pa.int64()),
    (f"{VALUE}0", pa.int64()), (f"{VALUE}1", pa.string()),
])  # fmt: skip
# (side, time, keys, number of a left row or first value of a right one, second value of a right one)
Row = tuple[int, int | None, str | None, int | None, int | None, str | None]
COMPARED = {
    ">=": lambda left, right: left >= right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    "<": lambda left, right: left < right,
    NEAREST: lambda left, right: True,
}
ENDS = (-(2**63) + 1, -(2**62), 0, 2**62, 2**63 - 1)
LIMITS = (Limits(), Limits(rows=2), Limits(held_bytes=1), Limits(bytes=1, held_bytes=100))


def plan_of(operator: str, *, is_left: bool, limits: Limits = LIMITS[0]) -> PairsPlan:
    return PairsPlan(
        operator=operator, keys=(f"{KEY}0", f"{KEY}1"), ties=(f"{VALUE}0", f"{VALUE}1"),
        of_left={"number": f"{VALUE}0", "at": TIME}, of_right={"x": f"{VALUE}0", "y": f"{VALUE}1", "of": TIME},
        is_left=is_left, limits=limits,
    )  # fmt: skip


def rows_of(seed: int, times: range | tuple[int, ...]) -> list[Row]:
    rng = random.Random(seed)
    rows: list[Row] = []
    for number in range(rng.randrange(40)):
        keys = rng.choice(("a", "b", None)), rng.choice((1, None))
        if rng.random() < 0.5:
            side = rng.choice((OF_LEFT, OF_LEFT, WITHOUT_PARTNER))
            time = None if side == WITHOUT_PARTNER and rng.random() < 0.5 else rng.choice(times)
            rows.append((side, time, *keys, number, None))
        else:
            rows.append((OF_RIGHT, rng.choice(times), *keys, rng.choice((None, 1, 2)), rng.choice((None, "", "x"))))
    return rows


def joined(rows: list[Row], operator: str, *, is_left: bool) -> list[tuple]:
    """The definition: number and time of each left row of the result, values and time of its partner."""
    result = []
    for side, time, *keys, number, _ in rows:
        near = [
            (abs(time - t), t, x is not None, x or 0, y is not None, y or "", x, y)
            for other, t, *of, x, y in rows
            if (side, other) == (OF_LEFT, OF_RIGHT) and of == keys and COMPARED[operator](time, t)
        ]
        if side != OF_RIGHT and (near or is_left):
            result.append((number, time, *((*min(near)[-2:], min(near)[1]) if near else (None,) * 3)))
    return sorted(result, key=str)


def table_of(rows: list[Row]) -> pa.Table:
    columns = list(zip(*rows)) or [()] * len(SCHEMA)
    arrays = [pa.array(c, pa.int64()).view(f.type) if f.name == TIME else pa.array(c, f.type)
              for c, f in zip(columns, SCHEMA)]  # fmt: skip
    return pa.table(arrays, schema=SCHEMA)


def paired(rows: list[Row], plan: PairsPlan) -> list[tuple]:
    return results_of(pair_batches(iter(table_of(rows).to_batches(max_chunksize=3)), plan), plan)


def paired_sides(rows: list[Row], plan: PairsPlan) -> list[tuple]:
    """The same by two relations that are not shuffled."""
    sides = []
    for side in ([row for row in rows if row[0] != OF_RIGHT], [row for row in rows if row[0] == OF_RIGHT]):
        columns = {name: column.combine_chunks() for name, column in zip(SCHEMA.names, table_of(side).columns)}
        sides.append({**columns, IS_ABLE: pa.array([row[0] != WITHOUT_PARTNER for row in side], pa.bool_())})
    return results_of(pair_sides(*sides, replace(plan, null_safe=plan.keys)), plan)


def results_of(batches: Iterator[pa.RecordBatch], plan: PairsPlan) -> list[tuple]:
    results = []
    for batch in batches:
        assert batch.num_rows <= plan.limits.rows
        numbers = [c.view(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in batch.columns]
        results += [tuple(row) for row in zip(*(column.to_pylist() for column in numbers))]
    return sorted(results, key=str)


@pytest.mark.random
@pytest.mark.parametrize("operator", COMPARED)
@pytest.mark.parametrize("is_left", [True, False], ids=["left", "inner"])
def test_workers_pair_what_a_search_through_all_pairs_pairs(operator, is_left):
    for seed, times in product(range(40), (range(12), ENDS)):
        rows = rows_of(seed, times)
        expected = joined(rows, operator, is_left=is_left)
        for pair in (paired, paired_sides):
            assert pair(rows, plan_of(operator, is_left=is_left)) == expected, (pair, seed, rows)


@pytest.mark.random
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_rows_that_do_not_fit_are_paired_in_parts(limits):
    rows = [row for seed in range(20) for row in rows_of(seed, range(12))]
    expected = joined(rows, ">=", is_left=True)
    assert paired(rows, plan_of(">=", is_left=True, limits=limits)) == expected


def test_rows_that_fit_nowhere_are_an_error_that_names_the_window():
    plan = plan_of(">=", is_left=True, limits=Limits(held_bytes=1, free_bytes=1))
    with pytest.raises(DataError, match=r"WORKER_MEMORY[^$]*Hint: SET sqlext.order = spark"):
        paired([(OF_RIGHT, t, "a", 1, None, None) for t in range(1000)], plan)


@pytest.mark.parametrize("order", [1, -1], ids=["in order", "in the opposite order"])
def test_one_left_row_of_each_key_and_time_is_paired(order):
    rows: list[Row] = [(OF_RIGHT, 1, "a", 1, 7, None), *[(OF_LEFT, t, "a", 1, t, None) for t in (2, 2, 3)]]
    plan = PairsPlan(
        operator=">=", keys=(f"{KEY}0", f"{KEY}1"), ties=(), of_left={"t": f"{VALUE}0"}, of_right={"x": f"{VALUE}0"},
        is_left=False, is_once=True,
    )  # fmt: skip
    assert paired(rows[::order], plan) == [(2, 7), (3, 7)]
