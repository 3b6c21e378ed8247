"""The SELECT whose FROM holds a clause: what may read the clause's result, found by tokens."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.rewriter.joins.join_tree import is_time_join
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import unquoted
from sqlext.rewriter.text.tokens import Tokens, closing, index_at


@dataclass(frozen=True)
class Enclosing:
    """Indexes of tokens: `select` and `start` are SELECT and FROM, `first` to `behind` (exclusive) the clause with its
    alias, `end` is behind the query. `alias` ("" without one) and the names of its `columns` are in lower case."""

    select: int
    start: int
    first: int
    alias: str
    columns: tuple[str, ...]
    behind: int
    end: int
    depth: int


def enclosing(tokens: Tokens, whole: Fragment) -> Enclosing | None:
    """The SELECT around the clause `whole`; None if the clause stands in anything else, also inside parentheses.

    >>> from sqlext.rewriter.text.tokens import Tokens, tokenize
    >>> text = "SELECT 1 FROM t MATCH_RECOGNIZE (…) AS m (a, b) WHERE x"
    >>> found = enclosing(tokenize(text), Fragment(text, 14, 35))
    >>> found.alias, found.columns, tokenize(text)[found.behind].text
    ('m', ('a', 'b'), 'WHERE')
    """
    first = index_at(tokens, whole.start)
    depth = tokens[first].depth
    start = _from_before(tokens, first)
    if start is None:
        return None
    select = next(i for i in range(start, -1, -1) if tokens[i].depth == depth and tokens[i].word == "SELECT")
    alias, columns, behind = alias_at(tokens, index_at(tokens, whole.stop))
    ends = (k for k in range(behind, len(tokens)) if tokens[k].depth < depth or tokens[k].text == ";")
    return Enclosing(select, start, first, alias, columns, behind, next(ends, len(tokens)), depth)


def _from_before(tokens: Tokens, first: int) -> int | None:
    """The index of the FROM, of a SELECT, whose list token `first` stands in."""
    depth, found = tokens[first].depth, None
    for i in range(first - 1, -1, -1):
        if tokens[i].depth < depth or tokens[i].text == ";":
            return None
        if tokens[i].depth > depth:
            continue
        if tokens[i].word == "FROM":
            if found is not None or tokens[i - 1].word == "DISTINCT":
                return None
            found = i
        elif tokens[i].word == "SELECT":
            return found
    return None


_BEHIND_RELATION = frozenset([
    "WHERE", "JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "NATURAL", "SEMI", "ANTI", "LATERAL", "PIVOT",
    "UNPIVOT", "TABLESAMPLE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "UNION",
    "EXCEPT", "INTERSECT", "MINUS", "WINDOW", "QUALIFY", "ON", "USING", "MATCH_RECOGNIZE", "MATCH_CONDITION",
])  # fmt: skip


def alias_at(tokens: Tokens, i: int) -> tuple[str, tuple[str, ...], int]:
    """What stands behind a relation at token i: alias and column names, in lower case, and the index behind them.

    >>> from sqlext.rewriter.text.tokens import Tokens, tokenize
    >>> alias_at(tokenize("a AS B (c) JOIN d"), 1), alias_at(tokenize("a ASOF JOIN d"), 1)
    (('b', ('c',), 6), ('', (), 1))
    """
    if i < len(tokens) and tokens[i].word == "AS":
        i += 1
    if i >= len(tokens) or not tokens[i].is_name or tokens[i].word in _BEHIND_RELATION or is_time_join(tokens, i):
        return "", (), i
    alias, i = unquoted(tokens[i].text).lower(), i + 1
    close = closing(tokens, i) if i < len(tokens) and tokens[i].text == "(" else None
    if close is None:
        return alias, (), i
    return alias, tuple(unquoted(t.text).lower() for t in tokens[i + 1 : close] if t.is_name), close + 1
