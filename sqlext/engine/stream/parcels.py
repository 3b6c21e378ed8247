"""How rows travel between Spark's operators and ours: as Arrow streams in binary columns, whatever their types are.

PySpark hands each row of a stateful operator to Python as a tuple; a parcel of rows is one tuple. And back: a parcel of
the result is one row, or, where the time at which rows are decided is asked for and Spark must see it, the first of as
many rows as it has, each with its time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sqlext.engine.stream.key_buckets import numbers, state_partitions
from sqlext.engine.worker.arrow import are_valid, as_arrow, as_numpy
from sqlext.errors import DataError

BUCKET = "__bucket"
PARCEL = pa.schema([("bucket", pa.int32()), ("rows", pa.binary())])
PARCEL_DDL = "bucket INT, rows BINARY"
PARCEL_ROWS, PARCEL_BYTES = 1 << 17, 1 << 25  # about what is gathered for the parcels of all buckets


def pack(batches: Iterator[pa.RecordBatch], buckets: int | None = None) -> Iterator[pa.RecordBatch]:
    """The rows in parcels, one for each bucket and some batches (column BUCKET: a hash of the row's key); and an empty
    one for each bucket, so that all of them hear of every micro-batch and none has an older watermark than the others.

    `buckets`: how many there are, None: as many as the state has partitions.
    """
    partitions = state_partitions()
    number = numbers(buckets or partitions, partitions)
    yield pa.RecordBatch.from_arrays([as_arrow(number), pa.nulls(len(number), pa.binary())], schema=PARCEL)
    for rows in _gathered(batches):
        index = as_numpy(rows.column(BUCKET)) % len(number)
        yield _parcels(rows.drop_columns([BUCKET]), index, number)


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Larger batches: a parcel has a cost of its own."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= PARCEL_ROWS or size >= PARCEL_BYTES:
            yield pa.concat_batches(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.concat_batches(waiting)


def _parcels(rows: pa.RecordBatch, index: np.ndarray, number: np.ndarray) -> pa.RecordBatch:
    """`index: int[n]`: the bucket of each row; `number: int32[buckets]`: what Spark knows each by."""
    if len(number) > 1:
        order = np.argsort(index.astype(np.min_scalar_type(len(number))), kind="stable")  # small numbers: radix sort
        rows, index = rows.take(as_arrow(order)), index[order]
    first = np.searchsorted(index, np.arange(len(number) + 1)).tolist()
    filled = [i for i in range(len(number)) if first[i] < first[i + 1]]
    parcels = [stream_of(rows.slice(first[i], first[i + 1] - first[i])) for i in filled]
    return pa.RecordBatch.from_arrays([as_arrow(number[filled]), pa.array(parcels, pa.binary())], schema=PARCEL)


def stream_of(rows: pa.RecordBatch) -> bytes:
    """A batch as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return sink.getvalue().to_pybytes()


def table_of(parcels: list[bytes], schema: pa.Schema) -> pa.Table:
    """The rows of all parcels.

    >>> rows = pa.record_batch({"x": [1, 2]})
    >>> table_of([stream_of(rows), stream_of(rows)], rows.schema)["x"].to_pylist()
    [1, 2, 1, 2]
    """
    tables = []
    for parcel in parcels:
        with pa.ipc.open_stream(pa.py_buffer(parcel)) as stream:
            tables.append(stream.read_all())
    return pa.concat_tables(tables).cast(schema) if tables else schema.empty_table()


def opened(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in parcels, which are the only column.

    >>> parcel = stream_of(pa.record_batch({"x": [1, 2, 3]}))
    >>> [b.to_pydict() for b in opened(iter([pa.record_batch([pa.array([parcel, parcel[:0]])], ["rows"])]))]
    [{'x': [1, 2, 3]}]
    """
    for batch in batches:
        for parcel in batch.column(0):
            if parcel.is_valid and (held := parcel.as_buffer()).size:
                with pa.ipc.open_stream(held) as stream:
                    yield from stream


def unpack(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
    """Row by row what the parcels hold, as structs: a parcel of n rows stands in the first of n rows.

    >>> parcel = stream_of(pa.record_batch({"x": [1, 2, 3]}))
    >>> [a.to_pylist() for a in unpack(iter([pa.array([parcel, None], pa.binary()), pa.array([None], pa.binary())]))]
    [[{'x': 1}, {'x': 2}], [{'x': 3}]]
    """
    rest: pa.Array | None = None
    for column in columns:
        starts = np.flatnonzero(are_valid(column))
        parts = [] if rest is None else [rest]
        parts += [_structs(column[i].as_py()) for i in starts.tolist()]
        rows = pa.concat_arrays(parts) if parts else None
        taken = 0 if rest is None else min(len(rest), len(column))
        if rows is None or len(rows) < len(column) or (len(starts) and starts[0] != taken):
            raise DataError("PARCEL_ORDER", "the rows of a result reached a worker in another order than they left one")
        yield rows.slice(0, len(column))
        rest = rows.slice(len(column)) if len(rows) > len(column) else None


def _structs(parcel: bytes) -> pa.Array:
    with pa.ipc.open_stream(pa.py_buffer(parcel)) as stream:
        return stream.read_all().combine_chunks().to_struct_array().combine_chunks()
