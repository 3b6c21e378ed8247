"""Rows that come in no order and do not fit in memory, divided by their keys into temporary files.

All rows of a key are in one file, so each file can be ordered and matched by itself. This is the partitioning phase of
the Grace hash join (Kitsuregawa et al., 1983).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from sqlext.operators.rows.arrow import are_valid, as_numpy, differs, taken, to_values
from sqlext.operators.rows.blocks import Block
from sqlext.operators.rows.held_rows import HeldRows, joined_columns
from sqlext.operators.rows.limits import FILES, Limits
from sqlext.operators.rows.long_columns import cut_batch, narrow_type
from sqlext.operators.rows.worker_memory import Held

_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio: Knuth's multiplicative hash
_MANY_DIGITS = 18  # a decimal of more digits may not fit in 64 bits


def rows_in_memory(
    batches: Iterator[pa.RecordBatch], keys: Sequence[str], limits: Limits, held: Held | None = None
) -> Iterator[list[pa.RecordBatch]]:
    """The batches in lists that contain all rows of their keys, in the order in which they came; no list is empty.

    If there are more than about `limits.held_bytes` bytes, rows are written to FILES files in batches as small as
    `limits` says. Without keys all rows are one partition, which is held in memory anyway. The caller may empty
    the lists. `held` is kept up to date, for messages.

    Raises DataError (WORKER_MEMORY) before rows are read that do not fit: to order them takes their bytes once more.
    """
    yield from block_in_memory(Block(batches), keys, limits, held)


def block_in_memory(
    block: Block, keys: Sequence[str], limits: Limits, held: Held | None = None
) -> Iterator[list[pa.RecordBatch]]:
    """As `rows_in_memory`. If rows come in order, a list has about as many rows or bytes as `limits` allows, or those
    of one longer value of the first key."""
    kept, spilled = HeldRows(limits, keys, held), None
    is_cut = block.are_ordered and keys
    for batch, is_end in _ended(block.batches, keys[0], limits) if is_cut else ((b, False) for b in block.batches):
        if keys and kept.rows and kept.bytes + batch.nbytes > limits.held_bytes:
            spilled = spilled or _SpilledRows(batch.schema, keys, limits)
            spilled.add(kept.take())
        kept.add(batch)
        if is_end:
            yield from _taken(kept, spilled, held)
            spilled = None
    yield from _taken(kept, spilled, held)


def _taken(kept: HeldRows, spilled: _SpilledRows | None, held: Held | None) -> Iterator[list[pa.RecordBatch]]:
    if spilled is not None:
        spilled.add(kept.take())
        yield from spilled.parts(held)
    elif kept.rows:
        yield kept.take()


def _ended(batches: Iterator[pa.RecordBatch], key: str, limits: Limits) -> Iterator[tuple[pa.RecordBatch, bool]]:
    """Rows in the order of a key, and whether the rows of a value end with them. They end where about as many
    rows or bytes came as `limits` allows."""
    rows = size = 0
    before: pa.Array | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= limits.rows or size >= limits.bytes:
            cut = _last_change(batch[key], before)
            if cut >= 0:
                yield batch.slice(0, cut), True
                batch = batch.slice(cut)
                rows, size = batch.num_rows, batch.nbytes
        yield batch, False
        before = batch[key].slice(batch.num_rows - 1)


def _last_change(values: pa.Array, before: pa.Array | None) -> int:
    """The place of the last value that differs from the one before it, -1 if there is none. `before`: the value before
    all of them."""
    changes = np.flatnonzero(differs(values.slice(1), values.slice(0, len(values) - 1)))
    if len(changes):
        return int(changes[-1]) + 1
    return 0 if before is not None and differs(before, values.slice(0, 1))[0] else -1


class _SpilledRows:
    """Temporary files that the system removes when they are closed, even if the worker is killed."""

    def __init__(self, schema: pa.Schema, keys: Sequence[str], limits: Limits):
        self.keys, self.limits = keys, limits
        folder = next((f for f in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if os.path.isdir(f)), None)
        self.files = [tempfile.TemporaryFile(dir=folder) for _ in range(FILES)]  # noqa: SIM115  (open until they are read)
        # as `cut_batch` makes batches: Spark's columns may be NOT NULL
        written = pa.schema([(field.name, narrow_type(field.type)) for field in schema])
        self.writers = [pa.ipc.new_stream(file, written) for file in self.files]

    def add(self, batches: list[pa.RecordBatch]) -> None:
        if not batches:
            return
        columns = joined_columns(batches)
        file_of = file_numbers([columns[key] for key in self.keys])
        order = np.argsort(file_of, kind="stable")
        ends = np.cumsum(np.bincount(file_of, minlength=FILES)).tolist()
        for writer, lo, hi in zip(self.writers, [0, *ends[:-1]], ends):
            for first in range(lo, hi, self.limits.rows):
                rows = order[first : min(first + self.limits.rows, hi)]
                part = [taken(column, rows) for column in columns.values()]
                for batch in cut_batch(pa.RecordBatch.from_arrays(part, names=list(columns)), self.limits.bytes):
                    writer.write_batch(batch)

    def parts(self, held: Held | None) -> Iterator[list[pa.RecordBatch]]:
        for file, writer in zip(self.files, self.writers):
            writer.close()
            file.seek(0)
            kept = HeldRows(self.limits, self.keys, held)
            for batch in pa.ipc.open_stream(file):
                kept.add(batch)
            file.close()
            if kept.rows:
                yield kept.take()


def file_numbers(keys: Sequence[pa.Array]) -> np.ndarray:
    """`uint8[n]`: the file of each row. It depends on the row's key only, not on other rows.

    >>> first, again = (file_numbers([pa.array(k)]).tolist() for k in (["a", "b", None], ["c", None, "a"]))
    >>> first[0] == again[2], first[2] == again[1]
    (True, True)
    """
    mixed = np.zeros(len(keys[0]), np.uint64)
    for key in keys:
        mixed = (mixed ^ _hashes(key)) * _FACTOR
        mixed ^= mixed >> np.uint64(32)
    return (mixed % np.uint64(FILES)).astype(np.uint8)


def _hashes(column: pa.Array) -> np.ndarray:
    kind = column.type
    if (pa.types.is_decimal(kind) and kind.precision > _MANY_DIGITS) or not pa.types.is_primitive(kind):
        encoded = column.dictionary_encode()
        distinct = np.array([hash(value) for value in [*encoded.dictionary.to_pylist(), None]], np.int64)
        codes = np.where(are_valid(encoded.indices), as_numpy(encoded.indices), len(encoded.dictionary))
        return distinct[codes].view(np.uint64)
    values = to_values(column)
    numbers = values.values.astype(np.int64)
    return (numbers if values.valid is None else np.where(values.valid, numbers, -1)).view(np.uint64)
