"""What the rows that have passed say of a path with gaps: the questions that `streams.reference.search` asks.

Behind the last row of a match more may decide: that the next row is there and is not N (`!N`), that no N comes as long
as the bound lasts (`!-> N`). Such an end is certain when those rows are there, or when the bound has ended. With
BETWEEN ROWS the bound is that of the last row taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sqlext.pattern import conditions
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.desugared import GAP, PlainProgram, plain_program
from sqlext.pattern.cep.desugared_task import local_part
from sqlext.pattern.cep.formulas import evaluate, local_truth, next_with, own_limits, partition_ends
from sqlext.pattern.cep.nfa import Final, Formula
from sqlext.pattern.event_time import BEGINNING, EventTimes
from sqlext.pattern.stream.stream_reference import UNKNOWN, Search, Verdict
from sqlext.pattern.task import Rows


@dataclass(frozen=True)
class _Path:
    """The mapped rows of a path and their labels, the user's."""

    search: Search
    rows: tuple[int, ...]
    labels: tuple[int, ...]


class PathAsks:
    """The questions of the plain program of a task; rows, conditions and `event_times.need` are those of the task."""

    def __init__(self, task: CepTask, rows: Rows, event_times: EventTimes):
        self.task, self.rows, self.event_times = task, rows, event_times
        self.plain: PlainProgram = plain_program(task.nfa)
        self.truth, self.limit = local_truth(task, rows), own_limits(task, rows)
        formulas = [v.formula for v in self.plain.variants]
        self.held = [evaluate(local_part(task, formula), self.truth) for formula in formulas]
        self.dependent = [tuple(c for c in f if any(map(self._is_dependent, _labels((c,))))) for f in formulas]
        self.need = None if event_times.need is None else needed_by_formulas(formulas, event_times.need)
        self.hits: dict[Final, np.ndarray] = {}

    def bound(self, start: int, labels: list[int]) -> tuple[int, int] | None:
        if not self.task.is_between:
            return self._ended(start)
        last = next((j for j in range(len(labels) - 1, -1, -1) if self.plain.variants[labels[j]].origin != GAP), None)
        return None if last is None else self._ended(start + last)

    def _ended(self, base: int) -> tuple[int, int] | None:
        """The bound that begins at a row, if it has ended."""
        end = self.event_times.end
        return (
            None if end is None or end[base] > self.event_times.watermark else (int(self.limit[base]), int(end[base]))
        )

    def verdict(self, search: Search, labels: list[int], label: int) -> Verdict:
        row, variant = search.start + len(labels), self.plain.variants[label]
        needed = row if self.need is None else int(self.need[label, row])
        if needed >= search.partition[1]:
            return UNKNOWN
        if not self.held[label][row]:
            return Verdict(False, needed)
        if not self.dependent[label] and variant.final is None:
            return Verdict(True, needed)
        path = self._path(search, labels)
        if not all(any(self._holds(path, x, row) == wanted for x, wanted in c) for c in self.dependent[label]):
            return Verdict(False, needed)
        if variant.final is None:
            return Verdict(True, needed)
        longer = _Path(search, (*path.rows, row), (*path.labels, variant.origin))
        return self._end(variant.final, longer, needed)

    def _path(self, search: Search, labels: list[int]) -> _Path:
        origins = [self.plain.variants[x].origin for x in labels]
        rows = tuple(search.start + j for j, origin in enumerate(origins) if origin != GAP)
        return _Path(search, rows, tuple(origin for origin in origins if origin != GAP))

    def _is_dependent(self, label: int) -> bool:
        return self.task.conditions[label] is not None

    def _holds(self, path: _Path, label: int, row: int) -> bool:
        """Does the row satisfy the label behind the path?"""
        condition = self.task.conditions[label]
        if condition is None or not self.truth[label, row]:
            return bool(self.truth[label, row])
        taken, labels = (*path.rows, row), (*path.labels, label)
        names, partition = self.task.program.labels, path.search.partition
        asked = conditions.Path(self.rows, names, partition, taken[0], labels, path.search.number, taken)
        return conditions.evaluate(condition, asked) is True

    def _end(self, final: Final, path: _Path, needed: int) -> Verdict:
        """May the match end with the path's last row?"""
        row, behind = path.rows[-1], path.search.partition[1]
        ended = self._ended(row if self.task.is_between else path.rows[0])
        limit = behind if ended is None else min(behind, ended[0])
        if final.needs_next and row + 1 >= limit:
            return UNKNOWN if ended is None else Verdict(False, needed, ended[1])
        hit, last, is_known = self._forbidden(final, path, limit)
        if hit is not None:
            return Verdict(False, max(needed, hit))
        if not is_known or (final.absent and ended is None):
            return UNKNOWN
        return Verdict(True, max(needed, last), ended[1] if final.absent and ended is not None else BEGINNING)

    def _forbidden(self, final: Final, path: _Path, limit: int) -> tuple[int | None, int, bool]:
        """Of the rows behind the path up to `limit` that would forbid it to end: the last row that must be there to
        know one of them; else the last row that had to be there, and whether all were."""
        row, behind = path.rows[-1], path.search.partition[1]
        if self.event_times.need is None and not any(map(self._is_dependent, (*final.not_next, *final.absent))):
            if final not in self.hits:
                self.hits[final] = next_hit(final, self.truth, self.rows.bounds)
            nearest = int(self.hits[final][row])
            return (nearest if nearest < limit else None), row + final.needs_next, True
        hit: int | None = None
        last, is_known = row + int(final.needs_next), True
        for label, later in _asked(final, row, limit):
            needed = later if self.event_times.need is None else int(self.event_times.need[label, later])
            if needed >= behind:
                is_known = False
            elif self._holds(path, label, later):
                hit = needed if hit is None else min(hit, needed)
            else:
                last = max(last, needed)
        return hit, last, is_known


def next_hit(final: Final, truth: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """`int64[n]`: the first later row of its partition that forbids a match to end at row i so; n without one.

    >>> next_hit(Final(needs_next=True, not_next=(0,)), np.array([[True, False, True]]), np.array([0, 3]))
    array([3, 2, 3])
    """
    n, ends = truth.shape[1], partition_ends(bounds)
    hit = next_with(final.absent, truth, bounds) if final.absent else ends
    if final.not_next:
        is_hit = np.append(truth[list(final.not_next)].any(axis=0), False)[1:]
        hit = np.where(is_hit, np.arange(1, n + 1), hit)
    return np.where(hit < ends, hit, n)


def _asked(final: Final, row: int, limit: int) -> Iterator[tuple[int, int]]:
    """(label, row) of what must not hold behind a match that ends with `row`."""
    yield from ((label, row + 1) for label in final.not_next)
    yield from ((label, later) for later in range(row + 1, limit) for label in final.absent)


def _labels(formula: Formula) -> list[int]:
    return sorted({label for clause in formula for label, _ in clause})


def needed_by_formulas(formulas: list[Formula], need: np.ndarray) -> np.ndarray:
    """EventTimes.need of formulas: all their labels are read.

    >>> needed_by_formulas([(((0, True),), ((1, False),))], np.array([[0, 1], [1, 1]]))
    array([[1, 1]])
    """
    own = np.arange(need.shape[1])
    needed = [np.max(np.vstack([need[_labels(formula)], own]), axis=0) for formula in formulas]
    return np.array(needed, np.int64).reshape(len(formulas), len(own))
