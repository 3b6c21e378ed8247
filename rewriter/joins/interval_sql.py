"""Rewrites INTERVAL JOIN as Spark's own JOIN on the keys and a bucket of time; the exact range stays in ON.

Text is only inserted, so every name keeps its meaning: after a relation, lateral subqueries compute its buckets, and a
lateral `explode` copies its rows. `joins.stars` hides the columns that these add.

- Inner and one-sided joins copy a side that is not preserved, so unmatched rows are padded once.
- FULL copies both sides; rows that do not belong to the result are filtered out after the join.
- Spark computes the expressions in ON again for each exchange, for each comparison of a sort and for each pair. So
  buckets and bounds become columns, and the bucket comes first in ON: a sort compares its first key in place, and reads
  the rows for the other keys.

A join of streams is Spark's own stream-stream join: the range in ON and both watermarks bound its state. Spark keeps
rows by key, reads all rows of a key for each new row, and refuses a join without an equality. So

- without a key, inner and one-sided joins get buckets of time, as over tables: their copies take no state of their own;
- ANTI, which Spark does not have on streams, is a LEFT JOIN of which only the padded rows are kept;
- FULL and ANTI without a key get a key that is the same for all rows, and run in one task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from sqlext.expressions.spark_types import LTZ
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.joins.join_conditions import TimeRange
from sqlext.rewriter.joins.time_buckets import (
    CELLS,
    DAYS,
    MICROS,
    NTZ_MICROS,
    Columns,
    Fixed,
    Scheme,
    Spread,
    both_copied,
    both_copied_by_level,
    columns,
    points_copied,
    points_copied_by_level,
    ranges_copied,
)
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Edit, Text, TextLike, join
from sqlext.rewriter.text.tokens import tokenize


@dataclass(frozen=True, kw_only=True)
class BoundRange:
    """The range of a join, bound: `lower <= time <= upper`.

    `of` is a domain of `joins.time_buckets`. `fixed` are the buckets if all ranges have the same width; `is_exact` is
    true if `fixed.reach` is proven. `spread` are the widths if they vary. `written` is the range in ON, whose bounds
    become columns; None if no bound becomes a column, since streams would keep the column in their state.
    """

    time: Text
    lower: Text
    upper: Text
    time_is_left: bool
    of: str
    fixed: Fixed | None = None
    is_exact: bool = False
    spread: Spread = field(default_factory=Spread)
    written: TimeRange | None = None


@dataclass(frozen=True, kw_only=True)
class RewrittenJoin:
    """The edits that rewrite a join.

    `hidden` are the columns that the rewritten join adds to the user's join. `reasons` are pairs (decision, why) for
    EXPLAIN. `right_columns`: the only columns of the right relation in the join; None if it has all of them.
    """

    clause: JoinClause
    edits: tuple[Edit, ...]
    hidden: tuple[str, ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()
    right_columns: tuple[RightColumn, ...] | None = None


def plain_join(clause: JoinClause, reason: tuple[str, str], also: Text | None = None) -> RewrittenJoin:
    """The join as Spark's own, on the user's condition and on `also`.

    >>> from sqlext.rewriter.joins.join_clause import parse_joins
    >>> from sqlext.rewriter.text.splice import Source
    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> text = "SELECT * FROM a INTERVAL JOIN b ON a.t = b.t"
    >>> rewritten = plain_join(parse_joins(read_tree(text))[0], ("equality", "…"))
    >>> print(Source(text).edited(rewritten.edits).slice(0, len(text)))
    SELECT * FROM a JOIN b ON a.t = b.t
    """
    edits = [_keyword(clause)]
    if also is not None:
        edits += _condition(clause, "(", join(") AND ", also))
    return RewrittenJoin(clause=clause, edits=tuple(edits), reasons=(reason,))


def bucket_join(clause: JoinClause, range_: BoundRange, number: int) -> RewrittenJoin:
    """The join on buckets. `number` tells the joins of a statement apart.

    >>> from sqlext.rewriter.joins.time_buckets import DAYS
    >>> from sqlext.rewriter.joins.join_clause import parse_joins
    >>> from sqlext.rewriter.joins.join_conditions import time_ranges
    >>> from sqlext.rewriter.text.splice import Source
    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> text = "SELECT * FROM a INTERVAL JOIN b ON b.d BETWEEN a.d - 7 AND a.d"
    >>> clause = parse_joins(read_tree(text))[0]
    >>> (written,) = time_ranges(clause.conjuncts)
    >>> time, lower, upper = map(join, ("b.d", "a.d - 7", "a.d"))
    >>> range_ = BoundRange(time=time, lower=lower, upper=upper, time_is_left=False, of=DAYS, fixed=Fixed(DAYS, 7),
    ...                     is_exact=True, written=written)
    >>> print(Source(text).edited(bucket_join(clause, range_, 0).edits).slice(14, len(text)))
    a JOIN LATERAL (SELECT a.d - 7 AS __sqlext_lower0) AS __sqlext_left_bounds0 JOIN LATERAL \
