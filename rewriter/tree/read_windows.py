"""Finds the windows with row patterns in a statement: the queries that have them, and the calls OVER them.

A window has a row pattern if PATTERN ( … ), DEFINE variable AS or MEASURES is directly in its parentheses, after an
operand. Spark has no such windows, so no window of Spark's own is mistaken for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlext.rewriter.text.tokens import Tokens, closing, directly_inside, is_at, split_at_commas
from sqlext.rewriter.tree.keywords import SET_OPERATIONS, begins_query, ends_from, ends_operand
from sqlext.rewriter.tree.statement_tree import Query, Tree

_BEFORE_OPERAND = SET_OPERATIONS | {"ALL", "DISTINCT"}  # of a set operation
_WITH_ITEMS = frozenset({"QUALIFY", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"})

Range = tuple[int, int]  # of tokens; the end is exclusive


@dataclass(frozen=True)
class PatternWindow:
    """A window with a row pattern in the parentheses at tokens `opening` and `closing`.

    `keyword` is its name in the WINDOW clause, or the OVER in front of it.
    """

    keyword: int
    opening: int
    closing: int


@dataclass(frozen=True, kw_only=True)
class CallOver:
    """`measure OVER w` or `function(…) OVER (…)` at tokens `start` to `stop`; `over` is the word OVER."""

    start: int
    over: int
    stop: int
    window: PatternWindow


@dataclass(frozen=True, kw_only=True)
class WindowQuery:
    """A query with windows that have row patterns.

    `items` are the items of the select list. `relation` is everything between FROM and the WINDOW clause: relations,
    WHERE, GROUP BY and HAVING; the last two begin at `group`. `plain` are the other windows of the WINDOW clause: name
    in lower case → the tokens between their parentheses. `after` is the first token after the WINDOW clause, and
    `tail` are QUALIFY, ORDER BY, SORT BY, … there: (keyword, its items). If QUALIFY comes before the WINDOW clause,
    `after` is the word QUALIFY, and `late_clause` is the WINDOW clause.

    `overs` are the words OVER in the select list and in the tail. Two things are errors: `repeated` names of windows,
    and `misplaced` calls between FROM and the WINDOW clause.
    """

    query: Query
    select: int
    items: tuple[Range, ...]
    relation: Range
    group: int
    after: int
    tail: tuple[tuple[int, tuple[Range, ...]], ...]
    late_clause: Range | None
    plain: dict[str, Range]
    windows: tuple[PatternWindow, ...]
    calls: tuple[CallOver, ...]
    overs: tuple[int, ...]
    repeated: tuple[int, ...]
    misplaced: tuple[CallOver, ...]


def window_queries(tree: Tree) -> Iterator[WindowQuery]:
    """The queries of a statement that have windows with row patterns.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> text = "SELECT a, 1 + m OVER w AS n FROM t WHERE a > 0 WINDOW w AS (PATTERN (A) DEFINE A AS x > 0) ORDER BY n"
    >>> tree = read_tree(text)
    >>> query, = window_queries(tree)
    >>> [tree.fragment(call.start, call.stop).text for call in query.calls], tree.fragment(*query.relation).text
    (['m OVER w'], 't WHERE a > 0')
    """
    for query in dict.fromkeys(relation.query for relation in tree.relations):
        if query is not None and query.select is not None:
            windows = _read(tree, query, query.select)
            if windows is not None:
                yield windows


def _read(tree: Tree, query: Query, select: int) -> WindowQuery | None:
    tokens = tree.tokens
    depth = tokens[select].depth
    if tokens[query.from_].depth != depth or query.from_ < select:
        return None
    heads = [i for i in range(query.from_stop, query.stop) if tokens[i].depth == depth and ends_from(tokens, i)]
    window = next((i for i in heads if tokens[i].word == "WINDOW"), None)
    after = next((i for i in heads if tokens[i].word not in ("WHERE", "GROUP", "HAVING", "WINDOW")), query.stop)
    own_stop = query.stop
    if select and tokens[select - 1].word in _BEFORE_OPERAND:  # what follows belongs to all of its queries
        later = (i for i in heads if i >= after and tokens[i].word not in ("QUALIFY", "WINDOW"))
        own_stop = next(later, query.stop)
        heads = [i for i in heads if i < own_stop]
    window_stop = next((i for i in heads if window is not None and i > window), own_stop)
    pairs = [] if window is None else list(_definitions(tree, window, window_stop))
    definitions = dict(pairs)
    named = {name: w for name, w in definitions.items() if has_pattern(tokens, w.opening)}
    ranges = ((select + 1, query.from_), (after, own_stop))
    calls = tuple(call for lo, hi in ranges for call in _calls(tree, lo, hi, named))
    relation_stop = after if window is None else min(after, window)
    misplaced = tuple(_calls(tree, query.from_ + 1, relation_stop, named))
    windows = tuple(dict.fromkeys([*named.values(), *(call.window for call in (*calls, *misplaced))]))
    if not windows:
        return None
    start = select + 1 + (tokens[select + 1].word in ("DISTINCT", "ALL"))
    return WindowQuery(
        query=query,
        select=select,
        items=tuple(split_at_commas(tokens, start, query.from_)),
        relation=(query.from_ + 1, relation_stop),
        group=next((i for i in heads if tokens[i].word in ("GROUP", "HAVING")), relation_stop),
        after=after,
        tail=tuple(_tail(tokens, [i for i in heads if i >= after], own_stop)),
        late_clause=None if window is None or window < after else (window, window_stop),
        plain={name: (w.opening + 1, w.closing) for name, w in definitions.items() if name not in named},
        windows=windows,
        calls=calls,
        overs=tuple(i for lo, hi in ranges for i in _overs(tokens, lo, hi)),
        repeated=tuple(w.keyword for name, w in pairs if definitions[name] != w),
        misplaced=misplaced,
    )


def _definitions(tree: Tree, window: int, stop: int) -> Iterator[tuple[str, PatternWindow]]:
    """The definitions `name AS ( … )` of a WINDOW clause, by their names in lower case."""
    i = window + 1
    while i + 2 < stop and is_at(tree.tokens, i + 1, "AS", "("):
        close = closing(tree.tokens, i + 2)
        if close is None:
            return
        yield tree.key(i), PatternWindow(i, i + 2, close)
        i = close + 2  # after the comma


def _tail(tokens: Tokens, heads: list[int], stop: int) -> Iterator[tuple[int, tuple[Range, ...]]]:
    """QUALIFY and the clauses with BY, each with its items."""
    for head, end in zip(heads, [*heads[1:], stop]):
        first = head + 1 + (tokens[head].word != "QUALIFY")
        if tokens[head].word in _WITH_ITEMS and first < end:
            yield head, tuple(split_at_commas(tokens, first, end))


def is_pattern_window(tokens: Tokens, i: int) -> bool:
    """True if token i opens a window with a row pattern, wherever in a statement the window is."""
    if i == 0 or tokens[i].text != "(" or tokens[i - 1].word not in ("OVER", "AS") or begins_query(tokens, i + 1):
        return False
    return closing(tokens, i) is not None and has_pattern(tokens, i)


def has_pattern(tokens: Tokens, opening: int) -> bool:
    """Whether the window in these parentheses has a row pattern."""
    for i in directly_inside(tokens, opening):
        if is_at(tokens, i, "PATTERN", "(") and (i == opening + 1 or ends_operand(tokens, i - 1)):
            return True
        if tokens[i].word == "DEFINE" and is_at(tokens, i + 2, "AS") and tokens[i + 1].may_name:
            return True
        if tokens[i].word == "MEASURES" and i > opening + 1 and ends_operand(tokens, i - 1) and tokens[i + 1].may_name:
            return True
    return False


def _calls(tree: Tree, lo: int, hi: int, named: dict[str, PatternWindow]) -> Iterator[CallOver]:
    """The calls OVER windows with row patterns in tokens `lo` to `hi`, without the calls in subqueries."""
    for over in _overs(tree.tokens, lo, hi):
        window, stop = _window_at(tree, over, named)
        if window is not None:
            yield CallOver(start=start_of_call(tree.tokens, over, lo), over=over, stop=stop, window=window)


def _overs(tokens: Tokens, lo: int, hi: int) -> Iterator[int]:
    """The words OVER in tokens `lo` to `hi`, without the words inside windows and subqueries."""
    i = lo
    while i < hi:
        if tokens[i].text == "(" and begins_query(tokens, i + 1):
            i = closing(tokens, i) or hi
        elif tokens[i].word == "OVER" and i > lo and ends_operand(tokens, i - 1) and i + 1 < hi:
            if tokens[i + 1].text == "(" or tokens[i + 1].is_name:
                yield i
            i = end_of_window(tokens, i) - 1
        i += 1


def end_of_window(tokens: Tokens, over: int) -> int:
    """The token after the window that follows OVER."""
    close = closing(tokens, over + 1) if tokens[over + 1].text == "(" else None
    return over + 2 if close is None else close + 1


def _window_at(tree: Tree, over: int, named: dict[str, PatternWindow]) -> tuple[PatternWindow | None, int]:
    """The window with a row pattern that follows OVER, or None, and the token after the window."""
    tokens = tree.tokens
    if tokens[over + 1].text == "(":
        close = closing(tokens, over + 1)
        if close is not None and has_pattern(tokens, over + 1):
            return PatternWindow(over, over + 1, close), close + 1
        if close == over + 3 and tokens[over + 2].is_name:  # OVER (w)
            return named.get(tree.key(over + 2)), close + 1
        return None, over + 1
    return (named.get(tree.key(over + 1)) if tokens[over + 1].is_name else None), over + 2


def start_of_call(tokens: Tokens, over: int, lo: int) -> int:
    """The first token of `m`, `f(…)`, `f(…) IGNORE NULLS`, `f(…) FILTER (…)` or `f(…) WITHIN GROUP (…)` before OVER."""
    i = over - 1
    if tokens[i].word == "NULLS" and tokens[i - 1].word in ("IGNORE", "RESPECT"):
        i -= 2
    while i > lo and tokens[i].text == ")":
        opening = next((k for k in range(i - 1, lo - 1, -1) if tokens[k].depth == tokens[i].depth), lo)
        if tokens[opening - 1].word == "FILTER":
            i = opening - 2
        elif is_at(tokens, opening - 2, "WITHIN", "GROUP"):
            i = opening - 3
        else:
            i = opening - 1
            break
    while i - 2 >= lo and tokens[i - 1].text == ".":
        i -= 2
    return i
