"""Writes buckets of time as SQL, so that an INTERVAL JOIN finds its pairs of rows by an equality.

A pair that satisfies the range meets in exactly one bucket. Other pairs that meet in a bucket fail the exact condition,
which stays in ON. So buckets need only be monotone in time, never exact: rounding, saturation and NaN make the join
slower, but lose no rows.

The point side has a time t, the range side a range [lower, upper]. A side that an outer join does not preserve is
copied, once for each bucket in which a partner can be; each row of the other side has one bucket:

| scheme | points | ranges |
|---|---|---|
| ranges copied | bucket(t) | bucket(lower), …, bucket(upper) |
| points copied, no range wider than a cell | bucket(cell(t) - 1), …, bucket(t) | bucket(lower) |
| points copied, ranges of any width | for each level l (l, bucket(t) - 1), (l, bucket(t)) | (own l, bucket(lower)) |

FULL preserves both sides, so both are copied. One copy of each row is its own copy, which meets all partners of the
row, each in one of the partner's copies. Rows that meet no partner are padded there. A pair counts only where the copy
of one given side is its own copy. The own bucket of a point is the bucket of the first scheme, the own bucket of a
range is the bucket of one of the other schemes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Union

from sqlext.expressions.spark_types import INTEGER_BITS, LTZ, TIME_TYPES, is_numeric
from sqlext.rewriter.text.splice import Text, TextLike, join, sql, sub

MICROS, NTZ_MICROS, DAYS, INTEGERS, FLOATS = "micros", "ntz micros", "days", "integers", "floats"
CELLS = 1 << 30  # cells of the grid over the times of the points, used if ranges vary by row
MOST_COPIES = 1 << 16  # the most copies of one range
LEVELS = tuple(range(0, 31, 2))

_PAIRS_FOR_A_COPY = 8  # Shuffling and sorting one row costs as much as testing this number of pairs.
_FARTHEST = "4e18D"  # fits a bigint


def domain(spark_types: tuple[str, ...]) -> str | None:
    """The domain of numbers to which values of these types are converted, as Spark compares them.

    None if the types are neither times nor numbers, or if some are times and some are numbers.

    >>> domain(("date", "timestamp")), domain(("int", "decimal(10,2)")), domain(("int", "date")), domain(("string",))
    ('micros', 'floats', None, None)
    """
    kinds = set(spark_types) - {"void"}
    if kinds <= set(TIME_TYPES):
        return MICROS if "timestamp" in kinds else NTZ_MICROS if "timestamp_ntz" in kinds else DAYS
    if all(kind in INTEGER_BITS for kind in kinds):
        return INTEGERS
    if all(map(is_numeric, kinds)):
        return FLOATS
    return None


def position(of: str, expression: TextLike) -> Text:
    """The expression as a number of the domain `of`: microseconds, days or itself."""
    return sql(_POSITIONS[of], x=expression, ltz=LTZ)


_POSITIONS = {
    MICROS: "unix_micros(CAST({x} AS {ltz}))",
    # An interval is divided, since unix_micros would read a local time in the session's zone, where an hour may occur
    # twice.
    NTZ_MICROS: "(CAST({x} AS TIMESTAMP_NTZ) - TIMESTAMP_NTZ'1970-01-01') div INTERVAL '0.000001' SECOND",
    DAYS: "unix_date({x})",
    INTEGERS: "CAST({x} AS BIGINT)",
    FLOATS: "CAST({x} AS DOUBLE)",
}


@dataclass(frozen=True)
class Fixed:
    """Buckets of one width: `cells` cells of `width` units of the domain `of`: a whole number, except for floats.

    A range that contains the time t begins at most `reach` cells before the cell of t. A bucket of more cells needs
    fewer copies and contains more pairs that do not match.
    """

    of: str
    width: float
    reach: int = 1
    cells: int = 1

    @property
    def bucket_width(self) -> float:
        """The width of a bucket, in units of the domain."""
        return self.width * self.cells

    def bucket(self, expression: TextLike) -> Text:
        """The bucket of a time, as SQL.

        >>> print(Fixed(MICROS, 60000000, cells=2).bucket("a.t"))
        unix_micros(CAST(a.t AS timestamp_LTZ)) div 120000000
        """
        return self._divided(expression, self.bucket_width)

    def cell(self, expression: TextLike) -> Text:
        """The cell of a time, as SQL.

        >>> print(Fixed(MICROS, 60000000, cells=2).cell("a.t"))
        unix_micros(CAST(a.t AS timestamp_LTZ)) div 60000000
        """
        return self._divided(expression, self.width)

    def bucket_of_cell(self, cell: TextLike) -> Text:
        """The bucket that `bucket` gives for the times of a cell, as SQL; not for floats, which round down.

        >>> print(Fixed(MICROS, 60000000, cells=2).bucket_of_cell("c - 1"))
        (c - 1) div 2
        """
        return join(cell) if self.cells == 1 else sql("({cell}) div {n}", cell=cell, n=self.cells)

    def _divided(self, expression: TextLike, width: float) -> Text:
        at = position(self.of, expression)
        if self.of == FLOATS:
            # In Spark's order NaN is the greatest value, and least() and greatest() use that order.
            template = "CAST(floor(least(greatest({at} / {width}D, -{most}), {most})) AS BIGINT)"
            return sql(template, at=at, width=repr(width), most=_FARTHEST)
        return sql("{at} div {width}", at=at, width=int(width))


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Buckets between the first and the last time of the points; earlier and later times are in the outermost buckets.

    `start` is the first time, `rate` the number of buckets in a unit of the domain, `buckets` the number of buckets.
    """

    of: str
    start: float
    rate: float
    buckets: int

    def bucket(self, expression: TextLike) -> Text:
        """The bucket of a time, as SQL.

        >>> print(Grid(of=INTEGERS, start=10.0, rate=0.5, buckets=8).bucket("a.t"))
        CAST(least(greatest((CAST(CAST(a.t AS BIGINT) AS DOUBLE) - 10.0D) * 0.5D, 0D), 7D) AS BIGINT)
        """
        return sql(
            "CAST(least(greatest((CAST({at} AS DOUBLE) - {start}D) * {rate}D, 0D), {last}D) AS BIGINT)",
            at=position(self.of, expression), start=repr(self.start), rate=repr(self.rate), last=self.buckets - 1,
        )  # fmt: skip


