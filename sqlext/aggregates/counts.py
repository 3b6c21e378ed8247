"""count, count_if and approx_count_distinct."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlext.aggregates.aggregator import AggregateCall, Aggregator
from sqlext.aggregates.distinct_rows import distinct


def count(call: AggregateCall) -> Aggregator:
    """The number of rows in which no argument is NULL; with no argument, of all rows."""

    def add(number: int, *values: Any) -> int:
        return number if None in values else number + 1

    return _counting(add)


def count_if(call: AggregateCall) -> Aggregator:
    return _counting(lambda number, value: number + (value is True))


def approx_count_distinct(call: AggregateCall) -> Aggregator:
    """The exact number of distinct values, which is within any error that the second argument allows."""
    return distinct(count(call), call.types[:1])


def _counting(add: Any) -> Aggregator:
    return Aggregator(empty=0, add=add, merge=lambda n, later: n + later, value=lambda n: n)


AGGREGATORS: Mapping[str, Callable[[AggregateCall], Aggregator]] = {
    "count": count,
    "count_if": count_if,
    "approx_count_distinct": approx_count_distinct,
    "regr_count": count,
}
