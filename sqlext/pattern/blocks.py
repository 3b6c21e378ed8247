"""What the compiled matchers share: where a matcher stands, and the block of matches it fills.

A kernel is called again and again with the same `state` and goes on where it stopped. It stops when the rows are
read, when a block is full, or when AFTER MATCH SKIP fails. Its loop is

    while has_room(state, block) and next_partition(state, bounds):
        length = …walk from row state[ROW], writing positions behind state[MAPPED]…
        if length == TOO_LONG: break
        book(state, block, is_target, length)

Numba looks only at the file of a kernel to see whether its cached machine code is stale: after a change here,
remove `__pycache__/*.nb*` (the tests keep a cache for each version of the sources).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sqlext.pattern.automaton import Automaton
from sqlext.pattern.task import (
    SKIP_PAST_LAST_ROW,
    SKIP_TO_FIRST,
    SKIP_TO_LAST,
    SKIP_TO_NEXT_ROW,
    MatchTask,
    SkipFailure,
    Spans,
)

BLOCK_ROWS = 1 << 16  # mapped rows, matches or unmatched rows after which a block is given out

# state: int64[STATE_SIZE]
PARTITION, ROW, NUMBER = 0, 1, 2  # the next start row, its partition, and its match number
MATCHED_END = 3  # rows below it that are still to come are in an earlier match
MATCHES, MAPPED, UNMATCHED = 4, 5, 6  # how much of the block is filled
FAILURE = 7  # 0, NO_ROW or FIRST_ROW
MODE, ELSE_NEXT_ROW, RECORDS_UNMATCHED = 8, 9, 10  # of the task: never change
STATE_SIZE = 11

# columns of Block.match
START, MATCH_NUMBER, MATCH_END = 0, 1, 2

NO_ROW, FIRST_ROW = 1, 2
_REASONS = {NO_ROW: "no row", FIRST_ROW: "first row"}

NO_MATCH, TOO_LONG = -1, -2  # instead of the length of a match; TOO_LONG: does not fit into the rest of the block

_PAST_LAST, _TO_NEXT, _TO_FIRST, _TO_LAST = 0, 1, 2, 3
_MODES = {SKIP_PAST_LAST_ROW: _PAST_LAST, SKIP_TO_NEXT_ROW: _TO_NEXT, SKIP_TO_FIRST: _TO_FIRST, SKIP_TO_LAST: _TO_LAST}

# Without `_nrt` False Numba counts a reference to every array at each call and each touch of a named tuple, which made
# a row cost 300 ns instead of 4. So kernels cannot allocate: they fill arrays that they are given.
_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "_nrt": False}
compiled = njit(**_OPTIONS)
inlined = njit(inline="always", **_OPTIONS)  # where a call for each row would copy the shapes of a dozen arrays


class Block(NamedTuple):
    """The arrays that a kernel fills.

    - `match: int64[c, 3]`: start row, number, and where its mapped rows end in `position`;
    - `position: int32[r]`: of each mapped row; label and is_hidden follow from it;
    - `unmatched: int64[c]`: rows.
    """

    match: np.ndarray
    position: np.ndarray
    unmatched: np.ndarray


def is_skip_target(task: MatchTask, tables: Automaton) -> np.ndarray:
    """`bool[m]`: does AFTER MATCH SKIP look for rows taken at this position?"""
    return np.isin(tables.label, np.array(task.skip.labels, np.int16))


def all_blocks(
    fill: Callable[[np.ndarray, Block], None], task: MatchTask, tables: Automaton, n: int, block_rows: int
) -> Iterator[Spans]:
    """The matches in `n` rows, by calling `fill(state, block)` until all rows are read or a skip has failed.

    A block grows while not even one match fits into it.
    """
    state, room = _first_state(task), block_rows
    while state[ROW] < n and not state[FAILURE]:
        block = Block(np.empty((block_rows, 3), np.int64), np.empty(room, np.int32), np.empty(block_rows, np.int64))
        state[[MATCHES, MAPPED, UNMATCHED]] = 0
        fill(state, block)
        is_empty = not state[MATCHES] and not state[UNMATCHED]
        room = 2 * room if is_empty else block_rows
        if not is_empty:
            yield _spans(state, block, tables)


def _first_state(task: MatchTask) -> np.ndarray:
    state = np.zeros(STATE_SIZE, np.int64)
    state[NUMBER] = 1
    state[MODE] = _MODES[task.skip.mode]
    state[ELSE_NEXT_ROW] = task.skip.else_next_row
    state[RECORDS_UNMATCHED] = task.output.shows_unmatched
    return state


def _spans(state: np.ndarray, block: Block, tables: Automaton) -> Spans:
    match, position = block.match[: state[MATCHES]].T.copy(), block.position[: state[MAPPED]]
    failed = int(state[FAILURE])
    return Spans(
        start=match[START],
        number=match[MATCH_NUMBER],
        offset=np.concatenate([[0], match[MATCH_END]]),
        label=tables.label[position],
        is_hidden=tables.is_hidden[position] if tables.is_hidden.any() else None,
        unmatched=block.unmatched[: state[UNMATCHED]],
        failure=SkipFailure(_REASONS[failed], int(match[START, -1]), int(match[MATCH_NUMBER, -1])) if failed else None,
    )


@compiled
def copy(source, target):
    """`target[:] = source`, which would allocate."""
    for j in range(len(target)):
        target[j] = source[j]


@compiled
def has_room(state, block):
    """May another match be looked for in this block?"""
    has_space = state[MATCHES] < len(block.match) and state[UNMATCHED] < len(block.unmatched)
    return has_space and state[MAPPED] < len(block.position) and state[FAILURE] == 0


@compiled
def next_partition(state, bounds):
    """Go on to the partition of the next start row, if there is one."""
    if state[ROW] == bounds[state[PARTITION] + 1]:
        state[PARTITION] += 1
        state[NUMBER] = 1
    return state[PARTITION] + 1 < len(bounds)


@compiled
def book(state, block, is_target, length):
    """Note what the search from the current row gave, and go to the next start row."""
    row = state[ROW]
    if length == NO_MATCH:
        if state[RECORDS_UNMATCHED] and row >= state[MATCHED_END]:
            block.unmatched[state[UNMATCHED]] = row
            state[UNMATCHED] += 1
        state[ROW] = row + 1
        return
    i, end = state[MATCHES], state[MAPPED] + length
    block.match[i, START], block.match[i, MATCH_NUMBER], block.match[i, MATCH_END] = row, state[NUMBER], end
    state[ROW], state[FAILURE] = _next_start(state, block.position, is_target, length)
    state[MATCHES], state[MAPPED] = i + 1, end
    state[NUMBER] += 1
    state[MATCHED_END] = max(state[MATCHED_END], row + length)


@compiled
def _next_start(state, position, is_target, length):
    """The row at which the next match may start, and why there is none; the match is not yet booked."""
    row, mode = state[ROW], state[MODE]
    if length == 0 or mode == _TO_NEXT:
        return row + 1, 0
    if mode == _PAST_LAST:
        return row + length, 0
    for j in range(length):
        step = j if mode == _TO_FIRST else length - 1 - j
        if is_target[position[state[MAPPED] + step]]:
            if step == 0 and not state[ELSE_NEXT_ROW]:
                return row, FIRST_ROW
            return row + max(step, 1), 0
    return (row + 1, 0) if state[ELSE_NEXT_ROW] else (row, NO_ROW)
