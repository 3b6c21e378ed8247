"""min and max, min_by and max_by, and the functions of booleans and bits that are folds of one operation."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import cmp_to_key, partial
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


def _extreme(call: AggregateCall, *, sign: int) -> Aggregator:
    """max, or min if `sign` is -1."""
    spark_type = call.types[0]
    return folding(lambda best, value: value if sign * compare(value, best, spark_type) > 0 else best)


def _at_extreme(call: AggregateCall, *, sign: int) -> Aggregator:
    """max_by, or min_by if `sign` is -1."""
    return _values_at(call, sign) if 2 in call.constants else _value_at(call.types[1], sign)


def _value_at(spark_type: str, sign: int) -> Aggregator:
    """The value on the row with the best key, the last of rows with equal keys. The state is (value, key), or None."""

    def add(state: tuple | None, value: Any, key: Any) -> tuple | None:
        if key is None or (state is not None and sign * compare(key, state[1], spark_type) < 0):
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
    most = _number_of_rows(call)
    order = cmp_to_key(lambda a, b: sign * compare(b, a, call.types[1]))

    def add(state: tuple, value: Any, key: Any) -> tuple:
        if key is None:
            return state
        at = bisect_right(state, order(key), key=lambda entry: order(entry[1]))
        return state if at == most else (*state[:at], (value, key), *state[at:])[:most]

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
    "min": partial(_extreme, sign=-1),
    "max": partial(_extreme, sign=1),
    "min_by": partial(_at_extreme, sign=-1),
    "max_by": partial(_at_extreme, sign=1),
    "first_value": first,
    "any_value": first,
    "last_value": last,
    **of_all_calls(_OF_ALL_CALLS),
}
