"""Dates and times of the proleptic Gregorian calendar, in years that Python's `datetime` does not have, and time zones.

Days and microseconds count from 1970-01-01. The conversions of days come from Hinnant, "chrono-Compatible Low-Level
Date Algorithms" (2013).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlext.errors import UnsupportedError

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US
UNITS_US = {"day": DAY_US, "hour": HOUR_US, "minute": MINUTE_US, "second": SECOND_US}
_YEARS_400 = 146_097  # days
_SHORT_IDS = {  # java.time.ZoneId.SHORT_IDS
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
    "EST": "-05:00",
    "MST": "-07:00",
    "HST": "-10:00",
}
UTC_NAMES = frozenset(
    {"UTC", "Etc/UTC", "GMT", "Etc/GMT", "UT", "Z", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT", "+00:00"}
)  # zones that are always the same
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?(?::?(\d{2}))?")


def civil(day: int) -> tuple[int, int, int]:
    """(year, month, day of the month) of a day.

    >>> civil(0), civil(-719_529), civil(11_016)
    ((1970, 1, 1), (-1, 12, 31), (2000, 2, 29))
    """
    shifted = day + 719_468
    era, of_era = divmod(shifted, _YEARS_400)
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * of_year + 2) // 153
    of_month = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year_of_era + era * 400 + (month <= 2), month, of_month


def write_year(year: int) -> str:
    """
    >>> write_year(44), write_year(-44), write_year(10_000)
    ('0044', '-0044', '+10000')
    """
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}"


def day_of(year: int, month: int, of_month: int) -> int:
    """The day number of a valid date.

    >>> day_of(2000, 3, 1)
    11017
    """
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + of_month - 1
    return era * _YEARS_400 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + of_year - 719_468


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_length(year: int, month: int) -> int:
    return 28 + is_leap(year) if month == 2 else 30 if month in (4, 6, 9, 11) else 31


def is_valid_date(year: int, month: int, of_month: int) -> bool:
    return 1 <= month <= 12 and 1 <= of_month <= month_length(year, month)


def wall_clock(date: tuple[int, int, int], time: tuple[int, int, int], fraction: str) -> int | None:
    """The microseconds of (year, month, day), (hour, minute, second) and the digits of a fraction of a second; None if
    there is no such date or time.

    >>> wall_clock((1970, 1, 1), (0, 0, 1), "5"), wall_clock((1970, 2, 30), (0, 0, 0), "")
    (1500000, None)
    """
    hour, minute, second = time
    if not is_valid_date(*date) or hour > 23 or minute > 59 or second > 59:
        return None
    of_day = hour * HOUR_US + minute * MINUTE_US + second * SECOND_US + int(fraction[:6].ljust(6, "0"))
    return day_of(*date) * DAY_US + of_day


def add_months(day: int, months: int) -> int:
    """The same day of another month, or the last day of that month if it is shorter.

    >>> civil(add_months(day_of(2024, 1, 31), 1))
    (2024, 2, 29)
    """
    year, month, of_month = civil(day)
    year, month = divmod(year * 12 + month - 1 + months, 12)
    return day_of(year, month + 1, min(of_month, month_length(year, month + 1)))


class Zone:
    """A time zone in all years. `datetime` has 1 to 9999; other years are moved there by a multiple of 400 years."""

    def __init__(self, name: str):
        self._zone = _zone(name)
        self._fixed = _fixed_offset_us(self._zone)
        self._offset_us: Callable[[int], int] = lru_cache(1024)(self._offset)

    def to_local(self, time_us: int) -> int:
        """The wall clock at a UTC time, as microseconds."""
        if self._fixed is not None:
            return time_us + self._fixed
        return time_us + self._offset_us(time_us // SECOND_US)

    def to_utc(self, local_us: int) -> int:
        """The UTC time of a wall clock: the earlier of two; a skipped wall clock is moved by the gap, as in Java."""
        if self._fixed is not None:
            return local_us - self._fixed
        moment = _moment(local_us // SECOND_US)
        return local_us - round(_seconds(moment.replace(tzinfo=self._zone, fold=0)) * SECOND_US)

    def _offset(self, seconds: int) -> int:
        moment = _moment(seconds)
        return round(_seconds(moment.replace(tzinfo=timezone.utc).astimezone(self._zone)) * SECOND_US)


def _seconds(moment: datetime) -> float:
    return (moment.utcoffset() or timedelta()).total_seconds()


def _moment(seconds: int) -> datetime:
    """A datetime at the same place of the 400-year cycle."""
    days, of_day = divmod(seconds, 86_400)
    low, high = -718_796, 2_932_530  # in the years 2 and 9998
    if days < low:
        days += _YEARS_400 * -((days - low) // _YEARS_400)
    elif days > high:
        days -= _YEARS_400 * -((high - days) // _YEARS_400)
    return datetime(1970, 1, 1) + timedelta(days=days, seconds=of_day)


def _zone(name: str) -> tzinfo:
    name = _SHORT_IDS.get(name, name)
    if name in UTC_NAMES:
        return timezone.utc
    if match := _OFFSET.fullmatch(name):
        sign, *parts = match.groups()
        hours, minutes, seconds = (int(part or 0) for part in parts)
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        if minutes < 60 and seconds < 60 and offset <= timedelta(hours=18):
            return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UnsupportedError(
            "TIME_ZONE", f"the time zone {name} is unknown to Python", hint="set spark.sql.session.timeZone to another"
        ) from error


def _fixed_offset_us(zone: tzinfo) -> int | None:
    return None if isinstance(zone, ZoneInfo) else round(_seconds(datetime(2000, 1, 1, tzinfo=zone)) * SECOND_US)


@lru_cache(64)
def zone(name: str) -> Zone:
    """The zone with a name that `spark.sql.session.timeZone` may have. Raises UnsupportedError TIME_ZONE.

    >>> zone("Europe/Berlin").to_local(0) // HOUR_US, zone("+05:30").to_utc(0) // MINUTE_US
    (1, -330)
    """
    return Zone(name)
