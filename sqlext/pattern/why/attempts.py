"""Run the search that defines what matches, and hand on what it tried. See `batch.recorder` for what it tells.

>>> import numpy as np
>>> from sqlext.pattern.program.program import Done, MatchLabel, Program
>>> a_b = Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B"))
>>> task = MatchTask(program=a_b, bits=(0, 1), conditions=(None, None))
>>> rows = Rows(bounds=np.array([0, 4]), mask=np.array([[1], [2], [1], [1]], np.uint8))
>>> tried: list[Attempt] = []
>>> recorder = attempts(task, rows, tried.append)
>>> [(attempt.start, attempt.ending, attempt.furthest) for attempt in tried]
[(0, 'MATCH', ((0, 0), (1, 1))), (2, 'CONDITION', ((2, 0),)), (3, 'PARTITION END', ((3, 0),))]

The start row 1 is missing: AFTER MATCH SKIP jumped over it. `ending` is a summary; `stops` has the details.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlext.errors import DataError
from sqlext.pattern.batch import reference
from sqlext.pattern.batch.recorder import Attempt, Nulls, Recorder
from sqlext.pattern.cep import path_search
from sqlext.pattern.cep.cep_task import CepTask, local_truth
from sqlext.pattern.conditions.conditions import Satisfies, satisfier
from sqlext.pattern.task.task import MatchTask, Rows, Spans, Task


class Enough(Exception):
    """`consume` raises it to end the run before all rows have been searched."""


def attempts(
    task: Task,
    rows: Rows,
    consume: Callable[[Attempt], None],
    max_steps: int = reference.MAX_STEPS,
    nulls: Nulls | None = None,
) -> Recorder:
    """Search all partitions of `rows`, by the strategy `reference`; return the recorder, which has counted the tests.

    The search ends early when `consume` raises Enough, or an attempt has an error: its budget of steps, or a condition
    that cannot be computed. Conditions of the row alone are FALSE where they are NULL, because `Rows.mask` has one bit;
    `nulls` tells where they are.
    """
    recorder = Recorder(consume, nulls)
    try:
        for _ in recorded_matches(task, rows, recorder, max_steps):
            pass
        recorder.is_complete = True
    except (Enough, DataError):
        recorder.is_complete = False
    return recorder


def recorded_matches(
    task: Task, rows: Rows, recorder: Recorder, max_steps: int = reference.MAX_STEPS
) -> Iterator[Spans]:
    """All matches, by the strategy `reference`, whose search tells the recorder of its steps. Raises DataError as it
    does."""
    if isinstance(task, CepTask):
        return path_search.find(task, rows, recorder, max_steps)
    assert isinstance(task, MatchTask)
    return reference.find(task, rows, _satisfies(task, rows), max_steps=max_steps, recorder=recorder)


def _satisfies(task: MatchTask, rows: Rows) -> Satisfies | None:
    """What `satisfier` returns, with the masks unpacked before the search, which saves time; None for the frames of
    windows, whose conditions see other rows from each start row."""
    if task.frame is not None:
        return None
    slow, truth = satisfier(task, rows), [holds.tobytes() for holds in local_truth(task, rows)]
    is_dependent = [condition is not None for condition in task.conditions]

    def satisfies(start: int, number: int, labels: list[int], label: int) -> bool | None:
        if not truth[label][start + len(labels)]:
            return False
        return slow(start, number, labels, label) if is_dependent[label] else True

    return satisfies
