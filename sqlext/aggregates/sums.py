"""sum and avg, and their forms that return NULL where a value does not fit its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any

from sqlext.aggregates.aggregator import AggregateCall, Aggregator, of_complete_rows
from sqlext.errors import DataError
from sqlext.expressions.faults import interval_overflow, overflow
from sqlext.expressions.numbers import EXACT, fits, rescaled, to_decimal, wrap
from sqlext.expressions.spark_types import INTEGER_BITS, decimal_of, is_day_time, is_interval


class Overflow(Enum):
    """The state of a sum that has left its type."""

    OVERFLOW = "overflow"


OVERFLOW = Overflow.OVERFLOW


def _sum(call: AggregateCall, *, is_try: bool) -> Aggregator:
    """bigint of integers, double of floats, a wider decimal of decimals, intervals of intervals.

    The state is the sum, None before the first value, or OVERFLOW.
    """
    plus = _addition(call.types[0], call.result)
    is_ansi = call.settings.is_ansi
    wraps = call.types[0] in INTEGER_BITS and not is_ansi and not is_try

    def add(total: Any, value: Any) -> Any:
        if value is None or total is OVERFLOW:
            return total
        result = plus(0 if total is None else total, value)
        if result is not None:
            return result
        if wraps:
            return wrap(total + value, 64)
        if is_try or decimal_of(call.types[0]):  # the overflow of a decimal shows only in the value
            return OVERFLOW
        raise _overflow_error(call.types[0])

    def value(total: Any) -> Any:
        if total is not OVERFLOW:
            return total
        if is_ansi and not is_try:
            raise overflow("sum of decimals")
        return None

    def merge(state: Any, later: Any) -> Any:
        return later if later is OVERFLOW else add(state, later)

    return Aggregator(empty=None, add=add, merge=merge, value=value)


def _overflow_error(spark_type: str) -> DataError:
    return interval_overflow() if is_interval(spark_type) else overflow("bigint")


def _addition(argument: str, result: str) -> Callable[[Any, Any], Any]:
    """Addition in the type of the result; None where the sum does not fit it."""
    if digits := decimal_of(result):
        return _decimal_addition(Decimal(10) ** (digits[0] - digits[1]))
    if argument in INTEGER_BITS or is_interval(argument):
        bits = 64 if argument in INTEGER_BITS or is_day_time(argument) else 32
        return lambda total, value: total + value if fits(total + value, bits) else None
    return lambda total, value: total + value


def _decimal_addition(limit: Decimal) -> Callable[[Any, Any], Any]:
    """Addition of decimals of the same scale, below a limit."""

    def plus(total: Any, value: Decimal) -> Decimal | None:
        result = EXACT.add(total, value) if total else value
        return result if -limit < result < limit else None

    return plus


def _avg(call: AggregateCall, *, is_try: bool) -> Aggregator:
    """A double, a decimal of four more digits, or an interval.

    The state is (sum, count); integers are summed as doubles.
    """
    argument = call.types[0]
    if digits := decimal_of(argument):
        total_type = f"decimal({min(38, digits[0] + 10)},{digits[1]})"
    else:
        total_type = argument if is_interval(argument) else "double"
    plus = _addition(argument if is_interval(argument) else "double", total_type)
    is_ansi = call.settings.is_ansi

    def add(state: tuple, value: Any) -> tuple:
        if value is None:
            return state
        return _plus(state, value if total_type == argument or digits else float(value), 1)

    def _plus(state: tuple, value: Any, number: int) -> tuple:
        total, count = state
        if total is OVERFLOW or value is OVERFLOW:
            return (OVERFLOW, count + number)
        result = plus(total, value)
        if result is None:
            if not digits and not is_try:
                raise _overflow_error(argument)
            result = OVERFLOW
        return (result, count + number)

    def value(state: tuple) -> Any:
        total, count = state
        if not count:
            return None
        if total is OVERFLOW:
            if is_ansi and not is_try:
                raise overflow("sum of decimals")
            return None
        return _quotient(call, total, count, is_try=is_try)

    return Aggregator(
        empty=(0.0 if total_type == "double" else 0, 0),
        add=add,
        merge=lambda state, later: _plus(state, *later) if later[1] else state,
        value=value,
    )


def _quotient(call: AggregateCall, total: Any, count: int, *, is_try: bool) -> Any:
    if digits := decimal_of(call.result):
        quotient = EXACT.divide(Decimal(total), Decimal(count))
        return rescaled(quotient, *digits) if is_try else to_decimal(quotient, *digits, call.settings)
    if is_interval(call.types[0]):  # half up, as Java's HALF_UP rounds: away from zero
        return (2 * abs(total) + count) // (2 * count) * (1 if total >= 0 else -1)
    return total / count


def _avg_of_pairs(call: AggregateCall, *, position: int) -> Aggregator:
    """The average of the argument at `position`, over the rows on which none is NULL."""
    return of_complete_rows(_avg(replace(call, types=(call.types[position],)), is_try=False), position)


AGGREGATORS: Mapping[str, Callable[[AggregateCall], Aggregator]] = {
    "sum": partial(_sum, is_try=False),
    "try_sum": partial(_sum, is_try=True),
    **dict.fromkeys(("avg", "mean"), partial(_avg, is_try=False)),
    "try_avg": partial(_avg, is_try=True),
    "regr_avgx": partial(_avg_of_pairs, position=1),
    "regr_avgy": partial(_avg_of_pairs, position=0),
}
