"""Whether the rows of a query depend on the time zone of the session, as far as its text shows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from sqlext.rewriter.statements.resumed_words import resumed_words

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
    "FROM_CSV", "TO_XML", "FROM_XML", "MATCH_RULES",
})  # fmt: skip
# Functions that return instants, which Spark compares with dates and local times in the time zone.
INSTANTS = frozenset({
    "TIMESTAMP_SECONDS", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS", "CURRENT_TIMESTAMP", "NOW",
})  # fmt: skip
_WITHOUT_PARENTHESES = frozenset({"CURRENT_DATE", "LOCALTIMESTAMP", "||"})
_TYPES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "STRING", "VARCHAR", "CHAR"})
# Added to a time, these have other lengths where the clocks are changed. In windows, WITHIN and the like they do not.
_UNITS_OF_DAYS = re.compile(r"\b(DAY|WEEK|MONTH|YEAR)S?\b", re.IGNORECASE)
_LONGEST_INTERVAL = 4  # words after INTERVAL
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
    """
    words = ["", *resumed_words(text), ""]
    for i, (word, following) in enumerate(itertools.pairwise(words)):
        if word in _WITHOUT_PARENTHESES or _TEXT_OF_TIME.match(word):
            return True
        if following == "(" and word in _FUNCTIONS:
            return True
        if word == "INTERVAL" and _adds_days(words[i - 1], words[i + 1 : i + 1 + _LONGEST_INTERVAL]):
            return True
        if (word in ("AS", "::") and following in _TYPES) or (word in _TYPES and following[:1] in ("'", '"')):
            return True
    return False


def _adds_days(before: str, following: Sequence[str]) -> bool:
    """Return True if an interval of days, of which these are the words before and after INTERVAL, is part of a sum."""
    is_added = before in ("+", "-") or "+" in following
    return is_added and _UNITS_OF_DAYS.search(" ".join(following)) is not None
