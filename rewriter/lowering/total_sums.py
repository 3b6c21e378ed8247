"""Sums of times and numbers that are defined for all values: a sum beyond the last value of its type is that value.

A sum that overflows would be an error, and would end a stream at each restart; a date plus days would be a wrong date.
"""

from __future__ import annotations

import re

from sqlext.expressions.calendars import HOUR_US, SECOND_US
from sqlext.expressions.spark_types import INTEGER_BITS, in_sql, is_day_time, is_year_month
from sqlext.rewriter.text.splice import Text, join

_FIRST_TIME, _LAST_TIME = "-290308-12-21T19:59:05.224192", "+294247-01-10T04:00:54.775807"
_LIMITS = {  # the first and the last value of each type
    **{t: (f"(-{2 ** (b - 1) - 1}L - 1L)", f"{2 ** (b - 1) - 1}L") for t, b in INTEGER_BITS.items()},
    "date": ("DATE'-5877641-06-23'", "DATE'+5881580-07-11'"),
    "timestamp": (f"TIMESTAMP'{_FIRST_TIME}Z'", f"TIMESTAMP'{_LAST_TIME}Z'"),
    "timestamp_ntz": (f"TIMESTAMP_NTZ'{_FIRST_TIME}'", f"TIMESTAMP_NTZ'{_LAST_TIME}'"),
}
_POSITIVE = re.compile(r"\d+|INTERVAL\s+('[\d.: ]+'|\d+)\s+\w+(\s+TO\s+\w+)?", re.ASCII | re.IGNORECASE)
_DAYS_WITH_TIMES = "DATE'-290308-12-23'", "DATE'+294247-01-09'"  # in all time zones


def last_value(spark_type: str) -> str:
    """The last value of a type in SQL, or "" for floating-point numbers, which have infinity.

    >>> last_value("date"), last_value("double")
    ("CAST(DATE'+5881580-07-11' AS date)", '')
    """
    limits = _LIMITS.get(spark_type)
    return f"CAST({limits[1]} AS {in_sql(spark_type)})" if limits is not None else ""


def total_key(key: Text, key_type: str, common: str) -> Text | None:
    """A date key as a time; None for other types, whose casts cannot fail.

    >>> print(total_key(join("d"), "date", "timestamp"))
    CAST(CASE WHEN (d) > DATE'+294247-01-09' THEN DATE'+294247-01-09' WHEN (d) < DATE'-290308-12-23' THEN DATE'-290308-12-23' ELSE (d) END AS timestamp_LTZ)
    """  # noqa: E501
    if key_type != "date" or common == "date":
        return None
    low, high = _DAYS_WITH_TIMES
    limited = join(
        "CASE WHEN (", key, f") > {high} THEN {high} WHEN (", key, f") < {low} THEN {low} ELSE (", key, ") END"
    )
    return join("CAST(", limited, f" AS {in_sql(common)})")


def total_sum(key: Text, bound: Text, bound_type: str, common: str) -> Text | None:
    """The sum `key + bound` of type `common`; None if the sum cannot overflow, or if `bound` has no sign.

    >>> print(total_sum(join("d"), join("7"), "int", "date"))
    CAST(CASE WHEN d > CAST(DATE'+5881580-07-11' AS date) - (7) THEN CAST(DATE'+5881580-07-11' AS date) ELSE d + (7) END AS date)
    """  # noqa: E501
    zero = _zero(bound_type)
    limits = _LIMITS.get(common)
    if limits is None or zero is None:
        return None
    first, last = (f"CAST({limit} AS {in_sql(common)})" for limit in limits)

    def up_to(limit: str, operator: str) -> Text:
        """The sum, or the limit if the key is so near to the limit that the sum would be beyond it."""
        is_beyond = join(key, f" {operator} {limit} - (", bound, ")")
        return join("CASE WHEN ", is_beyond, f" THEN {limit} ELSE ", key, " + (", bound, ") END")

    total = up_to(last, ">")
    if not _POSITIVE.fullmatch(str(bound).strip()):
        total = join("CASE WHEN (", bound, f") < {zero} THEN ", up_to(first, "<"), " ELSE ", total, " END")
    return join("CAST(", total, f" AS {in_sql(common)})")


def elapsed_sum(time: Text, micros: int) -> Text:
    """A TIMESTAMP plus a constant time that passes: Spark adds INTERVAL 24 HOURS as a day of the calendar.

    >>> print(elapsed_sum(join("ts"), 86_400_500_000))
    CASE WHEN ts > timestampadd(HOUR, -24, CAST(TIMESTAMP'+294247-01-10T04:00:54.775807Z' AS timestamp_LTZ)) - INTERVAL '0.500000' SECOND THEN CAST(TIMESTAMP'+294247-01-10T04:00:54.775807Z' AS timestamp_LTZ) ELSE timestampadd(HOUR, 24, ts) + INTERVAL '0.500000' SECOND END
    """  # noqa: E501
    last = last_value("timestamp")
    hours, rest = divmod(abs(micros), HOUR_US)
    small = f"INTERVAL '{rest // SECOND_US}.{rest % SECOND_US:06}' SECOND"

    def moved(text: Text, sign: int) -> Text:
        whole = join(f"timestampadd(HOUR, {sign * hours}, ", text, ")")
        return join(whole, f" {'+' if sign > 0 else '-'} {small}") if rest else whole

    if micros < 0:
        return moved(time, -1)
    return join("CASE WHEN ", time, " > ", moved(join(last), -1), f" THEN {last} ELSE ", moved(time, 1), " END")


def elapsed_sum_of_row(time: Text, micros: Text) -> Text:
    """The same with a number of microseconds that may differ from row to row.

    >>> print(elapsed_sum_of_row(join("ts"), join("n")))
    timestamp_micros(coalesce(try_add(unix_micros(ts), n), CASE WHEN unix_micros(ts) > 0 AND n > 0 THEN 9223372036854775807L WHEN unix_micros(ts) < 0 AND n < 0 THEN (-9223372036854775807L - 1L) END))
    """  # noqa: E501
    at, (first, last) = join("unix_micros(", time, ")"), _LIMITS["bigint"]
    beyond = join("CASE WHEN ", at, " > 0 AND ", micros, f" > 0 THEN {last}")
    beyond = join(beyond, " WHEN ", at, " < 0 AND ", micros, f" < 0 THEN {first} END")
    return join("timestamp_micros(coalesce(try_add(", at, ", ", micros, "), ", beyond, "))")


def _zero(bound_type: str) -> str | None:
    if bound_type in INTEGER_BITS:
        return "0"
    if is_day_time(bound_type):
        return "INTERVAL '0' SECOND"
    return "INTERVAL '0' MONTH" if is_year_month(bound_type) else None
