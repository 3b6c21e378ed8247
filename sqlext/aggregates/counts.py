"""count, count_if and approx_count_distinct."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlext.aggregates.aggregator import AggregateCall, Aggregator, of_all_calls
from sqlext.aggregates.distinct_rows import distinct


def _add_one(number: int, *values: Any) -> int:
    return number if None in values else number + 1


def _counting(add: Callable[..., int]) -> Aggregator:
    return Aggregator(empty=0, add=add, merge=lambda n, later: n + later, value=lambda n: n)


_COUNT = _counting(_add_one)  # of the rows in which no argument is NULL; with no argument, of all rows


def approx_count_distinct(call: AggregateCall) -> Aggregator:
    """The exact number of distinct values, which is within any error that the second argument allows."""
    return distinct(_COUNT, call.types[:1])


_COUNT_IF = _counting(lambda number, value: number + (value is True))
AGGREGATORS: Mapping[str, Callable[[AggregateCall], Aggregator]] = {
    "approx_count_distinct": approx_count_distinct,
    **of_all_calls({"count": _COUNT, "regr_count": _COUNT, "count_if": _COUNT_IF}),
}
