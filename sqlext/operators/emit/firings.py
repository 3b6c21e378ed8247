"""The rows or partial aggregates that each firing sees, and its result row.

A firing sees partial aggregates that end at it, or the rows that an evictor chooses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sqlext.operators.emit.aggregate_states import Aggregation, Errors, States, taken
from sqlext.operators.emit.assigned import Assigned
from sqlext.operators.emit.firing_points import Points
from sqlext.operators.emit.panes import Panes
from sqlext.operators.emit.parts import EARLY, LATE, MERGED, ON_TIME, START
from sqlext.operators.emit.plan import EmitOperatorPlan
from sqlext.operators.rows.arrow import as_arrow, shown_value, strings
from sqlext.operators.stateful.side_rows import failures_of_keys
from sqlext.pattern.task.event_time import BEGINNING, NEVER


def partial_values(
    points: Points,
    entry_row: np.ndarray,
    first: np.ndarray,
    panes: Panes,
    aggregations: Sequence[Aggregation],
    *,
    is_discarding: bool,
) -> tuple[list[States], tuple[States, ...]]:
    """The states of each aggregation at each point, and of each pane after the step.

    `entry_row: int64[e]`: the rows of the entries; the rows of pane p are entries `first[p]` to `first[p + 1]`. The
    points divide the entries into segments, which are reduced at once and then added up within each pane.
    """
    n, p = len(points.pane), len(panes)
    pane = np.concatenate([points.pane, np.arange(p)])
    stop = np.concatenate([first[points.pane] + points.seen, first[1:]])
    order = np.lexsort((np.arange(n + p), stop, pane))  # the segment after the last point comes last in its pane
    pane, stop = pane[order], stop[order]
    is_first, is_last = np.diff(pane, prepend=-1) != 0, np.diff(pane, append=p) != 0
    start = np.where(is_first, first[pane], np.concatenate([[0], stop[:-1]]))
    rank = np.arange(n + p) - np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    place = np.argsort(order)[:n]  # the index of each point among the segments
    at_points, at_last = [], []
    for aggregation, states in zip(aggregations, panes.partials):
        values = aggregation.reduce(entry_row, start, stop)
        whole = aggregation.merge(states, taken(values, is_first))
        for value, part in zip(values, whole):
            value[is_first] = part
        if not is_discarding:  # with DISCARDING, the segment after a point begins anew
            values = aggregation.running(values, rank)
        at_points.append(taken(values, place))
        at_last.append(taken(values, is_last))
    return at_points, tuple(at_last)


# result rows: the keys, then `result_columns`, then the aggregates

_TIMINGS = (EARLY, ON_TIME, LATE, MERGED)


def firing_rows(
    points: Points,
    windows: Assigned,
    at_points: Sequence[States],
    aggregations: Sequence[Aggregation],
    plan: EmitOperatorPlan,
) -> tuple[np.ndarray, pa.RecordBatch, list[Errors]]:
    """The time and the result row of each point, and by point the errors of each aggregate. The panes are the panes
    before the step."""
    panes, pane, entries = windows.panes, points.pane, windows.entries
    first = np.searchsorted(entries.pane, np.arange(len(panes) + 1))
    entry = first[pane] + points.seen - 1
    end = np.where(points.seen > 0, np.append(entries.end, 0)[np.maximum(entry, 0)], panes.end[pane])
    end = np.maximum(end, panes.end[pane])
    before = np.arange(len(pane)) - np.searchsorted(pane, pane)  # earlier firings of the pane in this step
    was_complete = panes.was_on_time[pane]
    timing = np.where(points.is_complete, np.where(was_complete, 2, 1), 0)
    errors: list[Errors] = [{} for _ in aggregations]
    values = [
        a.finish(states, failed if plan.skips_failures else None)
        for a, states, failed in zip(aggregations, at_points, errors)
    ]
    window = panes.start[pane], end, panes.fired[pane] + before + 1
    return points.time, _batch(panes.take(pane).keys, window, timing, points.time, values, plan), errors


def failures(points: Points, fired: pa.RecordBatch, errors: Sequence[Errors], plan: EmitOperatorPlan) -> pa.Table:
    """The errors of the firings, with the columns FAILURES; `row`: the keys and the window's start."""
    at = sorted((point, i) for i, of_aggregate in enumerate(errors) for point in of_aggregate)
    columns = [fired.column(name) for name in (*plan.keys, START)]
    keys = [[shown_value(column[point]) for column in columns] for point, _ in at]
    return failures_of_keys([int(points.time[point]) for point, _ in at], [errors[i][point] for point, i in at], keys)


def merged_rows(
    ended: Panes, watermark: int, aggregations: Sequence[Aggregation], plan: EmitOperatorPlan
) -> tuple[np.ndarray, pa.RecordBatch]:
    """A row of timing MERGED for each session that has fired and was then merged into an earlier one."""
    ended = ended.take(np.flatnonzero(ended.fired > 0))
    n = len(ended)
    time, timing = np.full(n, watermark), np.full(n, 3)
    values = [pa.nulls(n, a.finish(a.empty(0)).type) for a in aggregations]
    return time, _batch(ended.keys, (ended.start, ended.end, ended.fired + 1), timing, time, values, plan)


def _batch(keys, window, timing: np.ndarray, time: np.ndarray, values, plan: EmitOperatorPlan) -> pa.RecordBatch:
    """The result rows. `window`: start, end and number of each firing."""
    start, end, number = window
    is_bounded = (start != BEGINNING) | (end != NEVER)
    kind = plan.schema.field(plan.time).type
    names = strings(_TIMINGS).take(as_arrow(timing))
    stamps = [as_arrow(column, is_bounded).view(kind) for column in (start, end)]
    columns = [column.combine_chunks() for column in keys.columns]
    columns += [*stamps, as_arrow(number), names, as_arrow(time, time != NEVER).view(kind), *values]
    return pa.RecordBatch.from_arrays(columns, schema=plan.result_schema(values))
