"""Whether the rows of a query depend on the time zone of the session, as far as its text shows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from sqlext.errors import SqlExtError
from sqlext.expressions.calendars import DAY_US
from sqlext.expressions.function import SPARK_DEFAULTS
from sqlext.expressions.spark_types import is_day_time
from sqlext.rewriter.checkpoint_words.resumed_words import after_interval, resumed_words
from sqlext.rewriter.scalars.literals import literal

# Functions that read or return dates, local times or texts of times.
_FUNCTIONS = frozenset({
    "YEAR", "QUARTER", "MONTH", "WEEK", "WEEKOFYEAR", "YEAROFWEEK", "DAY", "DAYOFMONTH", "DAYOFWEEK", "DAYOFYEAR",
    "DAYNAME", "MONTHNAME", "WEEKDAY", "HOUR", "MINUTE", "SECOND", "EXTRACT", "DATE_PART", "DATEPART", "DATE_TRUNC",
    "TRUNC", "DATE", "TIMESTAMP", "STRING", "DATE_FORMAT", "TO_DATE", "TRY_TO_DATE", "TO_TIMESTAMP",
    "TRY_TO_TIMESTAMP", "TO_TIMESTAMP_LTZ", "TO_TIMESTAMP_NTZ", "MAKE_TIMESTAMP", "TRY_MAKE_TIMESTAMP",
    "MAKE_TIMESTAMP_LTZ", "TRY_MAKE_TIMESTAMP_LTZ", "MAKE_TIMESTAMP_NTZ", "TRY_MAKE_TIMESTAMP_NTZ", "MAKE_DATE",
    "DATE_FROM_UNIX_DATE", "TO_UTC_TIMESTAMP", "FROM_UTC_TIMESTAMP", "CONVERT_TIMEZONE",
    "CURRENT_TIMEZONE", "FROM_UNIXTIME", "UNIX_TIMESTAMP", "TO_UNIX_TIMESTAMP", "UNIX_DATE",
    "TIMESTAMPADD", "TIMESTAMPDIFF", "DATEADD", "DATE_ADD", "DATE_SUB", "DATEDIFF", "DATE_DIFF", "ADD_MONTHS",
    "MONTHS_BETWEEN", "LAST_DAY", "NEXT_DAY", "CURRENT_DATE", "CURDATE", "LOCALTIMESTAMP", "TO_TIME", "SEQUENCE",
    "CONCAT", "CONCAT_WS", "FORMAT_STRING", "PRINTF", "TO_CHAR", "TO_VARCHAR", "TO_JSON", "FROM_JSON", "TO_CSV",
    "FROM_CSV", "TO_XML", "FROM_XML", "MATCH_RULES", "MAKE_INTERVAL", "TRY_MAKE_INTERVAL", "MAKE_DT_INTERVAL",
})  # fmt: skip
# Functions that return instants, which Spark compares with dates and local times in the time zone.
INSTANTS = frozenset({
    "TIMESTAMP_SECONDS", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS", "CURRENT_TIMESTAMP", "NOW",
})  # fmt: skip
_WITHOUT_PARENTHESES = frozenset({"CURRENT_DATE", "LOCALTIMESTAMP", "||"})
_TYPES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "STRING", "VARCHAR", "CHAR"})
_SIGNS, _FACTORS = ("+", "-"), ("*", "/")
_COMPARISONS = ("<", "<=", ">", ">=", "=", "==", "<>", "!=", "<=>", "BETWEEN")
_TEXT_OF_TIME = re.compile(r"['\"][+-]?\d{4,}-\d")


def reads_local_times(text: str) -> bool:
    """Return True if a text has functions, types or literals of dates and times whose meaning a time zone decides.

    Comparisons of columns of different types have no such words.

    >>> reads_local_times("SELECT * FROM STREAM t WATERMARK ts DELAY OF INTERVAL 1 DAY WHERE ts > u AND hour = 3")
    False
    >>> reads_local_times("SELECT * FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR, INTERVAL 1 DAY)")
    False
    >>> texts = "hour(ts) = 3", "ts > '2026-01-01'", "ts + INTERVAL 1 DAY", "INTERVAL '1 week' + ts", "ts::DATE"
    >>> [reads_local_times(text) for text in texts]
    [True, True, True, True, True]

    A day of 24 hours is one of the calendar as soon as it is added, and a difference is one of local times:

    >>> texts = "ts - INTERVAL 24 HOURS", "ts + INTERVAL '23:59' HOUR TO MINUTE", "ts - u < INTERVAL 5 MINUTES"
    >>> [reads_local_times(text) for text in texts]
    [True, False, True]
    """
    words = ["", "", *resumed_words(text), "", ""]
    for i, (word, following) in enumerate(itertools.pairwise(words)):
        if word in _WITHOUT_PARENTHESES or _TEXT_OF_TIME.match(word):
            return True
        if following == "(" and word in _FUNCTIONS:
            return True
        if word == "INTERVAL" and _is_of_local_times(words, i):
            return True
        if (word in ("AS", "::") and following in _TYPES) or (word in _TYPES and following[:1] in ("'", '"')):
            return True
    return False


def _is_of_local_times(words: Sequence[str], at: int) -> bool:
    """Return True if the interval at INTERVAL, the word `at`, is days that are added to a time, or is compared with a
    difference of times. In windows, WITHIN and the like it is elapsed time."""
    stop = after_interval(words, at)
    before, following = words[at - 1], words[stop]
    if before in _COMPARISONS or following in _COMPARISONS or before in _FACTORS or following in _FACTORS:
        return True
    if before == "(" and words[at - 2] in _SIGNS:
        return True
    is_added = before in _SIGNS or following in _SIGNS
    return is_added and _may_be_days(words[at:stop])


def _may_be_days(words: Sequence[str]) -> bool:
    """Return True unless the words are an interval of less than 24 hours."""
    try:
        interval = literal(words, SPARK_DEFAULTS)
    except SqlExtError:
        return True
    return not is_day_time(interval.type) or abs(interval.value) >= DAY_US
