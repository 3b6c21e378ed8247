"""Checks, without types, the places of windows with row patterns in a query and of the calls over them.

Source: ISO/IEC 9075-2 <window clause>, <query specification>, Syntax Rules; Trino, ExpressionAnalyzer.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlext.errors import BindError, SqlExtError, UnsupportedError, raise_all
from sqlext.rewriter.text.tokens import is_at
from sqlext.rewriter.tree.read_windows import WindowQuery, is_pattern_window
from sqlext.rewriter.tree.statement_tree import Tree

Errors = Iterator[SqlExtError]


def check_query(tree: Tree, site: WindowQuery) -> None:
    """Raise BindError for every rule that the query breaks, all of them together."""
    raise_all([*_repeated(tree, site), *_misplaced(tree, site), *_unknown(tree, site), *_nested(tree, site)])


def unread_windows(tree: Tree, sites: list[WindowQuery]) -> Errors:
    """An error for each window with a row pattern that is in none of these queries."""
    known = {window.opening for site in sites for window in site.windows}
    known |= {i + 2 for site in sites for i in site.repeated}  # name AS (
    for i in range(len(tree.tokens)):
        if i not in known and is_pattern_window(tree.tokens, i):
            message = "a row pattern in a window is built only in a query SELECT … FROM …"
            place = tree.fragment(i - 1, i).place
            hint = "write SELECT … FROM …, with the window in its select list or in its WINDOW clause."
            yield UnsupportedError("WINDOW_PLACE", message, place=place, hint=hint)


def _repeated(tree: Tree, site: WindowQuery) -> Errors:
    for i in site.repeated:
        message = f'the WINDOW clause has two windows "{tree.tokens[i].text}"'
        place = tree.fragment(i, i + 1).place
        yield BindError("REPEATED_WINDOW", message, place=place, hint="give one of them another name.")


def _misplaced(tree: Tree, site: WindowQuery) -> Errors:
    for call in site.misplaced:
        message = "a call over a window is allowed only in the select list, in QUALIFY and in ORDER BY"
        hint = "write it in QUALIFY after the WINDOW clause, or in a subquery, and filter, group or join around it."
        yield BindError("MISPLACED_CALL", message, place=tree.fragment(call.start, call.stop).place, hint=hint)


def _unknown(tree: Tree, site: WindowQuery) -> Errors:
    """The errors for OVER w without a window w, and for OVER (w …) where w has a row pattern."""
    tokens = tree.tokens
    patterned = {tree.key(window.keyword) for window in site.windows if tokens[window.keyword].word != "OVER"}
    for i in site.overs:
        name = tokens[i + 1]
        if name.text == "(" and tokens[i + 2].is_name and not is_at(tokens, i + 3, ")"):
            if tree.key(i + 2) in patterned:
                message = f'the window "{tokens[i + 2].text}" has a row pattern, so no other window can be based on it'
                place, hint = tree.fragment(i + 2, i + 3).place, "repeat its PARTITION BY and ORDER BY."
                yield BindError("INHERITED_WINDOW", message, place=place, hint=hint)
        elif name.is_name and tree.key(i + 1) not in patterned | set(site.plain):
            names = ", ".join(sorted({*patterned, *site.plain})) or "none"
            message = f'the WINDOW clause has no window "{name.text}"'
            place, hint = tree.fragment(i + 1, i + 2).place, f"its windows are: {names}."
            yield BindError("UNKNOWN_WINDOW", message, place=place, hint=hint)


def _nested(tree: Tree, site: WindowQuery) -> Errors:
    """The errors for calls inside the arguments of other calls."""
    for outer in site.calls:
        for call in site.calls:
            if outer.start < call.start < outer.over:
                message = "a call over a window is not allowed inside another one"
                place, hint = tree.fragment(call.start, call.stop).place, "compute one of them in a subquery."
                yield BindError("NESTED_WINDOW_CALL", message, place=place, hint=hint)
