"""Reads the names of tables, aliases and CTEs in a statement."""

from __future__ import annotations

from collections.abc import Iterator

from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import RelationName, name_at, name_of
from sqlext.rewriter.text.tokens import NUMBER, STRING, Tokens, closing, is_at
from sqlext.rewriter.tree.keywords import INTERVAL_UNITS, begins_query
from sqlext.rewriter.tree.statement_tree import Alias, Cte

BEFORE_RELATION = frozenset({"LATERAL", "STREAM", "TABLE"})
_NOT_ALIASES = BEFORE_RELATION | {
    "TABLESAMPLE", "MATCH_RECOGNIZE", "MATCH_RULES", "VALUES", "OF", "PERCENT", "ROWS", "WITH",
}  # fmt: skip


def table_of(tokens: Tokens, start: int, stop: int) -> RelationName | None:
    """The name of the table that a relation at tokens `start` to `stop` reads, or None if it is no table."""
    while start + 1 < stop and tokens[start].word in BEFORE_RELATION and tokens[start + 1].word not in ("AS", "("):
        start += 1
    name = name_at(tokens, start)
    after = start + 2 * len(name.parts) - 1 if name else start
    return None if is_at(tokens, after, "(") or after > stop else name


def alias_of(tokens: Tokens, start: int, stop: int) -> Alias | None:
    """The alias at the end of a relation, with the list of columns that may follow it; None without an alias."""
    i = stop - 1
    if tokens[i].text == ")":
        i = _last_opening(tokens, start, stop) - 1
    if i <= start or not tokens[i].may_name or tokens[i].word in _NOT_ALIASES:
        return None
    before = tokens[i - 1]
    if before.kind in (NUMBER, STRING) and tokens[i].word in INTERVAL_UNITS:  # the end of a WATERMARK
        return None
    is_after_relation = before.text in (")", "}") or before.is_name or before.kind in (NUMBER, STRING)
    is_alias = before.word == "AS" or (is_after_relation and before.word not in _NOT_ALIASES)
    columns = tuple(k for k in range(i + 2, stop - 1) if tokens[k].is_name)
    return Alias(i, columns) if is_alias else None


def _last_opening(tokens: Tokens, start: int, stop: int) -> int:
    """The index of the parenthesis that is closed by the last of tokens `start` to `stop`."""
    i = start
    while i < stop:
        close = closing(tokens, i)
        if close == stop - 1:
            return i
        i = i + 1 if close is None else close + 1
    return start


def ctes_of(text: str, tokens: Tokens, i: int, scope_stop: int) -> Iterator[Cte]:
    """The CTEs of the WITH at token i; none if this WITH does not begin a list of CTEs."""
    i += 1
    is_recursive = is_at(tokens, i, "RECURSIVE") and i + 1 < len(tokens) and tokens[i + 1].is_name
    i += is_recursive
    while i + 1 < len(tokens) and tokens[i].is_name:
        opening = _query_of_cte(tokens, i)
        close = opening and closing(tokens, opening)
        if not opening or not close:
            return
        definition = Fragment(text, tokens[i].start, tokens[close].stop)
        query = Fragment(text, tokens[opening].stop, tokens[close].start)
        yield Cte(
            name=name_of(text, tokens[i]),
            definition=definition,
            query=query,
            is_recursive=is_recursive,
            scope_stop=scope_stop,
        )
        if not is_at(tokens, close + 1, ","):
            return
        i = close + 2


def _query_of_cte(tokens: Tokens, i: int) -> int | None:
    """The index of the parenthesis around the query of `name [(columns)] [MAX RECURSION LEVEL n] [AS] (query)`."""
    k = i + 1
    if is_at(tokens, k, "(") and not begins_query(tokens, k + 1):
        k = (closing(tokens, k) or len(tokens)) + 1
    if is_at(tokens, k, "MAX", "RECURSION"):
        k += 4
    if is_at(tokens, k, "AS"):
        k += 1
    return k if is_at(tokens, k, "(") and begins_query(tokens, k + 1) else None
