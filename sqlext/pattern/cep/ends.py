"""What the rows after a match decide of its end (`nfa.Final`), for all rows at once, and when a match is decided.

The searches read only whether an end waits for the next row or for the end of its bound. Which rows it tests is known
here and in Final.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sqlext.pattern.cep.cep_task import CepTask, bound_ends, partition_ends
from sqlext.pattern.cep.nfa import BOUND, NEXT_ROW, Final
from sqlext.pattern.task.task import Rows


def next_hit(final: Final, truth: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """`int64[n]`: the first row that forbids a match to end at row i, or the end of the partition if there is none.

    >>> next_hit(Final(needs_next=True, not_next=(0,)), np.array([[True, False, True]]), np.array([0, 3]))
    array([3, 2, 3])
    >>> next_hit(Final(absent=(0,)), np.array([[True, False, True, False]]), np.array([0, 3, 4]))
    array([2, 2, 3, 4])
    """
    row, ends = np.arange(truth.shape[1]), partition_ends(bounds)
    hit = _next_with(final.absent, truth)
    hit = np.where(np.append(_any(final.not_next, truth), False)[1:], row + 1, hit)
    return np.minimum(hit, ends)


def _next_with(labels: Sequence[int], truth: np.ndarray) -> np.ndarray:
    """`int64[n]`: the first later row that satisfies one of the labels, or n."""
    n = truth.shape[1]
    satisfying = np.flatnonzero(_any(labels, truth))
    return np.append(satisfying, n)[np.searchsorted(satisfying, np.arange(n), side="right")]


def _any(labels: Sequence[int], truth: np.ndarray) -> np.ndarray:
    return np.any(truth[list(labels)], axis=0)


def horizon(final: Final, truth: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`(low: int64[n], high: int64[n])`: a match may end at row i if and only if low[i] <= b <= high[i], where b is the
    first row outside its bound."""
    row, high = np.arange(truth.shape[1]), next_hit(final, truth, bounds)
    if final.at_end:
        high = np.where(row + 1 == partition_ends(bounds), high, -1)
    return row + 2 if final.needs_next else np.zeros(len(row), np.int64), high


def waits(final: Final, truth: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """`bool[n]`: whether a match with this end at the row waits for later rows as long as its bound lasts."""
    ends = partition_ends(bounds)
    has_no_next = np.arange(len(ends)) + 1 == ends
    is_open = next_hit(final, truth, bounds) == ends
    return (is_open & final.waits_for_bound) | (has_no_next & final.needs_next)


def may_end(final: Final, row: int, bound: int, holds: Callable[[int, int], bool]) -> bool:
    """Whether a match whose bound ends before row `bound` may end with `row`, without the test of `at_end`.

    `holds(label, later)`: whether a later row satisfies a label.
    """
    if final.needs_next and row + 1 >= bound:
        return False
    return not any(holds(label, later) for label, later in final.tests(row, bound))


def decision_times(
    task: CepTask, rows: Rows, first: np.ndarray, last: np.ndarray, decided_by: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """`(major: int64[k], minor: int64[k])`: when matches are decided, comparable inside a partition.

    `first`, `last: int64[k]`: their first and last rows; `decided_by: int64[k]`: NOW, NEXT_ROW or BOUND. The times are
    those of Rows.key and Rows.end, or rows where these are missing.
    """
    base, is_by_bound = last if task.is_between else first, decided_by == BOUND
    row = np.minimum(last + (decided_by == NEXT_ROW), len(rows.mask) - 1)
    time = row if rows.key is None else rows.key[row]
    bound = bound_ends(rows)[base] - 1 if rows.end is None else rows.end[base]
    return np.where(is_by_bound, bound, time), (is_by_bound & (rows.end is None)).astype(np.int64)


def decision_order(rows: Rows, first: np.ndarray, last: np.ndarray, time: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """`int64[k]`: matches in the order of their numbers: by partition, the time that decides them (`decision_times`),
    last row, first row and, because the sort is stable, the order in which they are given."""
    major, minor = time
    return np.lexsort((first, last, minor, major, np.searchsorted(rows.bounds, first, side="right")))
