"""Functions that make, shift, compare, read and write dates and times."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sqlext.expressions import faults
from sqlext.expressions.calendars import (
    DAY_US,
    SECOND_US,
    UNITS_US,
    add_months,
    civil,
    day_of,
    is_valid_date,
    month_length,
    zone,
)
from sqlext.expressions.casts import cast
from sqlext.expressions.coercion import takes
from sqlext.expressions.function import (
    ALWAYS_BY_PATTERN,
    COMPARED_TIMES,
    LEGACY_TIMES,
    PATTERN_FUNCTIONS,
    Evaluate,
    ExecutionSettings,
    Function,
    Signature,
    Types,
)
from sqlext.expressions.numbers import EXACT, fits, quotient, saturated, wrap
from sqlext.expressions.time_arithmetic import in_date_range, in_time_range, shift_months, shift_time, to_local
from sqlext.expressions.time_formats import parts_of, read_time, write_time

_SIZES = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    **{unit.upper(): size for unit, size in UNITS_US.items()},
    "DAYOFYEAR": DAY_US,
    "WEEK": 7 * DAY_US,
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_TIME = "timestamp|timestamp_ntz"


# differences and shifts


def whole_months(start: int, end: int) -> int:
    """The whole months between two wall clocks, as `ChronoUnit.MONTHS.between` counts them.

    >>> whole_months(day_of(2024, 1, 31) * DAY_US, day_of(2024, 2, 29) * DAY_US)
    0
    """
    (day, clock), (other_day, other_clock) = divmod(start, DAY_US), divmod(end, DAY_US)
    if other_day > day and other_clock < clock:
        other_day -= 1
    elif other_day < day and other_clock > clock:
        other_day += 1
    (year, month, of_month), (other_year, other_month, other_of_month) = civil(day), civil(other_day)
    months = (other_year - year) * 12 + other_month - month
    return quotient(months * 32 + other_of_month - of_month, 32)


def _unit(text: str) -> str:
    unit = text.upper()
    if unit not in _SIZES and unit not in _MONTHS:
        raise faults.invalid_value(f"{text} is no unit of time", "write YEAR, MONTH, DAY, HOUR, MINUTE or SECOND")
    return unit


def _timestampdiff(signature: Signature) -> Evaluate:
    local = to_local("timestamp", signature.settings)

    def evaluate(text: str, start: int, end: int) -> int:
        unit, lo, hi = _unit(text), local(start), local(end)
        if unit in _MONTHS:
            return quotient(whole_months(lo, hi), _MONTHS[unit])
        return quotient(hi - lo, _SIZES[unit])

    return evaluate


def _timestampadd(signature: Signature) -> Evaluate:
    name = signature.settings.time_zone if signature.types[2] == "timestamp" else None

    def evaluate(text: str, count: int, value: int) -> int:
        unit = _unit(text)
        if unit in _MONTHS:
            months = count * _MONTHS[unit]
            if not fits(months, 32):
                raise faults.datetime_overflow()
            return shift_months(value, months, name)
        amount = in_time_range(count * _SIZES[unit])
        if _SIZES[unit] < DAY_US:
            return in_time_range(value + amount)
        return shift_time(value, amount // DAY_US, 0, name)

    return evaluate


def _either(*functions: Function) -> Function:
    """A function with several forms: the first form with as many parameters as there are arguments is used."""

    def form(signature: Signature) -> Function | None:
        return next((f for f in functions if f.parameters(signature) is not None), None)

    def parameters(signature: Signature) -> Types | None:
        found_form = form(signature)
        return None if found_form is None else found_form.parameters(signature)

    def result(signature: Signature) -> str | None:
        found_form = form(signature)
        return None if found_form is None else found_form.result_of(signature)

    return Function(
        parameters=parameters,
        result=result,
        bind=lambda signature: form(signature).bind(signature),  # type: ignore[union-attr]
    )


def _add_days(day: int, days: int) -> int:
    return wrap(day + days, 32)


def months_between(signature: Signature) -> Evaluate:
    """The months between two times; 31 days are a month, unless both are the same day of the month or its last day."""
    in_zone = zone(signature.settings.time_zone)

    def evaluate(end: int, start: int, is_rounded: bool = True) -> float:  # noqa: FBT001, an argument in SQL
        day, other = (in_zone.to_local(value) // DAY_US for value in (end, start))
        (year, month, of_month), (other_year, other_month, other_of_month) = civil(day), civil(other)
        months = float((year - other_year) * 12 + month - other_month)
        are_last = of_month == month_length(year, month) and other_of_month == month_length(other_year, other_month)
        if of_month == other_of_month or are_last:
            return months
        midnight, other_midnight = (in_time_range(in_zone.to_utc(d * DAY_US)) for d in (day, other))
        clock, other_clock = end - midnight, start - other_midnight
        seconds = (of_month - other_of_month) * 86_400 + clock // SECOND_US - other_clock // SECOND_US
        difference = months + seconds / (31 * 86_400)
        return math.floor(difference * 1e8 + 0.5) / 1e8 if is_rounded else difference

    return evaluate


def last_day(day: int) -> int:
    """
    >>> civil(last_day(day_of(2024, 2, 3)))
    (2024, 2, 29)
    """
    year, month, _ = civil(day)
    return wrap(day_of(year, month, month_length(year, month)), 32)


def _make_date(signature: Signature) -> Evaluate:
    def evaluate(year: int, month: int, of_month: int) -> int | None:
        if is_valid_date(year, month, of_month) and abs(year) <= 999_999_999:
            return in_date_range(day_of(year, month, of_month))
        if signature.settings.is_ansi:
            raise faults.invalid_date(f"there is no date {year}-{month}-{of_month}")
        return None

    return evaluate


# reading and writing


def refused_policy(name: str, types: Types, settings: ExecutionSettings) -> str:
    """The value of `spark.sql.legacy.timeParserPolicy` that gives a call another value than we compute, or "".

    With EXCEPTION, Spark raises an error instead of returning NULL for a text that its former parser reads.

    >>> legacy = ExecutionSettings(is_ansi=True, time_zone="UTC", is_on=frozenset({LEGACY_TIMES}))
    >>> [refused_policy(name, ("string",) * n, legacy) for name, n in [("to_date", 1), ("to_date", 2), ("year", 1)]]
    ['', 'LEGACY', '']
    >>> compared = ExecutionSettings(is_ansi=True, time_zone="UTC", is_on=frozenset({COMPARED_TIMES}))
    >>> [refused_policy(name, ("string", "string"), compared) for name in ("to_date", "try_to_date")]
    ['', 'EXCEPTION']
    """
    if name not in PATTERN_FUNCTIONS or len(types) <= (name not in ALWAYS_BY_PATTERN):
        return ""
    if LEGACY_TIMES in settings.is_on:
        return "LEGACY"
    is_null_possible = types[0] == "string" and (not settings.is_ansi or name.startswith("try_"))
    return "EXCEPTION" if is_null_possible and COMPARED_TIMES in settings.is_on else ""


def _reader(target: str, *, is_try: bool = False) -> Function:
    """`to_date` and similar functions, which cast a value or read a text by a pattern."""

    def parameters(signature: Signature) -> Types | None:
        source = signature.types[0]
        if len(signature.types) == 1:
            return (source,)
        texts = "string|date|timestamp|timestamp_ntz"
        return takes(texts, "string")(signature) if len(signature.types) == 2 else None

    def bind(signature: Signature) -> Evaluate:
        settings = replace(signature.settings, is_ansi=signature.settings.is_ansi and not is_try)
        if isinstance(signature.constants.get(1), str):
            parts_of(signature.constants[1])
        by_cast = cast(signature.types[0], signature.result, settings)
        if len(signature.types) == 1 or signature.types[0] != "string":
            return lambda value, _="": by_cast(value)
        finish = cast("timestamp_ntz", signature.result, settings)

        def read(text: str, pattern: str) -> int | None:
            local = read_time(text, pattern)
            if local is None and settings.is_ansi:
                raise faults.invalid_cast(text, "string", f"{target} by the format {pattern}")
            return finish(local)

        return read

    return Function(parameters=parameters, result=_timestamp_type if target == "timestamp" else target, bind=bind)


def _timestamp_type(signature: Signature) -> str:
    return signature.settings.timestamp_type


def _date_format(signature: Signature) -> Evaluate:
    local = to_local(signature.types[0], signature.settings)
    if isinstance(signature.constants.get(1), str):
        parts_of(signature.constants[1])
    return lambda value, pattern: write_time(local(value), pattern)


def _from_unixtime(signature: Signature) -> Evaluate:
    local = zone(signature.settings.time_zone).to_local
    return lambda seconds, pattern="yyyy-MM-dd HH:mm:ss": write_time(local(wrap(seconds * SECOND_US, 64)), pattern)


def _unix_timestamp(signature: Signature) -> Evaluate:
    source, settings = signature.types[0], signature.settings
    if source == "string":

        def read(text: str, pattern: str = "yyyy-MM-dd HH:mm:ss") -> int | None:
            local = read_time(text, pattern)
            if local is None:
                if settings.is_ansi:
                    raise faults.invalid_cast(text, source, f"timestamp by the format {pattern}")
                return None
            return zone(settings.time_zone).to_utc(local) // SECOND_US

        return read
    if source == "date":
        to_timestamp = cast(source, "timestamp", settings)
        return lambda value, _="": to_timestamp(value) // SECOND_US
    return lambda value, _="": quotient(value, SECOND_US)


def _fitting(value: int) -> int:
    if not fits(value, 64):
        raise faults.overflow("number")
    return value


def _timestamp_seconds(value: Any) -> int | None:
    if isinstance(value, float):
        return saturated(value * SECOND_US, 64) if math.isfinite(value) else None
    if isinstance(value, int):
        return _fitting(value * SECOND_US)
    micros = EXACT.multiply(value, Decimal(SECOND_US))
    if micros != micros.to_integral_value(context=EXACT):
        raise faults.invalid_value(f"{value} seconds are no whole number of microseconds", "write round(…, 6).")
    return _fitting(int(micros))


def _plain(result: str, evaluate: Evaluate, *parameters: str) -> Function:
    return Function(parameters=takes(*parameters), result=result, bind=lambda _: evaluate)


def _moved_type(signature: Signature) -> str:
    return "timestamp_ntz" if signature.types[-1:] == ("timestamp_ntz",) else "timestamp"


_DATE_ADD = _plain("date", _add_days, "date", "int")
_DATEDIFF = _plain("int", lambda end, start: wrap(end - start, 32), "date", "date")
_TIMESTAMPDIFF = Function(parameters=takes("string", "timestamp", "timestamp"), result="bigint", bind=_timestampdiff)
_TIMESTAMPADD = Function(parameters=takes("string", "int|bigint", _TIME), result=_moved_type, bind=_timestampadd)
_UNIX = Function(
    parameters=takes("string|date|timestamp|timestamp_ntz", "string", optional=1),
    result="bigint",
    bind=_unix_timestamp,
)

TIMES: dict[str, Function] = {
    "date_sub": _plain("date", lambda day, days: _add_days(day, -days), "date", "int"),
    **dict.fromkeys(("date_add", "dateadd"), _either(_DATE_ADD, _TIMESTAMPADD)),
    **dict.fromkeys(("datediff", "date_diff"), _either(_DATEDIFF, _TIMESTAMPDIFF)),
    "timestampdiff": _TIMESTAMPDIFF,
    "timestampadd": _TIMESTAMPADD,
    "add_months": _plain("date", lambda day, months: in_date_range(add_months(day, months)), "date", "int"),
    "months_between": Function(
        parameters=takes("timestamp", "timestamp", "boolean", optional=1), result="double", bind=months_between
    ),
    "last_day": _plain("date", last_day, "date"),
    "make_date": Function(parameters=takes("int", "int", "int"), result="date", bind=_make_date),
    "to_date": _reader("date"),
    "try_to_date": _reader("date", is_try=True),
    "to_timestamp": _reader("timestamp"),
    "try_to_timestamp": _reader("timestamp", is_try=True),
    "date_format": Function(parameters=takes("timestamp", "string"), result="string", bind=_date_format),
    "from_unixtime": Function(parameters=takes("bigint", "string", optional=1), result="string", bind=_from_unixtime),
    **dict.fromkeys(("unix_timestamp", "to_unix_timestamp"), _UNIX),
    "unix_seconds": _plain("bigint", lambda value: value // SECOND_US, "timestamp"),
    "unix_millis": _plain("bigint", lambda value: value // 1000, "timestamp"),
    "unix_micros": _plain("bigint", lambda value: value, "timestamp"),
    "unix_date": _plain("int", lambda day: day, "date"),
    "date_from_unix_date": _plain("date", lambda day: day, "int"),
    "timestamp_seconds": _plain("timestamp", _timestamp_seconds, "bigint|numeric"),
    "timestamp_millis": _plain("timestamp", lambda value: _fitting(value * 1000), "bigint"),
    "timestamp_micros": _plain("timestamp", lambda value: value, "bigint"),
}
