"""INTERVAL JOIN as a JOIN of Spark's: on the keys and a bucket of time, the exact range staying in ON.

Only text is put in, so that every name stays what it was: a lateral `explode` copies the rows of one side, and its
column is hidden from stars by `rewriter.joins.stars`.

- Inner and one-sided joins copy a side that is not preserved, so unmatched rows are padded once.
- FULL preserves both. Each right row has one more copy, without a bucket, which is padded, unless an anti join finds
  that the row has a partner; padded copies that have a bucket are filtered out behind the join.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from sqlext.rewriter.joins.buckets import (
    CELLS,
    DAYS,
    MICROS,
    NTZ_MICROS,
    Fixed,
    Scheme,
    Spread,
    points_copied,
    points_copied_by_level,
    ranges_copied,
)
from sqlext.rewriter.joins.clauses import JoinClause
from sqlext.rewriter.splice import Edit, Source, Text, join


@dataclass(frozen=True)
class BoundRange:
    """The range of a join, bound: `lower <= time <= upper`.

    `of`: a domain of `rewriter.joins.buckets`; `fixed`: buckets if all ranges have one width; `is_exact`: is
    `fixed.reach` proven? `spread`: what is known of the widths where they vary.
    """

    time: Text
    lower: Text
    upper: Text
    time_is_left: bool
    of: str
    fixed: Fixed | None = None
    is_exact: bool = False
    spread: Spread = field(default_factory=Spread)


@dataclass(frozen=True)
class RewrittenJoin:
    """`hidden`: the columns that the join has and the user's does not. `reasons`: (decision, why), for EXPLAIN."""

    clause: JoinClause
    edits: tuple[Edit, ...]
    hidden: tuple[str, ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Names:
    """`bucket`: the column of the copies, `left`: not NULL in left rows, `other`: that of the anti join's copies."""

    number: int

    @property
    def bucket(self) -> str:
        return f"__sqlext_bucket{self.number}"

    @property
    def left(self) -> str:
        return f"__sqlext_left{self.number}"

    @property
    def other(self) -> str:
        return f"__sqlext_other{self.number}"


def plain_join(clause: JoinClause, reason: tuple[str, str], also: Text | None = None) -> RewrittenJoin:
    """The join as Spark's own, on the user's condition and on `also`.

    >>> from sqlext.rewriter.joins.parse import parse_joins
    >>> from sqlext.rewriter.tokens import tokenize
    >>> text = "SELECT * FROM a INTERVAL JOIN b ON a.t = b.t"
    >>> rewritten = plain_join(parse_joins(text, tokenize(text))[0], ("equality", "…"))
    >>> print(Source(text).edited(rewritten.edits).slice(0, len(text)))
    SELECT * FROM a JOIN b ON a.t = b.t
    """
    edits = [_keyword(clause)]
    if also is not None:
        edits += _condition(clause, also)
    return RewrittenJoin(clause, tuple(edits), reasons=(reason,))


def bucket_join(clause: JoinClause, source: Source, range_: BoundRange, number: int) -> RewrittenJoin:
    """The join on buckets. `number` tells the joins of a statement apart.

    >>> from sqlext.rewriter.joins.buckets import DAYS
    >>> from sqlext.rewriter.joins.parse import parse_joins
    >>> from sqlext.rewriter.tokens import tokenize
    >>> text = "SELECT * FROM a LEFT INTERVAL JOIN b ON a.k = b.k AND b.d BETWEEN a.d - 7 AND a.d"
    >>> range_ = BoundRange(join("b.d"), join("a.d - 7"), join("a.d"), False, DAYS, Fixed(DAYS, 7), True)
    >>> rewritten = bucket_join(parse_joins(text, tokenize(text))[0], Source(text), range_, 0)
    >>> print(Source(text).edited(rewritten.edits).slice(14, len(text)))
    a LEFT JOIN (b JOIN LATERAL explode(sequence(unix_date(b.d) div 7 - 1, unix_date(b.d) div 7)) AS \
__sqlext_buckets0(__sqlext_bucket0)) ON (a.k = b.k AND b.d BETWEEN a.d - 7 AND a.d) AND \
unix_date(a.d - 7) div 7 = __sqlext_bucket0
    """
    names = _Names(number)
    copies_left = _copies_left(clause, range_)
    scheme = _scheme(range_, copies_points=copies_left == range_.time_is_left)
    edits = [_keyword(clause), *_condition(clause, scheme.condition(names.bucket))]
    hidden: tuple[str, ...] = (names.bucket,)
    if clause.join_type == "FULL":
        edits += _full(clause, source, range_, scheme, names)
        hidden = (names.left, names.bucket)
    elif copies_left:
        edits.append(Edit(clause.left.stop, clause.left.stop, _copies(scheme.copies, names.bucket, number)))
    else:
        edits.append(Edit(clause.right.start, clause.right.start, "("))
        edits.append(Edit(clause.right.stop, clause.right.stop, _copies(scheme.copies, names.bucket, number) + ")"))
    if clause.join_type in ("LEFT SEMI", "LEFT ANTI"):
        hidden = ()
    return RewrittenJoin(clause, tuple(edits), hidden, _reasons(clause, range_, copies_left))


def _copies_left(clause: JoinClause, range_: BoundRange) -> bool:
    """Is it the left side whose rows are copied?"""
    if clause.join_type == "INNER":  # either may be; ranges know their own width
        return not range_.time_is_left
    return clause.join_type == "RIGHT"


def copies_points(clause: JoinClause, range_: BoundRange) -> bool:
    """Are the rows that have the time copied, and not only those that have the ranges?"""
    return clause.join_type == "FULL" or _copies_left(clause, range_) == range_.time_is_left


def _scheme(range_: BoundRange, copies_points: bool) -> Scheme:
    time, lower, upper, spread = range_.time, range_.lower, range_.upper, range_.spread
    if not copies_points:
        return ranges_copied(range_.fixed or spread.coarse(range_.of), time, lower, upper)
    if range_.fixed is not None and range_.is_exact:
        return points_copied(range_.fixed, time, lower)
    return points_copied_by_level(spread.grid(range_.of), spread.used_levels(), time, lower, upper)


def _keyword(clause: JoinClause) -> Edit:
    return Edit(clause.keyword.start, clause.keyword.stop, "JOIN")


def _condition(clause: JoinClause, also: Text) -> list[Edit]:
    on = clause.on
    assert on is not None
    return [Edit(on.start, on.start, "("), Edit(on.stop, on.stop, join(") AND ", also))]


def _copies(array: Text, column: str, number: int) -> Text:
    alias = f"{column.rstrip('0123456789')}s{number}"
    return join(" JOIN LATERAL explode(", array, f") AS {alias}({column})")


def _full(clause: JoinClause, source: Source, range_: BoundRange, scheme: Scheme, names: _Names) -> list[Edit]:
    """The right rows' copies, one more without a bucket for those without a partner, and what is no row behind it."""
    on = clause.on
    assert on is not None
    left = source.slice(clause.left.start, clause.left.stop)
    opposite = _scheme(range_, copies_points=range_.time_is_left)
    with_none = join("concat(coalesce(", scheme.copies, ", array()), array(NULL))")
    right = join(
        _copies(with_none, names.bucket, names.number),
        " LEFT ANTI JOIN (", left, _copies(opposite.copies, names.other, names.number), ")",
        f" ON {names.bucket} IS NULL AND (", source.slice(on.start, on.stop), ") AND ",
        opposite.condition(names.other), ")",
    )  # fmt: skip
    marked = f" JOIN LATERAL (SELECT true AS {names.left}) AS {names.left}s"
    # A semi join with a row of its own is a WHERE that may stand inside a FROM.
    filtered = f" LEFT SEMI JOIN (SELECT 1) ON {names.bucket} IS NULL OR {names.left} IS NOT NULL"
    return [
        Edit(clause.left.stop, clause.left.stop, marked),
        Edit(clause.right.start, clause.right.start, "("),
        Edit(clause.right.stop, clause.right.stop, right),
        Edit(clause.whole.stop, clause.whole.stop, filtered),
    ]


def _reasons(clause: JoinClause, range_: BoundRange, copies_left: bool) -> tuple[tuple[str, str], ...]:
    """What `bucket_join` did, and why."""
    side = "left" if copies_left else "right"
    points = "times" if copies_left == range_.time_is_left else "ranges"
    why = {
        "INNER": "either side may be, and ranges know their own width",
        "FULL": "with one more copy for rows without a partner, an anti join tells which",
    }.get(clause.join_type, f"{clause.join_type} JOIN shows its rows once at most")
    return (
        ("buckets", f"ON also compares a bucket of time; {_width(range_)}."),
        ("copied", f"the {side} side, which has the {points}: {why}."),
    )


def _width(range_: BoundRange) -> str:
    if range_.fixed is not None:
        return f"its width, {_length(range_.of, range_.fixed.width)}, is that of the range"
    spread = range_.spread
    if not spread.ranges:
        return "the ranges vary by row, and none was there to be measured"
    width = (spread.end - spread.start) * spread.cells / spread.ranges / CELLS
    return f"the ranges vary by row, {spread.ranges} were measured, {_length(range_.of, width)} wide on average"


def _length(of: str, units: float) -> str:
    """
    >>> from sqlext.rewriter.joins.buckets import FLOATS
    >>> _length(MICROS, 90_000_000), _length(DAYS, 7), _length(FLOATS, 0.5)
    ('0:01:30', '7 days', '0.5')
    """
    if of in (MICROS, NTZ_MICROS):
        return str(timedelta(microseconds=units))
    return f"{units:g}{' days' if of == DAYS else ''}"
