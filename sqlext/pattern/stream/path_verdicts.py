"""What the rows that have passed decide for a path with gaps, for `stream_reference.search`.

Rows after the last row of a match may decide it: the next row must exist and not be N (`!N`), or no N may come as long
as the bound lasts (`!-> N`). Such an end is certain when those rows have passed, or when the bound has ended. With
BETWEEN ROWS the bound is that of the last mapped row.
"""

from __future__ import annotations

import numpy as np

from sqlext.pattern.cep.cep_task import (
    CepTask,
    bound_ends,
    evaluate,
    local_part,
)
from sqlext.pattern.cep.desugared_program import GAP, desugared_program
from sqlext.pattern.cep.ends import next_hit
from sqlext.pattern.cep.nfa import Final, Formula
from sqlext.pattern.cep.path_conditions import MappedPath, PathEvaluator, without_gaps
from sqlext.pattern.stream.stream_reference import UNKNOWN, Request, Verdict
from sqlext.pattern.task.event_time import BEGINNING, EventTimes
from sqlext.pattern.task.task import Rows


class PathFacts:
    """The facts of the desugared program of a task; rows, conditions and `event_times.need` belong to the task."""

    def __init__(self, task: CepTask, rows: Rows, event_times: EventTimes):
        self.task, self.rows, self.event_times = task, rows, event_times
        self.program, self.evaluator = desugared_program(task.nfa), PathEvaluator(task, rows)
        self.limit = bound_ends(rows)
        formulas = [v.formula for v in self.program.variants]
        self.satisfied = [evaluate(local_part(task, formula), self.evaluator.truth) for formula in formulas]
        self.dependent = [tuple(c for c in f if any(map(self._is_dependent, _labels((c,))))) for f in formulas]
        self.need = None if event_times.need is None else needed_by_formulas(formulas, event_times.need)
        self.hits: dict[Final, np.ndarray] = {}

    def bound(self, start: int, labels: list[int]) -> tuple[int, int] | None:
        if not self.task.is_between:
            return self._ended(start)
        variants = self.program.variants
        last = next((j for j in range(len(labels) - 1, -1, -1) if variants[labels[j]].origin != GAP), None)
        return None if last is None else self._ended(start + last)

    def _ended(self, base: int) -> tuple[int, int] | None:
        """The bound that starts at row `base`; None while it is open."""
        end = self.event_times.end
        if end is None or end[base] > self.event_times.watermark:
            return None
        return int(self.limit[base]), int(end[base])

    def verdict(self, request: Request, labels: list[int], label: int) -> Verdict:
        row, variant = request.start + len(labels), self.program.variants[label]
        needed = row if self.need is None else int(self.need[label, row])
        if needed >= request.partition[1]:
            return UNKNOWN
        if not self.satisfied[label][row]:
            return Verdict(holds=False, last=needed)
        if not self.dependent[label] and variant.final is None:
            return Verdict(holds=True, last=needed)
        path = without_gaps(self.program, request.start, labels, request.partition, request.number)
        holds = self.evaluator.holds
        if not all(any(holds(path, x, row) == wanted for x, wanted in c) for c in self.dependent[label]):
            return Verdict(holds=False, last=needed)
        if variant.final is None:
            return Verdict(holds=True, last=needed)
        return self._end(variant.final, path.extended(row, variant.origin), needed)

    def _is_dependent(self, label: int) -> bool:
        return self.task.conditions[label] is not None

    def _end(self, final: Final, path: MappedPath, needed: int) -> Verdict:
        """Whether the match may end with the path's last row."""
        row, stop = path.rows[-1], path.partition[1]
        ended = self._ended(row if self.task.is_between else path.rows[0])
        limit = stop if ended is None else min(stop, ended[0])
        if final.needs_next and row + 1 >= limit:
            return UNKNOWN if ended is None else Verdict(holds=False, last=needed, until=ended[1])
        hit, last, is_known = self._forbidden(final, path, limit)
        if hit is not None:
            return Verdict(holds=False, last=max(needed, hit))
        if not is_known or (final.waits_for_bound and ended is None):
            return UNKNOWN
        until = ended[1] if final.waits_for_bound and ended is not None else BEGINNING
        return Verdict(holds=True, last=max(needed, last), until=until)

    def _forbidden(self, final: Final, path: MappedPath, limit: int) -> tuple[int | None, int, bool]:
        """Look for a row after the path, below `limit`, that forbids it to end.

        Return the last row that is needed to know of such a row (None without one), the last row that was needed to
        know that other rows do not forbid it, and whether all needed rows are there.
        """
        row, stop = path.rows[-1], path.partition[1]
        if self.event_times.need is None and not any(map(self._is_dependent, final.forbidden)):
            if final not in self.hits:
                self.hits[final] = next_hit(final, self.evaluator.truth, self.rows.bounds)
            nearest = int(self.hits[final][row])
            return (nearest if nearest < limit else None), row + final.needs_next, True
        hit: int | None = None
        last, is_known = row + int(final.needs_next), True
        for label, later in final.tests(row, limit):
            needed = later if self.event_times.need is None else int(self.event_times.need[label, later])
            if needed >= stop:
                is_known = False
            elif self.evaluator.holds(path, label, later):
                hit = needed if hit is None else min(hit, needed)
            else:
                last = max(last, needed)
        return hit, last, is_known


def _labels(formula: Formula) -> list[int]:
    return sorted({label for clause in formula for label, _ in clause})


def needed_by_formulas(formulas: list[Formula], need: np.ndarray) -> np.ndarray:
    """EventTimes.need for formulas, each of which reads all its labels.

    >>> needed_by_formulas([(((0, True),), ((1, False),))], np.array([[0, 1], [1, 1]]))
    array([[1, 1]])
    """
    own = np.arange(need.shape[1])
    needed = [np.max(np.vstack([need[_labels(formula)], own]), axis=0) for formula in formulas]
    return np.array(needed, np.int64).reshape(len(formulas), len(own))
