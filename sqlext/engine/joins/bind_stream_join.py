"""INTERVAL JOIN where a relation is a stream: what Spark needs to bound the state, checked before anything runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.queries import WATERMARK
from sqlext.errors import UnsupportedError
from sqlext.rewriter.joins.interval_sql import RewrittenJoin, RightColumn, anti_join, plain_join, same_key
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.joins.join_conditions import (
    BOTH,
    LEFT,
    NEITHER,
    RIGHT,
    Comparison,
    TimeRange,
    between,
    compared,
    comparisons,
    offset,
)
from sqlext.rewriter.text.and_list import normal_words
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Edit, Text, join

_WHY = "Spark's own stream-stream join, whose state the range and the watermarks bound."
_EQUAL = frozenset({"=", "<=>"})
_KEPT = {"LEFT": LEFT, "LEFT SEMI": LEFT, "LEFT ANTI": LEFT, "RIGHT": RIGHT}


@dataclass(frozen=True)
class Asked:
    """The join, and what Spark tells of its relations. `in_buckets`: the rewrite for tables; None if the ranges'
    width varies by row."""

    clause: JoinClause
    sides: JoinSides
    in_buckets: Callable[[], RewrittenJoin | None]
    number: int


def rewrite(asked: Asked, range_: TimeRange | None, streams: Sequence[str]) -> RewrittenJoin:
    """`range_` None: the times are equal. `streams`: the sides that are streams.

    Raises UnsupportedError: WATERMARK, STREAM_RANGE, STREAM_JOIN.
    """
    if len(streams) == 1:
        return _with_table(asked, range_, streams[0])
    if range_ is None:
        _check_equal_times(asked)
    else:
        _check_range(asked, range_)
    if asked.clause.join_type == "LEFT ANTI":
        return _anti(asked, range_)
    if range_ is None or _has_key(asked):
        return _with_known(asked, range_, plain_join(asked.clause, ("stream", _WHY)))
    return _with_known(asked, range_, _without_key(asked, range_))


def _with_table(asked: Asked, range_: TimeRange | None, stream: str) -> RewrittenJoin:
    """A stream and a table, which Spark reads anew for each micro-batch; no state, so no watermark is needed."""
    clause = asked.clause
    if clause.join_type != "INNER" and _KEPT.get(clause.join_type) != stream:
        raise UnsupportedError(
            "STREAM_JOIN", f"a {clause.join_type} JOIN of a stream and a table cannot show the table's unmatched rows",
            place=clause.words.place, hint="a later row of the stream may still match them: turn the join around.",
        )  # fmt: skip
    if range_ is None:
        return plain_join(clause, ("stream", "Spark's own join of a stream and a table."))
    why = "Spark's own join of a stream and a table; the ranges vary by row, and a stream's cannot be measured."
    return asked.in_buckets() or plain_join(clause, ("stream", why))


def _has_key(asked: Asked) -> bool:
    return bool(_keys(asked, _EQUAL))


def _keys(asked: Asked, operators: frozenset[str]) -> list[Comparison]:
    equal = (comparison for _, comparison in comparisons(asked.clause.conjuncts, operators))
    return [c for c in equal if {asked.sides.side_of(c.left), asked.sides.side_of(c.right)} == {LEFT, RIGHT}]


def _with_known(asked: Asked, range_: TimeRange | None, rewritten: RewrittenJoin) -> RewrittenJoin:
    """An outer join that pads rows which nothing can match at once.

    Spark would keep a NULL time for ever, and its FULL JOIN of streams takes NULL keys for equal.
    """
    on = asked.clause.on
    if on is None or asked.clause.join_type not in ("LEFT", "RIGHT", "FULL"):
        return rewritten
    known = (Edit(on.stop, on.stop, join(" AND ", condition)) for condition in _known(asked, range_))
    return replace(rewritten, edits=(*rewritten.edits, *known))


def _known(asked: Asked, range_: TimeRange | None) -> list[Text]:
    """That times and keys, but those that match NULL, are not NULL."""
    compared = [operand for c in _keys(asked, frozenset({"="})) for operand in (c.left, c.right)]
    times = _event_times(asked, range_) if range_ is not None else ()
    return [join("(", asked.sides.text(operand), ") IS NOT NULL") for operand in (*times, *compared)]


def _check_equal_times(asked: Asked) -> None:
    """Of the equalities one compares two event times, so that rows leave the state."""
    first: UnsupportedError | None = None
    for _, comparison in comparisons(asked.clause.conjuncts, frozenset({"="})):
        sides = asked.sides.side_of(comparison.left), asked.sides.side_of(comparison.right)
        missing = [e for s, e in zip(sides, (comparison.left, comparison.right)) if not _has_watermark(asked, s, e)]
        if not missing:
            return
        if len(missing) == 1:
            first = first or _no_watermark(missing[0])
    if first is not None:
        raise first
    raise UnsupportedError(
        "STREAM_RANGE", "on streams INTERVAL JOIN needs a range of the two event times, or their equality",
        place=(asked.clause.on or asked.clause.keyword).place,
        hint="write r.ts BETWEEN l.ts - INTERVAL … AND l.ts + INTERVAL …, with a WATERMARK on both.",
    )  # fmt: skip


def _check_range(asked: Asked, range_: TimeRange) -> None:
    """`time BETWEEN other time ± constant AND other time ± constant`, both with a watermark."""
    side = asked.sides.side_of(range_.time)
    if not _has_watermark(asked, side, range_.time):
        raise _no_watermark(range_.time)
    other = RIGHT if side == LEFT else LEFT
    for bound in (range_.lower, range_.upper):
        terms = offset(bound, asked.sides.source)
        if len(terms.others) != 1 or terms.others[0].sign < 0 or not _are_day_times(asked, terms.constants):
            raise UnsupportedError(
                "STREAM_RANGE", "on streams the bounds of INTERVAL JOIN are the other time ± a constant interval",
                place=bound.place, hint="write it as l.ts - INTERVAL '5' MINUTES; months have no constant length.",
            )  # fmt: skip
        if not _has_watermark(asked, other, terms.others[0].expression):
            raise _no_watermark(terms.others[0].expression)


def _are_day_times(asked: Asked, terms: Sequence) -> bool:
    fields = [asked.sides.field_on(LEFT, term.expression) for term in terms]
    kinds = [field.dataType.simpleString() if field is not None else "" for field in fields]
    return all(re.fullmatch("interval (day|hour|minute|second).*", kind) for kind in kinds)


def _has_watermark(asked: Asked, side: str, expression: Fragment) -> bool:
    field = asked.sides.field_on(side, expression) if side in (LEFT, RIGHT) else None
    return field is not None and WATERMARK in field.metadata


def _no_watermark(expression: Fragment) -> UnsupportedError:
    column = expression.text.rpartition(".")[2]
    return UnsupportedError(
        "WATERMARK", f"{expression.text} is no event time: without a watermark rows would never leave the join's state",
        place=expression.place,
        hint=f"write FROM STREAM relation WATERMARK {column} DELAY OF INTERVAL 10 SECONDS AS alias.",
    )  # fmt: skip


def _without_key(asked: Asked, range_: TimeRange) -> RewrittenJoin:
    if asked.clause.join_type == "FULL":
        left, right = (asked.sides.text(time) for time in _event_times(asked, range_))
        return plain_join(
            asked.clause, ("stream", f"{_WHY} No key, so that one task has all rows."), same_key(left, right)
        )
    in_buckets = asked.in_buckets()
    assert in_buckets is not None  # the width is constant
    return in_buckets


def _event_times(asked: Asked, range_: TimeRange) -> tuple[Fragment, Fragment]:
    """The columns of the left and the right relation that have watermarks."""
    times = range_.time, offset(range_.lower, asked.sides.source).others[0].expression
    return times if asked.sides.side_of(range_.time) == LEFT else (times[1], times[0])


# ANTI


def _anti(asked: Asked, range_: TimeRange | None) -> RewrittenJoin:
    """The condition with names for what it reads of the right relation."""
    columns: dict[tuple[str, ...], RightColumn] = {}

    def named(expression: Fragment) -> Text:
        name = f"__sqlext_right{asked.number}_{len(columns)}"
        return join(columns.setdefault(normal_words(expression), RightColumn(asked.sides.text(expression), name)).name)

    def part(expression: Fragment) -> Text:
        side = asked.sides.side_of(expression)
        if side in (LEFT, BOTH):
            return join("(", asked.sides.text(expression), ")")
        if side != RIGHT:
            raise UnsupportedError(
                "STREAM_JOIN", "LEFT ANTI JOIN of streams cannot mix columns of both in one operand",
                place=expression.place, hint="compare an expression of one stream with one of the other.",
            )  # fmt: skip
        terms = offset(expression, asked.sides.source)
        if len(terms.others) != 1 or terms.others[0].sign < 0:
            return named(expression)
        # The column itself, since an event time with a constant added is no event time.
        constants = (join(" + " if t.sign > 0 else " - ", asked.sides.text(t.expression)) for t in terms.constants)
        return join(named(terms.others[0].expression), *constants)

    def condition(conjunct: Fragment) -> Text:
        range_, comparison = between(conjunct), compared(conjunct)
        if asked.sides.side_of(conjunct) == NEITHER and range_ is not None:
            return join(part(range_.time), " BETWEEN ", part(range_.lower), " AND ", part(range_.upper))
        if asked.sides.side_of(conjunct) == NEITHER and comparison is not None:
            return join(part(comparison.left), f" {comparison.operator} ", part(comparison.right))
        return part(conjunct)

    said = [condition(conjunct) for conjunct in asked.clause.conjuncts]
    if range_ is not None:
        said.append(join("(", asked.sides.text(_event_times(asked, range_)[0]), ") IS NOT NULL"))
    if range_ is not None and not _has_key(asked):
        left, right = _event_times(asked, range_)
        said.append(same_key(asked.sides.text(left), named(right)))
    return anti_join(asked.clause, list(columns.values()), join(*said, separator=" AND "), asked.number)
