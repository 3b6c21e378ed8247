"""The table of aggregates computes what Spark computes; `aggregates_against_spark` compares more."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sqlext.aggregates.aggregator import Aggregator, fold
from sqlext.aggregates.bind import BoundAggregate
from sqlext.aggregates.stored_states import read_state, write_states
from sqlext.errors import UnsupportedError
from sqlext.expressions.function import ExecutionSettings

from ..sampling import SAMPLE
from .aggregates_against_spark import run

SETTINGS = ExecutionSettings(True, "UTC")


def aggregate(
    name: str, types: tuple[str, ...], result: str, settings: ExecutionSettings = SETTINGS, **parts
) -> Aggregator:
    return BoundAggregate(function=name, types=types, result=result, **parts).aggregator(settings)


def test_aggregates_are_sparks_on_random_rows(spark):
    comparison = run(spark, 1, int(SAMPLE) if SAMPLE.isdigit() else 0, share=20)
    assert not comparison.differences, comparison.differences[:5]


def test_an_unknown_aggregate_is_refused_with_the_list():
    with pytest.raises(UnsupportedError, match=r"did you mean median\? The aggregates are count, "):
        aggregate("medain", ("int",), "double")


def test_adding_a_row_leaves_the_old_state_as_it_was():
    distinct = aggregate("count", ("int",), "bigint", is_distinct=True)
    states = [distinct.empty]
    for i in range(3000):
        states.append(distinct.add(states[-1], i % 2000))
    assert [distinct.value(state) for state in states] == [min(i, 2000) for i in range(3001)]


def test_a_stored_state_goes_on_as_if_it_had_not_been_stored():
    distinct = aggregate("count", ("string",), "bigint", is_distinct=True)
    sums = aggregate("try_sum", ("decimal(2,0)",), "decimal(3,0)")
    for aggregator, rows, expected in (
        (distinct, [(f"{i % 2000}",) for i in range(3000)], 2000),
        (aggregate("median", ("bigint",), "double"), [(i,) for i in range(3001)], 1500.0),
        (sums, [(Decimal(99),)] * 12, None),
    ):
        state = aggregator.empty
        for i, row in enumerate(rows):
            state = aggregator.add(state, *row)
            state = read_state(next(write_states([state]))) if i % 1000 == 11 else state
        assert aggregator.value(state) == expected


def test_sums_leave_their_type_with_an_error_or_by_wrapping():
    rows = [(2**63 - 1,), (1,)]
    assert fold(aggregate("try_sum", ("bigint",), "bigint"), rows) is None
    assert fold(aggregate("sum", ("bigint",), "bigint", ExecutionSettings(False, "UTC")), rows) == -(2**63)
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        fold(aggregate("sum", ("bigint",), "bigint"), rows)
