"""INTERVAL JOIN and ASOF JOIN: where they stand, and what their operands and conditions are.

As Spark's own joins they are left-associative: the left operand is the whole join tree before the join, the right one a
single relation or a join tree in parentheses.
"""

from __future__ import annotations

from sqlext.errors import ParseError, Place, SqlExtError, SqlExtErrors, UnsupportedError, raise_all
from sqlext.rewriter.joins.join_clause import JoinClause, MatchCondition
from sqlext.rewriter.joins.join_tree import (
    TYPE_WORDS,
    condition_stop,
    enclosing_query,
    is_at,
    is_time_join,
    relation_stop,
    tree_start,
)
from sqlext.rewriter.parse_from import is_only_name, without_pipe
from sqlext.rewriter.text.and_list import and_list, top_level
from sqlext.rewriter.text.fragments import Fragment, Name
from sqlext.rewriter.text.names import name_of
from sqlext.rewriter.text.tokens import Tokens, closing, tokenize, words_of

_TYPES = {
    "": "INNER", "INNER": "INNER",
    "LEFT": "LEFT", "LEFT OUTER": "LEFT", "RIGHT": "RIGHT", "RIGHT OUTER": "RIGHT",
    "FULL": "FULL", "FULL OUTER": "FULL",
    "SEMI": "LEFT SEMI", "LEFT SEMI": "LEFT SEMI", "ANTI": "LEFT ANTI", "LEFT ANTI": "LEFT ANTI",
}  # fmt: skip
_TYPES_OF = {"INTERVAL": _TYPES, "ASOF": {k: v for k, v in _TYPES.items() if v in ("INNER", "LEFT")}}
_COMPARISONS = frozenset({">=", ">", "<=", "<"})


def parse_joins(text: str, tokens: Tokens) -> tuple[JoinClause, ...]:
    """All joins on time of a statement; one that stands in an operand or the condition of another comes before it.

    Raises ParseError (MISPLACED_CLAUSE, CLAUSE_AFTER_PIPE, JOIN_TYPE, JOIN_CONDITION, MATCH_CONDITION) and
    UnsupportedError (LATERAL_JOIN), all of a statement together.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> text = "SELECT * FROM a JOIN b USING (k) LEFT INTERVAL JOIN c x ON (x.k = a.k) AND x.t BETWEEN 1 AND 2 WHERE 1"
    >>> (clause,) = parse_joins(text, tokenize(text))
    >>> clause.join_type, clause.left.text, clause.right.text, [c.text for c in clause.conjuncts]
    ('LEFT', 'a JOIN b USING (k)', 'c x', ['x.k = a.k', 'x.t BETWEEN 1 AND 2'])
    """
    found: list[JoinClause] = []
    errors: list[SqlExtError] = []
    for i in range(len(tokens)):
        if is_time_join(tokens, i):
            try:
                found.append(_parse(text, tokens, i))
            except SqlExtErrors as e:
                errors += e.errors
            except SqlExtError as e:
                errors.append(e)
    raise_all(errors)
    return tuple(sorted(found, key=lambda clause: clause.whole.stop))


def _parse(text: str, tokens: Tokens, keyword: int) -> JoinClause:
    kind = tokens[keyword].word
    first = _first_word(tokens, keyword)
    start = tree_start(tokens, first)
    if start is None or start == first:
        raise _misplaced(text, tokens, keyword)
    join_type = _join_type(text, tokens, first, keyword)
    right = keyword + 2
    _check_right(text, tokens, keyword)
    right_stop = relation_stop(tokens, right)
    condition, criteria = _match_condition(text, tokens, keyword, right_stop)
    on, using, stop = _criteria(text, tokens, criteria)
    _check_criteria(text, tokens, keyword, criteria)
    return JoinClause(
        kind, join_type,
        whole=Fragment.of_tokens(text, tokens, start, stop),
        left=Fragment.of_tokens(text, tokens, start, first),
        words=Fragment.of_tokens(text, tokens, first, right),
        keyword=Fragment.of_tokens(text, tokens, keyword, right),
        right=Fragment.of_tokens(text, tokens, right, right_stop),
        on=on, conjuncts=and_list(on) if on else (),
        match_condition=condition,
        using=using,
        query=enclosing_query(tokens, start),
    )  # fmt: skip


def _first_word(tokens: Tokens, keyword: int) -> int:
    """The first word of the join's type, or its keyword: OUTER alone is an alias."""
    first = keyword
    while first and tokens[first - 1].word in TYPE_WORDS and not is_only_name(tokens, first - 1):
        first -= 1
    return first + 1 if tokens[first].word == "OUTER" else first


def _join_type(text: str, tokens: Tokens, first: int, keyword: int) -> str:
    kind = tokens[keyword].word
    types = _TYPES_OF[kind]
    words = " ".join(t.word for t in tokens[first:keyword])
    if words in types:
        return types[words]
    place = Place(text, tokens[first].start, tokens[keyword + 1].stop)
    hint = f"write the type of the join as one of {', '.join(t for t in types if t)}."
    if "NATURAL" in words:
        hint = "say in ON which columns are equal, and the range of time." if kind == "INTERVAL" else "write USING (…)."
    elif "CROSS" in words:
        hint = "leave CROSS out: keys are optional in ON." if kind == "INTERVAL" else "leave CROSS out: ON is optional."
    elif words in _TYPES and kind == "ASOF":
        hint = "ASOF JOIN finds one right row for each left row: it is INNER or LEFT."
    raise ParseError("JOIN_TYPE", f"there is no {words} {kind} JOIN", place=place, hint=hint)


