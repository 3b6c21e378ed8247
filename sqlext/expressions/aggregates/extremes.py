"""min and max, min_by and max_by, and the functions of booleans and bits that are folds of one operation."""

from __future__ import annotations

from collections.abc import Callable
from operator import and_, or_, xor
from typing import Any

from sqlext.expressions.aggregates.aggregator import AggregateCall, Aggregator
from sqlext.expressions.values import compare


def folding(step: Callable[[Any, Any], Any]) -> Aggregator:
    """The fold of the values that are not NULL; NULL over none.

    >>> from sqlext.expressions.aggregates.aggregator import fold
    >>> fold(folding(max), [(None,), (3,), (5,)])
    5
    """

    def add(state: Any, value: Any) -> Any:
        if value is None:
            return state
        return value if state is None else step(state, value)

    return Aggregator(empty=None, add=add, merge=add, value=lambda state: state)


def minimum(call: AggregateCall) -> Aggregator:
    spark_type = call.types[0]
    return folding(lambda least, value: value if compare(value, least, spark_type) < 0 else least)


def maximum(call: AggregateCall) -> Aggregator:
    spark_type = call.types[0]
    return folding(lambda greatest, value: value if compare(value, greatest, spark_type) > 0 else greatest)


def min_by(call: AggregateCall) -> Aggregator:
    return _value_at(lambda key, best: compare(key, best, call.types[1]) <= 0)


def max_by(call: AggregateCall) -> Aggregator:
    return _value_at(lambda key, best: compare(key, best, call.types[1]) >= 0)


def _value_at(replaces: Callable[[Any, Any], bool]) -> Aggregator:
    """The value on the row with the best key, the last of equal ones. The state is (value, key), or None."""

    def add(state: tuple | None, value: Any, key: Any) -> tuple | None:
        if key is None or (state is not None and not replaces(key, state[1])):
            return state
        return (value, key)

    return Aggregator(
        empty=None,
        add=add,
        merge=lambda state, later: state if later is None else add(state, *later),
        value=lambda state: None if state is None else state[0],
    )


def every(call: AggregateCall) -> Aggregator:
    return folding(and_)


def some(call: AggregateCall) -> Aggregator:
    return folding(or_)


def bit_and(call: AggregateCall) -> Aggregator:
    return folding(and_)


def bit_or(call: AggregateCall) -> Aggregator:
    return folding(or_)


def bit_xor(call: AggregateCall) -> Aggregator:
    return folding(xor)


# the first and the last value


def first(call: AggregateCall) -> Aggregator:
    """first_value and any_value. The state is () or (value,)."""
    skips = _skips_nulls(call)
    return _keeping(lambda state, value: state if state or (skips and value is None) else (value,), lambda a, b: a or b)


def last(call: AggregateCall) -> Aggregator:
    skips = _skips_nulls(call)
    return _keeping(lambda state, value: state if skips and value is None else (value,), lambda a, b: b or a)


def _keeping(add: Callable[..., tuple], merge: Callable[[tuple, tuple], tuple]) -> Aggregator:
    return Aggregator(empty=(), add=add, merge=merge, value=lambda state: state[0] if state else None)


def _skips_nulls(call: AggregateCall) -> bool:
    """IGNORE NULLS, or the second argument of `first_value(x, true)`."""
    return call.ignores_nulls or call.constants.get(1) is True
