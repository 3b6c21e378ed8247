"""Sorts the conditions of an ASOF JOIN into conditions on one relation alone, keys and bounds."""

from __future__ import annotations

from dataclasses import replace

from sqlext.errors import BindError, UnsupportedError, all_of
from sqlext.rewriter.joins.asof_sql import Conditions, Key, TimeBound, flipped, is_backward
from sqlext.rewriter.joins.join_clause import NEAREST, JoinClause, MatchCondition, no_comparison
from sqlext.rewriter.joins.join_conditions import BOTH, LEFT, RIGHT, Comparison, SideOf, compared
from sqlext.rewriter.text.and_list import same_words
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Source

_HINT = (
    "a condition on both relations is an equality or a bound on the right time itself, such as"
    " {example}; filter the result by any other in WHERE."
)
_HINT_OF_NEAREST = (
    "a condition on both relations is an equality; write MATCH_CONDITION (NEAREST (…)) WITHIN INTERVAL 1 HOUR"
    " to bound the distance, and filter the result by any other in WHERE."
)


def with_condition(clause: JoinClause, side_of: SideOf) -> JoinClause:
    """The clause with the only comparison of ON that reads both relations as its MATCH_CONDITION, as DuckDB takes it.

    Raises ParseError and BindError (MATCH_CONDITION) if several comparisons do, or none.
    """
    if not clause.comparisons:
        return clause
    of_both = [c for c in clause.comparisons if {side_of(c.left), side_of(c.right)} == {LEFT, RIGHT}]
    if not of_both and clause.on is not None:
        raise no_comparison(clause.on)
    if len(of_both) > 1:
        first, second = of_both[0].whole, of_both[1].whole
        raise BindError(
            "MATCH_CONDITION",
            f"ON compares both relations by >=, >, <= or < {len(of_both)} times, and one of them finds the nearest row",
            place=second.place,
            hint=f"write MATCH_CONDITION ({first.in_line}) before ON, if this is the one; a distance is written WITHIN"
            " after it, and other conditions on both relations are written in WHERE.",
        )
    return clause.with_condition(of_both[0])


def match_condition(condition: MatchCondition, side_of: SideOf) -> MatchCondition:
    """The condition with the left relation's time on the left.

    Raises BindError (MATCH_CONDITION) unless one operand reads only the left relation, and the other only the right.
    """
    sides = side_of(condition.left), side_of(condition.right)
    if sides == (LEFT, RIGHT):
        return condition
    if sides == (RIGHT, LEFT):
        operator = flipped(condition.operator)
        return replace(condition, left=condition.right, operator=operator, right=condition.left)
    raise BindError(
        "MATCH_CONDITION",
        "MATCH_CONDITION compares a time of the left relation with one of the right relation",
        place=condition.whole.place,
        hint="each operand reads columns of one relation; name it if both have such a column.",
    )


def conditions(clause: JoinClause, times: MatchCondition, side_of: SideOf, source: Source) -> Conditions:
    """The conditions of ON, sorted; `times` is the result of `match_condition`.

    Raises UnsupportedError (ASOF_CONDITION) for all conditions that can only be tested on pairs of rows.
    """
    parts = all_of(clause.conjuncts, lambda conjunct: _condition(conjunct, times, side_of, source))
    return Conditions(
        keys=tuple(key for part in parts for key in part.keys),
        left=tuple(condition for part in parts for condition in part.left),
        right=tuple(condition for part in parts for condition in part.right),
        bounds=tuple(bound for part in parts for bound in part.bounds),
    )


def _condition(conjunct: Fragment, times: MatchCondition, side_of: SideOf, source: Source) -> Conditions:
    """The condition that is this member of ON."""
    side = side_of(conjunct)
    if side in (LEFT, BOTH):
        return Conditions(left=(source.of(conjunct),))
    if side == RIGHT:
        return Conditions(right=(source.of(conjunct),))
    comparison = compared(conjunct)
    if comparison is not None:
        if side_of(comparison.left) == RIGHT:
            operator = flipped(comparison.operator)
            comparison = Comparison(comparison.right, operator, comparison.left)
        is_of_both = (side_of(comparison.left), side_of(comparison.right)) == (LEFT, RIGHT)
        if is_of_both and comparison.operator in ("=", "<=>"):
            key = Key(source.of(comparison.left), source.of(comparison.right), comparison.operator == "<=>")
            return Conditions(keys=(key,))
        if is_of_both and _is_bound(comparison, times):
            return Conditions(bounds=(TimeBound(flipped(comparison.operator), source.of(comparison.left)),))
    operator = ">=" if is_backward(times.operator) else "<="
    example = f"{times.right.text} {operator} {times.left.text} {'-' if operator == '>=' else '+'} INTERVAL 1 HOUR"
    hint = _HINT_OF_NEAREST if times.operator == NEAREST else _HINT.format(example=example)
    raise UnsupportedError(
        "ASOF_CONDITION", "this condition can only be tested on pairs of rows", place=conjunct.place, hint=hint
    )


def _is_bound(comparison: Comparison, times: MatchCondition) -> bool:
    """Whether the comparison only limits how far away the right time is.

    If the nearest row fails such a comparison, all other rows fail it too.
    """
    if times.operator == NEAREST or not same_words(comparison.right, times.right):
        return False
    allowed = ("<=", "<") if is_backward(times.operator) else (">=", ">")  # in `left operator right time`
    return comparison.operator in allowed
