"""Every match where conditions depend on the path: the oracle's search, which looks only at rows that it may take.

A relaxed wait without absences, guards and UNTIL passes over rows that do not satisfy the row-local part of its
variable's condition; where a match may start is known before, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from sqlext.pattern.cep.cep_oracle import Oracle, spans_of
from sqlext.pattern.cep.cep_reference import Search, State
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.desugared_task import may_begin
from sqlext.pattern.task import Rows, Spans


@dataclass
class FastSearch(Search):
    """`satisfying[l]`: the rows that satisfy the row-local part of label l, in order."""

    satisfying: tuple[np.ndarray, ...] = ()

    def candidates(self, label: int, state: State, rows: range) -> Iterable[int]:
        if not state.path or not state.operator or state.pending or state.scopes:
            return rows
        found = self.satisfying[label]
        low, high = np.searchsorted(found, (rows.start, rows.stop))
        return found[low:high].tolist()


class Paths(Oracle):
    def __init__(self, task: CepTask, rows: Rows, is_first: np.ndarray | None = None):
        super().__init__(task, rows, is_first)
        self.satisfying = tuple(np.flatnonzero(held) for held in self.truth)
        self.starting = np.flatnonzero(may_begin(task, rows))

    def search(self, start: int, bounds: tuple[int, int], number: int) -> Search:
        slow = super().search(start, bounds, number)
        common = slow.label_of, start, bounds, slow.limit, slow.satisfies
        return FastSearch(*common, is_whole=slow.is_whole, satisfying=self.satisfying)

    def starts(self, bounds: tuple[int, int]) -> Iterable[int]:
        low, high = np.searchsorted(self.starting, bounds)
        return self.starting[low:high].tolist()


def find(task: CepTask, rows: Rows) -> Iterator[Spans]:
    """All matches with NO SKIP, a block for each partition.

    Raises DataError: STEP_BUDGET, and what conditions raise.
    """
    quiet = replace(task, output=replace(task.output, shows_unmatched=False, shows_timeouts=False))
    paths = Paths(quiet, rows)
    for bounds in zip(rows.bounds[:-1].tolist(), rows.bounds[1:].tolist()):
        yield from spans_of(paths.every_match(bounds), quiet)
