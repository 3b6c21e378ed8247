"""The rows up to which a match may reach, by WITHIN, by conditions with the same meaning, and by frames."""

from __future__ import annotations

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.program.jit import compiled
from sqlext.pattern.task.task import Values


def limits(
    bounds: np.ndarray,
    key: Values,
    end: Values,
    *,
    is_inclusive: bool,
    admits_start: bool = False,
    last: int | None = None,
) -> np.ndarray:
    """`limit: int64[n]`: the first row that a match which starts at row i may not map.

    `key` is the first ORDER BY key of each row, ascending in each partition except for NULLs at one of its ends. `end`
    is the key plus the bound, or another end of the bound. A match that starts at row i may map the rows from i on as
    long as key[j] < end[i] (<= if `is_inclusive`). A NULL is never within the bound; NaN is above all numbers. With
    `admits_start` a match may always map row i itself. An end of `last`, the last value of the type, bounds nothing.

    >>> key = Values(np.array([0, 5, 6, 30]))
    >>> limits(np.array([0, 4]), key, Values(key.values + 6), is_inclusive=False).tolist()
    [2, 3, 3, 4]
    """
    is_valid = key.is_valid
    has_end = is_valid if end.valid is None else end.valid
    limit = np.empty(len(is_valid), np.int64)
    keys, ends = in_order(key.values), in_order(end.values)
    if last is not None and not is_inclusive:
        keys = np.minimum(keys, last - 1)
    _find_limits(bounds, keys, np.array(is_valid), ends, np.array(has_end), is_inclusive, admits_start, limit)
    return limit


def frame_limits(bounds: np.ndarray, following: Values | int | None) -> np.ndarray:
    """`limit: int64[n]` of the frames that end `following` rows after each row (None: with its partition).

    Raises DataError: FRAME_OFFSET, for a NULL or a negative number.

    >>> frame_limits(np.array([0, 3, 5]), 1).tolist(), frame_limits(np.array([0, 3, 5]), None).tolist()
    ([2, 3, 3, 5, 5], [3, 3, 3, 5, 5])
    """
    end = np.repeat(bounds[1:], np.diff(bounds))
    if following is None:
        return end
    rows = np.arange(len(end))
    if isinstance(following, int):
        return np.minimum(end, rows + min(following, len(end)) + 1)
    is_valid = (following.values >= 0) & following.is_valid
    if not is_valid.all():
        bad = int(np.argmin(is_valid))
        is_null = not following.is_valid[bad]
        number = bad - int(bounds[np.searchsorted(bounds, bad, side="right") - 1]) + 1
        offset = "NULL" if is_null else f"{following.values[bad]}"
        raise DataError(
            "FRAME_OFFSET",
            f"the frame of row {number} of its partition ends {offset} rows after it",
            hint="write coalesce(…, 0) or greatest(…, 0) around the expression before FOLLOWING.",
        )
    return np.minimum(end, rows + np.minimum(following.values.astype(np.int64), len(end)) + 1)


def in_order(values: np.ndarray) -> np.ndarray:
    """Values as int64 in the same order; floats are in Spark's order: -0.0 equals 0.0, NaN is above all numbers.

    >>> in_order(np.array([-1.0, 0.0, 2.5])).argsort().tolist()
    [0, 1, 2]
    """
    if values.dtype.kind != "f":
        return np.array(values, np.int64)
    words = np.where(np.isnan(values), np.nan, np.asarray(values, np.float64) + 0.0).view(np.int64)
    return np.where(words < 0, np.int64(-(2**63)) - words, words)


def floats_in_order(words: np.ndarray) -> np.ndarray:
    """The floats that `in_order` turned into `words`.

    >>> floats_in_order(in_order(np.array([-1.5, 0.0, 2.5]))).tolist()
    [-1.5, 0.0, 2.5]
    """
    return np.where(words < 0, np.int64(-(2**63)) - words, words).view(np.float64)


@compiled
def _find_limits(bounds, key, is_valid, end, has_end, is_inclusive, admits_start, limit):
    for p in range(len(bounds) - 1):
        first, stop = bounds[p], bounds[p + 1]
        while first < stop and not is_valid[first]:
            first += 1  # NULLS FIRST
        while first < stop and not is_valid[stop - 1]:
            stop -= 1  # NULLS LAST
        j = first
        for i in range(bounds[p], bounds[p + 1]):
            begin = i + 1 if admits_start else i
            limit[i] = begin
            if has_end[i] and first <= begin < stop:
                j = _first_beyond(key, end[i], is_inclusive, begin, stop, j)
                limit[i] = j


@compiled
def _is_beyond(key, end, is_inclusive):
    return key > end if is_inclusive else key >= end


@compiled
def _first_beyond(key, end, is_inclusive, low, high, near):
    """The first row of `low` to `high` whose key is beyond the end, or `high`; fast if it is close to `near`."""
    step, at = 1, min(max(near, low), high)
    if at < high and not _is_beyond(key[at], end, is_inclusive):
        low = at + 1
        while low + step < high and not _is_beyond(key[low + step], end, is_inclusive):
            low, step = low + step + 1, 2 * step
        high = min(high, low + step)
    else:
        high = at
        while high - step >= low and _is_beyond(key[high - step], end, is_inclusive):
            high, step = high - step, 2 * step
        low = max(low, high - step)
    while low < high:
        middle = (low + high) // 2
        if _is_beyond(key[middle], end, is_inclusive):
            high = middle
        else:
            low = middle + 1
    return low