HOME, BUCKET = "__sqlext_home", "__sqlext_bucket"
# The column in which the copies of a row differ, as `columns` names it.
COPIES = re.compile(r"__sqlext_(left|right)_bucket\d+")
_NONE = "array(CAST(NULL AS BIGINT))"
_POINTS = 40  # a level that no range has, for the own buckets of points


@dataclass(frozen=True, kw_only=True)
class Side:
    """The expressions that are computed for each row of one relation.

    They are computed in the order `home`, `copies`, `key`, `own`. `home` is a number, which the later expressions read
    as HOME. `copies` is an array; the row is copied once for each element, which the later expressions read as BUCKET.
    `key` is a number for each copy, equal to the key of its partners. `own` is true for the copy that meets all
    partners of the row.
    """

    key: Text
    copies: Text | None = None
    home: Text | None = None
    own: Text | None = None


@dataclass(frozen=True)
class Scheme:
    points: Side
    ranges: Side


def ranges_copied(buckets: Union[Fixed, Grid], time: Text, lower: Text, upper: Text) -> Scheme:
    """The scheme that copies each range once for each bucket that it touches.

    >>> t, lower, upper = (join(name) for name in ("a.t", "b.lo", "b.hi"))
    >>> scheme = ranges_copied(Fixed(DAYS, 7), t, lower, upper)
    >>> print(scheme.points.key, "|", scheme.ranges.copies)
    unix_date(a.t) div 7 | sequence(unix_date(b.lo) div 7, unix_date(b.hi) div 7)
    """
    copies = _sequence(buckets, buckets.bucket(lower), buckets.bucket(upper))
    return Scheme(Side(key=buckets.bucket(time)), Side(key=join(BUCKET), copies=copies))


def _sequence(buckets: Union[Fixed, Grid], first: TextLike, last: TextLike) -> Text:
    if isinstance(buckets, Grid):  # In an empty range, upper may be any number of buckets below lower.
        last = sql("greatest({first}, {last})", first=first, last=last)
    return sql("sequence({first}, {last})", first=first, last=last)


def points_copied(buckets: Fixed, time: Text, lower: Text) -> Scheme:
    """The scheme that copies the points, if no range is wider than `buckets.reach` cells.

    >>> print(points_copied(Fixed(DAYS, 7, cells=2), join("a.t"), join("b.lo")).points.copies)
    sequence((unix_date(a.t) div 7 - 1) div 2, unix_date(a.t) div 14)
    """
    copies = _sequence(buckets, _first(buckets, buckets.cell(time)), buckets.bucket(time))
    return Scheme(Side(key=join(BUCKET), copies=copies), Side(key=buckets.bucket(lower)))


def _first(buckets: Fixed, cell: TextLike) -> Text:
    """The bucket of the first range that may contain a time of this cell."""
    return buckets.bucket_of_cell(join(cell, f" - {buckets.reach}"))


