"""The conditions that a condition is made of, found by tokens alone."""

from __future__ import annotations

from collections.abc import Iterator

from sqlext.rewriter.match.match_clause import Fragment
from sqlext.rewriter.parse_from import Tokens
from sqlext.rewriter.text.tokens import NUMBER, QUOTED, STRING, WORD, closing, tokenize

# Behind these words something is still to come: what follows is a name, whatever else it may mean.
_OPERATORS = frozenset([
    "AND", "OR", "NOT", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "IN", "IS", "DIV", "CASE", "WHEN", "THEN",
    "ELSE", "ON", "USING", "AS", "FROM", "JOIN", "STREAM", "LATERAL", "SELECT", "DISTINCT", "WHERE", "BY", "HAVING",
    "SET", "CROSS", "INNER", "NATURAL", "TABLE", "UPDATE", "INTO", "QUALIFY", "LIMIT", "OFFSET", "EXISTS", "ESCAPE",
])  # fmt: skip
_QUERY_STARTS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"})


def ends_operand(tokens: Tokens, i: int) -> bool:
    """Can a relation or an expression end with token i?

    >>> [ends_operand(tokenize("a . in ) AND"), i) for i in range(5)]
    [True, False, True, True, False]
    """
    token = tokens[i]
    if token.kind == WORD:
        return token.word not in _OPERATORS or (i > 0 and tokens[i - 1].text == ".")
    return token.kind in (QUOTED, STRING, NUMBER) or token.text in (")", "]", "}", "?")


def and_list(condition: Fragment) -> tuple[Fragment, ...]:
    """The members of `a AND b AND …`, without parentheses around them; one member where the top is not AND.

    >>> text = "a AND (b BETWEEN 1 AND 2 AND (CASE WHEN c AND d THEN e END)) AND (f OR g)"
    >>> [c.text for c in and_list(Fragment(text, 0, len(text)))]
    ['a', 'b BETWEEN 1 AND 2', 'CASE WHEN c AND d THEN e END', 'f OR g']
    >>> [c.text for c in and_list(Fragment("a AND b OR c", 0, 12))]
    ['a AND b OR c']
    """
    condition = without_parentheses(condition)
    tokens = tokenize(condition.text)
    at = condition.start
    spans = list(_members(tokens))
    if len(spans) < 2:
        return (condition,)
    parts = (Fragment(condition.source, at + tokens[lo].start, at + tokens[hi - 1].stop) for lo, hi in spans)
    return tuple(member for part in parts for member in and_list(part))


def without_parentheses(condition: Fragment) -> Fragment:
    """What is inside the parentheses around a whole expression, if there are any; a subquery keeps its own.

    >>> without_parentheses(Fragment("((a) + b)", 0, 9)).text
    '(a) + b'
    """
    tokens = tokenize(condition.text)
    while len(tokens) > 2 and tokens[0].text == "(" and tokens[1].word not in _QUERY_STARTS:
        if closing(tokens, 0) != len(tokens) - 1:
            break
        start, stop = condition.start + tokens[1].start, condition.start + tokens[-2].stop
        condition = Fragment(condition.source, start, stop)
        tokens = tokenize(condition.text)
    return condition


def top_level(tokens: Tokens) -> Iterator[int]:
    """The indexes of tokens that stand in no parentheses and in no CASE."""
    cases = 0
    for i, token in enumerate(tokens):
        is_name = i > 0 and tokens[i - 1].text == "."
        if token.depth or is_name:
            continue
        if token.word == "CASE":
            cases += 1
        elif token.word == "END" and cases:
            cases -= 1
        elif not cases:
            yield i


def _members(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """The ranges of tokens between the ANDs of the top, of which one belongs to each BETWEEN."""
    top = list(top_level(tokens))
    if any(tokens[i].word == "OR" for i in top):
        return
    start = open_betweens = 0
    for i in top:
        if tokens[i].word == "BETWEEN":
            open_betweens += 1
        elif tokens[i].word == "AND" and open_betweens:
            open_betweens -= 1
        elif tokens[i].word == "AND" and start < i:
            yield start, i
            start = i + 1
    if start < len(tokens):
        yield start, len(tokens)
