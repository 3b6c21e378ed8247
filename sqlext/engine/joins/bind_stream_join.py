"""INTERVAL JOIN where a relation is a stream. Before anything runs, it is checked that Spark can bound its state."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Union

from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.joins.state_range import state_bounds
from sqlext.engine.queries.queries import WATERMARK, after_watermark
from sqlext.errors import UnsupportedError
from sqlext.expressions.spark_types import COLLATED
from sqlext.rewriter.joins.interval_sql import RewrittenJoin, RightColumn, anti_join, plain_join, same_key
from sqlext.rewriter.joins.join_conditions import (
    BOTH,
    LEFT,
    NEITHER,
    RIGHT,
    Comparison,
    TimeRange,
    between,
    checked_sum,
    compared,
    comparisons,
    offset,
    other_side,
)
from sqlext.rewriter.text.and_list import normal_words
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Edit, Text, join

_WHY = "Spark's own stream-stream join, whose state the range and the watermarks bound."
EQUAL = frozenset({"=", "<=>"})
Buckets = Callable[[], Union[RewrittenJoin, None]]
_KEPT = {"LEFT": LEFT, "LEFT SEMI": LEFT, "LEFT ANTI": LEFT, "RIGHT": RIGHT}


def bind_stream_join(
    sides: JoinSides, range_: TimeRange | None, streams: Sequence[str], bind: Buckets, time_zone: str
) -> RewrittenJoin:
    """The join as text for Spark's own join of streams, or of a stream and a table.

    `range_`: None if the two times are equal. `streams`: the sides that are streams. `bind`: returns the join on
    buckets, as for tables, or None if the width of the ranges varies by row. `time_zone`: the session's time zone.

    Raises UnsupportedError: WATERMARK, STREAM_RANGE, STREAM_JOIN, KEY_TYPE.
    """
    if len(streams) == 1:
        return _with_table(sides, range_, streams[0], bind)
    _check_key_types(sides)
    if range_ is None:
        _check_equal_times(sides)
    else:
        _check_range(sides, range_)
    if sides.clause.join_type == "LEFT ANTI":
        return _anti(sides, range_, time_zone)
    if range_ is None:
        return _with_known(sides, range_, plain_join(sides.clause, ("stream", _WHY)))
    rewritten = plain_join(sides.clause, ("stream", _WHY)) if _has_key(sides) else _without_key(sides, range_, bind)
    left, right = (sides.text(time) for time in event_times(sides, range_))
    kept = state_bounds(sides, range_, time_zone, (left, right))
    return _with_conditions(sides, _with_known(sides, range_, rewritten), kept)


def _with_table(sides: JoinSides, range_: TimeRange | None, stream: str, bind: Buckets) -> RewrittenJoin:
    """The join of a stream and a table. Spark reads the table anew for each micro-batch and keeps no state, so no
    watermark is needed."""
    clause = sides.clause
    if clause.join_type != "INNER" and _KEPT.get(clause.join_type) != stream:
        raise UnsupportedError(
            "STREAM_JOIN",
            f"a {clause.join_type} JOIN of a stream and a table cannot show the table's unmatched rows",
            place=clause.words.place,
            hint="a later row of the stream may still match them: exchange the two sides of the join.",
        )
    if range_ is None:
        return plain_join(clause, ("stream", "Spark's own join of a stream and a table."))
    why = "Spark's own join of a stream and a table; the ranges vary by row, and those of a stream cannot be measured."
    return _with_computable(sides, range_, bind() or plain_join(clause, ("stream", why)))


def _has_key(sides: JoinSides) -> bool:
    return bool(join_keys(sides, EQUAL))


def join_keys(sides: JoinSides, operators: frozenset[str]) -> list[Comparison]:
    """The comparisons of ON, by one of the operators, of a value of one relation with one of the other."""
    equal = (comparison for _, comparison in comparisons(sides.clause.conjuncts, operators))
    return [c for c in equal if {sides.side_of(c.left), sides.side_of(c.right)} == {LEFT, RIGHT}]


def _check_key_types(sides: JoinSides) -> None:
    """Raise an error for keys that Spark's state cannot keep."""
    for comparison in join_keys(sides, EQUAL):
        for key in (comparison.left, comparison.right):
            field = sides.field_on(sides.side_of(key), key)
            if field is not None and COLLATED in field.dataType.simpleString():
                raise UnsupportedError(
                    "KEY_TYPE",
                    f"an INTERVAL JOIN of streams cannot compare keys of type {field.dataType.simpleString()}",
                    place=key.place,
                    hint=f"write collate({key.in_line}, 'UTF8_BINARY') on both sides, in lower(…) to ignore the case.",
                )


