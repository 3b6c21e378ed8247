"""Row-local patterns of any size: the two passes of `two_pass`, on sets that are numbered when they first occur.

A *state* is a set of live positions. A step of the pass from right to left goes from the state of a row to that of the
row before it. States, steps and targets are remembered in tables of fixed size: the table of states is emptied when it
is full, and the others overwrite old entries. So a pattern with exponentially many states takes time linear in rows and
program, and no more memory than any other.

Only the state of every 2^k-th row (a *border*) is kept, as a set. The states between two borders (a *stretch*) are
computed again when the walk from left to right needs them. Between two borders the table of states is never emptied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sqlext.pattern.batch.blocks import BLOCK_ROWS, OVERLAP, all_blocks, copy, fill_block
from sqlext.pattern.program.closure import begin, new_search, next_target, pull_back
from sqlext.pattern.program.jit import compiled, inlined
from sqlext.pattern.program.position_automaton import ENDS, STARTS, PositionAutomaton, position_automaton
from sqlext.pattern.task.skip_kernels import is_skip_target
from sqlext.pattern.task.task import MatchTask, Rows, Spans

STRETCH_SHIFT = 10  # 1,024 rows a stretch: borders take at most 6 bytes a row
MEMO_BITS = 16  # how many steps and targets are remembered
END = 0  # the state after the last row of a partition; its set is never read
_NONE = -1


class DfaStates(NamedTuple):
    """The tables: w is the number of 64-bit words that have a bit for each position, s the number of rows of a stretch,
    c the number of states for which there is room.

    - `set: uint64[c, w]`: the states; `used: int64[1]`: their number; `slot: int32[·]`: hash table of state numbers;
    - `step_from: int32[2^b]`, `step_row: int64[2^b]`, `step_to: int32[2^b]`: a row with the mask of row `step_row`
      leads from state `step_from` to state `step_to` (one entry for each hash value);
    - `target_key: int64[2^b]`, `target: int32[2^b]`: the most preferred live target for key state · (m + 2) + position,
      where position m is the beginning of a search, and m + 1 the beginning at a partition's first row;
    - `border: uint64[·, w]`: entry j holds the set of row (j + 1) s;
    - `stretch: int32[2, s]`: entry [j % 2, r] holds the state of row j s + r, if `loaded[j % 2] == j`;
    - `new: uint64[w]`, `value: uint8[x]`: working memory of a step (value 0: a live position or DONE is reached);
    - `shift: int64[1]`, `loaded: int64[2]`.
    """

    set: np.ndarray
    used: np.ndarray
    slot: np.ndarray
    step_from: np.ndarray
    step_row: np.ndarray
    step_to: np.ndarray
    target_key: np.ndarray
    target: np.ndarray
    border: np.ndarray
    stretch: np.ndarray
    new: np.ndarray
    value: np.ndarray
    shift: np.ndarray
    loaded: np.ndarray


def find(
    task: MatchTask,
    rows: Rows,
    *,
    block_rows: int = BLOCK_ROWS,
    overlap: int = OVERLAP,
    shift: int = STRETCH_SHIFT,
    memo_bits: int = MEMO_BITS,
) -> Iterator[Spans]:
    """All matches of a task without WITHIN and run-dependent conditions, in blocks of about `block_rows` mapped rows.

    Equal to `reference.find`. Memory: the block, the tables (at most 30 MB) and at most 6 bytes a row. `overlap`: see
    `all_blocks`.
    """
    tables = position_automaton(task.program, task.bits)
    n, is_target = len(rows.mask), is_skip_target(task, tables)
    states, search = _new_states(tables, n, shift, memo_bits), new_search(tables.graph)
    _find_borders(tables.graph, states, rows.bounds, rows.mask)

    def fill(state, block, shared):
        _walk_all(tables.graph, states, search, rows.bounds, rows.mask, is_target, state, block, shared)

    return all_blocks(fill, task, tables, n, block_rows, overlap)


def _new_states(tables: PositionAutomaton, n: int, shift: int, memo_bits: int) -> DfaStates:
    words, memo, size = max(1, -(-tables.size // 64)), 1 << memo_bits, 4 << shift
    value = np.isin(tables.graph.kind, (STARTS, ENDS)).astype(np.uint8)
    states = DfaStates(
        set=np.zeros((size, words), np.uint64),
        used=np.zeros(1, np.int64),
        slot=np.empty(2 * size, np.int32),
        step_from=np.empty(memo, np.int32),
        step_row=np.zeros(memo, np.int64),
        step_to=np.zeros(memo, np.int32),
        target_key=np.empty(memo, np.int64),
        target=np.zeros(memo, np.int32),
        border=np.zeros(((n >> shift) + 1, words), np.uint64),
        stretch=np.zeros((2, 1 << shift), np.int32),
        new=np.zeros(words, np.uint64),
        value=value,
        shift=np.array([shift]),
        loaded=np.empty(2, np.int64),
    )
    _forget(states)
    return states


# --- states -----------------------------------------------------------------------------------------------------------


@compiled
def _forget(states):
    """Empty all tables except for the state END."""
    states.used[0] = END + 1
    for table in (states.slot, states.step_from):
        for j in range(len(table)):
            table[j] = _NONE
    for j in range(len(states.target_key)):
        states.target_key[j] = _NONE
    states.loaded[0] = states.loaded[1] = _NONE


@inlined
def _mixed(a, b):
    """A hash of two numbers (the finalizer of splitmix64)."""
    h = np.uint64(a) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(b)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(29))


@compiled
def _state_of(states, words):
    """The number of a state, a new one if the table does not have it."""
    h = np.uint64(len(words))
    for word in words:
        h = _mixed(h, word)
    j = np.int64(h & np.uint64(len(states.slot) - 1))
    while states.slot[j] != _NONE:
        state = states.slot[j]
        is_equal = True
        for w in range(len(words)):
            if states.set[state, w] != words[w]:
                is_equal = False
                break
        if is_equal:
            return state
        j = (j + 1) & (len(states.slot) - 1)
    state = states.used[0]
    states.used[0] += 1
    copy(words, states.set[state])
    states.slot[j] = state
    return state


@compiled
def _new_step(graph, states, mask, i, following):
    """The state of row i; `following` is the state of the next row, END if there is none."""
    states.new[:] = 0
    if following != END:
        for p in range(len(graph.instruction)):
            is_live = states.set[following, p >> 6] >> np.uint64(p & 63) & np.uint64(1)
            states.value[graph.instruction[p]] = 1 - is_live
        states.value[-1] = 0
        pull_back(graph, states.value, 1)
    for p in range(len(graph.instruction)):
        bit = graph.bit[p]
        goes_on = graph.accepts_at_end[p] if following == END else states.value[graph.instruction[p] + 1] == 0
        if goes_on and (bit < 0 or mask[i, bit >> 3] >> (bit & 7) & 1):
            states.new[p >> 6] |= np.uint64(1) << np.uint64(p & 63)
    return _state_of(states, states.new)


@inlined
def _step(graph, states, mask, i, following):
    """As `_new_step`, but remembered."""
    h = np.uint64(following)
    for byte in mask[i]:
        h = _mixed(h, byte)
    j = np.int64(h & np.uint64(len(states.step_from) - 1))
    is_known = states.step_from[j] == following
    known_row = states.step_row[j]
    for b in range(mask.shape[1]):
        is_known = is_known and mask[known_row, b] == mask[i, b]
    if not is_known:
        states.step_to[j] = _new_step(graph, states, mask, i, following)
        states.step_from[j], states.step_row[j] = following, i
    return states.step_to[j]


# --- right to left ----------------------------------------------------------------------------------------------------


@compiled
def _load(graph, states, bounds, mask, j):
    """Compute stretch j from its border."""
    size = states.stretch.shape[1]
    if states.used[0] + size + 1 > len(states.set):
        _forget(states)
    start = j << states.shift[0]
    stop = min(start + size, len(mask))
    k = np.searchsorted(bounds, stop, "left")  # the partition of row stop - 1 ends at bounds[k]
    state = _state_of(states, states.border[j])
    for i in range(stop - 1, start - 1, -1):
        while bounds[k - 1] > i:
            k -= 1
        state = _step(graph, states, mask, i, END if i + 1 == bounds[k] else state)
        states.stretch[j & 1, i - start] = state
    states.loaded[j & 1] = j


@compiled
def _find_borders(graph, states, bounds, mask):
    for j in range((len(mask) - 1) >> states.shift[0], -1, -1):
        _load(graph, states, bounds, mask, j)
        if j > 0:
            copy(states.set[states.stretch[j & 1, 0]], states.border[j - 1])


# --- left to right ----------------------------------------------------------------------------------------------------


@compiled
def _new_target(graph, states, search, p, state):
    """The most preferred target of position p that is DONE or in the state."""
    m = len(graph.instruction)
    begin(search, 0 if p >= m else graph.instruction[p] + 1)
    while True:
        q = next_target(graph, search, p == m + 1)
        if q < 0 or states.set[state, q >> 6] >> np.uint64(q & 63) & np.uint64(1):
            return q


@inlined
def _target(tables, p, row):
    """As `_new_target` for the state of `row`, but remembered."""
    graph, states, search, bounds, mask = tables
    stretch = row >> states.shift[0]
    if states.loaded[stretch & 1] != stretch:
        _load(graph, states, bounds, mask, stretch)
    state = states.stretch[stretch & 1, row - (stretch << states.shift[0])]
    key = state * np.int64(len(graph.instruction) + 2) + p
    j = np.int64(_mixed(key, 0) & np.uint64(len(states.target) - 1))
    if states.target_key[j] != key:
        states.target[j] = _new_target(graph, states, search, p, state)
        states.target_key[j] = key
    return states.target[j]


@compiled
def _walk_all(graph, states, search, bounds, mask, is_target, state, block, shared):
    tables = graph, states, search, bounds, mask
    fill_block(_target, tables, len(graph.instruction), bounds, is_target, state, block, shared)
