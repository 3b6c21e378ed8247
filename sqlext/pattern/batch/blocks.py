"""The part that the compiled matchers have in common: the state of a matcher, and the block of matches that it fills.

A kernel is called again and again with the same `state` and continues where it stopped. It stops when all rows are
read, when a block is full, or when AFTER MATCH SKIP fails. Its loop is

    while has_room(state, block) and next_partition(state, bounds):
        length = …walk from row state[ROW], write positions after state[MAPPED] until the walk `meets` an earlier one…
        if length == TOO_LONG: break
        book(state, block, shared, is_target, length, 0)

`fill_block` is that loop for matchers whose walk only asks which position comes next.

Long matches that overlap would cost the sum of their lengths. Therefore a block *shares* labels where matches overlap
much and only whole matches are shown. A walk that reaches a row in the same position as an earlier walk of the block
ends there, and the rest of the earlier match becomes the tail of its match (Spans.tails). Two walks that have met never
part again. So the walks on the chain of tails of one match were all in different positions at the row before the last
meeting, and a match has fewer tails than there are positions.

The next block must list again the labels that lie after its first start row. A block that shares therefore continues
until its start rows have covered a quarter of the way to the end of its matches; then all blocks together list a
constant number of labels for each row.

Numba looks only at the file of a kernel to see whether its cached machine code is stale: after a change here,
remove `__pycache__/*.nb*` (the tests keep a cache for each version of the sources).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sqlext.pattern.program.jit import compiled, inlined
from sqlext.pattern.program.position_automaton import DEAD, DONE, PositionAutomaton
from sqlext.pattern.task.skip_kernels import CODES, REASONS, TO_LAST, resume_row, target_step
from sqlext.pattern.task.task import MatchTask, SkipFailure, Spans, Tails

BLOCK_ROWS = 1 << 16  # mapped rows, matches or unmatched rows that complete a block
OVERLAP = 8  # blocks share labels if matches map more rows than this for each start row

# state: int64[STATE_SIZE]
PARTITION, ROW, NUMBER = 0, 1, 2  # the next start row, its partition, and its match number
MATCHED_END = 3  # start rows below it are in an earlier match
MATCHES, MAPPED, UNMATCHED = 4, 5, 6  # the filled part of the block
FAILURE = 7  # 0 or one of skip_kernels.REASONS
MODE, ELSE_NEXT_ROW, RECORDS_UNMATCHED = 8, 9, 10  # constants of the task
MET, MET_AT = 11, 12  # the match that the walk from ROW has met, or -1, and the mapped row of the block where it did
LENGTHS = 13  # the total number of rows that the matches of a block that shares map
SOUGHT, SOUGHT_LIMIT = 14, 15  # with SEEK: rows below SOUGHT cannot begin a match that ends by SOUGHT_LIMIT
STATE_SIZE = 16

START, MATCH_NUMBER, MATCH_END, CURRENT = 0, 1, 2, 3  # rows of Block.match
LENGTH, TAIL, TAIL_AT, LAST_TARGET = 0, 1, 2, 3  # rows of Shared.tail
LANE_MATCH, LANE_END, LANE_SHIFT = 0, 1, 2  # rows of Shared.lane

LANES = 8  # walks that may be met: more walks rarely run at the same time, and missing one costs only labels
_FEW_MATCHES = 8  # fewer matches do not show whether sharing pays

NO_MATCH, TOO_LONG = -1, -2  # instead of the length of a match; TOO_LONG: it does not fit into the rest of the block


class Block(NamedTuple):
    """The arrays that a kernel fills.

    - `match: int64[4, c]`: start row, number, end of the mapped rows in `position`, and the row that has the match;
    - `position: int32[r]`: the position of each mapped row, which determines label and is_hidden;
    - `unmatched: int64[c]`: the unmatched rows.
    """

    match: np.ndarray
    position: np.ndarray
    unmatched: np.ndarray


class Shared(NamedTuple):
    """The additional arrays of a block that shares. Other blocks have None, for which Numba leaves out all code under
    `if shared is not None`.

    - `tail: int64[4, c]`: length, match and at of Tails; then the last row of the match to which SKIP TO may go, or -1;
    - `lane: int64[3, 8]`: the matches with the most own rows after the next start row; the end of these rows; and the
      shift from such a row to its mapped row of the block. A free lane ends at row 0;
    - `limit: int64[r]`, only with WITHIN: a walk with a limit up to this one leaves the mapped row for the same target.
    """

    tail: np.ndarray
    lane: np.ndarray
    limit: np.ndarray


def all_blocks(
    fill: Callable[[np.ndarray, Block, Shared | None], None],
    task: MatchTask,
    tables: PositionAutomaton,
    n: int,
    block_rows: int,
    overlap: int | None = None,
) -> Iterator[Spans]:
    """The matches in `n` rows, by calling `fill(state, block, shared)` until all rows are read or a skip has failed.

    A block grows as long as not even one match fits into it. `overlap`: blocks share where matches overlap by more than
    this, like OVERLAP; 0: the first block shares, too; None: no block shares.
    """
    seeks = task.frame is not None and task.frame.seeks
    if task.output.is_all_rows or task.skip.mode.is_past_last or seeks:
        overlap = None
    state, room, shares = _first_state(task), block_rows, overlap == 0
    while state[ROW] < n and not state[FAILURE]:
        before = state.copy()
        block = _empty_block(max(block_rows, room // 4) if shares else block_rows, room)
        shared = _nothing_shared(block) if shares else None
        fill(state, block, shared)
        if not state[MATCHES] and not state[UNMATCHED]:
            room *= 2
        elif shared and state[ROW] < n and not _goes_far(state, before, block):
            state, room = before, 2 * room
        else:
            spans = _spans(state, block, shared, tables, seeks=seeks)
            shares = overlap is not None and _is_worth_sharing(state, before, overlap, shares=shares)
            room = max(block_rows, 2 * int(state[MATCHED_END] - state[ROW]) if shares else 0)
            state[[MATCHES, MAPPED, UNMATCHED, LENGTHS]] = 0
            del block, shared  # free them before the caller works on the spans
            yield spans


def _empty_block(matches: int, room: int) -> Block:
    return Block(np.empty((4, matches), np.int64), np.empty(room, np.int32), np.empty(matches, np.int64))


def _nothing_shared(block: Block) -> Shared:
    matches, room = block.match.shape[1], len(block.position)
    return Shared(np.empty((4, matches), np.int64), np.zeros((3, LANES), np.int64), np.empty(room, np.int64))


def _goes_far(state: np.ndarray, before: np.ndarray, block: Block) -> bool:
    """True if a full block that shares has covered so many rows that it may end, or if sharing is of no use in it."""
    if state[FAILURE] or state[MATCHES] == block.match.shape[1]:
        return True
    is_useless = state[MATCHES] >= _FEW_MATCHES and 2 * state[MAPPED] > state[LENGTHS]
    return bool(is_useless or 4 * (state[ROW] - before[ROW]) >= state[MATCHED_END] - state[ROW])


def _is_worth_sharing(state: np.ndarray, before: np.ndarray, overlap: int, *, shares: bool) -> bool:
    """True if the matches of this block overlapped by more than `overlap`, and sharing, if used, halved the labels."""
    lengths = state[LENGTHS] if shares else state[MAPPED]
    is_useful = not shares or 2 * state[MAPPED] <= lengths
    return bool(is_useful and lengths > overlap * (state[ROW] - before[ROW]))


def _first_state(task: MatchTask) -> np.ndarray:
    state = np.zeros(STATE_SIZE, np.int64)
    state[NUMBER] = 1
    state[MET] = state[MET_AT] = -1
    state[MODE] = CODES[task.skip.mode]
    state[ELSE_NEXT_ROW] = task.skip.else_next_row
    state[RECORDS_UNMATCHED] = task.output.shows_unmatched
    return state


def _spans(state: np.ndarray, block: Block, shared: Shared | None, tables: PositionAutomaton, *, seeks: bool) -> Spans:
    match, position = block.match[:, : state[MATCHES]], block.position[: state[MAPPED]]
    failed = int(state[FAILURE])
    return Spans(
        start=match[START],
        number=match[MATCH_NUMBER],
        offset=np.concatenate([[0], match[MATCH_END]]),
        label=tables.label[position],
        is_hidden=tables.is_hidden[position] if tables.is_hidden.any() else None,
        unmatched=block.unmatched[: state[UNMATCHED]],
        failure=SkipFailure(REASONS[failed], int(match[START, -1]), int(match[MATCH_NUMBER, -1])) if failed else None,
        tails=_tails(shared.tail[:, : state[MATCHES]]) if shared else None,
        current=match[CURRENT] if seeks else None,
    )


def _tails(tail: np.ndarray) -> Tails | None:
    """The tails of a block, None if no match has one."""
    return Tails(tail[TAIL], tail[TAIL_AT], tail[LENGTH]) if (tail[TAIL] >= 0).any() else None


@compiled
def copy(source, target):
    """Copy as `target[:] = source` does, which would allocate."""
    for j in range(len(target)):
        target[j] = source[j]


@compiled
def has_room(state, block):
    """True if the block has room for another match and no skip has failed."""
    has_space = state[MATCHES] < block.match.shape[1] and state[UNMATCHED] < len(block.unmatched)
    return has_space and state[MAPPED] < len(block.position) and state[FAILURE] == 0


@compiled
def next_partition(state, bounds):
    """Enter the partition of the next start row; return False after the last one."""
    if state[ROW] == bounds[state[PARTITION] + 1]:
        state[PARTITION] += 1
        state[NUMBER] = 1
    return state[PARTITION] + 1 < len(bounds)


@compiled
def meets(state, position, shared, row, q):
    """Return True and record the meeting if an earlier walk of this block was at `row` in position q."""
    if shared is None:
        return False
    for x in range(LANES):
        if row < shared.lane[LANE_END, x] and position[row + shared.lane[LANE_SHIFT, x]] == q:
            state[MET], state[MET_AT] = shared.lane[LANE_MATCH, x], row + shared.lane[LANE_SHIFT, x]
            return True
    return False


@inlined
def book(state, block, shared, is_target, length, shift):
    """Record the outcome of the search from the current row, and go to the next start row.

    `length`: the number of positions that the search wrote, or NO_MATCH. `shift`: how many rows after the current one
    the match begins; 0 unless the search may SEEK.
    """
    row = state[ROW]
    if length == NO_MATCH:
        if state[RECORDS_UNMATCHED] and row >= state[MATCHED_END]:
            block.unmatched[state[UNMATCHED]] = row
            state[UNMATCHED] += 1
        state[ROW] = row + 1
    else:
        i, end = state[MATCHES], state[MAPPED] + length
        start = row + shift
        block.match[START, i], block.match[MATCH_NUMBER, i], block.match[MATCH_END, i] = start, state[NUMBER], end
        block.match[CURRENT, i] = row
        if shared is not None:
            own, length = length, _book_tail(state, block, shared, is_target, length)
            step = _target_with_tail(state, block, shared, is_target)
        else:
            step = target_step(state[MODE], is_target, block.position, state[MAPPED], length)
        state[ROW], state[FAILURE] = resume_row(state[MODE], state[ELSE_NEXT_ROW], row, start, length, step)
        if shared is not None:
            _open_lane(shared.lane, i, row + own, state[MAPPED] - row, state[ROW])
        state[MATCHES], state[MAPPED] = i + 1, end
        state[NUMBER] += 1
        state[MATCHED_END] = max(state[MATCHED_END], start + length)


@inlined
def fill_block(target_of, tables, first, bounds, is_target, state, block, shared):
    """Fill a block with the matches of a matcher whose tables say which positions are live in each row.

    `target_of(tables, position, row)`: the most preferred target of a position that is DONE or live in the row, or
    DEAD. `first`: the position at the beginning of a search; the one after it is the beginning of a search at the first
    row of a partition.
    """
    while has_room(state, block) and next_partition(state, bounds):
        row, start, end = state[ROW], bounds[state[PARTITION]], bounds[state[PARTITION] + 1]
        mapped, length = state[MAPPED], 0
        q = target_of(tables, first + (row == start), row)
        if q == DEAD:
            length = NO_MATCH
        else:
            while q != DONE:
                if meets(state, block.position, shared, row + length, q):
                    break
                if mapped + length == len(block.position):
                    length = TOO_LONG
                    break
                block.position[mapped + length] = q
                length += 1
                if row + length == end:
                    break  # a position that is live at the last row accepts
                q = target_of(tables, q, row + length)
        if length == TOO_LONG:
            break
        book(state, block, shared, is_target, length, 0)


@inlined
def first_to_seek(state, limit):
    """The first row from the current one on that SEEK has not tried with this limit, or with a larger one."""
    return max(state[ROW], state[SOUGHT]) if limit <= state[SOUGHT_LIMIT] else state[ROW]


@compiled
def _open_lane(lane, i, end, shift, next_row):
    """Let walks from `next_row` on meet match i, which has own rows below `end`."""
    shortest = 0
    for x in range(LANES):
        if lane[LANE_END, x] < lane[LANE_END, shortest]:
            shortest = x
    if end > max(next_row, lane[LANE_END, shortest]):
        lane[LANE_MATCH, shortest], lane[LANE_END, shortest], lane[LANE_SHIFT, shortest] = i, end, shift


@compiled
def _book_tail(state, block, shared, is_target, length):
    """Record the tail of the match being booked, which has `length` own rows; return the length of the whole match."""
    i, row, tail, rows, target = state[MATCHES], state[ROW], state[MET], length, -1
    for j in range(length):
        if is_target[block.position[state[MAPPED] + j]]:
            target = row + j
    if tail >= 0:
        rows += shared.tail[LENGTH, tail] - (row + length - block.match[START, tail])
        if shared.tail[LAST_TARGET, tail] >= row + length:
            target = shared.tail[LAST_TARGET, tail]
    shared.tail[LENGTH, i], shared.tail[TAIL, i], shared.tail[TAIL_AT, i] = rows, tail, state[MET_AT]
    shared.tail[LAST_TARGET, i] = target
    state[MET] = state[MET_AT] = -1
    state[LENGTHS] += rows
    return rows


@compiled
def _target_with_tail(state, block, shared, is_target):
    """As `target_step`, for a match in Shared.tail; it reads no row after the next start row."""
    i, j, step = state[MATCHES], state[MAPPED], 0
    last = shared.tail[LAST_TARGET, i]
    if last < 0 or state[MODE] == TO_LAST:
        return last - state[ROW] if last >= 0 else -1
    while True:
        while j < block.match[MATCH_END, i]:
            if is_target[block.position[j]]:
                return step
            j, step = j + 1, step + 1
        i, j = shared.tail[TAIL, i], shared.tail[TAIL_AT, i]
