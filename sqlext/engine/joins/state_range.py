"""The range of elapsed time that contains the range of an INTERVAL JOIN of streams, by which Spark bounds its state.

`l.ts + INTERVAL 1 DAY` is the same time of the next day, which is 23 or 25 hours later where the clocks change. Spark's
join of streams drops rows as if it were 24 hours, and would lose the partners that come in the last one. So ON gets
conditions that hold for all pairs in the range, and by which Spark keeps a row for 24 hours plus the largest difference
of two offsets of the time zone. Spark takes the condition that keeps rows longest.

The conditions compare seconds as DOUBLE, to which Spark adds a number as elapsed time, and which cannot overflow.
"""

from __future__ import annotations

from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.joins.range_width import sum_of
from sqlext.engine.queries.queries import Queries
from sqlext.expressions.calendars import UTC_NAMES
from sqlext.rewriter.joins.join_conditions import RIGHT, TimeRange, offset
from sqlext.rewriter.joins.time_buckets import MICROS
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Text, join

_WEEKS = 6_800  # from 1970, where watermarks begin, to 2100
# The offset of the session's time zone once a week.
_OFFSETS = f"""transform(sequence(0L, {_WEEKS}L), week ->
    unix_micros(from_utc_timestamp(timestamp_seconds(week * 604800), current_timezone())) - week * 604800000000)"""
_LARGEST_SHIFT = f"SELECT array_max(o) - array_min(o) AS shift FROM (SELECT {_OFFSETS} AS o)"
_ROUNDING_US = 15_625  # 1/64 s, which is more than DOUBLE rounds a time in seconds
_shifts: dict[str, int] = {}  # by time zone


def state_bounds(sides: JoinSides, range_: TimeRange, time_zone: str, times: tuple[Text, Text]) -> list[Text]:
    """The conditions, none if Spark adds all of the range as elapsed time. `times`: the event times of both sides."""
    left, right = times
    is_right = sides.side_of(range_.time) == RIGHT
    time, other = (right, left) if is_right else (left, right)
    result = []
    for bound, operator, sign in ((range_.lower, ">=", -1), (range_.upper, "<=", 1)):
        micros, shift = _units_and_shift(sides, bound, time_zone)
        if shift:
            seconds = f"{(micros + sign * shift) / 1e6!r}D"
            result.append(join("CAST(", time, f" AS DOUBLE) {operator} CAST(", other, f" AS DOUBLE) + {seconds}"))
    return result


def farthest(sides: JoinSides, bound: Fragment, time_zone: str, sign: int) -> int:
    """The farthest that a bound may be from the time that it adds constants to, in microseconds of elapsed time.
    `sign`: -1 for lower bounds, which are then negative before the time."""
    micros, shift = _units_and_shift(sides, bound, time_zone)
    return micros + sign * shift


def _units_and_shift(sides: JoinSides, bound: Fragment, time_zone: str) -> tuple[int, int]:
    """The sum of the constants of a bound, which are days to seconds, in microseconds, and by how much more it may
    differ from elapsed time; 0 if Spark adds all of it as elapsed time."""
    terms = offset(bound, sides.source).constants
    total = sum_of(terms, sides.source, MICROS, sides.queries)
    if total is None:  # a constant is NULL, and with it the bound
        return 0, 0
    is_elapsed = not total.has_days or time_zone in UTC_NAMES
    shift = 0 if is_elapsed else len(terms) * _largest_shift(time_zone, sides.queries)
    return round(total.units), shift + _ROUNDING_US if shift else 0


def _largest_shift(time_zone: str, queries: Queries) -> int:
    """The largest difference of two offsets of the session's time zone, in microseconds: an hour for most zones with
    summer time."""
    if time_zone not in _shifts:
        row = queries.run(join(_LARGEST_SHIFT)).first()
        assert row is not None
        _shifts[time_zone] = row.shift
    return _shifts[time_zone]
