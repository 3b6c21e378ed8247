"""How rows are passed between Spark's operators and ours: by bucket of keys, as Arrow streams in binary columns.

PySpark passes each row of a stateful operator to Python as a tuple, and a *parcel* of many rows is one tuple. On the
way back a parcel of the result is one row. Where Spark must see the time at which each result row was decided, a parcel
of n rows is in the first of n rows, each of which has one time.

Each call of the stateful operator for a *bucket*, with its reads and writes, is a fixed cost in every micro-batch.
Therefore there are as many buckets as the state has partitions, unless `sqlext.stream.buckets` says otherwise. Spark
keeps the number of partitions with which a checkpoint began and passes it to tasks. So a query that resumes with
another number of cores, or with another `spark.sql.shuffle.partitions`, has the same buckets as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from sqlext.errors import DataError
from sqlext.operators.rows.arrow import are_valid, as_arrow, as_numpy, stream_of
from sqlext.operators.rows.long_columns import cut_batch
from sqlext.operators.stateful.operator import ROWS

BUCKETS_SETTING = "sqlext.stream.buckets"
BUCKET = "__bucket"
PARCEL = pa.schema([("bucket", pa.int32()), ("rows", pa.binary())])
PARCEL_DDL = "bucket INT, rows BINARY"
PARCEL_ROWS, PARCEL_BYTES = 1 << 17, 1 << 25  # approximate; so many are collected before they are divided into parcels

# Spark sets these to the checkpoint's number of partitions. It sets the first where a query has state of its own kind.
_PARTITIONS = ("spark.sql.streaming.internal.stateStore.partitions", "spark.sql.shuffle.partitions")
_SPARK_DEFAULT = 200
_MASK = 0xFFFFFFFF


# buckets


def state_partitions() -> int:
    """The number of partitions that the state of the query has, read in one of its tasks; 1 outside a task."""
    context = TaskContext.get()
    if context is None:
        return 1
    values = (context.getLocalProperty(name) for name in _PARTITIONS)
    return int(next((value for value in values if value), _SPARK_DEFAULT))


@lru_cache(maxsize=4)
def bucket_numbers(buckets: int, partitions: int) -> np.ndarray:
    """`int32[buckets]`: the numbers of the buckets, such that Spark sends bucket i to partition i mod `partitions`.

    >>> bucket_numbers(4, 4).tolist(), [partition_of(x, 4) for x in bucket_numbers(4, 4).tolist()]
    ([12, 6, 2, 0], [0, 1, 2, 3])
    """
    waiting: dict[int, list[int]] = {}
    for i in reversed(range(buckets)):
        waiting.setdefault(i % partitions, []).append(i)
    numbers, number = np.zeros(buckets, np.int32), 0
    while waiting:
        partition = partition_of(number, partitions)
        if partition in waiting:
            numbers[waiting[partition].pop()] = number
            if not waiting[partition]:
                del waiting[partition]
        number += 1
    return numbers


def partition_of(number: int, partitions: int) -> int:
    """The partition to which Spark's hash partitioning sends an INT.

    >>> partition_of(7, 1)
    0
    """
    return _signed(_murmur3(number)) % partitions


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def _murmur3(number: int) -> int:
    """MurmurHash3 of four bytes with Spark's seed (Appleby, public domain; Spark's `hash(INT)`)."""
    k = number * 0xCC9E2D51 & _MASK
    k = _rotated(k, 15) * 0x1B873593 & _MASK
    h = (_rotated(42 ^ k, 13) * 5 + 0xE6546B64) & _MASK
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    return h ^ h >> 16


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & _MASK


# to the operator


def pack(batches: Iterator[pa.RecordBatch], buckets: int | None = None) -> Iterator[pa.RecordBatch]:
    """The rows in parcels, by bucket of their key; the column BUCKET holds a hash of the key.

    Each bucket also receives an empty parcel. So all buckets are called in every micro-batch, and none has an older
    watermark than the others.

    `buckets`: how many buckets there are, None: as many as the state has partitions.
    """
    partitions = state_partitions()
    numbers = bucket_numbers(buckets or partitions, partitions)
    yield pa.RecordBatch.from_arrays([as_arrow(numbers), pa.nulls(len(numbers), pa.binary())], schema=PARCEL)
    for rows in _collected(batches):
        index = as_numpy(rows.column(BUCKET)) % len(numbers)
        yield _parcels(rows.drop_columns([BUCKET]), index, numbers)


def _collected(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in larger batches, because each parcel has a fixed cost."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for part in (part for batch in batches for part in cut_batch(batch, PARCEL_BYTES)):
        waiting.append(part)
        rows, size = rows + part.num_rows, size + part.nbytes
        if rows >= PARCEL_ROWS or size >= PARCEL_BYTES:
            yield pa.concat_batches(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.concat_batches(waiting)


def _parcels(rows: pa.RecordBatch, index: np.ndarray, numbers: np.ndarray) -> pa.RecordBatch:
    """The rows in parcels. `index: int[n]`: the bucket of each row; `numbers: int32[buckets]`: the numbers by which
    Spark knows the buckets."""
    if len(numbers) > 1:
        # for small numbers NumPy uses a radix sort
        order = np.argsort(index.astype(np.min_scalar_type(len(numbers))), kind="stable")
        rows, index = rows.take(as_arrow(order)), index[order]
    first = np.searchsorted(index, np.arange(len(numbers) + 1)).tolist()
    filled = [i for i in range(len(numbers)) if first[i] < first[i + 1]]
    parcels = [stream_of(rows.slice(first[i], first[i + 1] - first[i])).to_pybytes() for i in filled]
    return pa.RecordBatch.from_arrays([as_arrow(numbers[filled]), pa.array(parcels, pa.binary())], schema=PARCEL)


def tables_of(parcels: list[bytes], inputs: Mapping[str, pa.Schema]) -> dict[str, pa.Table]:
    """The rows of all parcels by the input to which they belong, each with its columns.

    >>> rows = pa.record_batch({"x": [1, 2]})
    >>> parcels = [stream_of(batch).to_pybytes() for batch in (rows, rows.replace_schema_metadata(mark("rules")))]
    >>> tables = tables_of(parcels[:1] + parcels, {"rows": rows.schema, "rules": rows.schema})
    >>> {name: table.num_rows for name, table in tables.items()}
    {'rows': 4, 'rules': 2}
    """
    tables: dict[str, list[pa.Table]] = {name: [] for name in inputs}
    for parcel in parcels:
        with pa.ipc.open_stream(pa.py_buffer(parcel)) as stream:
            tables[_input_of(stream.schema, inputs)].append(stream.read_all())
    return {
        name: pa.concat_tables(tables[name]).select(schema.names).cast(schema) if tables[name] else schema.empty_table()
        for name, schema in inputs.items()
    }


def mark(name: str) -> dict[bytes, bytes]:
    """The metadata of a parcel that belongs to this input; parcels of ROWS have none."""
    return {f"sqlext_{name}".encode(): b""}


def _input_of(schema: pa.Schema, names: Iterable[str]) -> str:
    metadata = schema.metadata or {}
    return next((name for name in names if mark(name).keys() <= metadata.keys()), ROWS)


# from the operator


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in parcels, which are the only column.

    >>> parcel = stream_of(pa.record_batch({"x": [1, 2, 3]})).to_pybytes()
    >>> [b.to_pydict() for b in unpack(iter([pa.record_batch([pa.array([parcel, parcel[:0]])], ["rows"])]))]
    [{'x': [1, 2, 3]}]
    """
    for batch in batches:
        for parcel in batch.column(0):
            if parcel.is_valid and (content := parcel.as_buffer()).size:
                with pa.ipc.open_stream(content) as stream:
                    yield from stream


