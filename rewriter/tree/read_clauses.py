"""Reads all clauses of one kind in a statement, or reports all their errors; finds the words that make it a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from sqlext.errors import all_of
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import is_at
from sqlext.rewriter.tree.statement_tree import Tree

_AFTER_NAME = ("AS", ",", ")", "WATERMARK")  # where `stream` is the name of a table


class Clause(Protocol):
    """A clause that knows its place in the statement."""

    @property
    def whole(self) -> Fragment: ...


C = TypeVar("C", bound=Clause)


def read_clauses(keywords: Iterable[int], read: Callable[[int], C]) -> tuple[C, ...]:
    """The results of `read` for the clauses with these keywords; a clause inside another one comes before it.

    Raises the SqlExtError of the one clause that cannot be read, or SqlExtErrors with the errors of all such clauses.
    """
    return tuple(sorted(all_of(keywords, read), key=lambda clause: clause.whole.stop))


def stream_words(tree: Tree) -> Fragment | None:
    """The first `STREAM` before a relation, or `WATERMARK … DELAY OF` after one; None if the statement has neither.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> texts = "FROM STREAM db.t", "FROM s WATERMARK ts AS x DELAY OF INTERVAL 1 DAY", "SELECT a, stream b FROM stream"
    >>> [words and words.text for words in map(stream_words, map(read_tree, texts))]
    ['STREAM', 'WATERMARK ts AS x DELAY OF', None]
    """
    tokens = tree.tokens
    starts = {relation.start for relation in tree.relations}
    for i in range(1, len(tokens) - 1):
        if tokens[i].word == "STREAM" and (i in starts or tokens[i - 1].word == "TABLE"):
            if tokens[i + 1].word not in _AFTER_NAME and (tokens[i + 1].is_name or tokens[i + 1].text == "("):
                return tree.fragment(i, i + 1)
        elif tokens[i].word == "WATERMARK":
            delays = (k for k in range(i + 2, len(tokens)) if is_at(tokens, k, "DELAY", "OF"))
            delay = next((k for k in delays if tokens[k].depth == tokens[i].depth), None)
            if delay is not None:
                return tree.fragment(i, delay + 2)
    return None
