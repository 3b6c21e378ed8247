"""One step of ASOF JOIN: arriving rows and a watermark in, decided left rows with their partners and the next state
out.

    order     discard late rows, keep rows above the watermark for later, sort the others of each key by time
    pair      the nearest right row of each left row among the rows that have passed
    decide    a left row is decided at the least time at which no later row can change its partner
    keep      the left rows that are not decided, and the right rows that a left row may still need

| operator | a left row at t is decided at |
|---|---|
| `>=`, `>` | t |
| `<=`, `<` | the time of its partner, or t plus the greatest distance if it has none |
| NEAREST | t plus the greatest distance |

Of the right rows that the watermark has passed, a later left row can only need the last one of each key; NEAREST also
needs those after the last one before the first left row that is not decided. A right row is dropped when it is farther
away than the greatest distance. `<=` and `<` need no right row that has passed: the left rows before it have found it.

A step is pure: it uses neither Spark nor a clock. The same rows in any portions give the same results.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sqlext.operators.asof.plan import NEAREST, OF_LEFT, OF_RIGHT, SIDE, TIME, AsofPlan
from sqlext.operators.rows.arrow import as_numpy, one_chunk, taken
from sqlext.operators.rows.row_order import sorted_rows
from sqlext.operators.stateful.arrivals import Arrivals, arrivals
from sqlext.operators.stateful.operator import ROWS, State, Step
from sqlext.pattern.task.event_time import NEVER, later

_BACKWARD, _FORWARD = (">=", ">"), ("<=", "<")


class _Rights(NamedTuple):
    """Right rows that have passed: of each key and time the smallest one, by key and time. `row: int64[m]`: their rows
    of the step; `code, time: int64[m]`: their keys and times."""

    row: np.ndarray
    code: np.ndarray
    time: np.ndarray


class _Lefts(NamedTuple):
    """Left rows that have passed. `row, code, time: int64[n]` as for right rows; `has_partner: bool[n]`: may have one;
    `until, below: int64[n]`: how many of the right rows come at or before each of them, and how many before it."""

    row: np.ndarray
    code: np.ndarray
    time: np.ndarray
    has_partner: np.ndarray
    until: np.ndarray
    below: np.ndarray


def advance(state: State, arrived: pa.Table, watermark: int, plan: AsofPlan) -> Step:
    """Run one step. `watermark`: no row up to it will arrive any more, except late ones, in int64 microseconds."""
    came = arrivals(state, arrived, watermark, time=TIME, keys=plan.keys)
    side = as_numpy(one_chunk(came.table.column(SIDE)))
    passed = ~came.is_waiting
    is_active = _active_keys(came, passed & (side != OF_RIGHT))
    lefts, rights = _sorted(came, side, np.flatnonzero(passed & is_active[came.code]), plan)
    partner = _partners(lefts, rights, plan)
    decided = _decided(lefts, rights, partner, plan)
    is_decided = decided <= came.watermark
    keeps = came.is_waiting.copy()
    keeps[lefts.row[~is_decided]] = True
    if plan.operator not in _FORWARD:
        idle = np.flatnonzero(passed & ~is_active[came.code])
        keeps[idle] = _is_near(came.time[idle], np.full(len(idle), min(came.watermark + 1, NEVER)), plan)
        keeps[rights.row[_are_needed(lefts, rights, is_decided, came.watermark, plan)]] = True
    shown = is_decided if plan.is_left else is_decided & (partner >= 0)
    return Step(
        results=_results(came.table, lefts.row[shown], rights, partner[shown], decided[shown], plan),
        late=came.late,
        failures=came.failed,
        changes={ROWS: came.kept(keeps)},
        watermark=came.watermark,
    )


def _active_keys(came: Arrivals, is_left: np.ndarray) -> np.ndarray:
    """`bool[codes]`: the keys that have rows which pass in this step, or left rows that have passed (`is_left:
    bool[n]`)."""
    are = np.zeros(int(came.code.max(initial=-1)) + 1, np.bool_)
    are[came.code[came.has_passed | is_left]] = True
    return are


def _sorted(came: Arrivals, side: np.ndarray, rows: np.ndarray, plan: AsofPlan) -> tuple[_Lefts, _Rights]:
    """The left and the right rows among these rows of the step."""
    rows = sorted_rows(rows, came.code, came.time, came.table, plan.ties)
    code, time, of = came.code[rows], came.time[rows], side[rows]
    begins = (np.diff(code, prepend=-1) != 0) | (np.diff(time, prepend=0) != 0)
    begins[:1] = True
    group = np.cumsum(begins) - 1  # the number of the key and time of each row
    right = np.flatnonzero(of == OF_RIGHT)
    right = right[np.diff(group[right], prepend=-1) != 0]
    left = np.flatnonzero(of != OF_RIGHT)
    has_right = np.zeros(len(rows), np.int64)
    has_right[group[right]] = 1
    until = np.cumsum(has_right)[group[left]]
    return (
        _Lefts(
            row=rows[left],
            code=code[left],
            time=time[left],
            has_partner=of[left] == OF_LEFT,
            until=until,
            below=until - has_right[group[left]],
        ),
        _Rights(row=rows[right], code=code[right], time=time[right]),
    )


def _partners(lefts: _Lefts, rights: _Rights, plan: AsofPlan) -> np.ndarray:
    """`int64[n]`: the index of the partner of each left row among the right rows that have passed, -1 if there is
    none."""
    if plan.operator in _BACKWARD:
        return _candidates(lefts, rights, (lefts.until if plan.operator == ">=" else lefts.below) - 1, plan)
    if plan.operator in _FORWARD:
        return _candidates(lefts, rights, lefts.below if plan.operator == "<=" else lefts.until, plan)
    before = _candidates(lefts, rights, lefts.until - 1, plan)
    after = _candidates(lefts, rights, lefts.below, plan)
    is_before = _distance(lefts, rights, before) <= _distance(lefts, rights, after)
    return np.where(is_before, before, after)


def _candidates(lefts: _Lefts, rights: _Rights, index: np.ndarray, plan: AsofPlan) -> np.ndarray:
    """The indexes of right rows, with -1 where such a row cannot be the partner."""
    exists = lefts.has_partner & (index >= 0) & (index < len(rights.row))
    index = np.where(exists, index, -1)
    exists[exists] = rights.code[index[exists]] == lefts.code[exists]
    index = np.where(exists, index, -1)
    if plan.within is None:
        return index
    return np.where(_distance(lefts, rights, index) <= plan.within, index, -1)


def _distance(lefts: _Lefts, rights: _Rights, index: np.ndarray) -> np.ndarray:
    """`uint64[n]`: the distances of the left rows and these right rows; the largest number for index -1."""
    distance = np.full(len(index), np.iinfo(np.uint64).max, np.uint64)
    at = np.flatnonzero(index >= 0)
    left, right = lefts.time[at], rights.time[index[at]]
    distance[at] = np.maximum(left, right).view(np.uint64) - np.minimum(left, right).view(np.uint64)
    return distance


def _decided(lefts: _Lefts, rights: _Rights, partner: np.ndarray, plan: AsofPlan) -> np.ndarray:
    """`int64[n]`: the time at which each left row is decided, if no right row comes that has not passed yet."""
    if plan.operator in _BACKWARD:
        return lefts.time
    end = np.where(lefts.has_partner, later(lefts.time, _limit(plan)), lefts.time)
    if plan.operator == NEAREST or not len(rights.row):
        return end
    return np.where(partner >= 0, rights.time[partner], end)


def _limit(plan: AsofPlan) -> int:
    return NEVER if plan.within is None else plan.within


def _are_needed(lefts: _Lefts, rights: _Rights, is_decided: np.ndarray, watermark: int, plan: AsofPlan) -> np.ndarray:
    """`bool[m]`: the right rows that a left row which is not decided, or one after the watermark, may need."""
    first = np.full(int(rights.code.max(initial=-1)) + 1, min(watermark + 1, NEVER))
    is_open = ~is_decided & np.isin(lefts.code, rights.code)
    np.minimum.at(first, lefts.code[is_open], lefts.time[is_open])
    reader = first[rights.code]  # the first left row that may need each right row
    is_last = np.diff(rights.code, append=-1) != 0
    following = np.append(rights.time[1:], 0)[: len(rights.time)]
    is_covered = ~is_last & (following <= reader)
    return ~is_covered & _is_near(rights.time, reader, plan)


def _is_near(time: np.ndarray, reader: np.ndarray, plan: AsofPlan) -> np.ndarray:
    """`bool[m]`: whether a right row at this time is near enough to a left row at `reader`, or after that."""
    if plan.within is None:
        return np.ones(len(time), np.bool_)
    return later(time, plan.within) >= reader


def _results(
    table: pa.Table, left: np.ndarray, rights: _Rights, partner: np.ndarray, decided: np.ndarray, plan: AsofPlan
) -> list[tuple[np.ndarray, pa.RecordBatch]]:
    """The result rows by the times at which they are decided. `left`: rows of the table."""
    if not len(left):
        return []
    order = np.argsort(decided, kind="stable")
    left, partner = left[order], partner[order]
    right = np.full(len(left), -1)
    right[partner >= 0] = rights.row[partner[partner >= 0]]
    columns = [taken(one_chunk(table.column(name)), left) for name in plan.left]
    columns += [taken(one_chunk(table.column(name)), right) for name in plan.right]
    return [(decided[order], pa.RecordBatch.from_arrays(columns, names=plan.result_schema.names))]