explode(sequence(unix_date(__sqlext_lower0) div 7, unix_date(a.d) div 7)) AS \
__sqlext_left_copies0(__sqlext_left_bucket0) JOIN (b JOIN LATERAL (SELECT unix_date(b.d) div 7 AS \
__sqlext_right_key0) AS __sqlext_right_keys0) ON (__sqlext_left_bucket0 = __sqlext_right_key0) AND \
(b.d BETWEEN __sqlext_lower0 AND a.d)
    """
    bounds, named = _with_named_bounds(range_, number)
    left, right = _columns(clause, named, bounds, number)
    edits = [_keyword(clause), *(Edit(b.start, b.stop, b.name) for b in bounds)]
    edits += _condition(clause, join("(", left.key, " = ", right.key, ") AND ("), ")")
    if left.text.pieces:
        edits.append(Edit(clause.left.stop, clause.left.stop, left.text))
    if right.text.pieces:
        edits.append(Edit(clause.right.start, clause.right.start, "("))
        edits.append(Edit(clause.right.stop, clause.right.stop, right.text + ")"))
    if clause.join_type == "FULL":
        # A semi join with a relation of one row acts as a WHERE inside a FROM.
        shown = f" LEFT SEMI JOIN (SELECT 1) ON {left.own} OR ({left.own} IS NULL AND {right.own})"
        edits.append(Edit(clause.whole.stop, clause.whole.stop, shown))
    is_left_alone = clause.join_type in ("LEFT SEMI", "LEFT ANTI")
    hidden = left.names if is_left_alone else (*left.names, *right.names)
    return RewrittenJoin(clause=clause, edits=tuple(edits), hidden=hidden, reasons=_reasons(clause, range_))


def _copies_left(clause: JoinClause, range_: BoundRange) -> bool:
    """Whether the rows of the left side are copied."""
    if clause.join_type == "INNER":  # Either side may be copied; only ranges contain their own width.
        return not range_.time_is_left
    return clause.join_type == "RIGHT"


def copies_points(clause: JoinClause, range_: BoundRange) -> bool:
    """Whether the rows with the time are copied, and not only the rows with the ranges."""
    return clause.join_type == "FULL" or _copies_left(clause, range_) == range_.time_is_left


def _scheme(clause: JoinClause, range_: BoundRange) -> Scheme:
    time, lower, upper, spread = range_.time, range_.lower, range_.upper, range_.spread
    of, fixed, is_full = range_.of, range_.fixed, clause.join_type == "FULL"
    if not copies_points(clause, range_):
        return ranges_copied(fixed or spread.coarse(of), time, lower, upper)
    if fixed is not None and range_.is_exact:
        return both_copied(fixed, time, lower, upper) if is_full else points_copied(fixed, time, lower)
    cells, levels = spread.grid(of), spread.used_levels()
    if is_full:
        return both_copied_by_level(cells, levels, spread.coarse(of), time, lower, upper)
    return points_copied_by_level(cells, levels, time, lower, upper)


def _keyword(clause: JoinClause) -> Edit:
    return Edit(clause.keyword.start, clause.keyword.stop, "JOIN")


def _condition(clause: JoinClause, before: TextLike, after: TextLike) -> list[Edit]:
    on = clause.on
    assert on is not None
    return [Edit(on.start, on.start, before), Edit(on.stop, on.stop, after)]


# streams


@dataclass(frozen=True)
class RightColumn:
    """An expression of the right relation, and its name in an anti join."""

    expression: Text
    name: str


def same_key(left: Text, right: Text) -> Text:
    """An equality of two times that holds for any two times, although Spark cannot infer that.

    >>> print(same_key(join("l.at"), join("r.at")))
    unix_micros(CAST((l.at) AS timestamp_LTZ)) % 1 = unix_micros(CAST((r.at) AS timestamp_LTZ)) % 1
    """
    return join(*(join("unix_micros(CAST((", time, f") AS {LTZ})) % 1") for time in (left, right)), separator=" = ")


def anti_join(clause: JoinClause, columns: Sequence[RightColumn], condition: TextLike, number: int) -> RewrittenJoin:
    """The anti join of two streams.

    `condition` reads the left relation and `columns`, which are the only columns of the right relation in the join.
    """
    mark = f"__sqlext_right{number}"
    shown = join(*(join("(", c.expression, f") AS {c.name}") for c in columns), f"true AS {mark}", separator=", ")
    on = clause.on
    assert on is not None
    edits = (
        Edit(clause.words.start, clause.words.stop, "LEFT JOIN"),
        Edit(clause.right.start, clause.right.start, join("(SELECT ", shown, " FROM ")),
        Edit(clause.right.stop, clause.right.stop, f") AS {mark}s"),
        Edit(on.start, on.stop, condition),
        # A semi join with a relation of one row acts as a WHERE inside a FROM.
        Edit(clause.whole.stop, clause.whole.stop, f" LEFT SEMI JOIN (SELECT 1) ON {mark} IS NULL"),
    )
    hidden = (*(c.name for c in columns), mark)
    reasons = (("stream", "Spark's own stream-stream LEFT JOIN, its padded rows."),)
    return RewrittenJoin(clause=clause, edits=edits, hidden=hidden, reasons=reasons, right_columns=tuple(columns))


# columns


@dataclass(frozen=True, kw_only=True)
class _Bound:
    """A bound of the range in ON, and the column that replaces it."""

    start: int
    stop: int
    expression: Text
    name: str


def _with_named_bounds(range_: BoundRange, number: int) -> tuple[list[_Bound], BoundRange]:
    """The bounds that are expressions, not plain columns, and the range with a new column in place of each of them."""
    if range_.written is None:
        return [], range_
    bounds = {}
    for end in ("lower", "upper"):
        written: Fragment = getattr(range_.written, end)
        if any(not token.is_name and token.text != "." for token in tokenize(written.text)):
            name, expression = f"__sqlext_{end}{number}", getattr(range_, end)
            bounds[end] = _Bound(start=written.start, stop=written.stop, expression=expression, name=name)
    named: dict[str, Any] = {end: join(bound.name) for end, bound in bounds.items()}
    return list(bounds.values()), replace(range_, **named)


def _columns(clause: JoinClause, range_: BoundRange, bounds: Sequence[_Bound], number: int) -> tuple[Columns, Columns]:
    """The columns of the left and of the right relation."""
    scheme = _scheme(clause, range_)
    sides = (scheme.points, scheme.ranges) if range_.time_is_left else (scheme.ranges, scheme.points)
    pair = []
    for which, side in zip(("left", "right"), sides):
        if range_.written is None and side.copies is None:
            pair.append(Columns(text=Text(), names=(), key=side.key))
            continue
        has_bounds = side is scheme.ranges
        pair.append(columns(side, which, number, [(b.expression, b.name) for b in bounds] if has_bounds else ()))
    return pair[0], pair[1]


# EXPLAIN


def _reasons(clause: JoinClause, range_: BoundRange) -> tuple[tuple[str, str], ...]:
    """The decisions of `bucket_join` and their reasons."""
    buckets = ("buckets", f"ON also compares a bucket of time; {_width(range_)}.")
    if clause.join_type == "FULL":
        why = "FULL JOIN shows each row once at least: each has one copy that meets all partners."
        return (buckets, ("copied", f"both sides; {why}"))
    copies_left = _copies_left(clause, range_)
    side = "left" if copies_left else "right"
    points = "times" if copies_left == range_.time_is_left else "ranges"
    why = f"{clause.join_type} JOIN shows its rows once at most"
    if clause.join_type == "INNER":
        why = "either side may be, and ranges know their own width"
    return (buckets, ("copied", f"the {side} side, which has the {points}: {why}."))


def _width(range_: BoundRange) -> str:
    if range_.fixed is not None:
        cells = range_.fixed.cells
        times = "" if cells == 1 else f"{cells} times "
        return f"its width, {_length(range_.of, range_.fixed.bucket_width)}, is {times}that of the range"
    spread = range_.spread
    if not spread.ranges:
        return "the ranges vary by row, and none was there to be measured"
    width = (spread.end - spread.start) * spread.cells / spread.ranges / CELLS
    return f"the ranges vary by row, {spread.ranges} were measured, {_length(range_.of, width)} wide on average"


def _length(of: str, units: float) -> str:
    """A length in units of the domain `of`, as text.

    >>> from sqlext.rewriter.joins.time_buckets import FLOATS
    >>> _length(MICROS, 90_000_000), _length(DAYS, 7), _length(FLOATS, 0.5)
    ('0:01:30', '7 days', '0.5')
    """
    if of in (MICROS, NTZ_MICROS):
        return str(timedelta(microseconds=units))
    return f"{units:g}{' days' if of == DAYS else ''}"
