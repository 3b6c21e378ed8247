"""The parts of a query around a clause that can leave out all of the clause's rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlext.rewriter.text.fragments import Fragment, in_line
from sqlext.rewriter.tree.keywords import SET_OPERATIONS, TYPE_WORDS
from sqlext.rewriter.tree.statement_tree import Tree

_FILTERS = frozenset({"WHERE", "HAVING", "QUALIFY", "TABLESAMPLE"})
_LIMITS = frozenset({"LIMIT", "OFFSET"})
_LOSES = _FILTERS | _LIMITS | (SET_OPERATIONS - {"UNION"}) | {"JOIN"}
_ENDS = SET_OPERATIONS | _FILTERS | _LIMITS | TYPE_WORDS | {
    "JOIN", "GROUP", "WINDOW", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "EMIT",
}  # fmt: skip


@dataclass(frozen=True)
class Inner:
    """A clause of a query; `own_words`: the words of its own query that are applied before it."""

    clause: Fragment
    own_words: frozenset[str] = frozenset()


def words_around(tree: Tree, inners: Sequence[Inner]) -> Iterator[str]:
    """The parts of the queries around the clauses, in the order of the text.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> def around(text, clause):
    ...     at = text.index(clause)
    ...     return [*words_around(read_tree(text), [Inner(Fragment(text, at, at + len(clause)))])]
    >>> around("WITH c AS (TABLE t WHERE x) SELECT * FROM (FROM mm WHERE a > 1 LIMIT 2) LEFT JOIN u ON k", "mm")
    ['WHERE a > 1', 'LIMIT 2', 'LEFT JOIN u ON k']
    >>> around("SELECT * EXCEPT (b) FROM mm EXCEPT (SELECT 1 WHERE x) ORDER BY 1", "mm")
    ['EXCEPT']
    >>> around("SELECT 1 WHERE x UNION SELECT 2 FROM u WHERE n IN (TABLE mm) |> LIMIT 0", "mm")
    ['WHERE n IN (TABLE mm)', 'LIMIT 0']
    """
    tokens = tree.tokens
    for i, token in enumerate(tokens):
        is_except_of_star = token.word == "EXCEPT" and tokens[i - 1].text == "*"
        if token.word not in _LOSES or is_except_of_star:
            continue
        if any(inner.clause.start <= token.start < inner.clause.stop for inner in inners):
            continue
        if any(_is_around(tree, i, inner) for inner in inners):
            first = i
            while token.word == "JOIN" and tokens[first - 1].word in TYPE_WORDS:
                first -= 1
            yield token.word if token.word in SET_OPERATIONS else in_line(tree.fragment(first, _end(tree, i)).text)


def _is_around(tree: Tree, i: int, inner: Inner) -> bool:
    """Whether a clause is in the query of token `i`: in the same parentheses, and between the same set operators."""
    tokens, token, clause = tree.tokens, tree.tokens[i], inner.clause
    inside = [k for k, t in enumerate(tokens) if clause.start <= t.start < clause.stop]
    between = tokens[min(i, inside[0]) : max(i, inside[-1]) + 1]
    if any(t.depth < token.depth for t in between):
        return False
    if token.word in inner.own_words and token.depth == tokens[inside[0]].depth:
        return False
    is_of_all = token.word in SET_OPERATIONS or token.word in _LIMITS
    return is_of_all or not any(t.word in SET_OPERATIONS and t.depth == token.depth for t in between)


def _end(tree: Tree, i: int) -> int:
    """The end of the part that begins with the word at token `i`."""
    tokens, depth = tree.tokens, tree.tokens[i].depth
    for k in range(i + 1, len(tokens)):
        token = tokens[k]
        is_end = token.word in _ENDS or token.text in ("|>", ";")
        if token.depth < depth or (token.depth == depth and is_end):
            return k
    return len(tokens)
