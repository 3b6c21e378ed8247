"""The order of rows by the key of their partition and the ORDER BY keys, as Spark would sort them. Loads Numba.

One pass finds rows that came in order. Otherwise a stable sort by the key (`value_order`) leaves the rows of a key as
they came. That is their order if all rows came in the order of the first ORDER BY key, as events mostly do. Otherwise
the rows of each key are sorted. Further ORDER BY keys are read only where rows tie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa

from sqlext.operators.rows.arrow import as_arrow, one_chunk
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rows.row_order import ranked
from sqlext.operators.rows.threads import in_threads, ranges
from sqlext.operators.rows.value_order import changes, in_order, numbered, sort_each, value_order
from sqlext.pattern.program.jit import compiled, read_only

_FEW = 1 << 14  # rows that are ordered before threads have started
_KEYS_DESCEND, _TIMES_DESCEND, _TIMES_TIE = 1, 2, 4  # anywhere
_DESCEND, _TIE = 8, 16  # the times of neighbours with the same key


def grouped_order(
    columns: Mapping[str, pa.Array | pa.ChunkedArray], keys: Sequence[str], sort: Sequence[SortKey], threads: int = 1
) -> tuple[np.ndarray | None, np.ndarray]:
    """The rows in order, None if they came in order, and `bounds: int64[p + 1]`, the places in that order where
    partitions begin and end.

    Partitions are in the order of their keys, NULLs first. Rows that are equal in all sort keys keep their order. The
    keys have types with plain equality (`spark_types.has_plain_equality`). The columns of further ORDER BY keys may
    come in pieces.

    >>> columns = {"k": pa.array(["b", "a", "b", None]), "t": pa.array([3, 2, 1, 0])}
    >>> [places.tolist() for places in grouped_order(columns, ["k"], [SortKey("t")])]
    [[3, 1, 2, 0], [0, 1, 2, 4]]
    """
    threads = threads if len(columns[sort[0].column]) > _FEW else 1
    times = read_only(ranked(columns[sort[0].column], sort[0], threads))
    key = key_values(columns, keys, len(times), threads)
    found, whole = _compared(key, times, threads), np.unique([0, len(times)])
    if not found & (_KEYS_DESCEND if keys else _DESCEND):
        bounds = changes(key, threads) if keys else whole
        if not found & _DESCEND and (len(sort) == 1 or not found & _TIE):
            return None, bounds
        order = np.arange(len(times), dtype=np.int32 if len(times) < 2**31 else np.int64)
        words = in_order(times, threads=threads)
    else:
        order, ordered = value_order(key if keys else times, threads)
        bounds = changes(ordered, threads) if keys else whole
        is_settled = not keys or not found & _TIMES_DESCEND
        if is_settled and (len(sort) == 1 or (keys and not found & _TIMES_TIE)):
            return order, bounds
        words = ordered
        del key, ordered
        if keys:
            del words  # before others are allocated
            words = in_order(times, order, threads)
    if found & _TIMES_DESCEND and keys:
        sort_each(bounds, words, order, threads)
    if len(sort) > 1:
        _order_ties(order, bounds, words, columns, sort[1:], threads)
    return order, bounds


def key_values(columns: Mapping[str, pa.Array], keys: Sequence[str], n: int, threads: int) -> np.ndarray:
    """`int64[n]`: smaller for keys that come first, equal for equal keys; nothing if there are no keys."""
    whole, count = np.zeros(0, np.int64), 1
    for key in keys:
        own = read_only(ranked(columns[key], SortKey(key), threads))
        if len(keys) == 1 or not n:
            return own
        own, n_own = _dense(own, threads)
        if count * n_own >= 2**63:
            whole, count = numbered(whole, threads)
        whole, count = (own if count == 1 else whole * n_own + own), count * n_own
    return read_only(whole)


def _dense(values: np.ndarray, threads: int) -> tuple[np.ndarray, int]:
    """The values as integers from 0 in the same order, and a number above all of them, less than 2^31."""
    least, most = int(values.min()), int(values.max())
    return (values - least, most - least + 1) if most - least < 2**31 - 1 else numbered(values, threads)


def _compared(key: np.ndarray, times: np.ndarray, threads: int) -> int:
    """Which of _KEYS_DESCEND, _TIMES_DESCEND, _TIMES_TIE, _DESCEND and _TIE neighbours are."""
    parts = ranges(max(0, len(times) - 1), threads)
    return reduce(or_, in_threads(lambda lo, hi: _compare(key, times, lo + 1, hi + 1), parts, threads), 0)


def _order_ties(
    order: np.ndarray,
    bounds: np.ndarray,
    words: np.ndarray,
    columns: Mapping[str, pa.Array | pa.ChunkedArray],
    sort: Sequence[SortKey],
    threads: int,
) -> None:
    """Order the rows of `order` that have the same key and the same of `words`, which are in order, by further keys."""
    begins = np.ones(len(order), np.bool_)  # which rows differ from the row before
    begins[1:] = words[1:] != words[:-1]
    begins[bounds[:-1]] = True
    is_tied = ~begins
    is_tied[:-1] |= ~begins[1:]
    tied = order[is_tied]
    groups = np.append(np.flatnonzero(begins[is_tied]), len(tied))
    for key in reversed(sort):  # the order is stable, so the last key comes first
        column = columns[key.column]
        whole = one_chunk(column) if isinstance(column, pa.ChunkedArray) else column
        ranks = ranked(whole.take(as_arrow(tied)), key, threads)
        sort_each(groups, in_order(ranks, threads=threads), tied, threads)
    order[is_tied] = tied


@compiled
def _compare(key, times, lo, hi):
    """The value of `_compared` for the rows from `lo`, at least 1, to `hi` and the rows before them."""
    found = 0
    for i in range(lo, hi):
        if times[i] <= times[i - 1]:
            found |= _TIMES_TIE if times[i] == times[i - 1] else _TIMES_DESCEND
            if len(key) == 0 or key[i] == key[i - 1]:
                found |= _TIE if times[i] == times[i - 1] else _DESCEND
        if len(key) and key[i] < key[i - 1]:
            found |= _KEYS_DESCEND
            if found & _TIMES_DESCEND:
                break  # nothing else changes what is done
    return found
