"""The width of the ranges of an INTERVAL JOIN: a constant where ON adds constants to one time, otherwise measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlext.engine.queries.queries import Queries
from sqlext.errors import BindError
from sqlext.expressions.calendars import DAY_US, UTC_NAMES
from sqlext.expressions.spark_types import is_year_month
from sqlext.rewriter.joins.interval_sql import BoundRange
from sqlext.rewriter.joins.join_conditions import Term, TimeRange, offset
from sqlext.rewriter.joins.time_buckets import CELLS, DAYS, FLOATS, INTEGERS, MICROS, Spread, position
from sqlext.rewriter.text.splice import Source, Text, join

# The greatest difference of two offsets of one time zone, and more than any day is longer or shorter than 24 hours.
_ZONE_SHIFT_US = 26 * 3_600_000_000
_EXTENT = "__sqlext_extent"


@dataclass(frozen=True)
class Width:
    """`nominal`: upper - lower in units of the domain; `most`: an upper limit, as days and months vary in length."""

    nominal: float
    most: float

    @property
    def is_zero(self) -> bool:
        """Return True if every range is a single point."""
        return self.nominal == self.most == 0

    @property
    def cell(self) -> float:
        """The width of a cell of a bucket."""
        width = max(abs(self.nominal), self.most / 3)
        return width if width % 1 else max(2, width)

    @property
    def reach(self) -> int:
        """The most cells from the cell of a lower bound to that of a time in the range."""
        return max(1, math.ceil(self.most / self.cell))


@dataclass(frozen=True)
class ConstantSum:
    """The sum of the constants of a bound. `units`: in units of the domain; `has_days`: Spark may add days of the
    calendar, as it does for an interval of 24 hours or more."""

    units: float = 0
    months: int = 0
    has_days: bool = False


def constant_width(range_: TimeRange, source: Source, of: str, queries: Queries, time_zone: str) -> Width | None:
    """The width of all ranges; None if the two bounds do not add constants to the same expression.

    `of`: a domain of `rewriter.joins.time_buckets`. `time_zone`: the session's time zone.
    """
    lower, upper = offset(range_.lower, source), offset(range_.upper, source)
    if lower.base != upper.base:
        return None
    sums = [sum_of(terms, source, of, queries) for terms in (lower.constants, upper.constants)]
    if sums[0] is None or sums[1] is None:
        return None
    return _difference(sums[0], sums[1], of, time_zone)


def _difference(lower: ConstantSum, upper: ConstantSum, of: str, time_zone: str) -> Width:
    day = 1 if of == DAYS else DAY_US
    months = upper.months - lower.months
    nominal = upper.units - lower.units + months * 30 * day
    most = upper.units - lower.units + max(months * 31, months * 28) * day
    if lower.months or upper.months:
        most += 3 * day  # adding months to the 31st may give the 28th
    has_days = lower.has_days or upper.has_days or lower.months or upper.months
    if of == MICROS and has_days and time_zone not in UTC_NAMES:
        most += _ZONE_SHIFT_US
    return Width(nominal, max(most, 0))


def sum_of(terms: Sequence[Term], source: Source, of: str, queries: Queries) -> ConstantSum | None:
    """The sum of the constants of a bound; None if Spark cannot compute the terms alone, or if terms of their kind
    cannot be added to such times."""
    if not terms:
        return ConstantSum()
    texts = [source.of(t.expression) for t in terms]
    try:
        kinds = [f.dataType.simpleString() for f in queries.run(_select(texts)).schema.fields]
        values = queries.run(_select([_as_number(text, kind) for text, kind in zip(texts, kinds)])).first()
    except BindError:
        return None
    parts = [_constant(kind, value, term.sign, of) for term, kind, value in zip(terms, kinds, values or ())]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return ConstantSum(
        units=sum(part.units for part in known),
        months=sum(part.months for part in known),
        has_days=any(part.has_days for part in known) or sum(abs(part.units) for part in known) >= DAY_US,
    )


def _select(texts: Sequence[Text]) -> Text:
    return join("SELECT ", join(*(join("(", text, f") AS c{i}") for i, text in enumerate(texts)), separator=", "))


def _as_number(text: Text, kind: str) -> Text:
    """An interval as a number of months or microseconds; any other term as it is."""
    if is_year_month(kind):
        return join("CAST(CAST((", text, ") AS INTERVAL MONTH) AS INT)")
    if kind.startswith("interval"):
        return join("CAST(CAST(CAST((", text, ") AS INTERVAL SECOND) AS DECIMAL(18, 6)) * 1000000 AS BIGINT)")
    return text


def _constant(kind: str, value: Any, sign: int, of: str) -> ConstantSum | None:
    """A constant of a bound; None if it is NULL, or cannot be added to such times."""
    if value is None or (kind.startswith("interval ") and of in (INTEGERS, FLOATS)):
        return None
    if is_year_month(kind):
        return ConstantSum(months=sign * value)
    if kind.startswith("interval "):
        if of == DAYS and value % DAY_US:
            return None
        return ConstantSum(sign * value // DAY_US if of == DAYS else sign * value, has_days=abs(value) >= DAY_US)
    if of in (DAYS, INTEGERS) and isinstance(value, int):
        return ConstantSum(sign * value)
    return ConstantSum(sign * float(value)) if of == FLOATS else None


def measure(range_: BoundRange, points: Text, ranges: Text, prefix: Text, queries: Queries) -> Spread:
    """The widths of ranges that vary, measured by a query over both relations.

    Only the speed of the join depends on it, so the rows may change later.
    """
    rows = queries.run(join(prefix, _measuring(range_, points, ranges))).collect()
    if not rows:
        return Spread()
    ranges_, cells = sum(row.ranges for row in rows), sum(row.cells for row in rows)
    levels = {row.level: row.ranges for row in rows}
    return Spread(
        start=rows[0].start,
        end=rows[0].stop,
        ranges=ranges_,
        cells=cells,
        most=max(row.most for row in rows),
        levels=levels,
    )


def _measuring(range_: BoundRange, points: Text, ranges: Text) -> Text:
    def cell(bound: Text) -> Text:
        at = join("CAST(", position(range_.of, bound), " AS DOUBLE)")
        return join("CAST(least(greatest((", at, f" - {_EXTENT}.start) * {_EXTENT}.rate, 0D), {CELLS - 1}D) AS BIGINT)")

    time = join("CAST(", position(range_.of, range_.time), " AS DOUBLE)")
    extent = join(
        "SELECT coalesce(min(p), 0D) AS start, coalesce(max(p), 0D) AS stop,"
        f" coalesce({CELLS}D / nullif(max(p) - min(p), 0D), 1D) AS rate FROM (",
        "SELECT ",
        time,
        " AS p FROM ",
        points,
        ") WHERE p > -1e300D AND p < 1e300D",
    )
    cells = join(
        f"SELECT /*+ BROADCAST({_EXTENT}) */ {_EXTENT}.start, {_EXTENT}.stop, ",
        cell(range_.upper),
        " - ",
        cell(range_.lower),
        " + 1 AS c FROM (",
        extent,
        f") AS {_EXTENT} CROSS JOIN ",
        ranges,
        " WHERE (",
        range_.lower,
        ") <= (",
        range_.upper,
        ")",
    )
    return join(
        "SELECT level, min(start) AS start, min(stop) AS stop, count(*) AS ranges, sum(c) AS cells, max(c) AS most",
        " FROM (SELECT *, CAST(ceil(log2(c)) AS INT) AS level FROM (",
        cells,
        ")) GROUP BY level",
    )