def _with_known(sides: JoinSides, range_: TimeRange | None, rewritten: RewrittenJoin) -> RewrittenJoin:
    """The join without times that overflow; an outer join pads at once the rows that cannot match any row.

    Spark would keep a row with a NULL time for ever, and its FULL JOIN of streams treats NULL keys as equal.
    """
    on = sides.clause.on
    rewritten = _with_computable(sides, range_, rewritten)
    if on is None or sides.clause.join_type not in ("LEFT", "RIGHT", "FULL"):
        return rewritten
    return _with_conditions(sides, rewritten, _not_null(sides, range_))


def _with_conditions(sides: JoinSides, rewritten: RewrittenJoin, conditions: Sequence[Text]) -> RewrittenJoin:
    """The join with further conditions at the end of ON."""
    on = sides.clause.on
    assert on is not None
    edits = (Edit(on.stop, on.stop, join(" AND ", condition)) for condition in conditions)
    return replace(rewritten, edits=(*rewritten.edits, *edits))


def _with_computable(sides: JoinSides, range_: TimeRange | None, rewritten: RewrittenJoin) -> RewrittenJoin:
    """The join whose ON begins with conditions that the bounds can be computed. A row whose bound is beyond the last
    time matches nothing, and does not end the query."""
    on = sides.clause.on
    if on is None or range_ is None:
        return rewritten
    before = (Edit(on.start, on.start, join(test, " AND ")) for test in _computable(sides, range_, sides.text))
    return replace(rewritten, edits=(*before, *rewritten.edits))


def _computable(sides: JoinSides, range_: TimeRange, text: Callable[[Fragment], Text]) -> list[Text]:
    """Conditions that the bounds of the range do not overflow. Spark cannot bound its state with the checked sums."""
    sums = (checked_sum(bound, sides.source, text) for bound in (range_.lower, range_.upper))
    return [join(sum_, " IS NOT NULL") for sum_ in sums if sum_ is not None]


def _not_null(sides: JoinSides, range_: TimeRange | None) -> list[Text]:
    """Conditions that the times are not NULL, and that the keys are not NULL, except keys that match NULL."""
    keys = [operand for c in join_keys(sides, frozenset({"="})) for operand in (c.left, c.right)]
    times = event_times(sides, range_) if range_ is not None else ()
    return [join("(", sides.text(operand), ") IS NOT NULL") for operand in (*times, *keys)]


def _check_equal_times(sides: JoinSides) -> None:
    """Raise an error unless one of the equalities compares two event times, so that rows leave the state."""
    first: UnsupportedError | None = None
    for _, comparison in comparisons(sides.clause.conjuncts, frozenset({"="})):
        operands = (comparison.left, comparison.right)
        missing = [e for e in operands if not has_watermark(sides, sides.side_of(e), e)]
        if not missing:
            return
        if len(missing) == 1:
            first = first or _no_watermark(missing[0])
    if first is not None:
        raise first
    raise UnsupportedError(
        "STREAM_RANGE",
        "on streams INTERVAL JOIN needs a range between the two event times, or their equality",
        place=(sides.clause.on or sides.clause.keyword).place,
        hint="write r.ts BETWEEN l.ts - INTERVAL … AND l.ts + INTERVAL …, with a WATERMARK on both.",
    )


def _check_range(sides: JoinSides, range_: TimeRange) -> None:
    """Raise an error unless the range is `time BETWEEN other time ± constant AND other time ± constant`, both with a
    watermark."""
    side = sides.side_of(range_.time)
    check_time(sides, side, range_.time)
    for bound in (range_.lower, range_.upper):
        check_bound(sides, bound, other_side(side))


def check_time(sides: JoinSides, side: str, time: Fragment) -> None:
    """Raise UnsupportedError WATERMARK unless the expression is an event time of that relation."""
    if not has_watermark(sides, side, time):
        raise _no_watermark(time)


def check_bound(sides: JoinSides, bound: Fragment, side: str) -> Fragment:
    """The event time of that relation to which a bound adds a constant. Raises UnsupportedError (STREAM_RANGE,
    WATERMARK) for any other bound."""
    terms = offset(bound, sides.source)
    if len(terms.others) != 1 or terms.others[0].sign < 0 or not _are_day_times(sides, terms.constants):
        raise UnsupportedError(
            "STREAM_RANGE",
            "on streams the bounds of INTERVAL JOIN are the other time ± a constant interval",
            place=bound.place,
            hint="write it as l.ts - INTERVAL '5' MINUTES; months have no constant length.",
        )
    check_time(sides, side, terms.others[0].expression)
    return terms.others[0].expression


