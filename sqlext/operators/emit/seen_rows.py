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
    parts, before, in_order = [], dict[int, int](), _come_in_order(of_panes)
    for pane, count in zip(points.pane.tolist(), points.seen.tolist()):
        lo, hi = of_panes.bounds[pane], of_panes.bounds[pane + 1]
        position, last = of_panes.position[lo:hi], before.get(pane, -1)
        if in_order[pane]:  # then it sees a range, and the cost is only that of the rows that it sees
            start, stop = lo + np.searchsorted(position, [last, count], side="right")
            at = np.arange(_first_left(start, stop, of_panes, plan), stop)
        else:
            at = lo + np.flatnonzero((position <= count) & (position > last))
        if plan.emit.is_discarding:
            before[pane] = count
        parts.append(of_panes.row[evicted(at, of_panes, values, plan)])
    stop = np.cumsum([len(part) for part in parts], dtype=np.int64)
    rows = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    return rows, np.concatenate([[0], stop[:-1]]).astype(np.int64)[: len(stop)], stop


def _come_in_order(of_panes: PaneRows) -> np.ndarray:
    """`bool[p]`: the panes in which no row comes before an older one (a late row does so)."""
    pane = np.repeat(np.arange(len(of_panes.bounds) - 1), np.diff(of_panes.bounds))
    falls = (np.diff(of_panes.position) < 0) & (np.diff(pane) == 0)
    in_order = np.ones(len(of_panes.bounds) - 1, np.bool_)
    in_order[pane[1:][falls]] = False
    return in_order


def _first_left(start: int, stop: int, of_panes: PaneRows, plan: EmitOperatorPlan) -> int:
    """The first of the rows `start` to `stop` that EVICT may keep."""
    evictor = plan.emit.evictor
    if evictor is None or start == stop or evictor.kind == KEEP_DELTA:
        return start
    if evictor.kind == KEEP_ROWS:
        return max(start, stop - int(evictor.amount))
    time = of_panes.time[start:stop]
    return start + int(np.searchsorted(time, earlier(time[-1:], int(evictor.amount))[0], side="right"))


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