def _misplaced(text: str, tokens: Tokens, keyword: int) -> ParseError:
    kind, first = tokens[keyword].word, _first_word(tokens, keyword)
    place = Place(text, tokens[keyword].start, tokens[keyword + 1].stop)
    if first and tokens[first - 1].word == "|>":
        words = " ".join(t.word for t in tokens[first : keyword + 2])
        return ParseError("CLAUSE_AFTER_PIPE", f"{kind} JOIN cannot follow |>, it joins relations of FROM", place=place,
                          hint=f"write {without_pipe(text, tokens, first - 1)} {words} ….")  # fmt: skip
    return ParseError("MISPLACED_CLAUSE", f"{kind} JOIN must stand between two relations of FROM", place=place,
                      hint=f"write FROM a {kind} JOIN b …; what joins it further goes into parentheses.")  # fmt: skip


def _check_right(text: str, tokens: Tokens, keyword: int) -> None:
    kind, right = tokens[keyword].word, keyword + 2
    if right < len(tokens) and tokens[right].word == "LATERAL":
        raise UnsupportedError(
            "LATERAL_JOIN", f"{kind} JOIN cannot be LATERAL",
            place=Place(text, tokens[right].start, tokens[right].stop),
            hint="leave LATERAL out if the subquery reads nothing of the relations before it, else write a plain JOIN.",
        )  # fmt: skip
    if relation_stop(tokens, right) == right:
        place = Place(text, tokens[keyword].start, tokens[keyword + 1].stop)
        raise ParseError("MISPLACED_CLAUSE", f"the right relation of {kind} JOIN is missing", place=place)


def _match_condition(text: str, tokens: Tokens, keyword: int, i: int) -> tuple[MatchCondition | None, int]:
    """The MATCH_CONDITION of an ASOF JOIN at token i, and the index behind it."""
    if tokens[keyword].word != "ASOF":
        return None, i
    close = closing(tokens, i + 1) if i + 1 < len(tokens) and tokens[i].word == "MATCH_CONDITION" else None
    if close is None or close == i + 2:
        place = Place(text, tokens[keyword].start, tokens[keyword + 1].stop)
        raise ParseError("MATCH_CONDITION", "ASOF JOIN needs MATCH_CONDITION behind its right relation", place=place,
                         hint="write MATCH_CONDITION (a.t >= b.t), before ON or USING.")  # fmt: skip
    inside = Fragment.of_tokens(text, tokens, i + 2, close)
    parts = tokenize(inside.text)
    top = list(top_level(words_of(parts)))
    at = [k for k in top if parts[k].text in _COMPARISONS]
    if len(at) != 1 or not 0 < at[0] < len(parts) - 1 or any(parts[k].word in ("AND", "OR") for k in top):
        raise ParseError("MATCH_CONDITION", "MATCH_CONDITION is one comparison by >=, >, <= or <", place=inside.place,
                         hint="write further conditions in ON.")  # fmt: skip
    left, right = inside.part(parts, 0, at[0]), inside.part(parts, at[0] + 1, len(parts))
    whole = Fragment.of_tokens(text, tokens, i, close + 1)
    return MatchCondition(left, parts[at[0]].text, right, whole), close + 1


def _criteria(text: str, tokens: Tokens, i: int) -> tuple[Fragment | None, tuple[Name, ...], int]:
    """What ON or USING at token i says, and the index behind it."""
    if is_at(tokens, i, "USING") and is_at(tokens, i + 1, "("):
        close = closing(tokens, i + 1) or len(tokens)
        return None, tuple(name_of(text, t) for t in tokens[i + 2 : close] if t.is_name), close + 1
    if not is_at(tokens, i, "ON"):
        return None, (), i
    stop = condition_stop(tokens, i + 1)
    return (Fragment.of_tokens(text, tokens, i + 1, stop) if i + 1 < stop else None), (), stop


def _check_criteria(text: str, tokens: Tokens, keyword: int, i: int) -> None:
    """An INTERVAL JOIN has ON, with something in it."""
    kind = tokens[keyword].word
    if is_at(tokens, i, "ON") and _criteria(text, tokens, i)[0] is None:
        place = Place(text, tokens[i].start, tokens[i].stop)
        raise ParseError("JOIN_CONDITION", "no condition follows ON", place=place)
    if kind == "ASOF" or is_at(tokens, i, "ON"):
        return
    hint = "write ON a.key = b.key AND b.t BETWEEN a.t - INTERVAL 5 MINUTES AND a.t."
    place = Place(text, tokens[keyword].start, tokens[keyword + 1].stop)
    message = "INTERVAL JOIN needs ON with a range of time"
    if is_at(tokens, i, "USING"):
        place, message = Place(text, tokens[i].start, tokens[i].stop), "INTERVAL JOIN takes ON, not USING"
    raise ParseError("JOIN_CONDITION", message, place=place, hint=hint)
