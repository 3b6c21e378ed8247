"""Rewrites a grouping query over a window function on a stream, without EMIT, as Spark's aggregation over its windows.

Spark ends a group when the watermark passes it only if one key is Spark's own window struct. So the data gets that
struct as a column. In GROUP BY the struct replaces the columns of the window; elsewhere its fields replace them.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.errors import UnsupportedError
from sqlext.operators.emit.parts import CUMULATE, GLOBAL, HOP, SESSION
from sqlext.rewriter.emit.select_items import comma_list, is_key_of_all, select_items
from sqlext.rewriter.emit.window_relations import WINDOW, spark_window
from sqlext.rewriter.emit.window_tvf import WindowTvf, check_session_keys
from sqlext.rewriter.text.and_list import normal_words
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Edit, Source, join
from sqlext.rewriter.text.tokens import is_at
from sqlext.rewriter.tree.keywords import ends_operand
from sqlext.rewriter.tree.statement_tree import Query, Tree

_FIELDS = {
    "window_start": f"{WINDOW}.start",
    "window_end": f"{WINDOW}.end",
    "window_time": f"({WINDOW}.end - INTERVAL '0.000001' SECOND)",
}


def grouped_stream(tree: Tree, call: WindowTvf, source: Source, durations: Mapping[str, int]) -> list[Edit] | None:
    """The edits of the query around a call over a stream; None if the query does not group by the window.

    Raises UnsupportedError for windows that Spark cannot group by, and BindError for sessions of other keys.
    """
    query = call.relation.query
    group = _group_by(tree, query) if query is not None else None
    if query is None or query.select is None or group is None or call.time is None:
        return None
    uses = [i for i in range(query.select, group[1]) if _is_window_name(tree, i)]
    is_all = group[1] == group[0] + 1 and tree.tokens[group[0]].word == "ALL"
    if not any(is_all or group[0] <= i < group[1] for i in uses):
        return None
    if call.kind in (CUMULATE, GLOBAL) or (call.kind == HOP and durations["SLIDE"] > durations["SIZE"]):
        raise UnsupportedError(
            "WINDOW_STREAM",
            f"Spark cannot group a stream by the windows of this {call.kind}",
            place=call.whole.place,
            hint="write EMIT AFTER WATERMARK after GROUP BY: it gives one row for each window.",
        )
    keys = _keys_of_all(tree, query) if is_all else comma_list(tree, *group)
    if call.kind == SESSION:
        fragments = (tree.fragment(*key) for key in keys)
        others = [key for key in fragments if key.text.lower() not in _FIELDS]
        check_session_keys(call, others, normal_words, tree.fragment(*group).place)
    time = source.of(call.time)
    data = source.of(call.data)
    rows = join("(SELECT *, ", spark_window(call, durations, time), f" AS {WINDOW} FROM ", data, ")")
    later = [i for i in range(group[1], max(query.stop, group[1])) if _is_window_name(tree, i)]
    edits = [Edit(call.whole.start, call.whole.stop, rows)]
    if is_all:
        texts = [source.slice(tree.tokens[lo].start, tree.tokens[hi - 1].stop) for lo, hi in keys]
        all_ = tree.tokens[group[0]]
        edits.append(Edit(all_.start, all_.stop, join(*texts, WINDOW, separator=", ")))
    for i in [*uses, *later]:
        edits.append(_use(tree, i, is_key=group[0] <= i < group[1], is_item=i < query.from_))
    return edits


def _group_by(tree: Tree, query: Query) -> tuple[int, int] | None:
    """The range of tokens of the keys after GROUP BY, or None if there is no GROUP BY."""
    depth = tree.tokens[query.from_].depth
    inside = [i for i in range(query.from_, query.stop) if tree.tokens[i].depth == depth]
    at = next((i for i in inside if is_at(tree.tokens, i, "GROUP", "BY")), None)
    if at is None:
        return None
    ends = ("HAVING", "ORDER", "LIMIT", "OFFSET", "WINDOW", "QUALIFY")
    return at + 2, next((i for i in inside if i > at + 2 and tree.tokens[i].word in ends), query.stop)


def _is_window_name(tree: Tree, i: int) -> bool:
    tokens = tree.tokens
    is_alias = i > 0 and tokens[i - 1].word == "AS"
    is_field = i > 1 and tokens[i - 1].text == "." and not tokens[i - 2].is_name
    return tokens[i].is_name and unquoted(tokens[i].text).lower() in _FIELDS and not (is_alias or is_field)


def _use(tree: Tree, i: int, *, is_key: bool, is_item: bool) -> Edit:
    """The edit that replaces a column of the window, with its qualifier, by the struct or one of its fields."""
    tokens, name = tree.tokens, unquoted(tree.tokens[i].text).lower()
    start = i - 2 if tokens[i - 1].text == "." else i
    text = WINDOW if is_key else _FIELDS[name]
    begins_item = tokens[start - 1].word in ("SELECT", ",", "DISTINCT")
    after = tokens[i + 1].word if i + 1 < len(tokens) else ""
    is_alone = begins_item and after in (",", "FROM") and not ends_operand(tokens, start - 1)
    if is_item and not is_key and is_alone:
        text += f" AS {name}"
    return Edit(tokens[start].start, tokens[i].stop, text)


def _keys_of_all(tree: Tree, query: Query) -> list[tuple[int, int]]:
    """The ranges of tokens of the keys that GROUP BY ALL finds in the select list.

    Keys that read columns of the window are left out.
    """
    assert query.select is not None
    first = query.select + (2 if tree.tokens[query.select + 1].word == "DISTINCT" else 1)
    items = [item for item in select_items(tree, first, query.from_) if is_key_of_all(tree, item)]
    return [(i.lo, i.hi) for i in items if not any(_is_window_name(tree, k) for k in range(i.lo, i.hi))]
