"""The order of rows by the key of their partition and the ORDER BY keys, as Spark would sort them. Loads Numba.

The rows are scattered by their keys, which leaves the rows of a key as they came. That is their order if they came in
the order of the first ORDER BY key, as events mostly do. Otherwise the rows of each key are sorted, by a natural merge
sort, which takes little time for a few ordered parts. Further ORDER BY keys are read only where rows tie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sqlext.operators.rows.arrow import as_arrow, as_numpy
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rows.row_order import ranked
from sqlext.pattern.program.jit import compiled, read_only

_TIED, _DESCENDING = 1, 2
_INSERTED = 16  # rows that are sorted by insertion, before runs are merged


def grouped_order(
    columns: Mapping[str, pa.Array], keys: Sequence[str], sort: Sequence[SortKey]
) -> tuple[np.ndarray | None, np.ndarray]:
    """The rows in order, None if they came in order, and `bounds: int64[p + 1]`, the places in that order where
    partitions begin and end.

    Partitions are in the order of their keys, NULLs first. Rows that are equal in all sort keys keep their order.

    >>> columns = {"k": pa.array(["b", "a", "b", None]), "t": pa.array([3, 2, 1, 0])}
    >>> [places.tolist() for places in grouped_order(columns, ["k"], [SortKey("t")])]
    [[3, 1, 2, 0], [0, 1, 2, 4]]
    """
    times = read_only(ranked(columns[sort[0].column], sort[0]))
    codes, count = _key_codes(columns, keys, len(times))
    sizes = np.bincount(codes, minlength=count)
    ends = np.cumsum(sizes)
    bounds, places = np.append(0, ends[sizes > 0]), ends - sizes
    del sizes, ends
    if _are_ordered(codes, times, len(sort) > 1):
        return None, bounds
    order = np.empty(len(times), np.int32 if len(times) < 2**31 else np.int64)
    ordered_times = np.empty_like(times)
    _scatter(codes, times, places, order, ordered_times)
    del codes, times, places
    found = _compared(bounds, ordered_times)
    if found & _DESCENDING:
        _sort_each(bounds, ordered_times, order)
    if found and len(sort) > 1:
        _order_ties(order, bounds, ordered_times, columns, sort[1:])
    return order, bounds


def _key_codes(columns: Mapping[str, pa.Array], keys: Sequence[str], n: int) -> tuple[np.ndarray, int]:
    """`int32[n]`, or `int64[n]` for very many rows, and a number above all of them: smaller for keys that come first,
    equal for equal keys.

    The keys have types with plain equality (`spark_types.has_plain_equality`).
    """
    codes, count = np.zeros(n, np.int32 if n < 2**30 else np.int64), 1
    for key in keys:
        own, n_own = _dense(ranked(columns[key], SortKey(key)))
        codes, count = (own, n_own) if count == 1 else _dense(codes.astype(np.int64) * n_own + own)
    return codes, count


def _dense(values: np.ndarray) -> tuple[np.ndarray, int]:
    """The values as integers from 0 in the same order, of the type of `_key_codes`, and a number above all of them
    that is at most twice their number."""
    kind = np.int32 if len(values) < 2**30 else np.int64
    least, most = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if most - least < 2 * len(values):
        return (values - least).astype(kind), most - least + 1
    encoded = as_arrow(values).dictionary_encode()
    distinct = as_numpy(encoded.dictionary)
    rank = np.empty(len(distinct), kind)
    rank[np.argsort(distinct)] = np.arange(len(distinct))
    return rank[as_numpy(encoded.indices)], len(distinct)


def _order_ties(
    order: np.ndarray, bounds: np.ndarray, times: np.ndarray, columns: Mapping[str, pa.Array], sort: Sequence[SortKey]
) -> None:
    """Order the rows of `order` that have the same key and the same of `times`, which are in order, by further keys."""
    begins = np.ones(len(order), np.bool_)  # which rows differ from the row before
    begins[1:] = times[1:] != times[:-1]
    begins[bounds[:-1]] = True
    is_tied = ~begins
    is_tied[:-1] |= ~begins[1:]
    tied = order[is_tied]
    groups = np.append(np.flatnonzero(begins[is_tied]), len(tied))
    for key in reversed(sort):  # the order is stable, so the last key comes first
        _sort_each(groups, np.array(ranked(columns[key.column].take(as_arrow(tied)), key)), tied)
    order[is_tied] = tied


def _sort_each(bounds: np.ndarray, values: np.ndarray, rows: np.ndarray) -> None:
    """Order the rows from `bounds[i]` to `bounds[i + 1]` (exclusive) by their values, in place; equal values keep their
    order.

    >>> values, rows = np.array([3, 1, 2, 0]), np.array([10, 11, 12, 13], np.int32)
    >>> _sort_each(np.array([0, 3, 4]), values, rows)
    >>> values.tolist(), rows.tolist()
    ([1, 2, 3, 0], [11, 12, 10, 13])
    """
    half = int(np.diff(bounds).max()) // 2 if len(bounds) > 1 else 0  # the most rows of the shorter of two runs
    _merge_sort(bounds, values, rows, np.empty(half, values.dtype), np.empty(half, rows.dtype))


@compiled
def _are_ordered(codes, times, are_ties_open):
    """Return True if the rows came in the order of their codes and times. With `are_ties_open`, rows that tie are not
    in order, since other keys decide."""
    for i in range(1, len(codes)):
        if codes[i] < codes[i - 1]:
            return False
        if codes[i] == codes[i - 1] and times[i] <= times[i - 1] and (are_ties_open or times[i] < times[i - 1]):
            return False
    return True


@compiled
def _scatter(codes, times, places, order, ordered_times):
    """Write the rows into `order`, and their times, by their codes. `places[c]`: the place of the first row of code c,
    then of its next row."""
    for row in range(len(codes)):
        place = places[codes[row]]
        order[place] = row
        ordered_times[place] = times[row]
        places[codes[row]] = place + 1


@compiled
def _compared(bounds, times):
    """Return which of _TIED and _DESCENDING neighbours in the same partition are."""
    found = 0
    for p in range(len(bounds) - 1):
        for i in range(bounds[p] + 1, bounds[p + 1]):
            if times[i] <= times[i - 1]:
                found |= 1 if times[i] == times[i - 1] else 2
    return found


@compiled
def _merge_sort(bounds, values, rows, spare_values, spare_rows):
    """Sort each range of `bounds` by natural merges: neighbouring ascending runs are merged until there is only one.

    Runs of random values are short, so the first ones are made longer by insertion.
    """
    for p in range(len(bounds) - 1):
        first, n = bounds[p], bounds[p + 1] - bounds[p]
        for begin in range(first, first + n, _INSERTED):
            for i in range(begin + 1, min(begin + _INSERTED, first + n)):
                value, row, at = values[i], rows[i], i
                while at > begin and values[at - 1] > value:
                    values[at], rows[at] = values[at - 1], rows[at - 1]
                    at -= 1
                values[at], rows[at] = value, row
        runs = n
        while runs > 1:
            runs, left = 0, first
            while left < first + n:
                middle = left + 1
                while middle < first + n and values[middle] >= values[middle - 1]:
                    middle += 1
                stop = middle
                while stop < first + n and (stop == middle or values[stop] >= values[stop - 1]):
                    stop += 1
                if middle - left <= stop - middle:
                    _merge(values, rows, spare_values, spare_rows, left, middle, stop)
                elif middle < stop:
                    _merge_from_the_end(values, rows, spare_values, spare_rows, left, middle, stop)
                runs += 1
                left = stop


@compiled
def _merge(values, rows, spare_values, spare_rows, left, middle, stop):
    """Merge the ordered ranges from `left` to `middle` and from there to `stop`, of which the first one is copied."""
    for i in range(middle - left):
        spare_values[i], spare_rows[i] = values[left + i], rows[left + i]
    i, j = 0, middle
    for at in range(left, stop):
        if i == middle - left:
            return
        if j < stop and values[j] < spare_values[i]:
            values[at], rows[at] = values[j], rows[j]
            j += 1
        else:
            values[at], rows[at] = spare_values[i], spare_rows[i]
            i += 1


@compiled
def _merge_from_the_end(values, rows, spare_values, spare_rows, left, middle, stop):
    """The same, but the second range is copied."""
    for j in range(stop - middle):
        spare_values[j], spare_rows[j] = values[middle + j], rows[middle + j]
    i, j = middle - 1, stop - middle - 1
    for at in range(stop - 1, left - 1, -1):
        if j < 0:
            return
        if i >= left and values[i] > spare_values[j]:
            values[at], rows[at] = values[i], rows[i]
            i -= 1
        else:
            values[at], rows[at] = spare_values[j], spare_rows[j]
            j -= 1
