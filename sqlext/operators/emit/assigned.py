"""The rows of a step, and the panes to which they are assigned, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlext.operators.emit.aggregate_states import Aggregation
from sqlext.operators.emit.assigners import assign
from sqlext.operators.emit.firing_points import Entries
from sqlext.operators.emit.panes import Panes, joined, new_panes
from sqlext.operators.emit.parts import END, SESSION
from sqlext.operators.emit.plan import EmitOperatorPlan
from sqlext.operators.emit.sessions import session_windows, take_late_rows
from sqlext.operators.rows.arrow import are_valid, as_arrow, one_chunk
from sqlext.operators.rows.row_order import sorted_rows
from sqlext.operators.stateful.arrivals import Arrivals


@dataclass(frozen=True, kw_only=True)
class StepRows:
    """The rows of the state, then the arrived rows that are not too late.

    - `time, code: int64[n]`: the times of the rows, and the numbers of their keys;
    - `key_code`: the numbers of the keys of the panes in the state;
    - `is_kept: bool[n]`: rows of earlier steps that later firings see, once for each window;
    - `taken: int64[t]`: the rows that are assigned to windows now, sorted by key and order;
    - `is_waiting: bool[n]`: the rows that the watermark has not passed.
    """

    table: pa.Table
    time: np.ndarray
    code: np.ndarray
    key_code: np.ndarray
    is_kept: np.ndarray
    taken: np.ndarray
    is_waiting: np.ndarray


def step_rows(rows: Arrivals, plan: EmitOperatorPlan) -> StepRows:
    """The rows of a step in the order in which they are assigned to windows."""
    is_kept = are_valid(one_chunk(rows.table.column(END)))
    taken = np.flatnonzero(~is_kept & ~rows.is_waiting)
    return StepRows(
        table=rows.table,
        time=rows.time,
        code=rows.code,
        key_code=rows.key_code,
        is_kept=is_kept,
        taken=sorted_rows(taken, rows.code, rows.time, rows.table, plan.sort),
        is_waiting=~is_kept & rows.is_waiting,
    )


@dataclass(frozen=True, kw_only=True)
class Assigned:
    """The panes, each with the rows that it gets.

    `row: int64[e]`: the row of each entry; `origin: int64[p]`: the index of each pane in the state, -1 for a new one;
    `ended`: the panes of the state for which there is no longer a session with their key and start.
    """

    panes: Panes
    entries: Entries
    row: np.ndarray
    origin: np.ndarray
    ended: Panes


def assigned(
    rows: StepRows, panes: Panes, before: int, moment: int, plan: EmitOperatorPlan, aggregations: Sequence[Aggregation]
) -> Assigned:
    """The rows in their windows. `panes`: the panes of the state; `before`: the watermark before the step; `moment`:
    the time of a firing that a late row causes."""
    assigner, taken = plan.assigner, rows.taken
    origin, ended = np.arange(len(panes)), panes.take(np.zeros(0, np.int64))
    keys = rows.table.select(plan.keys)
    if assigner.kind == SESSION:
        late, taken = taken[rows.time[taken] <= before], taken[rows.time[taken] > before]
        of_late = np.zeros(0, np.int64)
        if len(late):
            own = keys.take(as_arrow(late))
            join = take_late_rows(rows.code[late], rows.time[late], own, panes, assigner.size, aggregations)
            ended, panes, origin, of_late = panes.take(join.ended), join.panes, join.origin, join.of_row
        start, end = session_windows(rows.code[taken], rows.time[taken], panes, assigner.size)
        row, identity = taken, np.zeros(len(taken), np.int64)
    else:
        windows = assign(assigner, rows.time[taken])
        row, start, end = taken[windows.row], windows.start, windows.end
        identity = end
    known_end = np.zeros(len(panes), np.int64) if assigner.kind == SESSION else panes.end
    pane, first = _numbered((panes.code, panes.start, known_end), (rows.code[row], start, identity))
    new_keys = keys.take(as_arrow(row[first]))
    created = new_panes(rows.code[row[first]], new_keys, start[first], end[first], aggregations, panes.own)
    panes, origin = joined([panes, created]), np.concatenate([origin, np.full(len(first), -1)])
    if assigner.kind == SESSION:
        pane, row = np.concatenate([of_late, pane]), np.concatenate([late, row])
        end = np.concatenate([panes.end[of_late], end])
    order = np.lexsort((np.arange(len(row)), pane))  # rows are already in order, by key
    pane, row, end = pane[order], row[order], end[order]
    time = rows.time[row]
    entries = Entries(
        pane=pane,
        position=_ranks(pane) + 1,
        time=np.maximum(time, before + 1),
        decided=np.where(time > before, time, moment),
        end=end,
    )
    return Assigned(panes=panes, entries=entries, row=row, origin=origin, ended=ended)


def _numbered(known: Sequence[np.ndarray], new: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The number of each new tuple: its index in `known`, or a number after those indexes, in order of first
    appearance; and the indexes in `new` of the tuples that are not known.

    >>> _numbered([np.array([7, 9])], [np.array([8, 9, 8])])
    (array([2, 1, 2]), array([0]))
    """
    columns = [np.concatenate([a, b]) for a, b in zip(known, new)]
    n, total = len(known[0]), len(columns[0])
    order = np.lexsort((np.arange(total), *reversed(columns)))
    begins = np.zeros(total, np.bool_)
    begins[:1] = True
    for column in columns:
        begins[1:] |= np.diff(column[order]) != 0
    leader = order[np.maximum.accumulate(np.where(begins, np.arange(total), 0))]  # the first of the equal tuples
    of = np.empty(total, np.int64)
    of[order] = leader
    first = np.flatnonzero(of[n:] == np.arange(n, total))
    number = np.full(total, -1)
    number[:n] = np.arange(n)
    number[n + first] = n + np.arange(len(first))
    return number[of[n:]], first


def _ranks(group: np.ndarray) -> np.ndarray:
    """The rank of each entry in its group, from 0; the groups follow one another.

    >>> _ranks(np.array([3, 3, 5])).tolist()
    [0, 1, 0]
    """
    at = np.arange(len(group))
    return at - np.maximum.accumulate(np.where(np.diff(group, prepend=-1) != 0, at, 0)) if len(group) else at
