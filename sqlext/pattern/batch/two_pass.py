"""Row-local patterns of up to 64 positions: one pass right to left, one left to right, linear for every pattern.

Pass 1 finds for each row the *live* positions: positions that may take the row and from which a match can be completed.
Pass 2 walks from each start row along the most preferred live targets, so it never goes back. Sets of positions are the
bits of one integer; a step of pass 1 is a union of images, read from one table for each byte of the set.

Source of the two passes: Frisch and Cardelli, Greedy Regular Expression Matching (ICALP 2004), §4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sqlext.pattern.batch.blocks import BLOCK_ROWS, OVERLAP, all_blocks, fill_block
from sqlext.pattern.program.jit import compiled, inlined
from sqlext.pattern.program.position_automaton import (
    DEAD,
    DONE,
    MAX_SET_POSITIONS,
    PositionAutomaton,
    position_automaton,
    targets_after,
    targets_from,
)
from sqlext.pattern.program.program import Program
from sqlext.pattern.task.skip_kernels import is_skip_target
from sqlext.pattern.task.task import MatchTask, Rows, Spans, Task


class TwoPassTables(NamedTuple):
    """The tables of a program; K is the smallest unsigned integer with a bit for each of the m positions.

    - `before: K[w, 256]`: entry [j, s] holds the positions that have a target in byte value s of byte j of a set, and
      the positions that reach DONE;
    - `allowed: K[u, 256]`: entry [j, s] holds the positions that byte value s in mask byte `column[j]` permits;
    - `everything, at_end: K[1]`: all positions; the positions that accept after the last row;
    - `target[first[p] : first[p + 1]]`: the targets of position p, most preferred first; p = m is the beginning of a
      search, p = m + 1 the beginning of a search at the first row of a partition;
    - `best: int8[m + 2, 256]`, empty if K has more than 8 bits: the most preferred target that is DONE or in the set.
      Reading it instead of `target` saves a fifth of the time, because no branch depends on the rows.
    """

    before: np.ndarray
    allowed: np.ndarray
    column: np.ndarray
    everything: np.ndarray
    at_end: np.ndarray
    first: np.ndarray
    target: np.ndarray
    best: np.ndarray


def find(task: MatchTask, rows: Rows, *, block_rows: int = BLOCK_ROWS, overlap: int = OVERLAP) -> Iterator[Spans]:
    """All matches of a task without WITHIN and run-dependent conditions, in blocks of about `block_rows` mapped rows.

    Equal to `reference.find`. Memory: 1, 2, 4 or 8 bytes a row, and the block. `overlap`: see `all_blocks`.
    """
    tables = position_automaton(task.program, task.bits)
    packed, is_target = packed_tables(task.program, task.bits), is_skip_target(task, tables)
    live = live_positions(task, rows)

    def fill(state, block, shared):
        _walk_all(packed, live, rows.bounds, is_target, state, block, shared)

    return all_blocks(fill, task, tables, len(rows.mask), block_rows, overlap)


def live_positions(task: Task, rows: Rows) -> np.ndarray:
    """`K[n]`: the live positions of each row, as bits, if all run-dependent conditions hold."""
    packed = packed_tables(task.program, task.bits)
    live = np.empty(len(rows.mask), packed.at_end.dtype)
    _find_live(packed, rows.bounds, rows.mask, live)
    return live


def live_filter(task: Task, rows: Rows) -> np.ndarray | None:
    """The value of `live_positions`; None if there are too many positions for a set, or if they need no mask bit."""
    bit = position_automaton(task.program, task.bits).graph.bit
    return live_positions(task, rows) if len(bit) <= MAX_SET_POSITIONS and (bit >= 0).any() else None


@lru_cache(maxsize=16)
def packed_tables(program: Program, bits: tuple[int | None, ...]) -> TwoPassTables:
    """The tables of a program whose label l needs mask bit `bits[l]` (None: none)."""
    tables = position_automaton(program, bits)
    graph, m = tables.graph, tables.size
    targets = targets_after(graph)
    targets += [targets_from(graph, 0, at_start=False), targets_from(graph, 0, at_start=True)]
    kind = np.dtype(next(f"uint{size}" for size in (8, 16, 32, 64) if m <= size))
    sources = [as_set(p for p in range(m) if q in targets[p]) for q in range(m)]
    accepting = as_set(p for p in range(m) if DONE in targets[p])
    return TwoPassTables(
        before=unions(sources, kind, accepting),
        **_allowed(tables, kind),
        everything=np.array([as_set(range(m))], kind),
        at_end=np.array([as_set(np.flatnonzero(graph.accepts_at_end).tolist())], kind),
        first=np.cumsum([0, *(len(t) for t in targets)], dtype=np.int32),
        target=np.array([t for ts in targets for t in ts], np.int32),
        best=np.array([[_best(t, s) for s in range(256)] for t in targets] if m <= 8 else [[]], np.int8),
    )


def _best(targets: list[int], live: int) -> int:
    return next((q for q in targets if q == DONE or live >> q & 1), DEAD)


def as_set(positions: Iterable[int]) -> int:
    """The set of some positions, as bits."""
    return sum(1 << p for p in positions)


def unions(images: list[int], kind: np.dtype, always: int = 0) -> np.ndarray:
    """`kind[w, 256]`: entry [j, s] is the union of `always` and the images of the positions in value s of byte j."""
    table = np.full((max(1, -(-len(images) // 8)), 256), always, kind)
    for p, image in enumerate(images):
        table[p // 8, (np.arange(256) >> p % 8 & 1) > 0] |= kind.type(image)
    return table


def _allowed(tables: PositionAutomaton, kind: np.dtype) -> dict[str, np.ndarray]:
    bits = tables.graph.bit.tolist()
    columns = sorted({bit // 8 for bit in bits if bit >= 0})
    allowed = [
        [as_set(p for p, bit in enumerate(bits) if bit // 8 != c or s >> bit % 8 & 1) for s in range(256)]
        for c in columns
    ]
    return {"column": np.array(columns, np.int64), "allowed": np.array(allowed, kind).reshape(-1, 256)}


@compiled
def _find_live(tables, bounds, mask, live):
    width, columns = len(tables.before), len(tables.column)
    for k in range(len(bounds) - 2, -1, -1):
        reached = tables.at_end[0]
        for i in range(bounds[k + 1] - 1, bounds[k] - 1, -1):
            for j in range(columns):
                reached &= tables.allowed[j, mask[i, tables.column[j]]]
            live[i] = reached
            following, reached = reached, tables.before[0, reached & 255]
            for j in range(1, width):
                reached |= tables.before[j, following >> (8 * j) & 255]


@compiled
def live_target(tables, p, live):
    """The most preferred target of position p that is DONE or live."""
    if tables.best.shape[1]:
        return tables.best[p, live]
    for t in range(tables.first[p], tables.first[p + 1]):
        q = tables.target[t]
        if q == DONE or live >> np.uint64(q) & 1:
            return q
    return DEAD


@inlined
def _target(tables, p, row):
    packed, live = tables
    return live_target(packed, p, live[row])


@compiled
def _walk_all(packed, live, bounds, is_target, state, block, shared):
    fill_block(_target, (packed, live), len(packed.first) - 3, bounds, is_target, state, block, shared)
