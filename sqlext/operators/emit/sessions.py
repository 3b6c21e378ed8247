"""Sessions: consecutive rows of a key are one window if none is more than the gap later than the one before.

A row that the watermark passes joins the last session of its key or begins a new one, since rows come in the order of
their times. A late row that is allowed may touch several sessions, which are then merged into one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sqlext.operators.emit.aggregate_states import Aggregation, taken
from sqlext.operators.emit.panes import Panes, joined, new_panes
from sqlext.operators.rows.arrow import as_arrow
from sqlext.pattern.task.event_time import later


def session_windows(code: np.ndarray, time: np.ndarray, panes: Panes, gap: int) -> tuple[np.ndarray, np.ndarray]:
    """The start of the session of each row, and the end of the session once it includes the row. The rows are sorted by
    key and time, and are later than all rows of the panes."""
    keys = int(max(code.max(initial=-1), panes.code.max(initial=-1))) + 1
    last_end, last_start = np.full(keys, np.iinfo(np.int64).min), np.zeros(keys, np.int64)
    in_time = np.argsort(panes.end, kind="stable")  # if a key is assigned several times, the last assignment holds
    last_end[panes.code[in_time]], last_start[panes.code[in_time]] = panes.end[in_time], panes.start[in_time]
    is_first = np.diff(code, prepend=-1) != 0
    reach = np.where(is_first, last_end[code], later(np.concatenate([time[:1], time[:-1]]), gap))
    begins = time > reach
    head = np.maximum.accumulate(np.where(is_first | begins, np.arange(len(code)), 0))
    return np.where(begins[head], time[head], last_start[code[head]]), later(time, gap)


class Joined(NamedTuple):
    """The panes after late rows have joined their sessions.

    `origin: int64[p]`: the index that each pane had before, -1 for a new one; `ended`: the former indexes of panes for
    which there is no longer a session with their key and start; `of_row`: the pane of each late row.
    """

    panes: Panes
    origin: np.ndarray
    ended: np.ndarray
    of_row: np.ndarray


def take_late_rows(
    code: np.ndarray, time: np.ndarray, keys: pa.Table, panes: Panes, gap: int, aggregations: Sequence[Aggregation]
) -> Joined:
    """Extend the sessions by the late rows, and merge sessions that now touch.

    `keys`: the keys of the late rows. The step counts and aggregates these rows.
    """
    sessions: dict[int, list[tuple[int, int, list[int]]]] = {}  # key → (start, end, panes)
    for pane in np.flatnonzero(np.isin(panes.code, code)).tolist():
        session = (int(panes.start[pane]), int(panes.end[pane]), [pane])
        sessions.setdefault(int(panes.code[pane]), []).append(session)
    for key, at, reach in zip(code.tolist(), time.tolist(), later(time, gap).tolist()):
        own = sessions.setdefault(key, [])
        touched = [s for s in own if s[0] <= reach and s[1] >= at]
        start, end = min([at, *(s[0] for s in touched)]), max([reach, *(s[1] for s in touched)])
        members = [pane for s in sorted(touched) for pane in s[2]]
        sessions[key] = [*(s for s in own if s not in touched), (start, end, members)]
    after, is_there, ended = panes.take(np.arange(len(panes))), np.ones(len(panes), np.bool_), []
    for start, end, members in (session for own in sessions.values() for session in own if session[2]):
        is_there[members[1:]] = False
        ended += [pane for pane in members if panes.start[pane] != start]
        _join(after, members, aggregations)
        first = members[0]
        after.start[first], after.end[first] = start, end
        after.fired[first] = panes.fired[first] if panes.start[first] == start else 0
    fresh = [(key, start, end) for key, own in sessions.items() for start, end, members in own if not members]
    first_row = {key: row for row, key in reversed(list(enumerate(code.tolist())))}
    new_code, new_start, new_end = np.array(fresh, np.int64).reshape(-1, 3).T
    new_keys = keys.take(as_arrow(np.array([first_row[key] for key, _, _ in fresh], np.int64)))
    created = new_panes(new_code, new_keys, new_start, new_end, aggregations, panes.own)
    whole = joined([after.take(np.flatnonzero(is_there)), created])
    origin = np.concatenate([np.flatnonzero(is_there), np.full(len(fresh), -1)])
    return Joined(whole, origin, np.array(ended, np.int64), _session_of(code, time, whole))


def _session_of(code: np.ndarray, time: np.ndarray, panes: Panes) -> np.ndarray:
    """`int64[n]`: the session of each row, which is the last session of its key that begins at the row or before it."""
    own = np.flatnonzero(np.isin(panes.code, code))
    starts: dict[int, list[tuple[int, int]]] = {}
    for key, start, pane in sorted(zip(panes.code[own].tolist(), panes.start[own].tolist(), own.tolist())):
        starts.setdefault(key, []).append((start, pane))
    last = len(panes)
    rows = zip(code.tolist(), time.tolist())
    return np.array([starts[key][bisect_right(starts[key], (at, last)) - 1][1] for key, at in rows], np.int64)


def _join(panes: Panes, members: list[int], aggregations: Sequence[Aggregation]) -> None:
    """Merge the values of all members into the first one."""
    first, *others = members
    panes.count[first] = panes.count[members].sum()
    panes.was_on_time[first] = panes.was_on_time[members].any()
    for column in (panes.news, *panes.own.values()):
        column[first] = column[members].max()
    for other in others:
        for aggregation, states in zip(aggregations, panes.partials):
            before, after = (taken(states, np.array([at])) for at in (first, other))
            for column, value in zip(states, aggregation.merge(before, after)):
                column[first] = value[0]
