"""The rows that each firing sees, where partial aggregates are not enough; and the rows that later firings may see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlext.operators.emit.assigned import Assigned, StepRows
from sqlext.operators.emit.distances import DeltaValues, delta_values, distances
from sqlext.operators.emit.firing_points import Points
from sqlext.operators.emit.parts import END, KEEP_DELTA, KEEP_ROWS, KEEP_TIME, SESSION, START
from sqlext.operators.emit.plan import EmitOperatorPlan
from sqlext.operators.rows.arrow import as_arrow, as_numpy, one_chunk
from sqlext.operators.rows.row_order import sorted_rows
from sqlext.pattern.task.event_time import earlier


@dataclass(frozen=True, kw_only=True)
class PaneRows:
    """The rows of all panes, sorted by pane and in order. Row `row[i]`, whose time is `time[i]`, is number
    `position[i]` of the new rows (see Entries), or 0 if it is a kept row. The rows of pane p are at `bounds[p]` to
    `bounds[p + 1]`."""

    row: np.ndarray
    time: np.ndarray
    position: np.ndarray
    bounds: np.ndarray


def pane_rows(rows: StepRows, windows: Assigned, plan: EmitOperatorPlan) -> PaneRows:
    """The kept rows, together with the rows that the panes get now."""
    kept = np.flatnonzero(rows.is_kept)
    row = np.concatenate([kept, windows.row])
    pane = np.concatenate([_pane_of(kept, rows, windows, plan), windows.entries.pane])
    position = np.concatenate([np.zeros(len(kept), np.int64), windows.entries.position])
    ties = rows.table.select([key.column for key in plan.sort]).take(as_arrow(row))
    order = sorted_rows(np.arange(len(row)), pane, rows.time[row], ties, plan.sort)
    bounds = np.searchsorted(pane[order], np.arange(len(windows.panes) + 1))
    return PaneRows(row=row[order], time=rows.time[row[order]], position=position[order], bounds=bounds)


def _pane_of(kept: np.ndarray, rows: StepRows, windows: Assigned, plan: EmitOperatorPlan) -> np.ndarray:
    """The pane of each kept row. A session may have grown, so this is the last session of the key that begins before
    the row."""
    start, end = (as_numpy(one_chunk(rows.table.column(name)))[kept] for name in (START, END))
    panes, n = windows.panes, len(windows.panes)
    if plan.assigner.kind == SESSION:
        start, end, known_end = rows.time[kept], np.zeros(len(kept), np.int64), np.zeros(n, np.int64)
    else:
        known_end = panes.end
    keys = [np.concatenate(pair) for pair in ((panes.start, start), (known_end, end), (panes.code, rows.code[kept]))]
    order = np.lexsort((np.arange(n + len(kept)), *keys))
    last = np.maximum.accumulate(np.where(order < n, np.arange(len(order)), 0))
    pane = np.empty(len(order), np.int64)
    pane[order] = order[last]
    return pane[n:]


def evictor_values(rows: StepRows, plan: EmitOperatorPlan) -> DeltaValues | None:
    """The values of EVICT KEEP DELTA for all rows; None for other queries."""
    evictor = plan.emit.evictor
    return delta_values(rows.table.column(evictor.column)) if evictor is not None and evictor.column else None


def seen(
    points: Points, of_panes: PaneRows, values: DeltaValues | None, plan: EmitOperatorPlan
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows that each point sees: point i sees `start[i]` to `stop[i]` of the array of rows.

    `values`: the values of EVICT KEEP DELTA for all rows.
    """
    panes = np.concatenate([[-1], points.pane])
    is_next = (np.diff(panes) == 0) & plan.emit.is_discarding
    last = np.where(is_next, np.concatenate([[0], points.seen])[:-1], -1)  # what the firing before has seen
    start, stop = _ranges(points, last, of_panes)
    chosen = dict[int, np.ndarray]()  # the rows that are no range
    in_order, evictor = _come_in_order(of_panes)[points.pane], plan.emit.evictor
    for i in np.flatnonzero(~in_order).tolist():
        lo, hi = of_panes.bounds[points.pane[i]], of_panes.bounds[points.pane[i] + 1]
        position = of_panes.position[lo:hi]
        at = lo + np.flatnonzero((position <= points.seen[i]) & (position > last[i]))
        chosen[i] = evicted(at, of_panes, values, plan)
    if evictor is not None and evictor.kind == KEEP_DELTA:
        for i in np.flatnonzero(in_order).tolist():
            chosen[i] = evicted(np.arange(start[i], stop[i]), of_panes, values, plan)
    else:
        start = _first_left(start, stop, of_panes, plan)
    length = stop - start
    for i, at in chosen.items():
        start[i], length[i] = 0, len(at)
    end = np.cumsum(length)
    begin = end - length
    rows = np.repeat(start - begin, length) + np.arange(length.sum())
    for i, at in chosen.items():
        rows[begin[i] : end[i]] = at
    return of_panes.row[rows], begin, end


