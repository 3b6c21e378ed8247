"""INTERVAL JOIN of two relations, against a loop over all pairs: few keys and times, so that some tie and some are
NULL."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import product

import pyarrow as pa
import pytest

from sqlext.expressions.function import SPARK_DEFAULTS
from sqlext.expressions.scalar_tree import Column, call
from sqlext.operators.interval.pair_ranges import range_batches
from sqlext.operators.interval.plan import LOWER, TIME, UPPER, RangesPlan
from sqlext.operators.rows.columns import IS_ABLE
from sqlext.operators.rows.limits import Limits

KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")
NUMBERS: dict[pa.DataType, Callable[[int], object]] = {
    pa.int64(): lambda x: x if abs(x) < 9 else (2**63 - 20 + x if x > 0 else -(2**63) + 20 + x),
    pa.timestamp("us", "UTC"): lambda x: x,
    pa.date32(): lambda x: x,
    pa.float64(): lambda x: {10: float("nan"), 9: float("inf"), 0: -0.0}.get(x, float(x)),
    pa.decimal128(38, 2): lambda x: Decimal(x).scaleb(30),
}
KEYS = (("a", None, "b"), (1, None, -(2**40)))
NOT_EQUAL = call("<>", (Column("l", "bigint"), Column("r", "bigint")), SPARK_DEFAULTS)
LIMITS = (Limits(threads=2), Limits(rows=2, threads=3), Limits(bytes=30))


def column(values: list, kind: pa.DataType) -> pa.Array:
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if pa.types.is_date32(kind) else pa.int64()).view(kind)
    return pa.array(values, kind)


def above(a: object, b: object) -> bool:
    """Spark's order of numbers: NaN is the largest."""
    return a != b and (a != a or (b == b and a > b)) and not (a != a and b != b)  # type: ignore[operator]


class Sides:
    """Random relations: rows (keys, able, numbers), with one number for a time and two for a range."""

    def __init__(self, seed: int, kind: pa.DataType):
        self.rng, self.kind = random.Random(seed), kind
        self.points, self.ranges = ([self.row(ends) for _ in range(self.rng.choice((0, 3, 12)))] for ends in (1, 2))

    def row(self, ends: int) -> tuple[list, bool | None, list]:
        numbers = [self.rng.choice([None, *(NUMBERS[self.kind](x) for x in range(-10, 11))]) for _ in range(ends)]
        if self.rng.random() < 0.5 and None not in numbers and not any(n != n for n in numbers):
            numbers.sort()  # type: ignore[type-var]
        return [self.rng.choice(keys) for keys in KEYS], self.rng.choice((True, True, True, False, None)), numbers

    def columns(self, rows: list, names: tuple[str, ...], number: str, keys: int) -> dict[str, pa.Array]:
        own = {f"k{i}": pa.array([row[0][i] for row in rows], (pa.string(), pa.int64())[i]) for i in range(keys)}
        times = {name: column([row[2][i] for row in rows], self.kind) for i, name in enumerate(names)}
        numbers = pa.array(range(len(rows)), pa.int64())
        return {**own, **times, IS_ABLE: pa.array([row[1] for row in rows], pa.bool_()), number: numbers}


def definition(sides: Sides, plan: RangesPlan) -> Iterator[tuple]:
    """What the join means, from its pairs."""
    lefts, rights = (sides.points, sides.ranges) if plan.time_is_left else (sides.ranges, sides.points)
    pairs = {
        (i, j)
        for (i, left), (j, right) in product(enumerate(lefts), enumerate(rights))
        if _fits(*((left, right) if plan.time_is_left else (right, left)), plan) and (not plan.condition or i != j)
    }
    alone = [i for i in range(len(lefts)) if not any(i == left for left, _ in pairs)]
    if not plan.shows_pairs:
        yield from ((i,) for i in range(len(lefts)) if (i in alone) == (plan.join_type == "LEFT ANTI"))
        return
    yield from pairs
    if plan.join_type in ("LEFT", "FULL"):
        yield from ((i, None) for i in alone)
    if plan.join_type in ("RIGHT", "FULL"):
        yield from ((None, j) for j in range(len(rights)) if not any(j == right for _, right in pairs))


def _fits(point: tuple, range_: tuple, plan: RangesPlan) -> bool:
    (time,), (lower, upper), n = point[2], range_[2], len(plan.keys)
    if not point[1] or not range_[1] or None in (time, lower, upper) or point[0][:n] != range_[0][:n]:
        return False
    if any(point[0][i] is None and key not in plan.null_safe for i, key in enumerate(plan.keys)):
        return False
    from_lower = above(time, lower) or (not plan.excludes_lower and not above(lower, time))
    return from_lower and (above(upper, time) or (not plan.excludes_upper and not above(time, upper)))


@pytest.mark.random
@pytest.mark.parametrize("kind", NUMBERS, ids=str)
@pytest.mark.parametrize("join_type", KINDS)
def test_pairs_are_those_of_a_loop_over_all_pairs(join_type, kind):
    for seed in range(60):
        sides = Sides(seed, kind)
        rng = sides.rng
        keys = rng.choice((0, 1, 2))
        plan = RangesPlan(
            join_type=join_type, time_is_left=rng.random() < 0.5, excludes_lower=rng.random() < 0.5,
            excludes_upper=rng.random() < 0.5, keys=tuple(f"k{i}" for i in range(keys)), of_left={"l": "l"},
            null_safe=rng.choice(((), ("k0",), ("k0", "k1"))),
            of_right={"r": "r"} if join_type in KINDS[:4] else {}, condition=rng.choice((None, NOT_EQUAL)),
            limits=rng.choice(LIMITS),
        )  # fmt: skip
        points, ranges = ("l", "r") if plan.time_is_left else ("r", "l")
        relations = {
            points: sides.columns(sides.points, (TIME,), points, keys),
            ranges: sides.columns(sides.ranges, (LOWER, UPPER), ranges, keys),
        }
        batches = list(range_batches(relations["l"], relations["r"], plan))
        assert all(batch.num_rows <= plan.limits.rows for batch in batches)
        rows = [row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns))]
        assert sorted(rows, key=str) == sorted(definition(sides, plan), key=str), (seed, plan)
