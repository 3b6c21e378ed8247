"""How rows travel between Spark's operators and ours: as Arrow streams in binary columns, whatever their types are.

PySpark hands each row of a stateful operator to Python as a tuple; a parcel of rows is one tuple. And back: the rows of
a result come as one parcel in the first of as many rows, each with the time at which it is decided, which Spark must
see.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sqlext.engine.arrow import are_valid, as_arrow, as_numpy
from sqlext.errors import DataError

BUCKET = "__bucket"
PARCEL = pa.schema([("bucket", pa.int32()), ("rows", pa.binary())])
PARCEL_DDL = "bucket INT, rows BINARY"


def pack(batches: Iterator[pa.RecordBatch], buckets: int) -> Iterator[pa.RecordBatch]:
    """The rows in parcels, one for each bucket and batch; and an empty one for each bucket, so that all of them hear of
    every micro-batch and none has an older watermark than the others."""
    yield pa.RecordBatch.from_arrays([as_arrow(np.arange(buckets, dtype=np.int32)), pa.nulls(buckets, pa.binary())],
                                     schema=PARCEL)  # fmt: skip
    for batch in batches:
        if not batch.num_rows:
            continue
        bucket = as_numpy(batch.column(BUCKET))
        rows = batch.drop_columns([BUCKET])
        order = np.argsort(bucket, kind="stable")
        numbers, first = np.unique(bucket[order], return_index=True)
        rows = rows.take(as_arrow(order))
        parts = [rows.slice(lo, hi - lo) for lo, hi in zip(first, [*first[1:], len(order)])]
        parcels = pa.array([stream_of(part) for part in parts], pa.binary())
        yield pa.RecordBatch.from_arrays([as_arrow(numbers.astype(np.int32)), parcels], schema=PARCEL)


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
    tables = [schema.empty_table()]
    for parcel in parcels:
        with pa.ipc.open_stream(pa.py_buffer(parcel)) as stream:
            tables.append(stream.read_all().cast(schema))
    return pa.concat_tables(tables)


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
