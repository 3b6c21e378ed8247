"""Rows that a worker keeps until all of them have come, in little more memory than their Arrow size.

A batch that Spark sends has one piece of memory for all of its columns. So that the memory of a column can be freed
before that of the others, larger numbers of such rows are copied, each column for itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa

from sqlext.operators.rows.arrow import one_chunk, shown_key
from sqlext.operators.rows.limits import Limits
from sqlext.operators.rows.threads import in_threads
from sqlext.operators.rows.worker_memory import Held, check_memory

_LARGE = 1 << 28  # bytes of rows; of fewer, memory is kept, because to take it from the system again costs time
_CHECKS = 8  # how often memory is checked while `held_bytes` bytes of rows come


class HeldRows:
    """Batches in the order in which they came; `bytes` is their Arrow size.

    `keys` are the columns of their keys, and `held` is what messages report.
    """

    def __init__(self, limits: Limits, keys: Sequence[str] = (), held: Held | None = None):
        self.limits, self.keys, self.held = limits, keys, held or Held()
        self.rows = self.bytes = 0
        self._batches: list[pa.RecordBatch] = []
        self._kept = self._shared_bytes = 0  # the batches that stay as they are, and the bytes to copy of the others
        self._checked = limits.held_bytes // _CHECKS

    def add(self, batch: pa.RecordBatch) -> None:
        """Raises DataError (WORKER_MEMORY) if this many rows do not fit: to order or match them takes their bytes once
        more."""
        if not batch.num_rows:
            return
        self._batches.append(batch)
        self.rows, self.bytes = self.rows + batch.num_rows, self.bytes + batch.nbytes
        if self.bytes > self._checked:
            self._report()
            check_memory(self.bytes, self.limits.free_bytes, self.held)
            self._checked = self.bytes + self.limits.held_bytes // _CHECKS
        self._shared_bytes += batch.nbytes if _has_one_piece_of_memory(batch) else 0
        if self._shared_bytes > self.limits.held_bytes // 4:
            recent = pa.Table.from_batches(self._batches[self._kept :])
            self._batches[self._kept :] = recent.combine_chunks().to_batches()
            self._kept, self._shared_bytes = len(self._batches), 0

    def take(self) -> list[pa.RecordBatch]:
        """The batches, which are no longer kept here."""
        self._report()
        batches, self._batches = self._batches, []
        self.rows = self.bytes = self._kept = self._shared_bytes = 0
        self._checked = self.limits.held_bytes // _CHECKS
        return batches

    def _report(self) -> None:
        if self._batches:
            last = self._batches[-1]
            self.held.rows, self.held.last_key = self.rows, shown_key(last, self.keys, last.num_rows - 1)


def _has_one_piece_of_memory(batch: pa.RecordBatch) -> bool:
    """Whether buffers of the batch are parts of another one, as in a batch that was sent."""
    buffers = (buffer for column in batch.columns for buffer in column.buffers())
    return any(buffer is not None and buffer.parent is not None for buffer in buffers)


def joined_columns(
    batches: list[pa.RecordBatch], threads: int = 1, apart: Collection[str] = ()
) -> dict[str, pa.Array | pa.ChunkedArray]:
    """The columns of the batches, each as one array, but those of `apart`, which may never be read, as they came.
    `batches` is emptied: the memory of a column is freed as soon as the column is joined.

    >>> {name: column.to_pylist() for name, column in joined_columns([pa.record_batch([[1, 2]], ["x"])]).items()}
    {'x': [1, 2]}
    """
    table = pa.Table.from_batches(batches)
    batches.clear()
    names, is_large = table.column_names, table.nbytes > _LARGE
    pieces = dict(zip(names, table.columns))
    del table

    def join(name: str) -> pa.Array | pa.ChunkedArray:
        if name in apart:
            return pieces.pop(name)
        column = one_chunk(pieces.pop(name))
        if is_large:
            release_unused()
        return column

    return dict(zip(names, in_threads(join, [(name,) for name in names], threads)))


def release_unused() -> None:
    """Return to the system what Arrow has freed. It would keep that for later columns, while NumPy allocates more."""
    pa.default_memory_pool().release_unused()
