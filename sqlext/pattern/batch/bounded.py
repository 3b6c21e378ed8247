"""Row-local patterns with WITHIN: only matches that end by the limit of their start row are candidates.

A pass from right to left gives each row i the vector `ends`: `ends[p]` is the smallest end (exclusive) of a match that
takes row i at position p. A match may go to a target if and only if this end is within its limit. So the walk from left
to right never goes back, and each row costs time linear in the program, whatever the limits.

The vectors are large. They are kept for every 2^k-th row only (a *border*) and computed again for two *stretches* of
2^k rows between borders: the one in which a walk is, and its neighbour.

In blocks that share labels (see `blocks`), a walk that meets another walk ends there only if it would continue in the
same way: the other match ends within its limit, and passed over no target that its limit would permit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sqlext.errors import UnsupportedError
from sqlext.pattern.batch.blocks import (
    BLOCK_ROWS,
    LANE_END,
    LANE_MATCH,
    LANE_SHIFT,
    LANES,
    LENGTH,
    MAPPED,
    MET,
    MET_AT,
    NO_MATCH,
    OVERLAP,
    PARTITION,
    ROW,
    SOUGHT,
    SOUGHT_LIMIT,
    START,
    TOO_LONG,
    all_blocks,
    book,
    copy,
    first_to_seek,
    has_room,
    next_partition,
)
from sqlext.pattern.program.closure import begin, new_search, next_target, pull_back
from sqlext.pattern.program.jit import compiled, inlined
from sqlext.pattern.program.position_automaton import DEAD, DONE, ENDS, STARTS, PositionAutomaton, position_automaton
from sqlext.pattern.task.skip_kernels import is_skip_target
from sqlext.pattern.task.task import MatchTask, Rows, Spans

MAX_POSITIONS = 10_000  # two stretches of m/4 to m/2 rows with m ends are then 330 MB


class Ends(NamedTuple):
    """The vectors; E is int32, or int64 from 2^31 rows on, and a stretch has s = 2^shift rows.

    - `border: E[·, m]`: entry j holds the ends of row (j + 1) s;
    - `stretch: E[2, s, m]`: entry [j % 2, r] holds the ends of row j s + r, if `loaded[j % 2] == j`;
    - `value: E[x]`: one value for each instruction, while a row is computed;
    - `shift: int64[1]`, `loaded: int64[2]`.
    """

    border: np.ndarray
    stretch: np.ndarray
    value: np.ndarray
    shift: np.ndarray
    loaded: np.ndarray


def find(
    task: MatchTask, rows: Rows, *, block_rows: int = BLOCK_ROWS, overlap: int = OVERLAP, shift: int | None = None
) -> Iterator[Spans]:
    """All matches of a task without run-dependent conditions, in blocks of about `block_rows` mapped rows.

    Equal to `reference.find`. Memory: at most 16 bytes a row (8 more without Rows.limit), the block, and 2^(shift + 3)
    bytes a position. `overlap`: see `all_blocks`.

    Raises UnsupportedError: PATTERN_TOO_LARGE.
    """
    tables = position_automaton(task.program, task.bits)
    if tables.size > MAX_POSITIONS:
        raise UnsupportedError(
            "PATTERN_TOO_LARGE",
            f"with WITHIN, PATTERN may unfold to {MAX_POSITIONS:,} variables, but this one has {tables.size:,}",
            hint="use smaller bounds in quantifiers, or leave WITHIN out.",
        )
    n = len(rows.mask)
    ends, search = _new_ends(tables, n, _shift(tables.size) if shift is None else shift), new_search(tables.graph)
    limit = np.repeat(rows.bounds[1:], np.diff(rows.bounds)) if rows.limit is None else rows.limit
    is_target, seeks = is_skip_target(task, tables), task.frame is not None and task.frame.seeks
    _find_borders(tables.graph, ends, rows.bounds, rows.mask)

    def fill(state, block, shared):
        _walk_all(tables.graph, ends, search, rows.bounds, rows.mask, limit, is_target, seeks, state, block, shared)

    return all_blocks(fill, task, tables, n, block_rows, overlap)


def _shift(m: int) -> int:
    """The shift of a stretch with at least 256 rows, and at least m/4, so that borders take at most 16 bytes a row."""
    return max(8, (max(m, 1) - 1).bit_length() - 2)


def _new_ends(tables: PositionAutomaton, n: int, shift: int) -> Ends:
    kind = np.int32 if n < np.iinfo(np.int32).max else np.int64
    value = np.zeros(len(tables.graph.kind), kind)
    value[np.isin(tables.graph.kind, (STARTS, ENDS))] = np.iinfo(kind).max
    border = np.empty(((n >> shift) + 1, tables.size), kind)
    return Ends(
        border, np.empty((2, 1 << shift, tables.size), kind), value, np.array([shift]), np.full(2, -1, np.int64)
    )


@inlined
def _write_row(graph, ends, mask, i, is_last, following, out):
    """Write the ends of row i to `out`, computed from the ends of the next row."""
    never = np.iinfo(out.dtype).max
    if not is_last:
        for p in range(len(out)):
            ends.value[graph.instruction[p]] = following[p]
        ends.value[-1] = i + 1
        pull_back(graph, ends.value, never)
    for p in range(len(out)):
        bit = graph.bit[p]
        out[p] = never
        if bit < 0 or mask[i, bit >> 3] >> (bit & 7) & 1:
            if not is_last:
                out[p] = ends.value[graph.instruction[p] + 1]
            elif graph.accepts_at_end[p]:
                out[p] = i + 1


@compiled
def _load(graph, ends, bounds, mask, j):
    """Compute stretch j from its border."""
    slot, shift = j & 1, ends.shift[0]
    start = j << shift
    stop = min(start + ends.stretch.shape[1], len(mask))
    k = np.searchsorted(bounds, stop, "left")  # the partition of row stop - 1 ends at bounds[k]
    for i in range(stop - 1, start - 1, -1):
        while bounds[k - 1] > i:
            k -= 1
        following = ends.border[j] if i + 1 == stop else ends.stretch[slot, i + 1 - start]
        _write_row(graph, ends, mask, i, i + 1 == bounds[k], following, ends.stretch[slot, i - start])
    ends.loaded[slot] = j


@compiled
def _find_borders(graph, ends, bounds, mask):
    for j in range((len(mask) - 1) >> ends.shift[0], -1, -1):
        _load(graph, ends, bounds, mask, j)
        if j > 0:
            copy(ends.stretch[j & 1, 0], ends.border[j - 1])


@inlined
def _target(graph, ends, search, bounds, mask, instruction, at_start, row, limit):
    """The most preferred target that is DONE or can take `row` and end by `limit`; and the greatest limit up to which
    this target remains the most preferred one."""
    j = row >> ends.shift[0]
    if ends.loaded[j & 1] != j:
        _load(graph, ends, bounds, mask, j)
    here = ends.stretch[j & 1, row - (j << ends.shift[0])]
    begin(search, instruction)
    last_limit = np.int64(np.iinfo(np.int64).max)
    while True:
        q = next_target(graph, search, at_start)
        if q < 0 or here[q] <= limit:
            return q, last_limit
        last_limit = min(last_limit, here[q] - 1)


@compiled
def _meets(state, match, position, shared, row, q, limit):
    """As `blocks.meets`, but only where the walk would continue in the same way as the walk that it meets."""
    if shared is None:
        return False
    for x in range(LANES):
        i, j = shared.lane[LANE_MATCH, x], row + shared.lane[LANE_SHIFT, x]
        if row >= shared.lane[LANE_END, x] or position[j] != q:
            continue
        if match[START, i] + shared.tail[LENGTH, i] <= limit <= shared.limit[j]:
            state[MET], state[MET_AT] = i, j
            return True
    return False


@compiled
def _lower_limits(state, shared, length):
    """Lower the limit of each mapped row, valid for the next target, so that it is valid for all later targets."""
    if shared is not None:
        at = state[MET_AT]
        for j in range(state[MAPPED] + length - 1, state[MAPPED] - 1, -1):
            if at >= 0:
                shared.limit[j] = min(shared.limit[j], shared.limit[at])
            at = j


@inlined
def _walk(graph, ends, search, bounds, mask, row, start, end, limit, state, block, shared):
    """Write the positions of the match from `row` on; return their number, NO_MATCH or TOO_LONG."""
    position, mapped = block.position, state[MAPPED]
    q, last_limit = _target(graph, ends, search, bounds, mask, 0, row == start, row, limit)
    if q == DEAD:
        return NO_MATCH
    length = 0
    while q != DONE:
        if _meets(state, block.match, position, shared, row + length, q, limit):
            break
        if mapped + length == len(position):
            return TOO_LONG
        position[mapped + length] = q
        length += 1
        if row + length == end:
            last_limit = np.int64(np.iinfo(np.int64).max)
        else:
            instruction = graph.instruction[q] + 1
            at_start = False
            q, last_limit = _target(graph, ends, search, bounds, mask, instruction, at_start, row + length, limit)
        if shared is not None:
            shared.limit[mapped + length - 1] = last_limit
        if row + length == end:
            break  # a position whose end is within the limit accepts at the last row
    _lower_limits(state, shared, length)
    return length


@compiled
def _walk_all(graph, ends, search, bounds, mask, limit, is_target, seeks, state, block, shared):
    while has_room(state, block) and next_partition(state, bounds):
        row, start, end = state[ROW], bounds[state[PARTITION]], bounds[state[PARTITION] + 1]
        at, stop = row, row + 1
        if seeks:
            at, stop = first_to_seek(state, limit[row]), limit[row]
        length = NO_MATCH
        while at < stop:
            length = _walk(graph, ends, search, bounds, mask, at, start, end, limit[row], state, block, shared)
            if length != NO_MATCH:
                break
            at += 1
        if length == TOO_LONG:
            break
        if seeks:
            state[SOUGHT], state[SOUGHT_LIMIT] = at, limit[row]
        book(state, block, shared, is_target, length, at - row)
