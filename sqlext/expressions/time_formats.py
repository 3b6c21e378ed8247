"""Simple patterns of dates and times (`yyyy-MM-dd HH:mm:ss.SSS`), read and written; others are refused."""

from __future__ import annotations

import re
from functools import lru_cache

from sqlext.errors import UnsupportedError
from sqlext.expressions.calendars import DAY_US, SECOND_US, civil, wall_clock, write_year

_FIELDS = {
    "yyyy": (r"(?P<year>-?\d{4}|[+-]\d{5,6})", "year"),
    "MM": (r"(?P<month>\d\d)", "month"),
    "dd": (r"(?P<day>\d\d)", "day"),
    "HH": (r"(?P<hour>\d\d)", "hour"),
    "mm": (r"(?P<minute>\d\d)", "minute"),
    "ss": (r"(?P<second>\d\d)", "second"),
}
_PART = re.compile(r"([A-Za-z])\1*|'((?:[^']|'')*)'|[^A-Za-z']")


@lru_cache(64)
def parts_of(pattern: str) -> tuple[tuple[str, bool], ...]:
    """The parts of a pattern: (field letters, True) or (text, False). Raises UnsupportedError TIME_FORMAT.

    >>> parts_of("dd.MM.yyyy")
    (('dd', True), ('.', False), ('MM', True), ('.', False), ('yyyy', True))
    >>> parts_of("HH'o''clock'")
    (('HH', True), ("o'clock", False))
    """
    parts: list[tuple[str, bool]] = []
    i = 0
    while i < len(pattern):
        match = _PART.match(pattern, i)
        letters = match[0] if match and match[1] else ""
        if match is None or (letters and letters not in _FIELDS and set(letters) != {"S"}) or match[0] in "[]{}#":
            raise _refused(pattern)
        quoted = None if match[2] is None else match[2].replace("''", "'") or "'"
        parts.append((letters, True) if letters else (quoted or match[0], False))
        i = match.end()
    fields = [text[0] for text, is_field in parts if is_field]
    if len(set(fields)) < len(fields):
        raise _refused(pattern)
    return tuple(parts)


def _refused(pattern: str) -> UnsupportedError:
    return UnsupportedError(
        "TIME_FORMAT",
        f"the format {pattern!r} cannot be used over several rows",
        hint="it can have yyyy, MM, dd, HH, mm, ss, S and what is no letter; or compute it in the navigation.",
    )


@lru_cache(64)
def _regex(pattern: str) -> re.Pattern[str]:
    texts = [
        (_FIELDS[text][0] if text in _FIELDS else rf"(?P<fraction>\d{{1,{len(text)}}})")
        if is_field
        else re.escape(text)
        for text, is_field in parts_of(pattern)
    ]
    return re.compile("".join(texts), re.ASCII)


def read_time(text: str, pattern: str) -> int | None:
    """The microseconds of the wall clock, or None if the text does not follow the pattern.

    >>> read_time("02.01.1970", "dd.MM.yyyy") == DAY_US
    True
    """
    match = _regex(pattern).fullmatch(text)
    if match is None:
        return None
    fields = {name: int(value) for name, value in match.groupdict().items() if name != "fraction"}
    date = fields.get("year", 1970), fields.get("month", 1), fields.get("day", 1)
    time = fields.get("hour", 0), fields.get("minute", 0), fields.get("second", 0)
    return wall_clock(date, time, match.groupdict().get("fraction") or "")


def write_time(local_us: int, pattern: str) -> str:
    """
    >>> write_time(1_500_000, "yyyy/MM/dd HH:mm:ss.SSS")
    '1970/01/01 00:00:01.500'
    """
    day, of_day = divmod(local_us, DAY_US)
    seconds, fraction = divmod(of_day, SECOND_US)
    year, month, of_month = civil(day)
    values = dict(MM=month, dd=of_month, HH=seconds // 3600, mm=seconds // 60 % 60, ss=seconds % 60)
    return "".join(
        text
        if not is_field
        else write_year(year)
        if text == "yyyy"
        else f"{values[text]:02}"
        if text in values
        else f"{fraction:06}".ljust(len(text), "0")[: len(text)]
        for text, is_field in parts_of(pattern)
    )