def points_copied_by_level(cells: Grid, levels: tuple[int, ...], time: Text, lower: Text, upper: Text) -> Scheme:
    """The scheme that copies the points, if ranges have any width.

    `levels` are in order: a bucket of level l has 2^l cells, and the bucket of the last level has all cells. A range
    goes to the first level whose buckets are as wide as the range, where it touches two buckets at most.
    """
    assert (1 << levels[-1]) >= cells.buckets
    first, last = cells.bucket(lower), cells.bucket(upper)
    level = sql(
        "array_min(filter(array({levels}), {name} -> shiftleft(1L, {name}) >= {last} - {first} + 1))",
        levels=[*map(str, levels)], name="__sqlext_level", last=last, first=first,
    )  # fmt: skip
    # One integer holds the level and the bucket: buckets have at most 30 bits, and the number before the first bucket
    # of a level is the number of no bucket.
    home = sql("shiftleft(CAST({level} AS BIGINT), 32) + shiftright({first}, {level})", level=level, first=first)
    # A copy is a level, and one bit that is set if the copy is in the bucket before the point's bucket.
    copies = [str(2 * level + before) for level in levels for before in (0, 1)][:-1]
    key = sql(
        "shiftleft(CAST(shiftright({copy}, 1) AS BIGINT), 32) + shiftright({at}, shiftright({copy}, 1)) - ({copy} & 1)",
        copy=BUCKET, at=cells.bucket(time),
    )  # fmt: skip
    return Scheme(Side(key=key, copies=sql("array({copies})", copies=copies)), Side(key=home))


def both_copied(buckets: Fixed, time: Text, lower: Text, upper: Text) -> Scheme:
    """The scheme that copies both sides, if no range is wider than `buckets.reach` cells.

    The homes of points and of ranges are then in the same cells.

    >>> print(both_copied(Fixed(DAYS, 7), join("a.t"), join("b.lo"), join("b.hi")).points.copies)
    coalesce(sequence(__sqlext_home - 1, __sqlext_home), array(CAST(NULL AS BIGINT)))
    """
    own = buckets.bucket_of_cell(HOME)
    before = _sequence(buckets, _first(buckets, HOME), own)
    within = _sequence(buckets, own, buckets.bucket(upper))
    # Either bound may be beyond all times.
    home = sql("IF(({upper}) IS NULL, NULL, {cell})", upper=upper, cell=buckets.cell(lower))
    return Scheme(_copied(buckets.cell(time), before, own), _copied(home, within, own))


def _copied(home: Text, copies: Text, own: Text) -> Side:
    """The side whose rows are copied; a row without a home gets one copy, which meets no row of the other side."""
    copies = sql("coalesce({copies}, {none})", copies=copies, none=_NONE)
    return Side(key=join(BUCKET), copies=copies, home=home, own=join(f"{BUCKET} <=> ", own))


def both_copied_by_level(
    cells: Grid, levels: tuple[int, ...], coarse: Grid, time: Text, lower: Text, upper: Text
) -> Scheme:
    """The scheme that copies both sides, if ranges have any width.

    The element of a row's own copy is NULL. The own buckets of points are buckets of `coarse`.
    """
    ranges_own = points_copied_by_level(cells, levels, time, lower, upper)
    points_own = ranges_copied(coarse, time, lower, upper)
    level = f"shiftleft({_POINTS}L, 32) + "
    return Scheme(
        _copied_with_own(ranges_own.points, join(level, points_own.points.key)),
        _copied_with_own(replace(points_own.ranges, key=join(level, BUCKET)), ranges_own.ranges.key),
    )


def _copied_with_own(side: Side, own_key: Text) -> Side:
    assert side.copies is not None
    copies = sql("concat(array(CAST(NULL AS INT)), coalesce({copies}, array()))", copies=side.copies)
    key = sql("IF({copy} IS NULL, {own}, {key})", copy=BUCKET, own=own_key, key=side.key)
    return Side(key=key, copies=copies, own=join(f"{BUCKET} IS NULL"))


# columns


_READ = re.compile(r"__sqlext_(home|bucket)\b")  # HOME and BUCKET


@dataclass(frozen=True, kw_only=True)
class Columns:
    """`text` adds the columns `names` to a relation; `key` and `own` are the names of `key` and `own` of its Side."""

    text: Text
    names: tuple[str, ...]
    key: Text
    own: str = ""


