"""Decisions of row-local patterns, in time linear in the rows.

From right to left, two numbers are computed for each row and each position that may take it: the end of the nearest
match through it, and the last row that a search through it looks at if it fails. A path that is alive after the last
row, or whose condition reads rows that are still missing, counts as a match that may end there. Then the preferred walk
goes from start row to start row, left to right, along targets that lead to a match within the limit of the start row;
where it reaches such an unknown end, the search of the partition stops.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sqlext.pattern.program.jit import compiled, read_only, writable
from sqlext.pattern.program.position_automaton import DONE, PositionAutomaton, listed_targets, position_automaton
from sqlext.pattern.task.event_time import Decisions, EventTimes, SearchPosition, StreamFacts
from sqlext.pattern.task.skip_kernels import CODES, REASONS, is_skip_target, resume_row, target_step
from sqlext.pattern.task.task import MatchTask, Rows, SkipFailure, Spans

# state: int64[8]
PARTITION, ROW, NUMBER, MATCHED_END, TIME, MATCHES, MAPPED, UNMATCHED = range(8)
_STATE = 8
_FINISHED, _FULL = 0, -1  # why a call of the kernel ends, if not for one of REASONS
_FAIL, _UNKNOWN, _TOO_LONG = -1, -2, -3  # instead of the length of a match
_NONE, _UNMATCHED, _FAILED = range(3)  # which start rows without a match are recorded
_FAR = 1 << 30  # after all rows: no match, no limit


class WalkTables(NamedTuple):
    """The pattern.

    - `target[first[p] : first[p + 1]]`: what follows position p, most preferred first; p = m is the beginning of a
      search, m + 1 the beginning of a search from the very first row;
    - `label: int64[m]`, `bit: int64[m]` (-1: none), `is_target: bool[m]`: whether SKIP TO may go to the position;
    - `skip: int64[2]`: mode, ELSE NEXT ROW.
    """

    first: np.ndarray
    target: np.ndarray
    label: np.ndarray
    bit: np.ndarray
    is_target: np.ndarray
    skip: np.ndarray


class Inputs(NamedTuple):
    """Rows, EventTimes and SearchPosition. Arrays that are None there are empty."""

    bounds: np.ndarray
    mask: np.ndarray
    limit: np.ndarray
    key: np.ndarray
    end: np.ndarray
    need: np.ndarray
    begin: np.ndarray
    is_first: np.ndarray


class Results(NamedTuple):
    """The arrays that the kernel fills.

    - `match: int64[4, c]`: start, number, end of its rows in `position`, time; `position: int32[r]`;
    - `unmatched: int64[2, c]`: row, time;
    - `reached: int64[4, p]`: row, number, matched_end and time of SearchPosition;
    - `room: int32[2, longest, m]`: the two numbers of each row and position.
    """

    match: np.ndarray
    position: np.ndarray
    unmatched: np.ndarray
    reached: np.ndarray
    room: np.ndarray


def decide(
    task: MatchTask, rows: Rows, event_times: EventTimes, begin: SearchPosition, facts: StreamFacts
) -> Decisions:
    """Decide as `strategy.decide` does. The task has no run-dependent conditions, no `$`, and not both NEXT and WITHIN.

    Equal to `stream_reference.decide`. Memory: eight bytes for each position and row of the longest partition.
    """
    positions = position_automaton(task.program, task.bits)
    tables, inputs = _tables(task, positions), _inputs(rows, event_times, begin)
    n, p, m = len(rows.mask), len(rows.bounds) - 1, max(positions.size, 1)
    longest = int(np.max(rows.bounds[1:] - begin.row, initial=0))
    recorded = _FAILED if facts.needs_failed else _UNMATCHED if task.output.shows_unmatched else _NONE
    results = Results(
        np.empty((4, n + 1), np.int64),
        np.empty(2 * n + 16, np.int32),
        np.empty((2, n + 1 if recorded else 1), np.int64),
        np.array([begin.row, begin.number, begin.matched_end, begin.time]),
        np.empty((2, longest, m), np.int32),
    )
    state = np.zeros(_STATE, np.int64)
    if p:
        state[[ROW, NUMBER, MATCHED_END, TIME]] = results.reached[:, 0]
    ended = _search_all(tables, inputs, event_times.watermark, recorded, state, results)
    while ended == _FULL:
        results = results._replace(position=np.concatenate([results.position, np.empty_like(results.position)]))
        ended = _search_all(tables, inputs, event_times.watermark, recorded, state, results)
    spans = _spans(positions, state, results, REASONS.get(ended))
    columns = results.reached
    after = replace(begin, row=columns[0], number=columns[1], matched_end=columns[2], time=columns[3])
    return Decisions(
        spans=spans,
        time=results.match[3, : state[MATCHES]],
        unmatched_time=results.unmatched[1, : state[UNMATCHED]],
        position=after,
    )


def _tables(task: MatchTask, positions: PositionAutomaton) -> WalkTables:
    targets = listed_targets(task.program, task.bits)
    assert targets is not None, "strategy refuses such a task"
    return WalkTables(
        np.cumsum([0, *map(len, targets)], dtype=np.int64),
        np.array([t for ts in targets for t in ts], np.int64),
        positions.label.astype(np.int64),
        positions.graph.bit,
        is_skip_target(task, positions),
        np.array([CODES[task.skip.mode], task.skip.else_next_row], np.int64),
    )


def _inputs(rows: Rows, event_times: EventTimes, begin: SearchPosition) -> Inputs:
    nothing = np.empty(0, np.int64)

    def owned(array: np.ndarray | None) -> np.ndarray:
        return nothing if array is None else writable(array)

    has_end = event_times.end is not None
    return Inputs(
        owned(rows.bounds),
        read_only(rows.mask),
        owned(rows.limit if has_end else None),
        owned(event_times.key),
        owned(event_times.end),
        np.empty((0, 0), np.int64) if event_times.need is None else writable(event_times.need),
        owned(begin.row),
        np.require(begin.is_first, np.bool_, ["C", "A", "W"]),
    )


def _spans(positions: PositionAutomaton, state: np.ndarray, results: Results, failure: str | None) -> Spans:
    match, position = results.match[:, : state[MATCHES]], results.position[: state[MAPPED]]
    return Spans(
        start=match[0],
        number=match[1],
        offset=np.concatenate([[0], match[2]]).astype(np.int64),
        label=positions.label[position],
        is_hidden=positions.is_hidden[position] if positions.is_hidden.any() else None,
        unmatched=results.unmatched[0, : state[UNMATCHED]],
        failure=SkipFailure(failure, int(match[0, -1]), int(match[1, -1])) if failure else None,
    )


@compiled
def _pull_back(tables, inputs, first, stop, room):
    """Fill room[0] with ends of the nearest matches, room[1] with the last rows looked at, for rows from `first` on.

    Rows are counted from `first`. The end of an unknown path is the end of the shortest match that it may become.
    """
    m, nearest, looked_at = len(tables.label), room[0], room[1]
    for row in range(stop - 1, first - 1, -1):
        here = row - first
        for p in range(m):
            needed = row
            if len(inputs.need) > 0:
                needed = inputs.need[tables.label[p], row]
            if needed >= stop:
                nearest[here, p], looked_at[here, p] = here + 1, _FAR
                continue
            end, last = np.int64(_FAR), needed - first
            bit = tables.bit[p]
            if bit < 0 or (inputs.mask[row, bit >> 3] >> (bit & 7)) & 1:
                for k in range(tables.first[p], tables.first[p + 1]):
                    t = tables.target[k]
                    if t == DONE:
                        end = min(end, np.int64(here + 1))
                    elif row + 1 < stop:
                        end = min(end, np.int64(nearest[here + 1, t]))
                        last = max(last, np.int64(looked_at[here + 1, t]))
                    else:
                        end = min(end, np.int64(here + 2))
                        last = max(last, np.int64(here + 1))
            nearest[here, p], looked_at[here, p] = end, last


@compiled
def _is_unknown(inputs, tables, position, row, stop):
    """True if the condition reads rows that are not there yet."""
    return len(inputs.need) > 0 and inputs.need[tables.label[position], row] >= stop


@compiled
def _walk(tables, inputs, origin, stop, start, at, limit, state, results):
    """The length of the match from `start` on, its positions after state[MAPPED]; or _FAIL, _UNKNOWN, _TOO_LONG.

    `origin`: the row from which `room` counts; `at`: the place in `Tables.first` of the beginning; `limit`: counted
    from `origin`, _FAR where no path has run out. state[TIME] becomes the time at which the outcome is known.
    """
    nearest, looked_at = results.room[0], results.room[1]
    row, last, length, ran_out = start - origin, start - origin, 0, False
    outcome = _TOO_LONG
    while outcome == _TOO_LONG:
        chosen = _FAIL
        for k in range(tables.first[at], tables.first[at + 1]):
            t = tables.target[k]
            if t == DONE:
                chosen = t
                outcome = length
                break
            if row >= limit:
                ran_out = True
            elif origin + row == stop:
                return _UNKNOWN
            elif nearest[row, t] <= limit and nearest[row, t] < _FAR:
                if _is_unknown(inputs, tables, t, origin + row, stop):
                    return _UNKNOWN
                chosen = t
                break
            elif looked_at[row, t] >= limit:
                ran_out = True
            else:
                last = max(last, np.int64(looked_at[row, t]))
        if outcome >= 0:
            break
        if chosen == _FAIL:
            outcome = _FAIL
            break
        if state[MAPPED] + length == len(results.position):
            return _TOO_LONG
        results.position[state[MAPPED] + length] = chosen
        needed = row
        if len(inputs.need) > 0:
            needed = inputs.need[tables.label[chosen], origin + row] - origin
        last = max(last, needed)
        at, row, length = chosen, row + 1, length + 1
    time = inputs.key[origin + last]
    if ran_out:
        time = max(time, inputs.end[start])
    state[TIME] = max(state[TIME], time)
    return outcome


@compiled
def _search_partition(tables, inputs, watermark, recorded, state, results):
    """Continue from state[ROW]; return _FINISHED where nothing more is decided."""
    p = state[PARTITION]
    origin, stop = inputs.begin[p], inputs.bounds[p + 1]
    while state[ROW] < stop:
        start = state[ROW]
        is_very_first = start == inputs.bounds[p] and inputs.is_first[p]
        at = len(tables.first) - 2 if is_very_first else len(tables.first) - 3
        limit = np.int64(_FAR)
        if len(inputs.end) > 0 and inputs.end[start] <= watermark:
            limit = inputs.limit[start] - origin
        before = state[TIME]
        length = _walk(tables, inputs, origin, stop, start, at, limit, state, results)
        if length == _TOO_LONG:
            state[TIME] = before
            return _FULL
        if length == _UNKNOWN:
            return _FINISHED
        if length == _FAIL:
            if recorded == _FAILED or (recorded == _UNMATCHED and start >= state[MATCHED_END]):
                results.unmatched[0, state[UNMATCHED]], results.unmatched[1, state[UNMATCHED]] = start, state[TIME]
                state[UNMATCHED] += 1
            state[ROW] = start + 1
            continue
        i, mode = state[MATCHES], tables.skip[0]
        step = target_step(mode, tables.is_target, results.position, state[MAPPED], length)
        resume, failure = resume_row(mode, tables.skip[1], start, start, length, step)
        state[MAPPED] += length
        results.match[0, i], results.match[1, i], results.match[2, i] = start, state[NUMBER], state[MAPPED]
        results.match[3, i] = state[TIME]
        state[MATCHES] = i + 1
        if failure:
            return failure
        state[ROW], state[NUMBER] = resume, state[NUMBER] + 1
        state[MATCHED_END] = max(state[MATCHED_END], start + length)
    return _FINISHED


@compiled
def _search_all(tables, inputs, watermark, recorded, state, results):
    """Fill `results`; return _FULL where `position` has no room for a match."""
    while state[PARTITION] + 1 < len(inputs.bounds):
        p = state[PARTITION]
        if inputs.begin[p] < inputs.bounds[p + 1]:
            _pull_back(tables, inputs, inputs.begin[p], inputs.bounds[p + 1], results.room)
        ended = _search_partition(tables, inputs, watermark, recorded, state, results)
        for k in range(4):
            results.reached[k, p] = state[ROW + k]
        if ended != _FINISHED:
            return ended
        state[PARTITION] = p + 1
        if p + 2 < len(inputs.bounds):
            for k in range(4):
                state[ROW + k] = results.reached[k, p + 1]
    return _FINISHED
