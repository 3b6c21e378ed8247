"""Reads the items of a select list, and finds the items that are keys of GROUP BY ALL."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.aggregates.registry import AGGREGATES, ALIASES
from sqlext.errors import ParseError
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.tokens import NUMBER, QUERY_STARTS, STRING, closing, split_at_commas
from sqlext.rewriter.tree.keywords import ends_operand
from sqlext.rewriter.tree.statement_tree import Tree

_AGGREGATES = {*AGGREGATES, *ALIASES}
_OF_FIRINGS = frozenset({"window_firing", "window_timing", "window_rowtime"})


@dataclass(frozen=True, kw_only=True)
class SelectItem:
    """`alias` is the name of the item as written, or None; the expression is tokens `lo` to `hi`."""

    expression: Fragment
    alias: Fragment | None
    lo: int
    hi: int


def select_items(tree: Tree, lo: int, hi: int) -> tuple[SelectItem, ...]:
    """The items of the select list at tokens `lo` to `hi`. Raises ParseError if an item is missing.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> items = select_items(read_tree("SELECT k, sum(v + 1) total, CASE WHEN a THEN b END"), 1, 17)
    >>> [(item.expression.text, item.alias and item.alias.text) for item in items]
    [('k', None), ('sum(v + 1)', 'total'), ('CASE WHEN a THEN b END', None)]
    """
    return tuple(_item(tree, *bounds) for bounds in comma_list(tree, lo, hi))


def comma_list(tree: Tree, lo: int, hi: int) -> list[tuple[int, int]]:
    """The ranges between the commas of a list at tokens `lo` to `hi`. Raises ParseError for an empty range."""
    ranges = list(split_at_commas(tree.tokens, lo, hi))
    for start, stop in ranges:
        if start == stop:
            raise ParseError(
                "EMIT_QUERY",
                "an expression is missing here",
                place=tree.fragment(stop, stop + 1).place,
                hint="write one, or no comma.",
            )
    return ranges


def _item(tree: Tree, lo: int, hi: int) -> SelectItem:
    tokens, last = tree.tokens, hi - 1
    alias = None
    if hi - lo > 1 and tokens[last].is_name and tokens[last].depth == tokens[lo].depth:
        if tokens[last - 1].word == "AS":
            alias, hi = tree.fragment(last, hi), last - 1
        elif tokens[last].word != "END" and ends_operand(tokens, last - 1):
            alias, hi = tree.fragment(last, hi), last
    return SelectItem(expression=tree.fragment(lo, hi), alias=alias, lo=lo, hi=hi)


def is_key_of_all(tree: Tree, item: SelectItem) -> bool:
    """Whether the item is a key of GROUP BY ALL.

    It is one unless it is a star or a literal, or contains an aggregate or a column that only a firing has.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> tree = read_tree("SELECT k, sum(v + 1) total, 7, window_start, window_timing, (SELECT max(x) FROM t)")
    >>> [is_key_of_all(tree, item) for item in select_items(tree, 1, 26)]
    [True, False, False, True, False, True]
    """
    tokens, i = tree.tokens, item.lo
    if tokens[item.hi - 1].text == "*" or (item.hi == item.lo + 1 and tokens[item.lo].kind in (NUMBER, STRING)):
        return False
    while i < item.hi:
        is_call = i + 1 < item.hi and tokens[i + 1].text == "("
        if tokens[i].text == "(" and tokens[i + 1].word in QUERY_STARTS:
            i = closing(tokens, i) or item.hi
        elif tokens[i].is_name and unquoted(tokens[i].text).lower() in (_AGGREGATES if is_call else _OF_FIRINGS):
            return False
        i += 1
    return True
