"""The task of a pattern with skipped rows or absences, or of AFTER MATCH NO SKIP; and what its rows alone decide.

The functions work on whole columns: for each row, which labels and formulas it satisfies, and where its bound ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqlext.pattern.cep.nfa import Formula, Nfa, Wait, takes
from sqlext.pattern.task.task import Rows, Task


@dataclass(frozen=True, kw_only=True)
class CepTask(Task):
    """A task that `nfa` describes: the rows of a match need not be neighbours, or every match is required.

    `program` determines only which variables a match maps, in which order. `is_between`: the limit of a row bounds the
    next mapped row of a match (WITHIN ... BETWEEN ROWS), not all rows of a match that starts there.
    """

    nfa: Nfa
    is_between: bool = False

    @property
    def is_run_dependent(self) -> bool:
        """True if a condition depends on the rows matched so far."""
        return any(condition is not None for condition in self.conditions)


def cep_task(task: Task, nfa: Nfa, *, is_between: bool = False) -> CepTask:
    """Return the CEP task with the labels, conditions and output of a task."""
    return CepTask(**vars(task), nfa=nfa, is_between=is_between)


def local_truth(task: Task, rows: Rows) -> np.ndarray:
    """`bool[l, n]`: which rows satisfy the row-local condition of each label."""
    n = len(rows.mask)
    truth = np.ones((len(task.bits), n), np.bool_)
    for label, bit in enumerate(task.bits):
        if bit is not None:
            truth[label] = rows.mask[:, bit // 8] >> (bit % 8) & 1
    return truth


def evaluate(formula: Formula, truth: np.ndarray) -> np.ndarray:
    """`bool[n]`: which rows satisfy a formula.

    >>> evaluate((((0, True), (1, False)),), np.array([[True, False, False], [True, True, False]]))
    array([ True, False,  True])
    """
    result = np.ones(truth.shape[1], np.bool_)
    for clause in formula:
        holds = np.zeros(truth.shape[1], np.bool_)
        for label, is_satisfied in clause:
            holds |= truth[label] == is_satisfied
        result &= holds
    return result


def local_part(task: Task, formula: Formula) -> Formula:
    """The part of a formula that row-local conditions decide; it is true wherever the formula may be true."""
    dependent = {label for label, condition in enumerate(task.conditions) if condition is not None}
    return tuple(
        clause
        for clause in formula
        if all(label not in dependent for label, _ in clause) or (len(clause) == 1 and clause[0][1])
    )


def may_begin(task: CepTask, rows: Rows) -> np.ndarray:
    """`bool[n]`: whether a match that maps rows may begin at the row, as far as the row alone decides."""
    truth, begins = local_truth(task, rows), np.zeros(len(rows.mask), np.bool_)
    for wait in (*task.nfa.start, *task.nfa.partition_start):
        if isinstance(wait, Wait):
            begins |= evaluate(local_part(task, takes(wait)), truth)
    return begins


def as_mask(columns: Sequence[np.ndarray], n: int) -> np.ndarray:
    """Columns of Booleans as Rows.mask."""
    if not columns:
        return np.zeros((n, 1), np.uint8)
    mask = np.packbits(np.stack(columns, axis=1), axis=1, bitorder="little")
    mask.flags.writeable = False  # kernels are compiled for each type of array
    return mask


def partition_ends(bounds: np.ndarray) -> np.ndarray:
    """`int64[n]`: where the partition of each row ends.

    >>> partition_ends(np.array([0, 2, 3]))
    array([2, 2, 3])
    """
    return np.repeat(bounds[1:], np.diff(bounds))


def bound_ends(rows: Rows) -> np.ndarray:
    """`int64[n]`: the first row outside the bound that begins at each row; without WITHIN the partition's end."""
    return partition_ends(rows.bounds) if rows.limit is None else rows.limit
