"""Reads the conditions between two relations from tokens, and finds the range of time of an INTERVAL JOIN in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlext.errors import BindError, SqlExtError, UnsupportedError
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.text.and_list import normal_words, same_words, top_level, without_parentheses
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import lexemes
from sqlext.rewriter.text.splice import Source, Text, join
from sqlext.rewriter.text.tokens import closing, tokenize, words_of
from sqlext.rewriter.tree.keywords import INTERVAL_UNITS, ends_operand

LEFT, RIGHT, BOTH, NEITHER = "left", "right", "both", "neither"
# The relation that alone can compute an expression: BOTH for a constant, NEITHER if it needs both relations.
SideOf = Callable[[Fragment], str]

_EQUAL = frozenset({"=", "=="})
_NULL_SAFE = ("IS", "NOT", "DISTINCT", "FROM")
_LOWER, _UPPER = "lower", "upper"
_ORDERED = {">=": _LOWER, ">": _LOWER, "<=": _UPPER, "<": _UPPER}
_OTHER = {_LOWER: _UPPER, _UPPER: _LOWER}
# An expression with one of these words at its top is more than a comparison or a BETWEEN.
_LOOSER = frozenset({"AND", "OR", "NOT", "IS", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "<>", "!=", "!"})
_CONSTANT_WORDS = INTERVAL_UNITS | {"INTERVAL", "TO", "MAKE_DT_INTERVAL", "MAKE_YM_INTERVAL"}


def other_side(side: str) -> str:
    """The other one of LEFT and RIGHT.

    >>> other_side(LEFT), other_side(RIGHT)
    ('right', 'left')
    """
    return RIGHT if side == LEFT else LEFT


@dataclass(frozen=True)
class Comparison:
    """A comparison `left operator right`; `operator` is `=`, `<=>`, `>=`, `>`, `<=` or `<`."""

    left: Fragment
    operator: str
    right: Fragment


def compared(condition: Fragment) -> Comparison | None:
    """The comparison that a condition is; None if it is anything else.

    >>> def shown(text):
    ...     comparison = compared(Fragment(text, 0, len(text)))
    ...     return comparison and (comparison.left.text, comparison.operator, comparison.right.text)
    >>> shown("a.x + 1 == (b.y = 2)"), shown("a.x IS NOT DISTINCT FROM b.y"), shown("NOT a = b"), shown("a = b = c")
    (('a.x + 1', '=', '(b.y = 2)'), ('a.x', '<=>', 'b.y'), None, None)
    """
    tokens = tokenize(condition.text)
    top = list(top_level(words_of(tokens)))
    words = [tokens[i].word for i in top]
    starts = [k for k, word in enumerate(words) if word in _EQUAL | _ORDERED.keys() | {"<=>"}]
    length, operator = 1, ""
    for k in range(len(words) - 3):
        if tuple(words[k : k + 4]) == _NULL_SAFE:
            starts.append(k)
            length, operator = 4, "<=>"
    others = (w for k, w in enumerate(words) if not starts or not starts[0] <= k < starts[0] + length)
    if len(starts) != 1 or any(word in _LOOSER | {"BETWEEN", "ESCAPE", "|>"} for word in others):
        return None
    first, last = top[starts[0]], top[starts[0] + length - 1]
    if first == 0 or last + 1 == len(tokens):
        return None
    word = words[starts[0]]
    return Comparison(
        condition.part(tokens, 0, first),
        operator or ("=" if word in _EQUAL else word),
        condition.part(tokens, last + 1, len(tokens)),
    )


def comparisons(conjuncts: Sequence[Fragment], operators: frozenset[str]) -> Iterator[tuple[Fragment, Comparison]]:
    """The conjuncts that are comparisons by one of the operators."""
    for conjunct in conjuncts:
        comparison = compared(conjunct)
        if comparison is not None and comparison.operator in operators:
            yield conjunct, comparison


# ranges


@dataclass(frozen=True, kw_only=True)
class TimeRange:
    """The range from `lower` to `upper`, in which `time` must be. `excludes_lower`, `excludes_upper`: the bound is not
    in it. `conjuncts`: the members of ON that say so.

    It is not known yet whether the time and the bounds belong to different relations.
    """

    time: Fragment
    lower: Fragment
    upper: Fragment
    excludes_lower: bool = False
    excludes_upper: bool = False
    conjuncts: tuple[Fragment, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Half:
    """One comparison, read as a bound of `time`; `end` is "lower" or "upper"; `is_excluded`: the bound itself is not in
    the range."""

    time: Fragment
    end: str
    bound: Fragment
    is_excluded: bool
    conjunct: Fragment


def time_ranges(conjuncts: Sequence[Fragment]) -> Iterator[TimeRange]:
    """All candidates for the range, in the order of ON: each BETWEEN, and each pair of comparisons of one expression.

    >>> def shown(text):
    ...     parts = [Fragment(text, text.index(part), text.index(part) + len(part)) for part in text.split(" AND ")]
    ...     return [(r.lower.text, r.time.text, r.upper.text) for r in time_ranges(parts)]
    >>> shown("a.x = b.x AND a.t < b.t + 5 AND (b.t - 1) <= A.t")
    [('b.t - 1', 'a.t', 'b.t + 5')]
    >>> text = "b.t BETWEEN a.t - INTERVAL 5 MINUTES AND a.t"
    >>> [(r.time.text, r.lower.text, r.upper.text) for r in time_ranges([Fragment(text, 0, len(text))])]
    [('b.t', 'a.t - INTERVAL 5 MINUTES', 'a.t')]
    """
    halves: list[_Half] = []
    for conjunct in conjuncts:
        whole = between(conjunct)
        if whole is not None:
            yield whole
        for half in _halves(conjunct):
            partners = (h for h in halves if h.end == _OTHER[half.end] and same_words(h.time, half.time))
            yield from (_joined(partner, half) for partner in partners)
            halves.append(half)


def between(conjunct: Fragment) -> TimeRange | None:
    """The range that `time BETWEEN lower AND upper` is; None if the conjunct is something else."""
    tokens = tokenize(conjunct.text)
    top = list(top_level(words_of(tokens)))
    at = [i for i in top if tokens[i].word == "BETWEEN"]
    if len(at) != 1:
        return None
    ands = [i for i in top if i > at[0] and tokens[i].word == "AND"]
    rest = [tokens[i].word for i in top if i != at[0] and i not in ands]
    if len(ands) != 1 or any(word in _LOOSER | _EQUAL | _ORDERED.keys() | {"<=>"} for word in rest):
        return None
    if at[0] == 0 or ands[0] in (at[0] + 1, len(tokens) - 1):
        return None
    return TimeRange(
        time=without_parentheses(conjunct.part(tokens, 0, at[0])),
        lower=without_parentheses(conjunct.part(tokens, at[0] + 1, ands[0])),
        upper=without_parentheses(conjunct.part(tokens, ands[0] + 1, len(tokens))),
        conjuncts=(conjunct,),
    )


def _halves(conjunct: Fragment) -> Iterator[_Half]:
    """A comparison, read as a bound of its left side and as a bound of its right side."""
    comparison = compared(conjunct)
    if comparison is None or comparison.operator not in _ORDERED:
        return
    left, right = without_parentheses(comparison.left), without_parentheses(comparison.right)
    end, is_excluded = _ORDERED[comparison.operator], comparison.operator in (">", "<")
    yield _Half(time=left, end=end, bound=right, is_excluded=is_excluded, conjunct=conjunct)
    yield _Half(time=right, end=_OTHER[end], bound=left, is_excluded=is_excluded, conjunct=conjunct)


def _joined(a: _Half, b: _Half) -> TimeRange:
    lower, upper = (a, b) if a.end == _LOWER else (b, a)
    return TimeRange(
        time=a.time,
        lower=lower.bound,
        upper=upper.bound,
        excludes_lower=lower.is_excluded,
        excludes_upper=upper.is_excluded,
        conjuncts=(a.conjunct, b.conjunct),
    )


# bounds


@dataclass(frozen=True)
class Term:
    """One term of a sum; `sign` is 1 or -1."""

    sign: int
    expression: Fragment


@dataclass(frozen=True)
class Offset:
    """A bound as a sum: `constants` are the constant terms, `others` the terms that are not constant."""

    others: tuple[Term, ...]
    constants: tuple[Term, ...]

    @property
    def base(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """The non-constant terms, normalised: equal for two bounds on the same time."""
        return tuple((term.sign, normal_words(term.expression)) for term in self.others)


def offset(bound: Fragment, source: Source) -> Offset:
    """The bound as a sum; the parts that `source` replaces (bound parameters) are constant.

    Constants that Spark adds to each other first are one term: twice 12 hours are a day of the calendar then.

    >>> text = "5 + (a.t - INTERVAL 2 DAYS)"
    >>> bound = offset(Fragment(text, 0, len(text)), Source(text))
    >>> bound.base, [(t.sign, t.expression.text) for t in bound.constants]
    (((1, ('A', '.', 'T')),), [(1, '5'), (-1, 'INTERVAL 2 DAYS')])
    >>> text = "x - y + a.t - (x + y)".replace("x", "INTERVAL 1 DAY").replace("y", "INTERVAL 2 HOURS")
    >>> [(t.sign, t.expression.text) for t in offset(Fragment(text, 0, len(text)), Source(text)).constants]
    [(1, 'INTERVAL 1 DAY - INTERVAL 2 HOURS'), (-1, 'INTERVAL 1 DAY + INTERVAL 2 HOURS')]
    """
    terms = list(_terms(bound, 1, source))
    others = tuple(t for t in terms if not _is_constant(t.expression, source))
    return Offset(others, tuple(t for t in terms if t not in others))


def _terms(sum_: Fragment, sign: int, source: Source) -> Iterator[Term]:
    """The terms of a sum or difference; a sum in parentheses is split into its terms too, unless it is constant."""
    sum_ = without_parentheses(sum_)
    if _is_constant(sum_, source):
        yield Term(sign, sum_)
        return
    tokens = tokenize(sum_.text)
    signs = (i for i in top_level(words_of(tokens)) if i and tokens[i].text in ("+", "-"))
    operators = [i for i in signs if ends_operand(tokens, i - 1)]
    if not operators:
        yield Term(sign, sum_)
        return
    constant = [i for i in operators if _is_constant(sum_.part(tokens, 0, i), source)]
    at = [-1, *operators[max(0, len(constant) - 1) :], len(tokens)]
    for lo, hi in zip(at, at[1:]):  # noqa: RUF007
        own = -sign if lo >= 0 and tokens[lo].text == "-" else sign
        yield from _terms(sum_.part(tokens, lo + 1, hi), own, source)


def _is_constant(expression: Fragment, source: Source) -> bool:
    return all(x.is_parameter or not x.is_name or x.word in _CONSTANT_WORDS for x in lexemes(expression, source))


def checked_sum(bound: Fragment, source: Source, text: Callable[[Fragment], Text]) -> Text | None:
    """The bound as SQL that is NULL on rows where the bound would overflow.

    None if the bound is not an expression plus constants. `text` returns the SQL for a part of the bound.

    >>> text = "a.t - INTERVAL 2 DAYS"
    >>> print(checked_sum(Fragment(text, 0, len(text)), Source(text), lambda part: join(part.text)))
    try_subtract(a.t, INTERVAL 2 DAYS)
    """
    terms = offset(bound, source)
    if len(terms.others) != 1 or terms.others[0].sign < 0 or not terms.constants:
        return None
    result = text(terms.others[0].expression)
    for term in terms.constants:
        result = join("try_add(" if term.sign > 0 else "try_subtract(", result, ", ", text(term.expression), ")")
    return result


# errors


def half_range(clause: JoinClause, side_of: SideOf, is_number: Callable[[Fragment], bool]) -> SqlExtError | None:
    """The error for a range that is written as a distance, or that lacks one end; None if ON has neither."""
    for conjunct in clause.conjuncts:
        parts = distance(conjunct)
        if parts is not None:
            x, y, limit = (part.text for part in parts)
            return UnsupportedError(
                "TIME_RANGE",
                "INTERVAL JOIN takes a range of time, not a distance",
                place=conjunct.place,
                hint=f"write {y} BETWEEN {x} - {limit} AND {x} + {limit}.",
            )
    for conjunct, comparison in comparisons(clause.conjuncts, frozenset(_ORDERED)):
        sides = side_of(comparison.left), side_of(comparison.right)
        if sides == (LEFT, RIGHT):
            time, bound, is_lower = comparison.right, comparison.left, _ORDERED[comparison.operator] == _UPPER
        elif sides == (RIGHT, LEFT):
            time, bound, is_lower = comparison.left, comparison.right, _ORDERED[comparison.operator] == _LOWER
        else:
            continue
        far = "100" if is_number(time) else "INTERVAL 1 HOUR"
        ends = f"{bound.text} AND {bound.text} + {far}" if is_lower else f"{bound.text} - {far} AND {bound.text}"
        return UnsupportedError(
            "TIME_RANGE",
            f"this is half a range, it has no {'end' if is_lower else 'beginning'}",
            place=conjunct.place,
            hint=f"write {time.text} BETWEEN {ends}, with the bound that you mean.",
        )
    return None


def distance(conjunct: Fragment) -> tuple[Fragment, Fragment, Fragment] | None:
    """(x, y, d) of `abs(x - y) <= d` or `abs(x - y) < d`, also with the two sides exchanged; None for other conditions.

    >>> text = "d > ABS(a.t - b.t)"
    >>> [f.text for f in distance(Fragment(text, 0, len(text)))]
    ['a.t', 'b.t', 'd']
    """
    comparison = compared(conjunct)
    if comparison is None or comparison.operator not in _ORDERED:
        return None
    call, limit = comparison.left, comparison.right
    if _ORDERED[comparison.operator] == _LOWER:
        call, limit = limit, call
    tokens = tokenize(call.text)
    if len(tokens) < 4 or tokens[0].word != "ABS" or tokens[1].text != "(" or closing(tokens, 1) != len(tokens) - 1:
        return None
    inside = call.part(tokens, 2, len(tokens) - 1)
    tokens = tokenize(inside.text)
    minus = [i for i in top_level(words_of(tokens)) if tokens[i].text == "-"]
    if len(minus) != 1 or not 0 < minus[0] < len(tokens) - 1:
        return None
    return inside.part(tokens, 0, minus[0]), inside.part(tokens, minus[0] + 1, len(tokens)), limit


def no_range(clause: JoinClause, side_of: SideOf) -> SqlExtError:
    """The error for an ON without even half a range."""
    for conjunct in clause.conjuncts:
        words = words_of(tokenize(conjunct.text))
        if any(words[i] == "OR" for i in top_level(words)):
            return UnsupportedError(
                "TIME_RANGE",
                "INTERVAL JOIN needs its range joined to the other conditions by AND, not by OR",
                place=conjunct.place,
                hint="write ON range AND (… OR …), or the UNION ALL of two joins if each has a range of its own.",
            )
    for conjunct in clause.conjuncts:
        comparison = compared(conjunct)
        if comparison is not None and NEITHER in (side_of(comparison.left), side_of(comparison.right)):
            return UnsupportedError(
                "TIME_RANGE",
                "the range of INTERVAL JOIN needs the time of one relation alone on one side",
                place=conjunct.place,
                hint="write r.time BETWEEN l.time - INTERVAL … AND l.time + INTERVAL ….",
            )
    return BindError(
        "TIME_RANGE",
        "ON holds no range of time between the two relations",
        place=(clause.on or clause.keyword).place,
        hint="write r.time BETWEEN l.time - INTERVAL … AND l.time + INTERVAL …, or two comparisons of one time.",
    )


def wrong_types(range_: TimeRange, types: tuple[str, ...]) -> BindError:
    """The error for a range whose types are not timestamps, dates or numbers."""
    kinds = " and ".join(dict.fromkeys(types))
    return BindError(
        "RANGE_TYPE",
        f"INTERVAL JOIN takes a range of timestamps, dates or numbers, not of {kinds}",
        place=range_.time.place,
        hint="CAST the time and its bounds to one of these.",
    )
