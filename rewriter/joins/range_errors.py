"""Why an ON holds no range of time that an INTERVAL JOIN could take, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable

from sqlext.errors import BindError, SqlExtError, UnsupportedError
from sqlext.rewriter.joins.comparison import LEFT, NEITHER, RIGHT, SideOf, compared
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.joins.time_range import TimeRange, comparisons, distance
from sqlext.rewriter.text.and_list import top_level
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import tokenize, words_of

ORDERED = frozenset({"<", "<=", ">", ">="})


def half_range(clause: JoinClause, side_of: SideOf, is_number: Callable[[Fragment], bool]) -> SqlExtError | None:
    """The error for a range that is written as a distance, or of which only one end is."""
    for conjunct in clause.conjuncts:
        parts = distance(conjunct)
        if parts is not None:
            x, y, limit = (part.text for part in parts)
            return UnsupportedError(
                "TIME_RANGE", "INTERVAL JOIN takes a range of time, not a distance", place=conjunct.place,
                hint=f"write {y} BETWEEN {x} - {limit} AND {x} + {limit}.",
            )  # fmt: skip
    for conjunct, comparison in comparisons(clause.conjuncts, ORDERED):
        sides = side_of(comparison.left), side_of(comparison.right)
        if sides == (LEFT, RIGHT):
            time, bound, is_lower = comparison.right, comparison.left, comparison.operator in ("<", "<=")
        elif sides == (RIGHT, LEFT):
            time, bound, is_lower = comparison.left, comparison.right, comparison.operator in (">", ">=")
        else:
            continue
        far = "100" if is_number(time) else "INTERVAL 1 HOUR"
        ends = f"{bound.text} AND {bound.text} + {far}" if is_lower else f"{bound.text} - {far} AND {bound.text}"
        return UnsupportedError(
            "TIME_RANGE", f"this is half a range, it has no {'end' if is_lower else 'beginning'}",
            place=conjunct.place, hint=f"write {time.text} BETWEEN {ends}, with the bound that you mean.",
        )  # fmt: skip
    return None


def no_range(clause: JoinClause, side_of: SideOf) -> SqlExtError:
    """The error where there is not even half a range."""
    for conjunct in clause.conjuncts:
        if _has_or(conjunct):
            return UnsupportedError(
                "TIME_RANGE", "INTERVAL JOIN takes a list of AND, of which one member is the range; here OR joins them",
                place=conjunct.place,
                hint="write ON range AND (… OR …), or the UNION ALL of two joins if each has a range of its own.",
            )  # fmt: skip
    for conjunct in clause.conjuncts:
        found = compared(conjunct)
        if found is not None and NEITHER in (side_of(found.left), side_of(found.right)):
            return UnsupportedError(
                "TIME_RANGE", "INTERVAL JOIN takes a range with one relation's time alone on one side",
                place=conjunct.place, hint="write r.time BETWEEN l.time - INTERVAL … AND l.time + INTERVAL ….",
            )  # fmt: skip
    return BindError(
        "TIME_RANGE", "ON holds no range of time between the two relations", place=(clause.on or clause.keyword).place,
        hint="write r.time BETWEEN l.time - INTERVAL … AND l.time + INTERVAL …, or two comparisons of one time.",
    )  # fmt: skip


def wrong_types(range_: TimeRange, types: tuple[str, ...]) -> BindError:
    """The error for a range that is not one of timestamps, dates or numbers."""
    kinds = " and ".join(dict.fromkeys(types))
    return BindError(
        "RANGE_TYPE", f"INTERVAL JOIN takes a range of timestamps, dates or numbers, not of {kinds}",
        place=range_.time.place, hint="CAST the time and its bounds to one of these.",
    )  # fmt: skip


def _has_or(conjunct: Fragment) -> bool:
    words = words_of(tokenize(conjunct.text))
    return any(words[i] == "OR" for i in top_level(words))