def columns(side: Side, which: str, number: int, bounds: Sequence[tuple[Text, str]] = ()) -> Columns:
    """The columns of a Side, computed by text that follows the relation, so that every name keeps its meaning.

    `which` and `number` tell the relations of a statement's joins apart. `bounds` are further columns, (expression,
    name), which the columns of the Side may read.

    >>> points = Side(key=join(BUCKET), copies=join("array(1, 2)"), own=join(f"{BUCKET} = 1"))
    >>> left = columns(points, "left", 0)
    >>> print(left.text)  # doctest: +NORMALIZE_WHITESPACE
     JOIN LATERAL explode(array(1, 2)) AS __sqlext_left_copies0(__sqlext_left_bucket0)
     JOIN LATERAL (SELECT __sqlext_left_bucket0 = 1 AS __sqlext_left_own0) AS __sqlext_left_keys0
    >>> left.names, str(left.key)
    (('__sqlext_left_bucket0', '__sqlext_left_own0'), '__sqlext_left_bucket0')
    """

    def name(word: str) -> str:  # see COPIES
        return f"__sqlext_{which}_{word}{number}"

    def named(text: Text) -> TextLike:
        return sub(_READ, rf"__sqlext_{which}_\g<1>{number}", text)

    has_key = str(side.key) != BUCKET
    steps = [_select(bounds, name("bounds"))]
    if side.home is not None:
        steps.append(_select([(side.home, name("home"))], name("homes")))
    if side.copies is not None:
        template = " JOIN LATERAL explode({array}) AS {copies}({bucket})"
        copies = sql(template, array=named(side.copies), copies=name("copies"), bucket=name("bucket"))
        steps.append((copies, (name("bucket"),)))
    of_copy = [(named(side.key), name("key"))] if has_key else []
    if side.own is not None:
        of_copy.append((named(side.own), name("own")))
    steps.append(_select(of_copy, name("keys")))
    names = tuple(name for _, of_step in steps for name in of_step)
    return Columns(
        text=join(*(text for text, _ in steps)),
        names=names,
        key=join(name("key" if has_key else "bucket")),
        own=name("own"),
    )


def _select(columns: Sequence[tuple[TextLike, str]], alias: str) -> tuple[Text, tuple[str, ...]]:
    """A lateral subquery that computes the columns, given as (expression, name), and the names of the columns."""
    if not columns:
        return Text(), ()
    shown = [join(text, f" AS {name}") for text, name in columns]
    text = sql(" JOIN LATERAL (SELECT {shown}) AS {alias}", shown=shown, alias=alias)
    return text, tuple(name for _, name in columns)


# ranges that vary by row


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The widths of ranges that vary by row, measured on a grid of CELLS cells over the times of the points.

    `start` and `end` are the first and the last time of the points. `ranges` is the number of ranges that overlap with
    that span, `cells` the number of cells that these ranges cover together, `most` the number of cells that the widest
    covers. `levels` holds, for each l, the number of ranges that are at most 2^l and more than 2^(l - 1) cells wide.
    """

    start: float = 0.0
    end: float = 0.0
    ranges: int = 0
    cells: int = 0
    most: int = 1
    levels: Mapping[int, int] = field(default_factory=dict)

    def grid(self, of: str) -> Grid:
        """The grid of single cells."""
        return Grid(of=of, start=self.start, rate=self._cells_in_unit(), buckets=CELLS)

    def coarse(self, of: str) -> Grid:
        """The grid whose buckets are as wide as the average range.

        Then there are at most three copies for each range. If points are evenly distributed, at most three pairs meet
        for each pair that satisfies the range, whatever the widths are.
        """
        width = max(1, round(self.cells / max(1, self.ranges)), math.ceil(self.most / MOST_COPIES))
        return Grid(of=of, start=self.start, rate=self._cells_in_unit() / width, buckets=math.ceil(CELLS / width))

    def used_levels(self) -> tuple[int, ...]:
        """The levels that save more than they cost, and the last level, which takes ranges of any width.

        A level costs two copies of every point. Without the level, its ranges meet the points of wider buckets: if
        points are evenly distributed and there are no keys, `ranges * points * 2^(next level) / CELLS` more pairs meet.

        >>> Spread(levels={1: 10, 14: 200_000, 15: 7, 16: 200_000, 25: 3}).used_levels()
        (14, 16, 30)
        """
        counts = {level: self.levels.get(level - 1, 0) + self.levels.get(level, 0) for level in LEVELS}
        present = [level for level in LEVELS[:-1] if counts[level]]
        kept, waiting = [], 0
        for level, wider in zip(present, [*present[1:], LEVELS[-1]]):
            waiting += counts[level]
            if waiting << wider >= _PAIRS_FOR_A_COPY * CELLS:
                kept.append(level)
                waiting = 0
        return (*kept, LEVELS[-1])

    def _cells_in_unit(self) -> float:
        span = self.end - self.start
        return CELLS / span if span > 0 and math.isfinite(CELLS / span) else 1.0
