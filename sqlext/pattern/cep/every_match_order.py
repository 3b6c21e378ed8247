"""Which of the matches found are distinct, and their numbers: by the time that decides them, then last row, start row,
preference (language.md, "AFTER MATCH NO SKIP").

Preference compares two matches where they first part: the state that stands earlier behind the same position, and of
one state the nearer row. Only matches with the same first and last row need to be compared.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.every_match import Found
from sqlext.pattern.cep.every_match_tables import States
from sqlext.pattern.cep.formulas import own_limits
from sqlext.pattern.task import Rows, Spans


class Numbering:
    """Takes matches in the order of their last rows and gives out numbered blocks.

    Where rows behind a match decide it, those of a partition are held until all are there.
    """

    def __init__(self, task: CepTask, rows: Rows, states: States):
        self.task, self.rows, self.states = task, rows, states
        positions = task.nfa.positions
        self.position = np.array([wait.position for _, wait in states.states], np.int64)
        self.label = np.array([positions[p][0] for p in self.position], np.int16)
        self.is_hidden = np.array([positions[p][1] for p in self.position], np.bool_)
        self.limits = own_limits(task, rows)
        self.is_pending = any(end.is_pending for end in states.ends)
        self.held: list[Found] = []
        self.partition, self.numbered = -1, 0  # the last partition that has numbers, and how many

    def push(self, found: Found) -> Iterator[Spans]:
        """More matches; their last rows do not lie before those of the ones before."""
        if not len(found.end):
            return
        self.held.append(found)
        if not self.is_pending:
            yield from self.rest()
        elif len(self.held) > 1 and self._partition(found.row[0]) != self._partition(self.held[-2].row[-1]):
            self.held.pop()
            yield from self.rest()
            self.held.append(found)

    def rest(self) -> Iterator[Spans]:
        """What is held."""
        if self.held:
            found, self.held = joined_found(self.held), []
            yield self._numbered(found)

    def _partition(self, row) -> int:
        return int(np.searchsorted(self.rows.bounds, row, side="right")) - 1

    def _numbered(self, found: Found) -> Spans:
        order, _ = self.in_order(found)
        partition = np.searchsorted(self.rows.bounds, found.row[found.start[order]], side="right") - 1
        return self.spans(found, order, self._numbers(partition))

    def in_order(self, found: Found) -> tuple[np.ndarray, np.ndarray]:
        """`(order: int64[k], time: int64[k])`: the distinct matches in the order of their numbers, partition by
        partition, and when they are decided: by Rows.key and Rows.end, without them the row."""
        time = self._times(found)
        order, time = self._distinct(found, time)
        starts, ends = found.start[order], found.end[order]
        partition = np.searchsorted(self.rows.bounds, found.row[starts], side="right") - 1
        keys = (found.row[starts], found.row[ends - 1], time[1], time[0], partition)
        by_time = np.lexsort(keys)  # stable: what is equal stays in the order of preference
        return order[by_time], time[0][by_time]

    def spans(self, found: Found, order: np.ndarray, number: np.ndarray) -> Spans:
        """The matches `order` of those found, as a block."""
        length = found.end[order] - found.start[order]
        offset = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        mapped = np.arange(offset[-1]) + np.repeat(found.start[order] - offset[:-1], length)
        state = found.state[mapped]
        return Spans(
            start=found.row[found.start[order]],
            number=number,
            offset=offset,
            label=self.label[state],
            is_hidden=self.is_hidden[state] if self.is_hidden.any() else None,
            unmatched=np.zeros(0, np.int64),
            row=found.row[mapped],
        )

    def _numbers(self, partition: np.ndarray) -> np.ndarray:
        """1, 2, … in each partition, going on where the block before ended."""
        first = np.flatnonzero(np.diff(partition, prepend=-1))
        number = np.arange(1, len(partition) + 1) - np.repeat(first, np.diff(np.append(first, len(partition))))
        number[partition == self.partition] += self.numbered
        self.partition, self.numbered = int(partition[-1]), int(number[-1])
        return number

    def _times(self, found: Found) -> tuple[np.ndarray, np.ndarray]:
        """(major, minor) of when each match is decided, comparable in a partition; as `contiguity.oracle` has it."""
        first, last = found.row[found.start], found.row[found.end - 1]
        base = last if self.task.is_between else first
        ends = self.states.ends
        needs_next = np.array([end.needs_next for end in ends], np.bool_)[found.final]
        needs_bound = np.array([bool(end.absent) for end in ends], np.bool_)[found.final]
        decided = np.minimum(last + needs_next, len(self.rows.mask) - 1)
        time = decided if self.rows.key is None else self.rows.key[decided]
        bound = self.limits[base] - 1 if self.rows.end is None else self.rows.end[base]
        is_later = needs_bound & (self.rows.end is None)
        return np.where(needs_bound, bound, time), is_later.astype(np.int64)

    def _distinct(self, found: Found, time: tuple[np.ndarray, np.ndarray]):
        """The numbers of the matches to be shown, of equal ones the first to be decided, in the order of preference
        among those with the same first and last row; and their times."""
        first, last = found.row[found.start], found.row[found.end - 1]
        order = np.lexsort((first, last))
        same = (np.diff(first[order]) == 0) & (np.diff(last[order]) == 0)
        if not same.any():
            return order, (time[0][order], time[1][order])
        groups = np.split(order, np.flatnonzero(~same) + 1)
        kept: list[int] = []
        for group in groups:
            kept += self._sorted_group(found, time, group) if len(group) > 1 else group.tolist()
        chosen = np.array(kept, np.int64)
        return chosen, (time[0][chosen], time[1][chosen])

    def _sorted_group(self, found: Found, time, group: np.ndarray) -> list[int]:
        """Preferred first; equal matches once, with the earliest of their times."""
        best: dict[tuple, int] = {}
        ordered = sorted(group.tolist(), key=lambda i: self._preference(found, i))
        for i in ordered:
            rows = slice(found.start[i], found.end[i])
            state = found.state[rows]
            key = (found.row[rows].tobytes(), self.label[state].tobytes(), self.is_hidden[state].tobytes())
            known = best.setdefault(key, i)
            if (time[0][i], time[1][i]) < (time[0][known], time[1][known]):
                time[0][known], time[1][known] = time[0][i], time[1][i]
        return list(best.values())

    def _preference(self, found: Found, i: int) -> list[tuple[int, int]]:
        rows, states = found.row[found.start[i] : found.end[i]], found.state[found.start[i] : found.end[i]]
        is_first = rows[0] == self.rows.bounds[self._partition(rows[0])]
        before = [-1 if is_first else -2, *self.position[states[:-1]].tolist()]
        begun = [self.states.states[state][0] for state in states.tolist()]
        return [(self.states.targets[q].index(wait), row) for q, wait, row in zip(before, begun, rows.tolist())]


def joined_found(held: list[Found]) -> Found:
    """The matches of all of them, one behind the other."""
    shift = np.cumsum([0, *(len(f.row) for f in held)])
    return Found(
        np.concatenate([f.row for f in held]),
        np.concatenate([f.state for f in held]),
        np.concatenate([f.end + by for f, by in zip(held, shift)]),
        np.concatenate([f.final for f in held]),
    )
