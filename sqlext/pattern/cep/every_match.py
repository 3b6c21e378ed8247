"""AFTER MATCH NO SKIP: every match from every row, from the shared buffer (row-local DEFINE).

Rows go through the states of the Nfa once, whatever the number of partial matches (`shared_buffer`). Where a pattern
may end, its matches are enumerated; a step and an output budget end what would never. `advance` with its Buffer is one
incremental step over any number of rows: the same rows in any portions give the same entries.

Which rows behind it decide a pending match is looked up ahead, as in batch all rows are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.cep import shared_buffer_kernels as kernels
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.every_match_tables import RowBits, States, row_bits, start_ranges, states_of
from sqlext.pattern.cep.formulas import local_truth
from sqlext.pattern.cep.shared_buffer import Buffer
from sqlext.pattern.task import Rows, Spans

MAX_STEPS = 1 << 28  # entries visited for the matches that one row completes
MAX_MAPPED = 1 << 22  # rows that these matches map altogether
HITS = 1 << 14  # ends of matches after which they are enumerated


@dataclass
class Found:
    """Matches: `row, state` of their mapped rows, match i ends before `end[i]`; `final`: its end of the pattern."""

    row: np.ndarray
    state: np.ndarray
    end: np.ndarray
    final: np.ndarray

    @property
    def start(self) -> np.ndarray:
        """`int64[m]`: where each match begins in `row`."""
        return np.concatenate([[0], self.end[:-1]]).astype(np.int64) if len(self.end) else self.end


def advance(
    states: States, bits: RowBits, buffer: Buffer, lo: int, hi: int, due: np.ndarray | None = None
) -> Iterator[tuple[Buffer, np.ndarray]]:
    """Take rows `lo` to `hi` (exclusive); yields the buffer (another object where it had to grow) and its hits so far,
    `int32[3, h]`: the node, its row, and the number of the end (an index of `States.ends`).

    What a hit refers to is there until the next one is asked for. `due: int8[n]`: see `kernels.advance`.
    """
    due = np.zeros(0, np.int8) if due is None else due
    hits = np.zeros((3, max(HITS, states.tables.most_hits)), np.int32)
    scratch = np.zeros((2, len(states.states)), np.int32)
    progress = np.array([lo, hi, buffer.size, 0], np.int64)
    while progress[0] < hi:
        kernels.advance(states.tables, _arrays(buffer), bits, due, (hits[0], hits[1], hits[2]), progress, scratch)
        row, _, buffer.size, found = progress.tolist()
        if found or row == hi:
            yield buffer, hits[:, :found]
        if row < hi and buffer.size + states.tables.room > buffer.capacity:
            before = buffer.size
            buffer.compact(int(bits.oldest[row - 1]) if row else -1, states.tables.is_between)
            if 2 * buffer.size + states.tables.room > buffer.capacity or 2 * buffer.size > before:
                buffer = buffer.grown(2 * buffer.capacity + states.tables.room)
        progress[2], progress[3] = buffer.size, 0


def _arrays(buffer: Buffer) -> tuple[np.ndarray, ...]:
    return buffer.left, buffer.right, buffer.row, buffer.state, buffer.newest, buffer.group


def enumerated(
    states: States, buffer: Buffer, hits: np.ndarray, low: np.ndarray, high: np.ndarray, max_mapped: int = MAX_MAPPED
) -> Iterator[Found]:
    """The matches of all hits that start at rows `low: int64[h]` to `high` (inclusive); those of one row together.

    Raises DataError: MATCH_BUDGET.
    """
    entry, row, final = hits
    room, progress = 1 << 12, np.zeros(1, np.int64)
    while progress[0] < len(row):
        first = int(progress[0])
        out = np.empty(room, np.int64), np.empty(room, np.int16), np.empty(room, np.int64), np.zeros(len(row), np.int64)
        scratch = np.empty((2, room), np.int32), np.empty(room, np.int32)
        source = (entry, row, low, high)
        outcome = kernels.enumerate_hits(_arrays(buffer), source, scratch, out, progress, MAX_STEPS)
        stop = int(progress[0])
        if stop == first:
            if outcome == kernels.SPENT or room > max_mapped:
                raise _spent(states, buffer, int(entry[first]))
            room *= 4
            continue
        counts = out[3][first:stop]
        matches = int(counts.sum())
        end = out[2][:matches]
        mapped = int(end[-1]) if matches else 0
        yield Found(out[0][:mapped], out[1][:mapped], end, np.repeat(final[first:stop], counts))


def _spent(states: States, buffer: Buffer, node: int) -> DataError:
    """Names the variable that the row takes which completes too many matches, and one that is taken often before."""
    label = states.states[int(buffer.state[node])][1].label
    name = states.labels[label]
    return DataError(
        "MATCH_BUDGET",
        f"one row that {name} takes completes more matches than can be listed: over {MAX_MAPPED:,} mapped rows",
        hint=f"every match is asked for: bound them with WITHIN or UNTIL, replace ->> by -> on the way to {name}, "
        "or use another AFTER MATCH mode.",
    )


def find(task: CepTask, rows: Rows) -> Iterator[Spans]:
    """All matches of all partitions, each distinct one once, numbered by the time that decides them, in blocks.

    Raises DataError: MATCH_BUDGET.
    """
    from sqlext.pattern.cep.every_match_order import Numbering

    states, truth = states_of(task.nfa, task.is_between), local_truth(task, rows)
    bits = row_bits(states, truth, task, rows)
    ranges = start_ranges(states, truth, task, rows, bits)
    numbering = Numbering(task, rows, states)
    for buffer, hits in advance(states, bits, Buffer.empty(len(states.states)), 0, len(rows.mask)):
        yield from matches_of(states, buffer, hits, ranges, numbering)
    yield from numbering.rest()


def found_of(states: States, buffer: Buffer, hits: np.ndarray, ranges) -> Iterator[Found]:
    """The matches of hits; `ranges`: see `start_ranges`."""
    low, high = (_of_ends(hits, [r[i] for r in ranges]) for i in (0, 1))
    is_asked = low <= high
    yield from enumerated(states, buffer, hits[:, is_asked], low[is_asked], high[is_asked])


def matches_of(states: States, buffer: Buffer, hits: np.ndarray, ranges, numbering) -> Iterator[Spans]:
    """The matches of hits, as far as `numbering` lets them go."""
    for found in found_of(states, buffer, hits, ranges):
        yield from numbering.push(found)


def _of_ends(hits: np.ndarray, by_end: list[np.ndarray]) -> np.ndarray:
    """`int64[h]`: of each hit, what stands for its end and its row."""
    result = np.zeros(hits.shape[1], np.int64)
    for final, values in enumerate(by_end):
        is_there = hits[2] == final
        result[is_there] = values[hits[1][is_there]]
    return result
