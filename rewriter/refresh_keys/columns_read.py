"""The columns of its sources that a query can read, by the names in its text."""

from __future__ import annotations

from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.text.names import tokens_of, unquoted
from sqlext.rewriter.text.tokens import NUMBER, STRING, Token

# A star after one of these, or after a comma or a point, stands for columns; after a value it multiplies.
_BEFORE_STAR = frozenset({"SELECT", "DISTINCT", "ALL"})


def columns_read(text: str) -> frozenset[str] | None:
    """The names in a query, in lower case, among which are those of all columns that it reads; None if it may read
    columns that it does not name.

    >>> names = columns_read('SELECT count(*) AS n, `A b` * 2, "C" FROM t GROUP BY ALL')
    >>> sorted(names - {"select", "from", "as", "group", "by", "all"})
    ['a b', 'c', 'count', 'n', 't']
    >>> columns_read("SELECT t.* FROM t"), columns_read("SELECT hash(*) FROM t"), columns_read("TABLE t")
    (None, None, None)
    """
    tokens = tokens_of(text)
    for i, token in enumerate(tokens):
        if token.text == "*" and _stands_for_columns(tokens[:i]):
            return None
        if token.word == "NATURAL" or token.text == "|>":
            return None
        if token.word == "TABLE" and not _is_argument(tokens, i):
            return None
        if token.word == "ROWS" and i and tokens[i - 1].word == "ALL":  # ALL ROWS PER MATCH
            return None
    return frozenset(_name(token) for token in tokens if token.may_name)


def _name(token: Token) -> str:
    text = token.text
    return (text[1:-1].replace('""', '"') if text[0] == '"' else unquoted(text)).lower()


def has_own_ties(text: str) -> bool:
    """Whether columns that a query does not name never decide between rows that are equal otherwise, as they do in
    joins on time, for example."""
    return all(isinstance(part, ClauseSite) for part in parse_statement(text).parts)


def _stands_for_columns(before: tuple[Token, ...]) -> bool:
    if not before or before[-1].word in _BEFORE_STAR or before[-1].text in (",", "."):
        return True
    if before[-1].text == "(":
        return len(before) < 2 or before[-2].word != "COUNT"
    return not (before[-1].is_name or before[-1].kind in (STRING, NUMBER) or before[-1].text in (")", "]"))


def _is_argument(tokens: tuple[Token, ...], i: int) -> bool:
    """Whether TABLE is that of a window function, whose columns the query names."""
    before = tokens[i - 1].text if i else ""
    return before in ("(", "=>") and any(token.word == "DESCRIPTOR" for token in tokens[i:])
