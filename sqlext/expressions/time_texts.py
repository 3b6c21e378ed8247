"""Dates, times and intervals as text: what CAST reads and writes."""

from __future__ import annotations

import re

from sqlext.errors import UnsupportedError
from sqlext.expressions.calendars import (
    DAY_US,
    SECOND_US,
    UNITS_US,
    civil,
    day_of,
    is_valid_date,
    wall_clock,
    write_year,
    zone,
)
from sqlext.expressions.numbers import fits

_SPACES = "".join(map(chr, range(33))) + "\x7f"
_DATE = re.compile(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_STAMP = re.compile(
    r"([+-]?)(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?(\D.*)?)?)?)?",
    re.ASCII | re.DOTALL,
)
_ONLY_TIME = re.compile(r"T?\d{1,2}:\d{1,2}(:.*)?|T\d.*", re.ASCII | re.DOTALL)
_OFFSET = re.compile(r"([+-])(\d{1,2}):(\d{1,2})(?::(\d{2}))?", re.ASCII)


def trimmed(text: str) -> str:
    """The text without white space and control characters at its ends, as casts read it."""
    return text.strip(_SPACES)


def read_date(text: str) -> int | None:
    """The day of a text that CAST accepts, or None.

    >>> read_date(" 1970-1-2 "), read_date("1970"), read_date("1970-01-02T99"), read_date("1970-02-30")
    (1, 0, 1, None)
    """
    match = _DATE.fullmatch(trimmed(text))
    if match is None:
        return None
    sign, year, month, day = match.groups()
    date = int(sign + year), int(month or 1), int(day or 1)
    if not is_valid_date(*date):
        return None
    days = day_of(*date)
    return days if fits(days, 32) else None


def read_timestamp(text: str, time_zone: str | None) -> int | None:
    """The microseconds of a text that CAST accepts, or None. Without a `time_zone`, it is a timestamp_ntz.

    Raises UnsupportedError for a text without a date, which means the day of the query.

    >>> read_timestamp("1970-01-01 00:00:01.5", "UTC"), read_timestamp("1970-01-01T01:00+01:00", "UTC")
    (1500000, 0)
    """
    text = trimmed(text)
    match = _STAMP.fullmatch(text)
    if match is None:
        if _ONLY_TIME.fullmatch(text):
            raise UnsupportedError("EXPRESSION", "a timestamp cannot be read from a time", hint="write the date too.")
        return None
    sign, year, *parts, fraction, suffix = match.groups()
    month, day, hour, minute, second = (None if p is None else int(p) for p in parts)
    date = int(sign + year), month or (1 if month is None else 0), day or (1 if day is None else 0)
    local = wall_clock(date, (hour or 0, minute or 0, second or 0), fraction or "")
    name = None if suffix is None else zone_name(suffix.strip(" "))
    if local is None or (suffix is not None and name is None):
        return None
    try:
        value = zone(name or time_zone or "UTC").to_utc(local)
    except UnsupportedError:
        if name is None:
            raise
        return None
    if time_zone is None:
        value = local
    return value if fits(value, 64) else None


def has_zone(text: str) -> bool:
    """True if a text that CAST accepts as a timestamp names a time zone.

    >>> has_zone("1970-01-01 01:00+01:00"), has_zone("1970-01-01 01:00")
    (True, False)
    """
    match = _STAMP.fullmatch(trimmed(text))
    return match is not None and match[9] is not None


def zone_name(text: str) -> str | None:
    """The zone at the end of a timestamp as `calendars.zone` reads it, or None."""
    if match := _OFFSET.fullmatch(text):
        sign, hours, minutes, seconds = match.groups()
        return f"{sign}{int(hours):02}:{int(minutes):02}:{seconds or '00'}"
    return text or None


def write_date(day: int) -> str:
    """
    >>> write_date(0), write_date(-719_529), write_date(2_932_897)
    ('1970-01-01', '-0001-12-31', '+10000-01-01')
    """
    year, month, of_month = civil(day)
    return f"{write_year(year)}-{month:02}-{of_month:02}"


def write_timestamp(local_us: int) -> str:
    """The wall clock, with as many digits of the second as there are.

    >>> write_timestamp(1_500_000)
    '1970-01-01 00:00:01.5'
    """
    day, of_day = divmod(local_us, DAY_US)
    return f"{write_date(day)} {_clock(of_day)}"


def _clock(of_day_us: int) -> str:
    seconds, fraction = divmod(of_day_us, SECOND_US)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:06}".rstrip("0") if fraction else text


def write_interval(value: int, spark_type: str) -> str:
    """The text of an interval, as CAST writes it.

    >>> write_interval(-90_000_000, "interval day to second"), write_interval(14, "interval year to month")
    ("INTERVAL '-0 00:01:30' DAY TO SECOND", "INTERVAL '1-2' YEAR TO MONTH")
    """
    first, _, last = spark_type.removeprefix("interval ").partition(" to ")
    sign, rest = "-" * (value < 0), abs(value)
    if first in ("year", "month"):
        text = f"{rest // 12}-{rest % 12}" if last else str(rest if first == "month" else rest // 12)
    else:
        text = _day_time(rest, first, last or first)
    return f"INTERVAL '{sign}{text}' {spark_type.removeprefix('interval ').upper()}"


def _day_time(rest: int, first: str, last: str) -> str:
    units, text = list(UNITS_US), ""
    for unit in units[units.index(first) : units.index(last) + 1]:
        count, rest = divmod(rest, UNITS_US[unit])
        text += str(count) if unit == "day" else f"{count:02}"
        if unit == "second" and rest:
            text += f".{rest:06}".rstrip("0")
        text += "" if unit == last else " " if unit == "day" else ":"
    return text
