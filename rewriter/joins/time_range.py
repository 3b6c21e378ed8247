"""The range of an INTERVAL JOIN: which conjuncts of ON say `lower <= time <= upper`, found by tokens alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlext.rewriter.joins.comparison import Comparison, compared
from sqlext.rewriter.text.and_list import same_words, top_level, without_parentheses
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import closing, tokenize, words_of

_LOWER, _UPPER = "lower", "upper"
_ORDERED = {">=": _LOWER, ">": _LOWER, "<=": _UPPER, "<": _UPPER}
_OTHER = {_LOWER: _UPPER, _UPPER: _LOWER}
# BETWEEN with one of these beside it is part of a larger expression.
_LOOSER = frozenset({"AND", "OR", "NOT", "IS", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "=", "==", "<", ">", "<=",
                     ">=", "<>", "!=", "<=>", "!"})  # fmt: skip


@dataclass(frozen=True)
class TimeRange:
    """`lower <= time <= upper`, or `<` where the bound is not inclusive; whether the sides fit is not known yet."""

    time: Fragment
    lower: Fragment
    upper: Fragment
    has_lower: bool = True  # is the bound itself in the range?
    has_upper: bool = True


@dataclass(frozen=True)
class _Half:
    """One comparison read as a bound of `time`. `end`: "lower" or "upper"."""

    time: Fragment
    end: str
    bound: Fragment
    is_inclusive: bool


def time_ranges(conjuncts: Sequence[Fragment]) -> Iterator[TimeRange]:
    """Everything that may be the range, in the order of ON: each BETWEEN, each pair of comparisons of one expression.

    >>> def shown(text):
    ...     parts = [Fragment(text, text.index(part), text.index(part) + len(part)) for part in text.split(" AND ")]
    ...     return [(r.lower.text, r.time.text, r.upper.text, r.has_lower, r.has_upper) for r in time_ranges(parts)]
    >>> shown("a.x = b.x AND a.t < b.t + 5 AND (b.t - 1) <= A.t")
    [('b.t - 1', 'a.t', 'b.t + 5', True, False)]
    >>> text = "b.t BETWEEN a.t - INTERVAL 5 MINUTES AND a.t"
    >>> [(r.time.text, r.lower.text, r.upper.text) for r in time_ranges([Fragment(text, 0, len(text))])]
    [('b.t', 'a.t - INTERVAL 5 MINUTES', 'a.t')]
    """
    halves: list[_Half] = []
    for conjunct in conjuncts:
        found = between(conjunct)
        if found is not None:
            yield found
        for half in _halves(conjunct):
            partners = (h for h in halves if h.end == _OTHER[half.end] and same_words(h.time, half.time))
            yield from (_joined(partner, half) for partner in partners)
            halves.append(half)


def comparisons(conjuncts: Sequence[Fragment], operators: frozenset[str]) -> Iterator[tuple[Fragment, Comparison]]:
    """The conjuncts that are comparisons by one of the operators."""
    for conjunct in conjuncts:
        found = compared(conjunct)
        if found is not None and found.operator in operators:
            yield conjunct, found


def distance(conjunct: Fragment) -> tuple[Fragment, Fragment, Fragment] | None:
    """(x, y, d) of `abs(x - y) <= d`, `abs(x - y) < d` or the same the other way round.

    >>> text = "d > ABS(a.t - b.t)"
    >>> [f.text for f in distance(Fragment(text, 0, len(text)))]
    ['a.t', 'b.t', 'd']
    """
    found = compared(conjunct)
    if found is None or found.operator not in _ORDERED:
        return None
    is_upper = _ORDERED[found.operator] == _UPPER
    call, limit = (found.left, found.right) if is_upper else (found.right, found.left)
    tokens = tokenize(call.text)
    if len(tokens) < 4 or tokens[0].word != "ABS" or tokens[1].text != "(" or closing(tokens, 1) != len(tokens) - 1:
        return None
    inside = call.part(tokens, 2, len(tokens) - 1)
    tokens = tokenize(inside.text)
    minus = [i for i in top_level(words_of(tokens)) if tokens[i].text == "-"]
    if len(minus) != 1 or not 0 < minus[0] < len(tokens) - 1:
        return None
    return inside.part(tokens, 0, minus[0]), inside.part(tokens, minus[0] + 1, len(tokens)), limit


def between(conjunct: Fragment) -> TimeRange | None:
    """What `time BETWEEN lower AND upper` says; None: the conjunct is something else."""
    tokens = tokenize(conjunct.text)
    top = list(top_level(words_of(tokens)))
    at = [i for i in top if tokens[i].word == "BETWEEN"]
    if len(at) != 1:
        return None
    ands = [i for i in top if i > at[0] and tokens[i].word == "AND"]
    rest = [tokens[i].word for i in top if i != at[0] and i not in ands]
    if len(ands) != 1 or any(word in _LOOSER for word in rest) or at[0] == 0 or ands[0] in (at[0] + 1, len(tokens) - 1):
        return None

    def piece(lo: int, hi: int) -> Fragment:
        return without_parentheses(conjunct.part(tokens, lo, hi))

    return TimeRange(piece(0, at[0]), piece(at[0] + 1, ands[0]), piece(ands[0] + 1, len(tokens)))


def _halves(conjunct: Fragment) -> Iterator[_Half]:
    """A comparison read from both sides."""
    found = compared(conjunct)
    if found is None or found.operator not in _ORDERED:
        return
    left, right = without_parentheses(found.left), without_parentheses(found.right)
    end, is_inclusive = _ORDERED[found.operator], "=" in found.operator
    yield _Half(left, end, right, is_inclusive)
    yield _Half(right, _OTHER[end], left, is_inclusive)


def _joined(a: _Half, b: _Half) -> TimeRange:
    lower, upper = (a, b) if a.end == _LOWER else (b, a)
    return TimeRange(a.time, lower.bound, upper.bound, lower.is_inclusive, upper.is_inclusive)