def _ranges(points: Points, last: np.ndarray, of_panes: PaneRows) -> tuple[np.ndarray, np.ndarray]:
    """Where the rows that each point sees begin and end among the rows of the panes, if no row comes before an older
    one. Then the kept rows of a pane are followed by its new rows 1, 2, …. `last`: how many new rows the firing before
    has taken, -1 if none."""
    kept = np.concatenate([[0], np.cumsum(of_panes.position == 0)])[of_panes.bounds]
    lo, new = of_panes.bounds[points.pane], (of_panes.bounds[:-1] + np.diff(kept))[points.pane]
    return np.where(last < 0, lo, new + last), new + points.seen


def _come_in_order(of_panes: PaneRows) -> np.ndarray:
    """`bool[p]`: the panes in which no row comes before an older one (a late row does so)."""
    pane = np.repeat(np.arange(len(of_panes.bounds) - 1), np.diff(of_panes.bounds))
    falls = (np.diff(of_panes.position) < 0) & (np.diff(pane) == 0)
    in_order = np.ones(len(of_panes.bounds) - 1, np.bool_)
    in_order[pane[1:][falls]] = False
    return in_order


def _first_left(start: np.ndarray, stop: np.ndarray, of_panes: PaneRows, plan: EmitOperatorPlan) -> np.ndarray:
    """The first of the rows from `start` to `stop`, which are in the order of time, that EVICT keeps."""
    evictor = plan.emit.evictor
    if evictor is None:
        return start
    if evictor.kind == KEEP_ROWS:
        return np.maximum(start, stop - int(evictor.amount))
    time = np.append(of_panes.time, 0)
    before = earlier(time[np.maximum(stop - 1, 0)], int(evictor.amount))
    low, high = start.copy(), np.maximum(start, stop)
    while (low < high).any():  # binary searches, all at once
        middle = (low + high) // 2
        is_out = (low < high) & (time[middle] <= before)
        low, high = np.where(is_out, middle + 1, low), np.where(is_out, high, middle)
    return low


def evicted(at: np.ndarray, of_panes: PaneRows, values: DeltaValues | None, plan: EmitOperatorPlan) -> np.ndarray:
    """The rows that EVICT keeps of the rows `at` of PaneRows, in order."""
    evictor = plan.emit.evictor
    if evictor is None or not len(at):
        return at
    if evictor.kind == KEEP_ROWS:
        return at[max(0, len(at) - int(evictor.amount)) :]
    if evictor.kind == KEEP_TIME:
        return at[of_panes.time[at] > earlier(of_panes.time[at[-1:]], int(evictor.amount))]
    assert evictor.kind == KEEP_DELTA and values is not None
    own = values.take(of_panes.row[at])
    return at[~own.is_null & ~own.is_null[-1] & (distances(own.number, own.number[-1]) < evictor.amount)]


def still_seen(
    last_count: np.ndarray, is_open: np.ndarray, of_panes: PaneRows, plan: EmitOperatorPlan
) -> tuple[np.ndarray, np.ndarray]:
    """The rows, and their panes, that later firings of the open panes may see.

    `last_count: int64[p]`: how many new rows the last firing of each pane saw, -1 if it did not fire.
    """
    pane = np.repeat(np.arange(len(is_open)), np.diff(of_panes.bounds))
    is_seen = is_open[pane]
    if plan.emit.is_discarding:
        is_seen &= of_panes.position > last_count[pane]
    at = np.flatnonzero(is_seen)
    evictor = plan.emit.evictor
    if evictor is not None and evictor.kind != KEEP_DELTA and len(at):  # these evictors choose by the last row alone
        stop = np.searchsorted(pane[at], pane[at], side="right")
        if evictor.kind == KEEP_ROWS:
            at = at[stop - np.arange(len(at)) <= int(evictor.amount)]
        else:
            at = at[of_panes.time[at] > earlier(of_panes.time[at[stop - 1]], int(evictor.amount))]
    return of_panes.row[at], pane[at]
