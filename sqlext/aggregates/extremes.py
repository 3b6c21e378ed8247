"""min and max, min_by and max_by, and the functions of booleans and bits that are folds of one operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import and_, or_, xor
from typing import Any

from sqlext.aggregates.aggregator import AggregateCall, Aggregator, of_all_calls
from sqlext.expressions.faults import invalid_value
from sqlext.expressions.values import compare

_MOST_ROWS = 100_000  # the largest n of max_by(x, y, n), as in Spark


def folding(step: Callable[[Any, Any], Any]) -> Aggregator:
    """The fold of the values that are not NULL; NULL over none.

    >>> from sqlext.aggregates.aggregator import fold
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
    if 2 in call.constants:
        return _values_at(call, -1)
    return _value_at(lambda key, best: compare(key, best, call.types[1]) <= 0)


def max_by(call: AggregateCall) -> Aggregator:
    if 2 in call.constants:
        return _values_at(call, 1)
    return _value_at(lambda key, best: compare(key, best, call.types[1]) >= 0)


def _value_at(replaces: Callable[[Any, Any], bool]) -> Aggregator:
    """The value on the row with the best key, the last of rows with equal keys. The state is (value, key), or None."""

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


def _values_at(call: AggregateCall, sign: int) -> Aggregator:
    """The values on as many rows with the best keys as the third argument says, the best first; NULL over none.

    The state is a tuple of (value, key). Rows with equal keys keep their order, which Spark leaves open.
    """
    spark_type, most = call.types[1], _number_of_rows(call)

    def add(state: tuple, value: Any, key: Any) -> tuple:
        if key is None or (len(state) == most and sign * compare(key, state[-1][1], spark_type) <= 0):
            return state
        lo, hi = 0, len(state)
        while lo < hi:  # the first entry with a worse key
            middle = (lo + hi) // 2
            if sign * compare(key, state[middle][1], spark_type) > 0:
                hi = middle
            else:
                lo = middle + 1
        return (*state[:lo], (value, key), *state[lo:])[:most]

    def merge(state: tuple, later: tuple) -> tuple:
        for value, key in later:
            state = add(state, value, key)
        return state

    def values(state: tuple) -> list[Any] | None:
        return [value for value, _ in state] or None

    return Aggregator(empty=(), add=add, merge=merge, value=values, needs_rows=True)


def _number_of_rows(call: AggregateCall) -> int:
    written = call.constants[2]
    try:
        number = 0 if written is None else int(written)
    except ValueError:
        number = 0
    if not 1 <= number <= _MOST_ROWS:
        shown = "NULL" if written is None else written
        raise invalid_value(f"{call.name} takes a number of rows from 1 to {_MOST_ROWS}, not {shown}", "write 2.")
    return number


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
    """True if the call has IGNORE NULLS, or true as its second argument as in `first_value(x, true)`."""
    return call.ignores_nulls or call.constants.get(1) is True


_OF_ALL_CALLS = {
    **dict.fromkeys(("bool_and", "every", "bit_and"), folding(and_)),
    **dict.fromkeys(("bool_or", "some", "any", "bit_or"), folding(or_)),
    "bit_xor": folding(xor),
}
AGGREGATORS: Mapping[str, Callable[[AggregateCall], Aggregator]] = {
    "min": minimum,
    "max": maximum,
    "min_by": min_by,
    "max_by": max_by,
    "first_value": first,
    "any_value": first,
    "last_value": last,
    **of_all_calls(_OF_ALL_CALLS),
}
