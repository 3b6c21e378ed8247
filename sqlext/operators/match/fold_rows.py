"""Aggregates that workers compute row by row (`expressions.aggregates`), for the result rows of a block. Loads Numba.

The result rows of a match see prefixes of its rows, or with FINAL all of them. So each match is read once: its rows are
added to a state, and the value of the state is taken wherever the rows that a result row sees end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sqlext.aggregates.aggregator import Aggregator
from sqlext.aggregates.registry import AGGREGATES
from sqlext.expressions.function import SPARK_DEFAULTS, ExecutionSettings
from sqlext.expressions.values import from_arrow, to_arrow
from sqlext.operators.match.plan import Slot
from sqlext.operators.match.slot_values import member_values
from sqlext.pattern.measures import navigation
from sqlext.pattern.measures.navigation import OutputRows
from sqlext.pattern.task.task import Spans


def is_growing(slot: Slot) -> bool:
    """Return True if the value of the aggregate contains the values of all its rows."""
    return slot.fold is not None and AGGREGATES[slot.fold.function].is_growing


@dataclass(frozen=True)
class FoldProgress:
    """The part of a match that the previous result rows have read: its first `members` members have led to `state`."""

    match: int
    members: int
    state: Any


def fold_column(
    slot: Slot,
    columns: dict[str, pa.Array],
    spans: Spans,
    out: OutputRows,
    before: FoldProgress | None = None,
    settings: ExecutionSettings = SPARK_DEFAULTS,
) -> tuple[pa.Array, FoldProgress | None]:
    """The slot's aggregate for each result row, over no rows for rows in no match; and the progress after them.

    `before`: the progress after the result rows of the block that precede `out`. Raises DataError as Spark does.
    """
    fold = slot.fold
    assert fold is not None
    counts = navigation.member_count(slot.aggregate, spans, out)
    runs = _runs(out.match)
    last = runs[1:] - 1
    views = OutputRows(out.row[last], out.match[last], out.end[last])
    row, offset = navigation.members(slot.aggregate, spans, views)
    labels = navigation.member_labels(slot.aggregate, spans, views) if slot.by_label else None
    aggregator = fold.aggregator(settings)
    done = before if before is not None and _continues(before, out, counts) else FoldProgress(-1, 0, aggregator.empty)
    members = _members(slot, columns, row[done.members :], None if labels is None else labels[done.members :])
    results: list[Any] = []
    of_no_rows = aggregator.value(aggregator.empty)
    state, read = done.state, done.members
    for lo, hi, start, is_matched in zip(runs, runs[1:], offset, views.match >= 0):
        if not is_matched:
            results.append(of_no_rows)
            continue
        if lo:
            state, read = aggregator.empty, 0
        for count in counts[lo:hi].tolist():
            if count > read or lo == len(results):
                state = _added(aggregator, state, members, start + read - done.members, start + count - done.members)
                value, read = aggregator.value(state), count
            results.append(value)
    after = FoldProgress(int(views.match[-1]), read, state) if len(views) and views.match[-1] >= 0 else None
    return to_arrow(results, fold.result), after


def _continues(before: FoldProgress, out: OutputRows, counts: np.ndarray) -> bool:
    """Return True if the first result row belongs to the match that was read, and sees all that was read of the
    match."""
    return len(out) > 0 and out.match[0] == before.match and counts[0] >= before.members


def _members(
    slot: Slot, columns: dict[str, pa.Array], row: np.ndarray, labels: np.ndarray | None
) -> list[tuple[Any, ...] | None]:
    """The arguments on each row; None where the condition of FILTER does not hold."""
    assert slot.fold is not None
    types = (*slot.fold.column_types, *(("boolean",) if slot.filter is not None else ()))
    arguments = [
        from_arrow(member_values(slot, i, columns, row, labels), spark_type) for i, spark_type in enumerate(types)
    ]
    if slot.filter is None:
        return list(zip(*arguments))
    conditions = arguments.pop()
    return [values if holds else None for values, holds in zip(zip(*arguments), conditions)]


def _added(aggregator: Aggregator, state: Any, members: Sequence[tuple | None], start: int, stop: int) -> Any:
    """The state after adding the members `start` to `stop` (exclusive)."""
    add = aggregator.add
    for values in members[start:stop]:
        if values is not None:
            state = add(state, *values)
    return state


def _runs(match: np.ndarray) -> np.ndarray:
    """The bounds of the runs of result rows that belong to one match; each row in no match is a run of its own."""
    is_new = np.append(True, (match[1:] != match[:-1]) | (match[1:] < 0))[: len(match)]
    return np.append(np.flatnonzero(is_new), len(match))