def _are_day_times(sides: JoinSides, terms: Sequence) -> bool:
    fields = [sides.field_on(LEFT, term.expression) for term in terms]
    kinds = [field.dataType.simpleString() if field is not None else "" for field in fields]
    return all(re.fullmatch("interval (day|hour|minute|second).*", kind) for kind in kinds)


def has_watermark(sides: JoinSides, side: str, expression: Fragment) -> bool:
    """Return True if the expression is an event time of that relation."""
    field = sides.field_on(side, expression) if side in (LEFT, RIGHT) else None
    return field is not None and WATERMARK in field.metadata


def _no_watermark(expression: Fragment) -> UnsupportedError:
    column = after_watermark(expression.text)
    return UnsupportedError(
        "WATERMARK",
        f"{expression.text} has no watermark, so rows would never leave the join's state",
        place=expression.place,
        hint=f"write FROM STREAM relation WATERMARK {column} DELAY OF INTERVAL 10 SECONDS AS alias.",
    )


def _without_key(sides: JoinSides, range_: TimeRange, bind: Buckets) -> RewrittenJoin:
    if sides.clause.join_type == "FULL":
        left, right = (sides.text(time) for time in event_times(sides, range_))
        why = f"{_WHY} It has no key, so one task gets all rows."
        return plain_join(sides.clause, ("stream", why), same_key(left, right))
    rewritten = bind()
    assert rewritten is not None  # _check_range ensures that the width is constant
    return rewritten


def event_times(sides: JoinSides, range_: TimeRange) -> tuple[Fragment, Fragment]:
    """The event times of the left and of the right relation."""
    times = range_.time, offset(range_.lower, sides.source).others[0].expression
    return times if sides.side_of(range_.time) == LEFT else (times[1], times[0])


# ANTI joins


def _anti(sides: JoinSides, range_: TimeRange | None, time_zone: str) -> RewrittenJoin:
    """The join on conditions that read the right relation's columns by names of our own."""
    columns: dict[tuple[str, ...], RightColumn] = {}

    def named(expression: Fragment) -> Text:
        name = f"__sqlext_right{sides.number}_{len(columns)}"
        return join(columns.setdefault(normal_words(expression), RightColumn(sides.text(expression), name)).name)

    def part(expression: Fragment) -> Text:
        side = sides.side_of(expression)
        if side in (LEFT, BOTH):
            return join("(", sides.text(expression), ")")
        if side != RIGHT:
            raise UnsupportedError(
                "STREAM_JOIN",
                "an operand in LEFT ANTI JOIN of streams cannot mix columns of both streams",
                place=expression.place,
                hint="compare an expression of one stream with an expression of the other.",
            )
        terms = offset(expression, sides.source)
        if len(terms.others) != 1 or terms.others[0].sign < 0:
            return named(expression)
        # Only the column gets the name, since Spark does not regard an event time plus a constant as an event time.
        constants = (join(" + (" if t.sign > 0 else " - (", sides.text(t.expression), ")") for t in terms.constants)
        return join(named(terms.others[0].expression), *constants)

    def term(expression: Fragment) -> Text:
        """A term of a bound of the right relation."""
        return sides.text(expression) if sides.side_of(expression) == BOTH else named(expression)

    def condition(conjunct: Fragment) -> Text:
        range_, comparison = between(conjunct), compared(conjunct)
        if sides.side_of(conjunct) == NEITHER and range_ is not None:
            return join(part(range_.time), " BETWEEN ", part(range_.lower), " AND ", part(range_.upper))
        if sides.side_of(conjunct) == NEITHER and comparison is not None:
            return join(part(comparison.left), f" {comparison.operator} ", part(comparison.right))
        return part(conjunct)

    conditions = [condition(conjunct) for conjunct in sides.clause.conjuncts]
    if range_ is not None:
        is_right = sides.side_of(range_.time) == LEFT
        conditions = [*_computable(sides, range_, term if is_right else sides.text), *conditions]
        left, right = event_times(sides, range_)
        conditions.append(join("(", sides.text(left), ") IS NOT NULL"))
        conditions += state_bounds(sides, range_, time_zone, (sides.text(left), named(right)))
    if range_ is not None and not _has_key(sides):
        left, right = event_times(sides, range_)
        conditions.append(same_key(sides.text(left), named(right)))
    return anti_join(sides.clause, list(columns.values()), join(*conditions, separator=" AND "), sides.number)
