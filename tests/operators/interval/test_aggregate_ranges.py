"""Aggregates of ranges against pairs: the same rows, one range after another, by the aggregators of the registry."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sqlext.aggregates.aggregator import fold
from sqlext.aggregates.bind import BoundAggregate
from sqlext.errors import DataError
from sqlext.expressions.function import ExecutionSettings
from sqlext.operators.interval.aggregate_ranges import aggregate_batches, aggregate_sides
from sqlext.operators.interval.aggregates_plan import AggregatesPlan, RangeCall
from sqlext.operators.rows.limits import Limits

ANSI = ExecutionSettings(is_ansi=True, time_zone="UTC")
NUMBERS = (0.0, -0.0, 1.5, -2.25, 1e-300, math.inf, -math.inf, math.nan, None, 3.0)
VALUES: dict[str, tuple[pa.DataType, Any]] = {
    "int": (pa.int32(), (None, 0, 1, -1, 7, 2**31 - 1, -(2**31))),
    "bigint": (pa.int64(), (None, 0, 1, -5, 2**56, -(2**56), 2**33 + 1)),
    "double": (pa.float64(), NUMBERS),
    "decimal(9,2)": (pa.decimal128(9, 2), (None, Decimal("0.00"), Decimal("-1.25"), Decimal("9999999.99"))),
    "decimal(38,0)": (pa.decimal128(38, 0), (None, Decimal(10) ** 30, Decimal(-7), Decimal(0))),
    "string": (pa.string(), (None, "", "a", "b", "ä", "ab")),
    "date": (pa.date32(), (None, date(1969, 1, 1), date(2026, 3, 2))),
    "boolean": (pa.bool_(), (None, True, False)),
}
MOMENTS = ("stddev", "var_pop", "skewness", "kurtosis")
RESULTS = {
    **dict.fromkeys(MOMENTS, "double"),
    "count": "bigint",
    "count_if": "bigint",
    "avg": "double",
    "collect_list": "array<{}>",
}
OF_SUMS = {"int": "bigint", "bigint": "bigint", "double": "double", "decimal(9,2)": "decimal(19,2)"}
NUMERIC = ("int", "bigint", "double")


def calls() -> list[BoundAggregate]:
    """One use of each aggregate over each type that it takes."""
    every = ("count", "min", "max", "first_value", "any_value", "last_value", "collect_list")
    of = {name: tuple(VALUES) for name in every} | {
        "sum": tuple(OF_SUMS), "avg": NUMERIC, **dict.fromkeys(MOMENTS, ("double",)),
        **dict.fromkeys(("count_if", "bool_and", "bool_or"), ("boolean",)),
    }  # fmt: skip
    made = [_call(name, kind) for name, kinds in of.items() for kind in kinds]
    made += [_call("last_value", kind, ignores_nulls=True) for kind in VALUES]
    made += [_call("first_value", kind, ignores_nulls=True) for kind in VALUES]
    return [*made, _call("count", "int", is_distinct=True), _call("sum", "double", is_distinct=True)]


def _call(name: str, kind: str, **more: Any) -> BoundAggregate:
    result = OF_SUMS[kind] if name == "sum" else RESULTS.get(name, kind).format(kind)
    return BoundAggregate(function=name, types=(kind,), result=result, **more)


def _drawn(rng: np.random.Generator, kind: str, n: int) -> pa.Array:
    arrow, values = VALUES[kind]
    return pa.array([values[i] for i in rng.integers(0, len(values), n)], arrow)


def _times(rng: np.random.Generator, n: int, most: int) -> pa.Array:
    return pa.array([None if v == most else v for v in rng.integers(0, most + 1, n).tolist()], pa.int64())


def _case(seed: int) -> tuple[dict[str, pa.Array], dict[str, pa.Array], AggregatesPlan]:
    rng = np.random.default_rng(seed)
    n, m, most = int(rng.integers(0, 30)), int(rng.choice([0, 3, 20, 200])), int(rng.integers(1, 40))
    kinds = tuple(VALUES)
    call = calls()[int(rng.integers(len(calls())))]
    kind = call.types[0] if call.types[0] in kinds else "double"
    keys = ("k",) if rng.random() < 0.7 else ()
    left = {"id": pa.array(range(n), pa.int64()), "__lower": _times(rng, n, most), "k": _times(rng, n, 2)}
    width = rng.integers(-2, most, n).tolist()
    lower = left["__lower"].to_pylist()
    left["__upper"] = pa.array([None if t is None else t + w for t, w in zip(lower, width)], pa.int64())
    right = {"__time": _times(rng, m, most), "k": _times(rng, m, 2), "v": _drawn(rng, kind, m)}
    right["f"] = _drawn(rng, "boolean", m)
    if rng.random() < 0.3:
        left["__able"] = _drawn(rng, "boolean", n)
    plan = AggregatesPlan(
        excludes_lower=rng.random() < 0.3, excludes_upper=rng.random() < 0.3, keys=keys,
        null_safe=keys if rng.random() < 0.3 else (), is_left=rng.random() < 0.7, is_prevailing=rng.random() < 0.5,
        ties=("v",), of_left={"id": "id"},
        calls=(RangeCall(name="a", call=call, columns=("v",), filter="f" if rng.random() < 0.3 else ""),),
        left={}, right={}, limits=Limits(rows=7, threads=int(rng.integers(1, 3))),
    )  # fmt: skip
    return left, right, plan


def _expected(left: dict[str, pa.Array], right: dict[str, pa.Array], plan: AggregatesPlan) -> dict[int, Any]:
    """The values by the numbers of the left rows: all pairs are compared."""
    (call,) = plan.calls
    aggregator = call.call.aggregator(ANSI)
    rights = _ordered(right)
    lefts = [dict(zip(left, values)) for values in zip(*(c.to_pylist() for c in left.values()))]
    result = {}
    for row in lefts:
        partners = [r for r in rights if _is_partner(row, r, plan)]
        if plan.is_prevailing:
            earlier = [r for r in rights if _is_same(row, r, plan) and r["__time"] < row["__lower"]]
            partners = earlier[-1:] + partners
        if partners or plan.is_left:
            kept = (r for r in partners if not call.filter or r["f"])
            result[row["id"]] = fold(aggregator, ((r["v"],) for r in kept))
    return result


def _ordered(right: dict[str, pa.Array]) -> list[dict[str, Any]]:
    rows = [dict(zip(right, values)) for values in zip(*(c.to_pylist() for c in right.values()))]

    def key(row: dict[str, Any]) -> tuple:
        v = row["v"]
        is_nan = isinstance(v, float) and math.isnan(v)
        return (-1 if row["__time"] is None else row["__time"], v is not None, is_nan, 0 if v is None or is_nan else v)

    return sorted(rows, key=key)


def _is_same(left: dict[str, Any], right: dict[str, Any], plan: AggregatesPlan) -> bool:
    if left.get("__able", True) is not True or None in (left["__lower"], left["__upper"], right["__time"]):
        return False
    return all(left[k] == right[k] and (left[k] is not None or k in plan.null_safe) for k in plan.keys)


def _is_partner(left: dict[str, Any], right: dict[str, Any], plan: AggregatesPlan) -> bool:
    time, lower, upper = right["__time"], left["__lower"], left["__upper"]
    if not _is_same(left, right, plan):
        return False
    above = time > lower if plan.excludes_lower else time >= lower
    return above and (time < upper if plan.excludes_upper else time <= upper)


def _is_near(found: Any, expected: Any) -> bool:
    if isinstance(found, float) and isinstance(expected, float):
        return (
            found == expected
            or math.isclose(found, expected, rel_tol=1e-9)
            or (found != found and expected != expected)
        )
    return found == expected


@pytest.mark.parametrize("seed", range(400))
def test_a_range_has_the_aggregate_of_its_pairs(seed):
    left, right, plan = _case(seed)
    rows = pa.Table.from_batches(
        list(aggregate_sides(left, right, plan)), pa.schema([("id", pa.int64()), ("a", _arrow(plan))])
    )
    found, expected = dict(zip(rows["id"].to_pylist(), rows["a"].to_pylist())), _expected(left, right, plan)
    assert len(rows) == len(found) and found.keys() == expected.keys()
    wrong = {i: (found[i], v) for i, v in expected.items() if not _alike(found[i], v)}
    assert not wrong, (seed, plan.calls[0].call)


def _arrow(plan: AggregatesPlan) -> pa.DataType:
    from sqlext.expressions.values import arrow_type

    return arrow_type(plan.calls[0].call.result)


def _alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(_is_near, found, expected))
    return _is_near(found, expected)


def _of_numbers(name: str, kind: str, values: list[Any], settings: ExecutionSettings = ANSI) -> list[Any]:
    """The aggregate over each value, with the one before it and the one after it."""
    times = pa.array(range(len(values)), pa.int64())
    left = {"__lower": pa.array([t - 1 for t in range(len(values))]), "__upper": pa.array(range(1, len(values) + 1))}
    call = RangeCall(name="a", call=_call(name, kind), columns=("v",))
    plan = AggregatesPlan(is_left=True, of_left={}, calls=(call,), left={}, right={}, settings=settings)
    batches = aggregate_sides(left, {"__time": times, "v": pa.array(values, VALUES[kind][0])}, plan)
    return [value for batch in batches for value in batch["a"].to_pylist()]


def test_a_nan_or_a_large_number_does_not_touch_other_ranges():
    assert [str(v) for v in _of_numbers("sum", "double", [math.nan, 0.5, 0.5, 1e300, 0.25, 0.25, 0.25])] == [
        "nan", "nan", "1e+300", "1e+300", "1e+300", "0.75", "0.5",
    ]  # fmt: skip


def test_a_sum_of_integers_overflows_in_its_own_range_only():
    half = 2**62
    assert _of_numbers("sum", "bigint", [half, half - 1, -half, -half, 5]) == [
        2 * half - 1, half - 1, -half - 1, -2 * half + 5, -half + 5,
    ]  # fmt: skip
    with pytest.raises(DataError, match="exceeds 64 bits"):
        _of_numbers("sum", "bigint", [half, half, half])
    wrapped = _of_numbers("sum", "bigint", [half, half, half], ExecutionSettings(is_ansi=False, time_zone="UTC"))
    assert wrapped == [-(2**63), 3 * half - 2**64, -(2**63)]


def test_rows_of_both_relations_that_arrive_together():
    rows = pa.RecordBatch.from_pydict({
        "__side": pa.array([0, 1, 0, 1], pa.int32()), "__time": pa.array([5, 4, 6, 9]),
        "__upper": pa.array([None, 6, None, 9]),
        "__value0": pa.array([10, 1, 20, 2]),
    })  # fmt: skip
    call = RangeCall(name="a", call=_call("sum", "bigint"), columns=("v",))
    plan = AggregatesPlan(
        is_left=False, of_left={"id": "id"}, calls=(call,),
        left={"__lower": "__time", "__upper": "__upper", "id": "__value0"}, right={"__time": "__time", "v": "__value0"},
    )  # fmt: skip
    assert [b.to_pydict() for b in aggregate_batches(iter([rows]), plan)] == [{"id": [1], "a": [30]}]
