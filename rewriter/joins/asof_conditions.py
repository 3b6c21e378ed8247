"""What the conditions of an ASOF JOIN read: which belong to one relation, and which of both are keys or bounds."""

from __future__ import annotations

from dataclasses import replace

from sqlext.errors import BindError, SqlExtError, UnsupportedError, raise_all
from sqlext.rewriter.joins.asof_sql import Bound, Conditions, Key, flipped, is_backward
from sqlext.rewriter.joins.join_clause import JoinClause, MatchCondition
from sqlext.rewriter.joins.join_conditions import BOTH, LEFT, RIGHT, Comparison, SideOf, compared
from sqlext.rewriter.text.and_list import same_words
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Source, Text

_HINT = (
    "between both sides ASOF JOIN takes equalities and a bound on the right time itself, as"
    " {example}; else filter the result in WHERE."
)


def match_condition(condition: MatchCondition, side_of: SideOf) -> MatchCondition:
    """The condition with the left relation's time on the left.

    Raises BindError (MATCH_CONDITION): not one operand of each relation.
    """
    sides = side_of(condition.left), side_of(condition.right)
    if sides == (LEFT, RIGHT):
        return condition
    if sides == (RIGHT, LEFT):
        operator = flipped(condition.operator)
        return replace(condition, left=condition.right, operator=operator, right=condition.left)
    raise BindError(
        "MATCH_CONDITION", "MATCH_CONDITION compares a time of the left relation with one of the right relation",
        place=condition.whole.place,
        hint="each operand reads columns of one relation; name it if both have such a column.",
    )  # fmt: skip


def conditions(clause: JoinClause, times: MatchCondition, side_of: SideOf, source: Source) -> Conditions:
    """What ON says, with the times as `match_condition` gives them.

    Raises UnsupportedError (ASOF_CONDITION): conditions that only a pair of rows decides; all of them together.
    """
    found = Conditions()
    errors: list[SqlExtError] = []
    for conjunct in clause.conjuncts:
        try:
            found = _with(found, conjunct, times, side_of, source)
        except SqlExtError as error:
            errors.append(error)
    raise_all(errors)
    return found


def _with(found: Conditions, conjunct: Fragment, times: MatchCondition, side_of: SideOf, source: Source) -> Conditions:
    def text(fragment: Fragment) -> Text:
        return source.slice(fragment.start, fragment.stop)

    side = side_of(conjunct)
    if side in (LEFT, BOTH):
        return replace(found, left=(*found.left, text(conjunct)))
    if side == RIGHT:
        return replace(found, right=(*found.right, text(conjunct)))
    comparison = compared(conjunct)
    if comparison is not None:
        if side_of(comparison.left) == RIGHT:
            operator = flipped(comparison.operator)
            comparison = Comparison(comparison.right, operator, comparison.left)
        is_of_both = (side_of(comparison.left), side_of(comparison.right)) == (LEFT, RIGHT)
        if is_of_both and comparison.operator in ("=", "<=>"):
            key = Key(text(comparison.left), text(comparison.right), comparison.operator == "<=>")
            return replace(found, keys=(*found.keys, key))
        if is_of_both and _is_bound(comparison, times):
            bound = Bound(flipped(comparison.operator), text(comparison.left))
            return replace(found, bounds=(*found.bounds, bound))
    operator = ">=" if is_backward(times.operator) else "<="
    example = f"{times.right.text} {operator} {times.left.text} {'-' if operator == '>=' else '+'} INTERVAL 1 HOUR"
    raise UnsupportedError(
        "ASOF_CONDITION", "this condition can only be tested on pairs of rows", place=conjunct.place,
        hint=_HINT.format(example=example),
    )  # fmt: skip


def _is_bound(comparison: Comparison, times: MatchCondition) -> bool:
    """Does the comparison only limit how far away the right time is? If the nearest row fails it, all others do."""
    if not same_words(comparison.right, times.right):
        return False
    allowed = ("<=", "<") if is_backward(times.operator) else (">=", ">")  # of `left operator right time`
    return comparison.operator in allowed
