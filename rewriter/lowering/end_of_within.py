"""The end of the bound that WITHIN sets from a row: its first ORDER BY key plus the bound.

On a TIMESTAMP, WITHIN is elapsed time, as all durations of the language are. Spark's own `ts + INTERVAL 24 HOURS` is
the same time of the next day, which is 23 or 25 hours later where the clocks change; intervals below a day are elapsed
time for Spark, too. Times without a zone and dates have no such changes.
"""

from __future__ import annotations

from sqlext.errors import BindError
from sqlext.expressions.calendars import DAY_US
from sqlext.expressions.function import CALENDAR_INTERVALS
from sqlext.expressions.spark_types import is_day_time, is_year_month
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.total_sums import elapsed_sum, elapsed_sum_of_row, total_sum
from sqlext.rewriter.scalars.static_binder import certain_constant
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Text, join

_CALENDAR = "interval"  # the type of intervals of months, days and microseconds, as of make_interval()


def without_zone(key: Text, key_type: str, bound_type: str) -> Text:
    """The key; a date as a TIMESTAMP_NTZ if the bound has hours, because Spark would add them to the midnight of a
    time zone."""
    is_moved = key_type == "date" and is_day_time(bound_type) and bound_type != "interval day"
    return join("CAST((", key, ") AS TIMESTAMP_NTZ)") if is_moved else key


def end_of_within(
    key: Text, bound: Text, types: tuple[str, str], relation: InputRelation, place: Fragment
) -> Text | None:
    """The end as Spark computes it; None if it is `key + bound` as it is written. Raises BindError: WITHIN_TYPE.

    `types`: those of the bound, and of the sum; `place`: the bound in the user's text.
    """
    bound_type, sum_type = types
    if sum_type != "timestamp":
        return total_sum(key, bound, bound_type, sum_type)
    if bound_type == _CALENDAR:
        return elapsed_sum(key, _calendar_micros(bound, relation, place))
    if is_year_month(bound_type):
        raise _months(place)
    constant = certain_constant(join("CAST(", bound, " AS INTERVAL DAY TO SECOND)"), relation.settings)
    if constant is None:
        return elapsed_sum_of_row(key, _micros(bound, relation))
    if constant.value is None or abs(constant.value) < DAY_US:
        return total_sum(key, bound, bound_type, sum_type)
    return elapsed_sum(key, constant.value)


def _micros(bound: Text, relation: InputRelation) -> Text:
    """An interval of days to seconds as a number of microseconds."""
    if CALENDAR_INTERVALS in relation.settings.is_on:  # then INTERVAL '0.000001' SECOND is of another type
        return join("CAST(CAST(CAST((", bound, ") AS INTERVAL SECOND) AS DECIMAL(20, 6)) * 1000000 AS BIGINT)")
    return join("((", bound, ") div INTERVAL '0.000001' SECOND)")


def _calendar_micros(bound: Text, relation: InputRelation, place: Fragment) -> int:
    """The microseconds of a constant interval of another type, whose days have 24 hours."""

    def parts(*units: tuple[str, int]) -> int:
        terms = (join("extract(", unit, " FROM (", bound, f")) * {size}L") for unit, size in units)
        return int(relation.resolver.constant(join("CAST(", join(*terms, separator=" + "), " AS BIGINT)")) or 0)

    if parts(("YEAR", 12), ("MONTH", 1)):
        raise _months(place)
    return parts(("DAY", DAY_US), ("HOUR", 3_600_000_000), ("MINUTE", 60_000_000), ("SECOND", 1_000_000))


def _months(place: Fragment) -> BindError:
    return BindError(
        "WITHIN_TYPE",
        "WITHIN is elapsed time on a TIMESTAMP, and months have no constant length",
        place=place.place,
        hint="write WITHIN INTERVAL 30 DAYS, or ORDER BY CAST(… AS DATE) for the months of the calendar.",
    )
