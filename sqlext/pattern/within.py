"""WITHIN: how far a match from each row may reach."""

from __future__ import annotations

import numba
import numpy as np

from sqlext.pattern.task import Values


def limits(bounds: np.ndarray, key: Values, end: Values, is_inclusive: bool) -> np.ndarray:
    """`limit: int64[n]`: the first row that a match from row i may not use.

    `key`: the first ORDER BY key of each row, ascending in a partition but for NULLs at one of its ends; `end`: that
    key plus the bound. Row j may be used if key[j] < end[i] (<= if `is_inclusive`); a NULL is never within.
    """
    key_valid = np.ones(len(key.values), bool) if key.valid is None else key.valid
    end_valid = key_valid if end.valid is None else key_valid & end.valid
    return _limits(bounds, key.values, key_valid, end.values, end_valid, is_inclusive)


@numba.njit(nogil=True, cache=True)
def _limits(bounds, key, key_valid, end, end_valid, is_inclusive):
    limit = np.empty(len(key), np.int64)
    for p in range(len(bounds) - 1):
        j = bounds[p]
        for i in range(bounds[p], bounds[p + 1]):
            limit[i] = i
            if not end_valid[i]:
                continue
            j = max(i, j)
            while j > i and not (key[j - 1] < end[i] or (is_inclusive and key[j - 1] == end[i])):
                j -= 1  # a later start may end earlier where clocks are set back
            while j < bounds[p + 1] and key_valid[j] and (key[j] < end[i] or (is_inclusive and key[j] == end[i])):
                j += 1
            limit[i] = j
    return limit
