"""What rows decide of formulas and of pending matches, on whole columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.nfa import Final, Formula
from sqlext.pattern.task import Rows


def local_truth(task: CepTask, rows: Rows) -> np.ndarray:
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


def packed(held: Sequence[np.ndarray], n: int) -> np.ndarray:
    """Columns of Booleans as Rows.mask."""
    if not held:
        return np.zeros((n, 1), np.uint8)
    mask = np.packbits(np.stack(held, axis=1), axis=1, bitorder="little")
    mask.flags.writeable = False  # kernels are compiled for each type of array
    return mask


def partition_ends(bounds: np.ndarray) -> np.ndarray:
    """`int64[n]`: where the partition of each row ends.

    >>> partition_ends(np.array([0, 2, 3]))
    array([2, 2, 3])
    """
    return np.repeat(bounds[1:], np.diff(bounds))


def own_limits(task: CepTask, rows: Rows) -> np.ndarray:
    """`int64[n]`: the first row out of the bound that begins at each row; the partition's end without WITHIN."""
    return partition_ends(rows.bounds) if rows.limit is None else rows.limit


def next_with(labels: Sequence[int], truth: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """`int64[n]`: the first later row of the partition that satisfies one of the labels, or the partition's end.

    >>> next_with([0], np.array([[True, False, True, False]]), np.array([0, 3, 4]))
    array([2, 2, 3, 4])
    """
    n = truth.shape[1]
    ends = partition_ends(bounds)
    found = np.flatnonzero(truth[list(labels)].any(axis=0)) if len(labels) else np.zeros(0, np.int64)
    place = np.searchsorted(found, np.arange(n), side="right")
    return np.minimum(np.append(found, n)[place], ends)


def horizon(final: Final, truth: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`(low: int64[n], high: int64[n])`: a match may end at row i just if low[i] <= its bound <= high[i].

    The bound is the first row that is out of it.
    """
    n = truth.shape[1]
    ends, row = partition_ends(bounds), np.arange(n)
    high = next_with(final.absent, truth, bounds) if final.absent else ends
    low = np.zeros(n, np.int64)
    if final.needs_next:
        is_fine = row + 1 < ends
        if final.not_next:
            hit = np.append(truth[list(final.not_next)].any(axis=0), False)[1:]
            is_fine &= ~hit
        low = row + 2
        high = np.where(is_fine, high, -1)
    if final.at_end:
        high = np.where(row + 1 == ends, high, -1)
    return low, high
