"""Checks what is written around the clause of a statement, as far as it can be read without Spark.

The SELECT list and the WHERE of the query that reads nothing but the result of the clause may name the columns of this
result only. Expressions that `scalars.expression` does not read, joins, and queries around this query are Spark's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from sqlext.errors import BindError, ParseError, SqlExtError, raise_all
from sqlext.rewriter.scalars.expression import Node, parse
from sqlext.rewriter.scalars.other_words import ends_in_name
from sqlext.rewriter.scalars.references import columns_hint
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import Lexeme, lexemes
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.tokens import WORD, split_at_commas
from sqlext.rewriter.tree.keywords import begins_join
from sqlext.rewriter.tree.statement_tree import MatchResult, Tree

_VALUES = frozenset({"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "LOCALTIMESTAMP", "USER"})

_FIRST_WORDS = ("SELECT", "WITH", "FROM")
_AFTER_RELATION = frozenset({"LATERAL", "PIVOT", "UNPIVOT", "TABLESAMPLE", "WATERMARK", "MATCH_RECOGNIZE"})


def check_around(tree: Tree, keyword: Fragment, columns: Sequence[str]) -> None:
    """Raise the errors of the query around the clause with this keyword, whose result has these columns.

    Raises ParseError: MISSING_EXPRESSION, UNEXPECTED_WORD, and BindError: UNRESOLVED_COLUMN.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> text = "SELECT a, m.b + 1 AS c, d FROM t MATCH_RECOGNIZE (PATTERN (A)) AS m WHERE a > 1"
    >>> check_around(read_tree(text), Fragment(text, 33, 48), ("a", "b"))
    Traceback (most recent call last):
    sqlext.errors.BindError: SQLEXT_UNRESOLVED_COLUMN: the result of the clause has no column "d"
      1 | SELECT a, m.b + 1 AS c, d FROM t MATCH_RECOGNIZE (PATTERN (A)) AS m WHERE a > 1
        |                         ^
    Hint: the columns are a, b.
    """
    _check_first_word(tree)
    result = tree.result(keyword)
    if result is not None and tree.tokens[result.select].depth == 0:
        raise_all(list(_Around(tree, result, result.columns or columns).errors()))


def _check_first_word(tree: Tree) -> None:
    """Raise ParseError for a first word that is almost one that begins a query."""
    first = tree.fragment(0, 1)
    meant = get_close_matches(first.text.upper(), _FIRST_WORDS, 1, cutoff=0.75)
    if meant and first.text.upper() not in _FIRST_WORDS:
        message = f"no statement begins with {first.text}"
        raise ParseError("UNEXPECTED_WORD", message, place=first.place, hint=f"did you mean {meant[0]}?")


@dataclass(frozen=True)
class _Around:
    """The query that reads a result with these columns. Ranges are of tokens."""

    tree: Tree
    result: MatchResult
    columns: Sequence[str]

    def errors(self) -> Iterator[SqlExtError]:
        query = self.result.query
        items = self._items()
        conditions = [] if query.where is None else [query.where]
        for lo, hi in [*items, *conditions]:
            if lo == hi:
                word = self.tree.fragment(lo - 1, lo)
                yield ParseError("MISSING_EXPRESSION", f"an expression is missing after {word.text}", place=word.place)
        if self.result.after < query.from_stop:  # other relations, whose columns this page does not know
            yield from self._unexpected_word(self.result.after)
            return
        names = {name.lower() for name in self.columns}
        for lo, hi in conditions:
            yield from self._unknown_columns(lo, hi, names)
        for lo, hi in items:
            stop = self._end_of_expression(lo, hi)
            yield from self._unknown_columns(lo, stop, names)
            if stop < hi:  # later items may use the name of this one
                names.add(self.tree.key(hi - 1))

    def _unexpected_word(self, i: int) -> Iterator[ParseError]:
        """The error of a word after the result and its alias that cannot go on with the FROM."""
        tokens, stop = self.tree.tokens, self.result.query.from_stop
        if not self.result.alias and self._is_unexpected(i):  # an alias that is not read as one
            i += 2 if tokens[i].word == "AS" else 1
        if i < stop and self._is_unexpected(i):
            word = self.tree.fragment(i, i + 1)
            yield ParseError("UNEXPECTED_WORD", f"{word.text} cannot follow the clause and its alias", place=word.place)

    def _is_unexpected(self, i: int) -> bool:
        tokens = self.tree.tokens
        return tokens[i].kind == WORD and tokens[i].word not in _AFTER_RELATION and not begins_join(tokens, i)

    def _items(self) -> list[tuple[int, int]]:
        """The items of the SELECT list."""
        first, stop = self.result.select + 1, self.result.query.from_
        has_word = self.tree.tokens[first].word in ("DISTINCT", "ALL")
        return list(split_at_commas(self.tree.tokens, first + has_word, stop))

    def _end_of_expression(self, lo: int, hi: int) -> int:
        """The end of the expression of an item, whose name may follow it."""
        tokens = self.tree.tokens
        if hi - lo > 2 and tokens[hi - 2].word == "AS":
            return hi - 2
        return hi - 1 if ends_in_name(tokens, lo, hi) else hi

    def _unknown_columns(self, lo: int, hi: int, names: set[str]) -> Iterator[BindError]:
        if lo == hi:
            return
        words = lexemes(self.tree.fragment(lo, hi))
        for name in _names(parse(words, 0, len(words)), words, self.result.alias):
            if unquoted(name.raw).lower() not in names and name.word not in _VALUES:
                yield BindError(
                    "UNRESOLVED_COLUMN",
                    f'the result of the clause has no column "{unquoted(name.raw)}"',
                    place=Fragment(self.tree.text, name.start, name.stop).place,
                    hint=columns_hint(unquoted(name.raw), self.columns),
                )


def _names(node: Node, words: Sequence[Lexeme], alias: str) -> Iterator[Lexeme]:
    """The names of the columns that an expression reads, without the alias of the result before them."""
    if node.kind == "column":
        yield next(word for word in words[node.start : node.stop] if word.raw not in "()")
        return
    if node.kind == "field" and node.children[0].kind == "column":
        (qualifier,) = _names(node.children[0], words, alias)
        if unquoted(qualifier.raw).lower() == alias:
            if words[node.stop - 1].raw != "*":
                yield words[node.stop - 1]
            return
    for child in node.children:
        yield from _names(child, words, alias)
