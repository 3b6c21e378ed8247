"""Columns of a clause's input that its result need not have, because the SELECT around it never names them.

ALL ROWS PER MATCH shows every column of its input, and Spark's column pruning does not look through Python workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlext.rewriter.enclosing import enclosing
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import unquoted
from sqlext.rewriter.text.tokens import NUMBER, STRING, Token, Tokens

# These read columns without naming them, or name them in a string. ASOF orders rows of one time by all their columns.
_NAMES_NOTHING = frozenset({"ASOF", "NATURAL", "PIVOT", "UNPIVOT", "IDENTIFIER", "|>", "{"})
_BEFORE_STAR = frozenset({"SELECT", "DISTINCT", "ALL", "SET", "INSERT"})


def unread(tokens: Tokens, whole: Fragment, names: Iterable[str]) -> frozenset[str]:
    """Those of the names (in lower case) that nothing in the SELECT around the clause `whole` can mean.

    A name that stands anywhere in that SELECT outside of the clause counts as read, whatever it means there.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> text = "SELECT m.a, count(*) FROM t MATCH_RECOGNIZE (…) AS m WHERE B > 1"
    >>> sorted(unread(tokenize(text), Fragment(text, 26, 47), ["a", "b", "c"]))
    ['c']
    """
    around = enclosing(tokens, whole)
    if around is None or around.columns:
        return frozenset()
    outside = [*tokens[around.select : around.first], *tokens[around.behind : around.end]]
    if any(t.word in _NAMES_NOTHING for t in outside) or _is_input(tokens, around.behind):
        return frozenset()
    if any(is_star(outside, i) or _is_row(outside, i, around.alias) for i in range(len(outside))):
        return frozenset()
    return frozenset(name.lower() for name in names) - {_name(t) for t in outside}


def _is_input(tokens: Tokens, behind: int) -> bool:
    """Is the result the input of another clause?"""
    return behind < len(tokens) and tokens[behind].word == "MATCH_RECOGNIZE"


def _name(token: Token) -> str:
    """What a token may name, in lower case; "…" is a name in some dialects of the session."""
    is_quoted = token.kind == STRING and token.text[0] == '"'
    return token.text[1:-1].lower() if is_quoted else unquoted(token.text).lower()


def is_star(tokens: Sequence[Token], i: int) -> bool:
    """Is this `*` all columns, and not COUNT(*) or a multiplication?"""
    if tokens[i].text != "*":
        return False
    before = tokens[i - 1]
    if before.text == "(" and i > 1 and i + 1 < len(tokens):
        return not (tokens[i - 2].word == "COUNT" and tokens[i + 1].text == ")")
    return before.text not in (")", "]") and (
        before.kind not in (NUMBER, STRING) and (not before.is_name or before.word in _BEFORE_STAR)
    )


def _is_row(tokens: Sequence[Token], i: int, alias: str) -> bool:
    """Does the alias stand for a whole row, or for anything but what is in front of a column?"""
    return bool(alias) and _name(tokens[i]) == alias and (i + 1 == len(tokens) or tokens[i + 1].text != ".")
