"""AFTER MATCH NO SKIP with row-local DEFINE: every match from every row, from the shared buffer.

Rows go through the states of the Nfa once, whatever the number of partial matches (`shared_buffer`). Where the pattern
may end, its matches are enumerated; a budget of steps and of output ends a query that would never end. `advance` with
its Buffer is one incremental step over any number of rows: the same rows in any portions give the same entries.

In batch, the rows after a match that decide it are present, so `start_ranges` looks ahead.

`Numbering` keeps each distinct match once and numbers it: by the time that decides it, then last row, start row and
preference (docs/language.md, "AFTER MATCH NO SKIP"). Preference compares two matches at the first place where they
differ: the state that is listed earlier after the same position is preferred, and for the same state the nearer row.
Only matches with the same first and last row need to be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.cep import shared_buffer
from sqlext.pattern.cep.cep_task import CepTask, local_truth
from sqlext.pattern.cep.ends import decision_order, decision_times
from sqlext.pattern.cep.every_match_tables import NfaStates, RowBits, row_bits, start_ranges, states_of
from sqlext.pattern.cep.shared_buffer import Buffer
from sqlext.pattern.task.task import Rows, Spans

MAX_STEPS = 1 << 28  # entries visited for the matches that one row completes
MAX_MAPPED = 1 << 22  # rows that these matches map in total
HITS = 1 << 14  # number of ends of matches after which the matches are enumerated


@dataclass(kw_only=True)
class MatchList:
    """Matches as lists of mapped rows.

    - `row: int64[k]`, `state: int16[k]`: the mapped rows and the states that took them;
    - `end: int64[m]`: match i ends before mapped row `end[i]`; `final: int64[m]`: its end, an index of States.ends.
    """

    row: np.ndarray
    state: np.ndarray
    end: np.ndarray
    final: np.ndarray

    @property
    def start(self) -> np.ndarray:
        """`int64[m]`: where each match begins in `row`."""
        return np.concatenate([[0], self.end[:-1]]).astype(np.int64) if len(self.end) else self.end


def advance(
    states: NfaStates, bits: RowBits, buffer: Buffer, lo: int, hi: int, due: np.ndarray | None = None
) -> Iterator[tuple[Buffer, np.ndarray]]:
    """Take rows `lo` to `hi` (exclusive); yield the buffer (another object where it had to grow) and its hits so far,
    `int32[3, h]`: the node, its row, and the number of the end (an index of `States.ends`).

    The entries of hits exist until the iterator is advanced. `due: int8[n]`: see `shared_buffer.advance`.
    """
    due = np.zeros(0, np.int8) if due is None else due
    hits = np.zeros((3, max(HITS, states.tables.most_hits)), np.int32)
    scratch = np.zeros((2, len(states.states)), np.int32)
    progress = np.array([lo, hi, buffer.size, 0], np.int64)
    while progress[0] < hi:
        shared_buffer.advance(states.tables, _arrays(buffer), bits, due, (hits[0], hits[1], hits[2]), progress, scratch)
        row, _, buffer.size, count = progress.tolist()
        if count or row == hi:
            yield buffer, hits[:, :count]
        if row < hi and buffer.size + states.tables.room > buffer.capacity:
            before = buffer.size
            buffer.compact(int(bits.oldest[row - 1]) if row else -1, is_between=states.tables.is_between)
            if 2 * buffer.size + states.tables.room > buffer.capacity or 2 * buffer.size > before:
                buffer = buffer.grown(2 * buffer.capacity + states.tables.room)
        progress[2], progress[3] = buffer.size, 0


def _arrays(buffer: Buffer) -> tuple[np.ndarray, ...]:
    return buffer.left, buffer.right, buffer.row, buffer.state, buffer.newest, buffer.group


def enumerated(
    states: NfaStates, buffer: Buffer, hits: np.ndarray, low: np.ndarray, high: np.ndarray, max_mapped: int = MAX_MAPPED
) -> Iterator[MatchList]:
    """The matches of all hits that start at rows `low: int64[h]` to `high` (inclusive); the matches of one row follow
    one another.

    Raises DataError: MATCH_BUDGET.
    """
    entry, row, final = hits
    room, progress = 1 << 12, np.zeros(1, np.int64)
    while progress[0] < len(row):
        first = int(progress[0])
        out = np.empty(room, np.int64), np.empty(room, np.int16), np.empty(room, np.int64), np.zeros(len(row), np.int64)
        scratch = np.empty((2, room), np.int32), np.empty(room, np.int32)
        source = (entry, row, low, high)
        outcome = shared_buffer.enumerate_hits(_arrays(buffer), source, scratch, out, progress, MAX_STEPS)
        stop = int(progress[0])
        if stop == first:
            if outcome == shared_buffer.SPENT or room > max_mapped:
                raise _spent(states, buffer, int(entry[first]))
            room *= 4
            continue
        counts = out[3][first:stop]
        matches = int(counts.sum())
        end = out[2][:matches]
        mapped = int(end[-1]) if matches else 0
        yield MatchList(row=out[0][:mapped], state=out[1][:mapped], end=end, final=np.repeat(final[first:stop], counts))


def _spent(states: NfaStates, buffer: Buffer, node: int) -> DataError:
    """The error for a row that completes too many matches; it names the variable of the row."""
    label = states.states[int(buffer.state[node])][1].label
    name = states.labels[label]
    return DataError(
        "MATCH_BUDGET",
        f"one row that {name} takes completes more matches than can be listed: over {MAX_MAPPED:,} mapped rows",
        hint="AFTER MATCH NO SKIP lists every match: bound them with WITHIN or UNTIL, replace ->> by -> on the way to "
        f"{name}, or use another AFTER MATCH mode.",
    )


def find(task: CepTask, rows: Rows) -> Iterator[Spans]:
    """All matches of all partitions, each distinct one once, numbered by the time that decides them, in blocks.

    Raises DataError: MATCH_BUDGET.
    """
    states, truth = states_of(task.nfa, is_between=task.is_between), local_truth(task, rows)
    bits = row_bits(states, truth, rows)
    ranges = start_ranges(states, truth, rows, bits)
    numbering = Numbering(task, rows, states)
    for buffer, hits in advance(states, bits, Buffer.empty(len(states.states)), 0, len(rows.mask)):
        for matches in matches_of(states, buffer, hits, ranges):
            yield from numbering.push(matches)
    yield from numbering.rest()


def matches_of(
    states: NfaStates, buffer: Buffer, hits: np.ndarray, ranges: list[tuple[np.ndarray, np.ndarray]]
) -> Iterator[MatchList]:
    """The matches of hits; `ranges`: see `start_ranges`."""
    low, high = (_of_ends(hits, [r[i] for r in ranges]) for i in (0, 1))
    is_wanted = low <= high
    yield from enumerated(states, buffer, hits[:, is_wanted], low[is_wanted], high[is_wanted])


def _of_ends(hits: np.ndarray, by_end: list[np.ndarray]) -> np.ndarray:
    """`int64[h]`: for each hit, the value of its end at its row."""
    result = np.zeros(hits.shape[1], np.int64)
    for final, values in enumerate(by_end):
        is_own = hits[2] == final
        result[is_own] = values[hits[1][is_own]]
    return result


class Numbering:
    """Takes matches in the order of their last rows and emits numbered blocks.

    Where rows after a match decide it, the matches of a partition are kept until all of them have come.
    """

    def __init__(self, task: CepTask, rows: Rows, states: NfaStates):
        self.task, self.rows, self.states = task, rows, states
        positions = task.nfa.positions
        self.position = np.array([wait.position for _, wait in states.states], np.int64)
        self.label = np.array([positions[p][0] for p in self.position], np.int16)
        self.is_hidden = np.array([positions[p][1] for p in self.position], np.bool_)
        self.is_pending = any(end.is_pending for end in states.ends)
        self.pending: list[MatchList] = []
        self.partition, self.numbered = -1, 0  # the last partition that has numbers, and how many

    def push(self, matches: MatchList) -> Iterator[Spans]:
        """Append matches, which must be ordered by their last row."""
        if not len(matches.end):
            return
        self.pending.append(matches)
        if not self.is_pending:
            yield from self.rest()
        elif len(self.pending) > 1 and self._partition(matches.row[0]) != self._partition(self.pending[-2].row[-1]):
            self.pending.pop()
            yield from self.rest()
            self.pending.append(matches)

    def rest(self) -> Iterator[Spans]:
        """The matches that are still pending."""
        if self.pending:
            matches, self.pending = joined_matches(self.pending), []
            yield self._numbered(matches)

    def _partition(self, row) -> int:
        return int(np.searchsorted(self.rows.bounds, row, side="right")) - 1

    def _numbered(self, matches: MatchList) -> Spans:
        order, _ = self.in_order(matches)
        partition = np.searchsorted(self.rows.bounds, matches.row[matches.start[order]], side="right") - 1
        return self.spans(matches, order, self._numbers(partition))

    def in_order(self, matches: MatchList) -> tuple[np.ndarray, np.ndarray]:
        """`(order: int64[k], time: int64[k])`: the distinct matches in the order of their numbers, partition by
        partition, and when each is decided: a time by Rows.key and Rows.end, or without these a row."""
        time = self._times(matches)
        order, time = self._distinct(matches, time)
        first, last = matches.row[matches.start[order]], matches.row[matches.end[order] - 1]
        by_time = decision_order(self.rows, first, last, time)  # equal matches stay in the order of preference
        return order[by_time], time[0][by_time]

    def spans(self, matches: MatchList, order: np.ndarray, number: np.ndarray) -> Spans:
        """The matches with the numbers `order` of a list, as a block."""
        length = matches.end[order] - matches.start[order]
        offset = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        mapped = np.arange(offset[-1]) + np.repeat(matches.start[order] - offset[:-1], length)
        state = matches.state[mapped]
        return Spans(
            start=matches.row[matches.start[order]],
            number=number,
            offset=offset,
            label=self.label[state],
            is_hidden=self.is_hidden[state] if self.is_hidden.any() else None,
            unmatched=np.zeros(0, np.int64),
            row=matches.row[mapped],
        )

    def _numbers(self, partition: np.ndarray) -> np.ndarray:
        """The numbers 1, 2, … in each partition, continuing where the previous block ended."""
        first = np.flatnonzero(np.diff(partition, prepend=-1))
        number = np.arange(1, len(partition) + 1) - np.repeat(first, np.diff(np.append(first, len(partition))))
        number[partition == self.partition] += self.numbered
        self.partition, self.numbered = int(partition[-1]), int(number[-1])
        return number

    def _times(self, matches: MatchList) -> tuple[np.ndarray, np.ndarray]:
        """(major, minor): when each match is decided, comparable in a partition; see `ends.decision_times`."""
        first, last = matches.row[matches.start], matches.row[matches.end - 1]
        decided_by = np.array([end.decided_by for end in self.states.ends], np.int64)[matches.final]
        return decision_times(self.task, self.rows, first, last, decided_by)

    def _distinct(self, matches: MatchList, time: tuple[np.ndarray, np.ndarray]):
        """The indices of the distinct matches, and their times. Of equal matches the one that is decided first is kept;
        matches with the same first and last row are in the order of preference."""
        first, last = matches.row[matches.start], matches.row[matches.end - 1]
        order = np.lexsort((first, last))
        same = (np.diff(first[order]) == 0) & (np.diff(last[order]) == 0)
        if not same.any():
            return order, (time[0][order], time[1][order])
        groups = np.split(order, np.flatnonzero(~same) + 1)
        kept: list[int] = []
        for group in groups:
            kept += self._sorted_group(matches, time, group) if len(group) > 1 else group.tolist()
        chosen = np.array(kept, np.int64)
        return chosen, (time[0][chosen], time[1][chosen])

    def _sorted_group(self, matches: MatchList, time, group: np.ndarray) -> list[int]:
        """The matches of a group, most preferred first; equal matches once, with the earliest of their times."""
        best: dict[tuple, int] = {}
        ordered = sorted(group.tolist(), key=lambda i: self._preference(matches, i))
        for i in ordered:
            rows = slice(matches.start[i], matches.end[i])
            state = matches.state[rows]
            key = (matches.row[rows].tobytes(), self.label[state].tobytes(), self.is_hidden[state].tobytes())
            known = best.setdefault(key, i)
            if (time[0][i], time[1][i]) < (time[0][known], time[1][known]):
                time[0][known], time[1][known] = time[0][i], time[1][i]
        return list(best.values())

    def _preference(self, matches: MatchList, i: int) -> list[tuple[int, int]]:
        rows, states = matches.row[matches.start[i] : matches.end[i]], matches.state[matches.start[i] : matches.end[i]]
        is_first = rows[0] == self.rows.bounds[self._partition(rows[0])]
        before = [-1 if is_first else -2, *self.position[states[:-1]].tolist()]
        begun = [self.states.states[state][0] for state in states.tolist()]
        return [(self.states.targets[q].index(wait), row) for q, wait, row in zip(before, begun, rows.tolist())]


def joined_matches(pending: list[MatchList]) -> MatchList:
    """The matches of all lists, concatenated."""
    shift = np.cumsum([0, *(len(f.row) for f in pending)])
    return MatchList(
        row=np.concatenate([f.row for f in pending]),
        state=np.concatenate([f.state for f in pending]),
        end=np.concatenate([f.end + by for f, by in zip(pending, shift)]),
        final=np.concatenate([f.final for f in pending]),
    )
