"""Whole partitions of rows that came in no order: chunks of them, in order, which threads take one by one. Loads
Numba."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from sqlext.operators.rows.arrow import as_arrow, taken
from sqlext.operators.rows.columns import PARTITION_START, SORT_ONLY, SortKey
from sqlext.operators.rows.grouped_order import grouped_order
from sqlext.operators.rows.held_rows import joined_columns, release_unused
from sqlext.operators.rows.limits import Limits
from sqlext.operators.rows.threads import in_threads

Chunk = Callable[[], dict[str, pa.Array]]  # makes the columns of whole partitions


def ordered_chunks(
    batches: list[pa.RecordBatch], keys: Sequence[str], sort: Sequence[SortKey], limits: Limits
) -> Iterator[Chunk]:
    """The rows of `batches`, which is emptied so that its memory is free as soon as possible.

    The rows of a partition are in the order of `sort`, and the first of them has PARTITION_START. A chunk has about as
    many rows or bytes as `limits` allows, or one longer partition.

    >>> rows = pa.record_batch({"k": [2, 1, 2], "t": [3, 1, 2]})
    >>> chunks = ordered_chunks([rows], ["k"], [SortKey("t")], Limits(rows=1))
    >>> [chunk()["t"].to_pylist() for chunk in chunks]
    [[1], [2, 3]]
    """
    n, size = sum(batch.num_rows for batch in batches), sum(batch.nbytes for batch in batches)
    most = max(1, min(limits.rows, limits.bytes * n // max(1, size)))
    further = {key.column for key in sort[1:] if key.column.startswith(SORT_ONLY)} - {sort[0].column}
    columns = joined_columns(batches, limits.threads, further)
    order, bounds = grouped_order(columns, keys, sort, limits.threads)
    columns = {name: column for name, column in columns.items() if not name.startswith(SORT_ONLY)}
    first, last = 0, len(bounds) - 1
    while first < last:
        stop = max(first + 1, int(np.searchsorted(bounds, bounds[first] + most, "right")) - 1)
        part = dict(columns)
        if stop == last:
            columns.clear()  # so that the last chunk has the only references
        yield partial(_taken_chunk, part, order, bounds[first : stop + 1], limits)
        first = stop


def _taken_chunk(
    columns: dict[str, pa.Array], order: np.ndarray | None, bounds: np.ndarray, limits: Limits
) -> dict[str, pa.Array]:
    """The rows of some partitions. `columns` is emptied: this may be one long partition, so a column is freed before
    the next one is taken."""
    lo, hi = int(bounds[0]), int(bounds[-1])
    is_long = hi - lo > limits.rows

    def take(name: str) -> pa.Array:
        column = columns.pop(name)
        part = column.slice(lo, hi - lo) if order is None else taken(column, order[lo:hi])
        del column
        if is_long:
            release_unused()
        return part

    names = list(columns)
    chunk = dict(zip(names, in_threads(take, [(name,) for name in names], limits.threads if is_long else 1)))
    starts = np.zeros(hi - lo, np.bool_)
    starts[bounds[:-1] - lo] = True
    return {**chunk, PARTITION_START: as_arrow(starts)}
