"""Parts of dates, times and intervals, and their truncation to a unit."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sqlext.expressions.calendars import DAY_US, HOUR_US, MINUTE_US, SECOND_US, civil, day_of, zone
from sqlext.expressions.coercion import takes
from sqlext.expressions.faults import invalid_value, overflow
from sqlext.expressions.function import Evaluate, ExecutionSettings, Function, Signature, Thunk, Types
from sqlext.expressions.numbers import fits, quotient, remainder, rescaled, wrap
from sqlext.expressions.spark_types import is_interval, is_year_month
from sqlext.expressions.time_arithmetic import in_time_range, to_local

# parts of a day


def day_of_week(day: int) -> int:
    """The day of the week, from 1 for Sunday."""
    return (day + 4) % 7 + 1


def iso_week(day: int) -> tuple[int, int]:
    """(year, week): weeks begin on Monday, and the first one has at least four days in its year.

    >>> iso_week(day_of(2021, 1, 3)), iso_week(day_of(2020, 12, 31))
    ((2020, 53), (2020, 53))
    """
    thursday = day - (day + 3) % 7 + 3
    year = civil(thursday)[0]
    return year, (thursday - day_of(year, 1, 1)) // 7 + 1


_OF_DAY: dict[str, Callable[[int], int]] = {
    "year": lambda day: civil(day)[0],
    "quarter": lambda day: (civil(day)[1] + 2) // 3,
    "month": lambda day: civil(day)[1],
    "week": lambda day: iso_week(day)[1],
    "yearofweek": lambda day: iso_week(day)[0],
    "day": lambda day: civil(day)[2],
    "dayofweek": day_of_week,
    "dow_iso": lambda day: (day + 3) % 7 + 1,
    "weekday": lambda day: (day + 3) % 7,
    "doy": lambda day: day - day_of(civil(day)[0], 1, 1) + 1,
}
_OF_CLOCK: dict[str, Callable[[int], Any]] = {
    "hour": lambda clock: clock // HOUR_US,
    "minute": lambda clock: clock // MINUTE_US % 60,
    "second": lambda clock: clock // SECOND_US % 60,
    "fraction": lambda clock: Decimal(clock % MINUTE_US).scaleb(-6),
}


# A part of an interval has the sign of the interval.
_OF_INTERVAL: dict[str, Callable[[int], Any]] = {
    "year": lambda months: quotient(months, 12),
    "month": lambda months: remainder(months, 12),
    "day": lambda us: quotient(us, DAY_US),
    "hour": lambda us: remainder(quotient(us, HOUR_US), 24),
    "minute": lambda us: remainder(quotient(us, MINUTE_US), 60),
    "fraction": lambda us: Decimal(remainder(us, MINUTE_US)).scaleb(-6),
}
_FIELDS = {
    "year": ("y", "years", "yr", "yrs"),
    "yearofweek": (),
    "quarter": ("qtr",),
    "month": ("mon", "mons", "months"),
    "week": ("w", "weeks"),
    "day": ("d", "days"),
    "dayofweek": ("dow",),
    "dow_iso": ("dayofweek_iso",),
    "doy": (),
    "hour": ("h", "hours", "hr", "hrs"),
    "minute": ("m", "min", "mins", "minutes"),
    "fraction": ("s", "sec", "second", "seconds", "secs"),
}
_CANONICAL = {alias: field for field, aliases in _FIELDS.items() for alias in (field, *aliases) if alias != "fraction"}


def part(field: str, spark_type: str, settings: ExecutionSettings) -> Evaluate | None:
    """The function that returns a part of a value of type `spark_type`, or None if it has no such part."""
    if is_interval(spark_type):
        months = field in ("year", "month")
        return _OF_INTERVAL.get(field) if months == is_year_month(spark_type) else None
    if field in _OF_DAY:
        of_day = _OF_DAY[field]
        if spark_type == "date":
            return of_day
        local = to_local(spark_type, settings)
        return lambda value: of_day(local(value) // DAY_US)
    of_clock = _OF_CLOCK.get(field)
    if of_clock is None or spark_type == "date":
        return None
    local = to_local(spark_type, settings)
    return lambda value: of_clock(local(value) % DAY_US)


def _bind_part(field: str) -> Callable[[Signature], Evaluate]:
    def bind(signature: Signature) -> Evaluate:
        evaluate = part(field, signature.types[0], signature.settings)
        assert evaluate is not None  # the parameters permit only types that have the part
        return evaluate

    return bind


def _extract_types(signature: Signature) -> Types:
    """The types of the arguments; parts of the clock need a timestamp."""
    _, source = signature.types
    return "string", source if source in ("date", "timestamp_ntz") or is_interval(source) else "timestamp"


def _part_type(signature: Signature) -> str:
    field = _CANONICAL.get(str(signature.constants.get(0, "")).lower())
    if is_interval(signature.types[-1]) and field in ("month", "hour", "minute"):
        return "tinyint"
    return "decimal(8,6)" if field == "fraction" else "int"


def _extract(signature: Signature) -> Evaluate:
    source = signature.types[1]

    def evaluate(field: str, value: Any) -> Any:
        canonical = _CANONICAL.get(field.lower(), "")
        if source == "date" and canonical in _OF_CLOCK:
            return Decimal("0.000000") if canonical == "fraction" else 0
        of_value = part(canonical, source, signature.settings)
        if of_value is None:
            raise invalid_value(f"{field} is no part of {source}", "write YEAR, MONTH, DAY, HOUR, MINUTE or SECOND")
        result = of_value(value)
        return rescaled(result, 8, 6) if isinstance(result, Decimal) else result

    return evaluate


# truncation

_UNITS = {
    "year": ("yyyy", "yy"),
    "quarter": (),
    "month": ("mon", "mm"),
    "week": (),
    "day": ("dd",),
    "hour": (),
    "minute": (),
    "second": (),
    "millisecond": (),
    "microsecond": (),
}
_UNIT = {alias: unit for unit, aliases in _UNITS.items() for alias in (unit, *aliases)}
_SIZES = {"hour": HOUR_US, "minute": MINUTE_US, "second": SECOND_US, "millisecond": 1000, "microsecond": 1}


def first_day(day: int, unit: str) -> int:
    """The first day of the year, quarter, month or week.

    >>> civil(first_day(day_of(2024, 5, 17), "quarter"))
    (2024, 4, 1)
    """
    year, month, _ = civil(day)
    if unit == "week":
        return day - (day + 3) % 7
    if unit == "day":
        return day
    return day_of(year, {"year": 1, "quarter": (month - 1) // 3 * 3 + 1, "month": month}[unit], 1)


def _unit(text: Thunk) -> str | None:
    """The unit of a text, which Spark reads before it evaluates the time; None for NULL and unknown words."""
    word = text()
    return None if word is None else _UNIT.get(word.lower())


def _date_trunc(signature: Signature) -> Evaluate:
    in_zone = zone(signature.settings.time_zone)

    def truncated(text: Thunk, time: Thunk) -> int | None:
        unit = _unit(text)
        value = None if unit is None else time()
        if unit is None or value is None:
            return None
        local = in_zone.to_local(value)
        if unit in _SIZES:
            if unit in ("second", "millisecond", "microsecond"):
                return in_time_range(value - value % _SIZES[unit])
            return in_time_range(value - local % _SIZES[unit])
        return in_time_range(in_zone.to_utc(first_day(local // DAY_US, unit) * DAY_US))

    return truncated


def _trunc(date: Thunk, text: Thunk) -> int | None:
    unit = _unit(text)
    day = date() if unit in ("year", "quarter", "month", "week") else None
    if unit is None or day is None:
        return None
    first = first_day(day, unit)
    if unit == "quarter" and not fits(first, 32):
        raise overflow("date")
    return wrap(first, 32)  # as Java's int


def _of_date(field: str) -> Function:
    return Function(parameters=takes("date"), result="int", bind=_bind_part(field))


def _of_time(field: str) -> Function:
    return Function(parameters=takes("timestamp|timestamp_ntz"), result="int", bind=_bind_part(field))


_DAY = _of_date("day")
_EXTRACT = Function(parameters=_extract_types, result=_part_type, bind=_extract)

TIME_PARTS: dict[str, Function] = {
    "year": _of_date("year"),
    "quarter": _of_date("quarter"),
    "month": _of_date("month"),
    "day": _DAY,
    "dayofmonth": _DAY,
    "dayofweek": _of_date("dayofweek"),
    "weekday": _of_date("weekday"),
    "dayofyear": _of_date("doy"),
    "weekofyear": _of_date("week"),
    "hour": _of_time("hour"),
    "minute": _of_time("minute"),
    "second": _of_time("second"),
    **dict.fromkeys(("extract", "date_part", "datepart"), _EXTRACT),
    "date_trunc": Function(parameters=takes("string", "timestamp"), result="timestamp", bind=_date_trunc, is_lazy=True),
    "trunc": Function(parameters=takes("date", "string"), result="date", bind=lambda _: _trunc, is_lazy=True),
}
