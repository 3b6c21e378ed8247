"""The steps of the search one by one, for going forward and back through them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlext.errors import DataError
from sqlext.pattern.batch.recorder import FALSE, NULL, Bounds, Mapped, Step
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.why.funnel import steps_of
from sqlext.playground.rows_search import BudgetedRecorder, RowsSearch

MOST_STEPS = 5_000  # are shown
TAKEN, MATCHED, GAVE_UP = "taken", "match", "no match"


class EnoughSteps(Exception):
    """Ends the search when all steps that the page shows are known."""


class StepLog(BudgetedRecorder):
    """Lists each step: [kind, start row, row, label, element, rows taken before it].

    `kind` is TAKEN, a reason of `recorder.Stop`, MATCHED or GAVE_UP; the last two end an attempt.
    """

    def __init__(self, search: RowsSearch, most: int = MOST_STEPS):
        super().__init__(lambda attempt: None)
        self.search, self.most = search, most
        self.elements = steps_of(search.plan.clause.pattern, is_contiguous=not isinstance(search.task, CepTask))
        self.steps: list[list[Any]] = []

    @contextmanager
    def attempt(self, start: int, number: int, bounds: Bounds, limit: int) -> Iterator[None]:
        with super().attempt(start, number, bounds, limit):
            yield
            if not self._attempt.matches:
                self._add([GAVE_UP, start, start, None, None, []])

    def found(self, match: Mapped) -> None:
        super().found(match)
        rows = [row for row, _ in match]
        start = self._attempt.start
        self._add([MATCHED, start, rows[-1] if rows else start, None, None, rows])

    def test(self, step: Step, label: int, row: int, depth: int, *, verdict: bool | None, is_stop: bool = True) -> None:
        before = [row for row, _ in self._path[:depth]]
        super().test(step, label, row, depth, verdict=verdict, is_stop=is_stop)
        kind = TAKEN if verdict else NULL if verdict is None else FALSE
        self._add([kind, self._attempt.start, row, label, self._element(step), before])

    def refuse(self, step: Step, label: int | None, row: int, depth: int, reason: str) -> None:
        before = [row for row, _ in self._path[:depth]]
        super().refuse(step, label, row, depth, reason)
        self._add([reason, self._attempt.start, row, label, self._element(step), before])

    def _element(self, step: Step) -> int | None:
        known = self.elements.get(step)
        return None if known is None else known[0]

    def _add(self, step: list[Any]) -> None:
        if len(self.steps) >= self.most:
            raise EnoughSteps
        self.steps.append(step)


def search_steps(search: RowsSearch) -> dict[str, Any]:
    """The steps of a search, at most MOST_STEPS.

    `is_complete`: whether these are all steps.
    """
    log = StepLog(search)
    is_complete = True
    try:
        search.run(log)
    except (EnoughSteps, DataError):
        is_complete = False
    return {"steps": log.steps, "is_complete": is_complete, "skip": search.plan.clause.skip_text}