def unpack_by_row(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
    """The rows in parcels as structs, one for each row of the column: a parcel of n rows is in the first of n rows.

    >>> parcel = stream_of(pa.record_batch({"x": [1, 2, 3]})).to_pybytes()
    >>> columns = [pa.array([parcel, None], pa.binary()), pa.array([None], pa.binary())]
    >>> [a.to_pylist() for a in unpack_by_row(iter(columns))]
    [[{'x': 1}, {'x': 2}], [{'x': 3}]]
    """
    rest: pa.Array | None = None
    for column in columns:
        starts = np.flatnonzero(are_valid(column))
        parts = [] if rest is None else [rest]
        parts += [_structs(column[i].as_py()) for i in starts.tolist()]
        rows = pa.concat_arrays(parts) if parts else None
        used = 0 if rest is None else min(len(rest), len(column))
        if rows is None or len(rows) < len(column) or (len(starts) and starts[0] != used):
            raise DataError("PARCEL_ORDER", "the rows of a result reached a worker in another order than they left one")
        yield rows.slice(0, len(column))
        rest = rows.slice(len(column)) if len(rows) > len(column) else None


def _structs(parcel: bytes) -> pa.Array:
    with pa.ipc.open_stream(pa.py_buffer(parcel)) as stream:
        return stream.read_all().combine_chunks().to_struct_array().combine_chunks()
