"""Finds the columns that a clause or a join need not return, because the SELECT around it never names them.

Spark's column pruning stops at Python workers: ALL ROWS PER MATCH shows every column of its input, and a join every
column of both relations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.tokens import STRING, Token, is_at
from sqlext.rewriter.tree.keywords import is_star
from sqlext.rewriter.tree.statement_tree import Query, Tree

# These words read columns without naming them, or name them in a string. ASOF orders rows of one time by all columns.
_NAMES_NOTHING = frozenset({"ASOF", "NATURAL", "PIVOT", "UNPIVOT", "IDENTIFIER", "|>", "{"})


def unread(tree: Tree, keyword: Fragment, names: Iterable[str]) -> frozenset[str]:
    """The names (in lower case) that the SELECT around the clause with this `keyword` certainly does not read.

    A name that occurs anywhere in that SELECT outside of the clause counts as read, whatever it means there.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> text = "SELECT m.a, count(*) FROM t MATCH_RECOGNIZE (…) AS m WHERE B > 1"
    >>> sorted(unread(read_tree(text), Fragment(text, 28, 43), ["a", "b", "c"]))
    ['c']
    """
    result = tree.result(keyword)
    if result is None or result.columns or is_at(tree.tokens, result.after, "MATCH_RECOGNIZE"):
        return frozenset()
    outside = [*tree.tokens[result.select : result.start], *tree.tokens[result.after : result.query.end]]
    return _not_named(outside, [result.alias], names)


def unread_by_query(
    tree: Tree, query: Query, join: Fragment, relations: Iterable[str], names: Iterable[str], other: str = ""
) -> frozenset[str]:
    """The names (in lower case) of columns that `query` certainly does not read from a `join` in its FROM, besides in
    the conditions of the join itself.

    `relations`: the names of the relations that are joined; `other`: the name, in lower case, of a relation that has
    none of the columns, nor is there a column of this name.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> text = "SELECT q.a, count(*) FROM t ASOF JOIN q MATCH_CONDITION (t.b > q.b) WHERE t.c > 1"
    >>> tree = read_tree(text)
    >>> whole = Fragment(text, 26, 67)
    >>> [sorted(unread_by_query(tree, tree.relations[0].query, whole, ["t", "q"], "abc", other)) for other in ("", "q")]
    [['b'], ['a', 'b']]
    """
    if query.select is None:
        return frozenset()
    tokens = tree.tokens[query.select : query.end]
    outside = [token for token in tokens if not join.start <= token.start < join.stop]
    return _not_named(outside, [unquoted(name).lower() for name in relations], names, other)


def _not_named(
    outside: Sequence[Token], aliases: Sequence[str], names: Iterable[str], other: str = ""
) -> frozenset[str]:
    """The names, in lower case, that do not occur among these tokens but after the qualifier `other`; none if the
    tokens may read columns that they do not name."""
    if any(t.word in _NAMES_NOTHING for t in outside):
        return frozenset()
    if any(is_star(outside, i) or any(_is_row(outside, i, alias) for alias in aliases) for i in range(len(outside))):
        return frozenset()
    read = {_name(token) for i, token in enumerate(outside) if not (other and _is_of(outside, i, other))}
    return frozenset(name.lower() for name in names) - read


def _is_of(tokens: Sequence[Token], i: int, relation: str) -> bool:
    """True if token i is a column of the relation, by its qualified name."""
    before = [token.text for token in tokens[max(0, i - 3) : i]]
    return before[-1:] == ["."] and _name(tokens[i - 2]) == relation and before[:-2] != ["."]


def _name(token: Token) -> str:
    """The name that a token may be, in lower case. With some settings of the session, "…" is a name, too."""
    is_quoted = token.kind == STRING and token.text[0] == '"'
    return token.text[1:-1].lower() if is_quoted else unquoted(token.text).lower()


def _is_row(tokens: Sequence[Token], i: int, alias: str) -> bool:
    """True if token i is the alias and represents a whole row, because no `.column` follows it."""
    return bool(alias) and _name(tokens[i]) == alias and (i + 1 == len(tokens) or tokens[i + 1].text != ".")
