"""`+ - * /` of dates, timestamps and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sqlext.expressions import faults
from sqlext.expressions.arithmetic_types import operation_type
from sqlext.expressions.calendars import DAY_US, add_months, zone
from sqlext.expressions.function import Evaluate, ExecutionSettings, Function, Signature, Types
from sqlext.expressions.numbers import EXACT, fits, quotient
from sqlext.expressions.spark_types import (
    INTEGER_BITS,
    TIME_TYPES,
    TIMESTAMPS,
    decimal_of,
    is_day_time,
    is_interval,
    is_year_month,
)


def shift_time(value: int, days: int, rest_us: int, name: str | None) -> int:
    """A time plus days on the wall clock of a zone (None: no zone) plus microseconds. Raises DataError."""
    if days:
        value = value + days * DAY_US if name is None else _through_zone(value, name, lambda t: t + days * DAY_US)
    return in_time_range(value + rest_us)


def shift_months(value: int, months: int, name: str | None) -> int:
    """A time plus months on the wall clock of a zone. Raises DataError DATETIME_OVERFLOW."""

    def shifted(local: int) -> int:
        day, of_day = divmod(local, DAY_US)
        return add_months(day, months) * DAY_US + of_day

    return in_time_range(shifted(value) if name is None else _through_zone(value, name, shifted))


def _through_zone(value: int, name: str, change: Callable[[int], int]) -> int:
    in_zone = zone(name)
    local = in_zone.to_local(value)
    offset = local - value
    moved = change(local)
    if in_zone.to_local(moved - offset) == moved:  # Java keeps the offset where it is valid: the later of two times
        return moved - offset
    return in_zone.to_utc(moved)


def in_time_range(value: int) -> int:
    if not fits(value, 64):
        raise faults.datetime_overflow()
    return value


def in_date_range(value: int) -> int:
    if not fits(value, 32):
        raise faults.datetime_overflow()
    return value


def in_interval_range(value: int, spark_type: str) -> int:
    if not fits(value, 32 if is_year_month(spark_type) else 64):
        raise faults.interval_overflow()
    return value


def to_local(spark_type: str, settings: ExecutionSettings) -> Callable[[int], int]:
    """The function that returns the wall clock of a time of this type, in the zone of the session if it needs one."""
    return zone(settings.time_zone).to_local if spark_type == "timestamp" else lambda value: value


def _zone_of(spark_type: str, settings: ExecutionSettings) -> str | None:
    """The name of the zone of a time type, None for types without one. Raises UnsupportedError TIME_ZONE."""
    if spark_type != "timestamp":
        return None
    zone(settings.time_zone)  # raises an error if no zone has this name
    return settings.time_zone


def _sum_types(signature: Signature) -> Types | None:
    """The operand types of `+` and `-`: all but intervals and counts of days are cast to the type of the times."""
    types, result = signature.types, signature.result
    if is_interval(result):
        if any(t in TIME_TYPES for t in types):
            times = [t for t in types if t in TIMESTAMPS]
            wanted = "date" if not times and set(types) <= {"date"} else (times or ["timestamp"])[0]
            return (wanted, wanted)
        return tuple(t if is_interval(t) else result for t in types)
    if result == "date":
        return tuple("int" if t in INTEGER_BITS else t if is_interval(t) or t == "date" else "date" for t in types)
    if result in TIMESTAMPS:
        return tuple(t if is_interval(t) else result for t in types)
    return None


def _bind_sum(signature: Signature) -> Evaluate:
    (left, right), result, sign = signature.types, signature.result, -1 if signature.name == "-" else 1
    if is_interval(result):
        if is_interval(left):
            return lambda a, b: in_interval_range(a + sign * b, result)
        return _difference(left, result, signature.settings)
    if is_interval(left) or (left == "int" and right == "date"):
        shift = _shift(right, left, result, signature.settings)
        return lambda a, b: shift(b, a)
    shift = _shift(left, right, result, signature.settings)
    if is_interval(right):
        return lambda a, b: shift(a, in_interval_range(sign * b, right))
    return lambda a, b: shift(a, sign * b)


def _difference(spark_type: str, result: str, settings: ExecutionSettings) -> Evaluate:
    if spark_type == "date":
        return lambda a, b: in_interval_range((a - b) * DAY_US, result)
    local = to_local(spark_type, settings)
    return lambda a, b: in_interval_range(local(a) - local(b), result)


def _shift(time: str, amount: str, result: str, settings: ExecutionSettings) -> Evaluate:
    name = _zone_of(result, settings)
    if result == "date":
        if is_year_month(amount):
            return lambda a, b: in_date_range(add_months(a, b))
        if is_day_time(amount):
            return lambda a, b: in_date_range(a + _whole_days(b))
        return lambda a, b: in_date_range(a + b)
    if is_year_month(amount):
        return lambda a, b: shift_months(a, b, name)

    def shift(value: int, interval: int) -> int:
        days = _whole_days(interval)
        return shift_time(value, days, interval - days * DAY_US, name)

    return shift


def _whole_days(interval: int) -> int:
    return quotient(interval, DAY_US)


def _scaled_types(signature: Signature) -> Types | None:
    if not is_interval(signature.result):
        return None
    return tuple(t if is_interval(t) or t in INTEGER_BITS or decimal_of(t) else "double" for t in signature.types)


def _bind_scaled(signature: Signature) -> Evaluate:
    """An interval times or by a number, rounded half up to a month or a microsecond."""
    result, multiplies = signature.result, signature.name == "*"

    def scaled(interval: int, factor: Any) -> int:
        if not multiplies and not factor:
            raise faults.division_by_zero()
        if isinstance(factor, float):
            exact = interval * factor if multiplies else interval / factor
            if not math.isfinite(exact):
                raise faults.interval_overflow()
            value = Decimal(exact)
        else:
            value = (EXACT.multiply if multiplies else EXACT.divide)(Decimal(interval), Decimal(factor))
        return in_interval_range(int(EXACT.to_integral_value(value)), result)

    return scaled if is_interval(signature.types[0]) else lambda factor, interval: scaled(interval, factor)


_SUM = Function(parameters=_sum_types, result=operation_type, bind=_bind_sum)
_SCALED = Function(parameters=_scaled_types, result=operation_type, bind=_bind_scaled)
TIME_ARITHMETIC = {"+": _SUM, "-": _SUM, "*": _SCALED, "/": _SCALED}
