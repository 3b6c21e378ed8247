"""Aggregates that workers compute row by row (`expressions.aggregates`), for the result rows of a block. Loads Numba.

The result rows of a match see prefixes of its rows, or with FINAL all of them. So each match is read once: its rows are
added to a state, of which the value is taken wherever the view of a result row ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sqlext.engine.worker.slot_values import member_values
from sqlext.expressions.aggregates.aggregate_table import aggregate
from sqlext.expressions.aggregates.aggregator import Aggregator
from sqlext.expressions.function import Settings
from sqlext.expressions.values import from_arrow, to_arrow
from sqlext.pattern.measures import navigation
from sqlext.pattern.measures.navigation import OutputRows
from sqlext.pattern.task import Spans
from sqlext.rewriter.match.match_plan import Fold, Slot

_GROWING = frozenset({"array_agg", "collect_list", "collect_set", "listagg", "string_agg"})


def is_growing(slot: Slot) -> bool:
    """Does the value of the aggregate contain those of all its rows?"""
    return slot.kind == "fold" and slot.aggregate.function in _GROWING


def fold_column(slot: Slot, columns: dict[str, pa.Array], spans: Spans, out: OutputRows, is_ansi: bool) -> pa.Array:
    """The slot's aggregate for each result row; NULL for rows in no match. Raises DataError as Spark does."""
    fold = slot.fold
    assert fold is not None
    counts = navigation.member_count(slot.aggregate, spans, out)
    runs = _runs(out.match)
    last = runs[1:] - 1
    views = OutputRows(out.row[last], out.match[last], out.end[last])
    row, offset = navigation.members(slot.aggregate, spans, views)
    labels = navigation.member_labels(slot.aggregate, spans, views) if slot.by_label else None
    arguments = [
        from_arrow(member_values(slot, i, columns, row, labels), spark_type)
        for i, spark_type in enumerate(fold.column_types)
    ]
    members = list(zip(*arguments))
    aggregator = _bound(slot, fold, is_ansi)
    results: list[Any] = []
    for lo, hi, start, is_matched in zip(runs, runs[1:], offset, views.match >= 0):
        prefixes = (start + counts[lo:hi]).tolist()
        results += _prefix_values(aggregator, members, start, prefixes, fold.has_filter) if is_matched else [None]
    return to_arrow(results, fold.result)


def _runs(match: np.ndarray) -> np.ndarray:
    """The bounds of the runs of result rows with one match; each row of no match is a run of its own."""
    is_new = np.append(True, (match[1:] != match[:-1]) | (match[1:] < 0))[: len(match)]
    return np.append(np.flatnonzero(is_new), len(match))


def _prefix_values(
    aggregator: Aggregator, members: Sequence[tuple], start: int, prefixes: Sequence[int], has_filter: bool
) -> Iterator[Any]:
    """The value of the aggregate over members `start` to `p` (exclusive) for each p of `prefixes`, which ascend."""
    state, at = aggregator.empty, start
    value, is_current = None, False
    for prefix in prefixes:
        for member in members[at:prefix]:
            if not has_filter:
                state = aggregator.add(state, *member)
            elif member[-1] is True:
                state = aggregator.add(state, *member[:-1])
        if at != prefix or not is_current:
            value, is_current = aggregator.value(state), True
        at = prefix
        yield value


def _bound(slot: Slot, fold: Fold, is_ansi: bool) -> Aggregator:
    return aggregate(
        slot.aggregate.function,
        fold.types,
        fold.result,
        Settings(is_ansi, "UTC"),
        is_distinct=slot.aggregate.is_distinct,
        constants=dict(fold.constants),
        order_by=fold.order_by,
        ignores_nulls=fold.ignores_nulls,
    )
