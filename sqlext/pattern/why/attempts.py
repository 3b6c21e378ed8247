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

from collections import Counter
from collections.abc import Callable

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.batch import reference
from sqlext.pattern.batch.recorder import Attempt, Recorder, Test
from sqlext.pattern.cep import path_search
from sqlext.pattern.cep.cep_task import CepTask, local_truth
from sqlext.pattern.conditions.conditions import Satisfies, satisfier
from sqlext.pattern.program.program import MatchEnd, MatchStart
from sqlext.pattern.task.task import MatchTask, Rows, Task


class Enough(Exception):
    """`consume` raises it to end the run before all rows have been searched."""


def attempts(
    task: Task,
    rows: Rows,
    consume: Callable[[Attempt], None],
    on_test: Callable[[Test], None] | None = None,
    max_steps: int = reference.MAX_STEPS,
    rejected: Callable[[Attempt, int], None] | None = None,
) -> Recorder:
    """Search all partitions of `rows`, by the strategy `reference`; return the recorder, which has counted the tests.

    `rejected`: receives one attempt, and how many start rows have the same one, because their rows alone decide that
    nothing can begin there; `consume` does not receive these. It saves their time.

    The search ends early when `consume` raises Enough, or an attempt has an error: its budget of steps, or a condition
    that cannot be computed. Conditions of the row alone are FALSE where they are NULL, because `Rows.mask` has one bit.
    """
    recorder = Recorder(consume, on_test)
    hopeless = _hopeless(task, rows) if rejected is not None else None
    if hopeless is not None:
        recorder.hopeless = hopeless[0].tobytes()
    if isinstance(task, CepTask):
        blocks = path_search.find(task, rows, recorder)
    else:
        assert isinstance(task, MatchTask)
        blocks = reference.find(task, rows, _satisfies(task, rows), max_steps=max_steps, recorder=recorder)
    try:
        for _ in blocks:
            pass
        recorder.is_complete = True
    except (Enough, DataError):
        recorder.is_complete = False
    if rejected is not None and hopeless is not None and recorder.rejected:
        rejected(hopeless[1], recorder.rejected)
        for test, times in hopeless[2].items():
            recorder.tests[test] += times * recorder.rejected
    return recorder


def _hopeless(task: Task, rows: Rows) -> tuple[np.ndarray, Attempt, Counter[tuple[int, bool | None]]] | None:
    """`bool[n]`, the rows at which no element can begin, and the attempt and the tests that all of them have; None if
    the rows alone do not decide it."""
    if not isinstance(task, MatchTask) or task.frame is not None:
        return None
    instructions, found = task.program.instructions, list[Attempt]()
    if any(isinstance(x, (MatchStart, MatchEnd)) for x in instructions):
        return None
    recorder = Recorder(found.append)
    with recorder.attempt(0, 1, (0, 2), 2):
        match = reference.search(task.program, 0, (0, 2), 2, lambda label, path: False, recorder=recorder)
    labels = {stop.label for stop in found[0].stops}
    if match is not None or any(label is None or task.bits[label] is None for label in labels):
        return None
    truth = local_truth(task, rows)[sorted(label for label in labels if label is not None)]
    is_hopeless = np.logical_not(truth.any(axis=0))
    if rows.limit is not None:
        is_hopeless &= rows.limit > np.arange(len(rows.mask))
    return is_hopeless, found[0], recorder.tests


def _satisfies(task: MatchTask, rows: Rows) -> Satisfies | None:
    """What `satisfier` returns, with the masks unpacked before the search, which saves time; None for the frames of
    windows, whose conditions see other rows from each start row."""
    if task.frame is not None:
        return None
    slow = satisfier(task, rows)
    truth = [None if bit is None else _unpacked(rows, bit) for bit in task.bits]
    is_dependent = [condition is not None for condition in task.conditions]

    def satisfies(start: int, number: int, labels: list[int], label: int) -> bool | None:
        known = truth[label]
        if known is not None and not known[start + len(labels)]:
            return False
        return slow(start, number, labels, label) if is_dependent[label] else True

    return satisfies


def _unpacked(rows: Rows, bit: int) -> bytes:
    """For each row, whether it has the bit."""
    return (rows.mask[:, bit // 8] >> (bit % 8) & 1).astype(np.uint8).tobytes()
