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

from sqlext.operators.rows.arrow import are_valid, as_numpy, one_chunk, taken, to_values
from sqlext.operators.rows.long_columns import cut_batch
from sqlext.operators.rows.worker_memory import check_memory

FILES = 64
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio: Knuth's multiplicative hash
_MANY_DIGITS = 18  # a decimal of more digits may not fit in 64 bits


def rows_in_memory(
    batches: Iterator[pa.RecordBatch],
    keys: Sequence[str],
    most_bytes: int,
    most_written: int,
    free_bytes: int | None = None,
) -> Iterator[list[pa.RecordBatch]]:
    """The batches in lists that contain all rows of their keys, in the order in which they came.

    If there are more than about `most_bytes` bytes, rows are written to FILES files in batches of at most
    `most_written` bytes. Without keys all rows are one partition, which is matched in memory anyway. The caller may
    empty the lists. `free_bytes`: as in `check_memory`.

    Raises DataError (WORKER_MEMORY) before rows are read that do not fit: to order them takes their bytes once more.
    """
    pending: list[pa.RecordBatch] = []
    size, checked, spilled = 0, most_bytes, None
    for batch in batches:
        if not batch.num_rows:
            continue
        pending.append(batch)
        size += batch.nbytes
        if size > most_bytes and keys:
            spilled = spilled or _SpilledRows(batch.schema, keys, most_written, most_bytes)
            spilled.add(pending)
            pending, size = [], 0
        elif size > checked:
            check_memory(size, free_bytes)
            checked = size + most_bytes
    if spilled is None:
        yield pending
        return
    spilled.add(pending)
    del pending
    yield from spilled.parts(free_bytes)


class _SpilledRows:
    """Temporary files that the system removes when they are closed, even if the worker is killed."""

    def __init__(self, schema: pa.Schema, keys: Sequence[str], most_written: int, most_bytes: int):
        self.keys, self.most_written, self.checked_bytes = keys, most_written, most_bytes
        folder = next((f for f in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if os.path.isdir(f)), None)
        self.files = [tempfile.TemporaryFile(dir=folder) for _ in range(FILES)]  # noqa: SIM115  (open until they are read)
        self.writers = [pa.ipc.new_stream(file, schema) for file in self.files]

    def add(self, batches: list[pa.RecordBatch]) -> None:
        if not batches:
            return
        table = pa.Table.from_batches(batches)
        columns = [one_chunk(column) for column in table.columns]
        file_of = file_numbers([columns[table.schema.get_field_index(key)] for key in self.keys])
        order = np.argsort(file_of, kind="stable")
        ends = np.cumsum(np.bincount(file_of, minlength=FILES))
        for writer, lo, hi in zip(self.writers, [0, *ends[:-1].tolist()], ends.tolist()):
            if lo < hi:
                part = [taken(column, order[lo:hi]) for column in columns]
                rows = pa.RecordBatch.from_arrays(part, names=table.column_names)
                for batch in cut_batch(rows, self.most_written):
                    writer.write_batch(batch)

    def parts(self, free_bytes: int | None) -> Iterator[list[pa.RecordBatch]]:
        for file, writer in zip(self.files, self.writers):
            writer.close()
            if file.tell() > self.checked_bytes:
                check_memory(2 * file.tell(), free_bytes)  # the rows, and the rows in order
            file.seek(0)
            yield list(pa.ipc.open_stream(file))
            file.close()


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
