"""Conversions between Arrow arrays and the NumPy arrays that matchers read.

PyArrow's own conversions (`pa.array`, `to_numpy`, `pa.scalar`, before PyArrow 26 also `to_pandas_dtype`) import pandas,
which takes a quarter of the start of a worker. The functions of this module do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlext.expressions.time_texts import write_date, write_timestamp
from sqlext.operators.rows.long_columns import (
    MOST_BYTES,
    byte_ranges,
    concatenated,
    fixed_width,
    has_offsets,
    narrowed,
    row_bytes,
    total_bytes,
    wide_type,
    with_offsets,
)
from sqlext.pattern.task.task import Values

_NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
_DTYPES = {pa.from_numpy_dtype(np.dtype(code)): np.dtype(code) for code in _NUMBERS}


def as_numpy(column: pa.Array) -> np.ndarray:
    """Numbers or Booleans as a NumPy array; the value of a NULL is arbitrary. Only Booleans, which are bits in Arrow,
    are copied.

    >>> as_numpy(pa.array([True, False, True])[1:]).tolist(), as_numpy(pa.array([1.5, 2.5])[1:]).tolist()
    ([False, True], [2.5])
    """
    dtype, lo, hi = _DTYPES[column.type], column.offset, column.offset + len(column)
    if lo == hi:  # there may be no buffer
        return np.empty(0, dtype)
    values = column.buffers()[1]
    return _bits(values, lo, hi) if dtype == np.bool_ else np.frombuffer(values, dtype, hi)[lo:]


def are_valid(column: pa.Array) -> np.ndarray:
    """`bool[n]`: which values are not NULL.

    >>> are_valid(pa.array([1, None, 3])[1:]).tolist()
    [False, True]
    """
    if not column.null_count:
        return np.ones(len(column), np.bool_)
    return as_numpy(column.is_valid())


def _bits(buffer: pa.Buffer, lo: int, hi: int) -> np.ndarray:
    packed = np.frombuffer(buffer, np.uint8)[lo // 8 : (hi + 7) // 8]
    return np.unpackbits(packed, bitorder="little")[lo % 8 : lo % 8 + hi - lo].view(np.bool_)


def as_arrow(values: np.ndarray, valid: np.ndarray | None = None) -> pa.Array:
    """The inverse of as_numpy: numbers or Booleans, NULL where not `valid`.

    >>> as_arrow(np.array([True, False])).to_pylist(), as_arrow(np.array([1, 2]), np.array([False, True])).to_pylist()
    ([True, False], [None, 2])
    """
    mask = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    packed = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [mask, pa.py_buffer(packed)])


def strings(texts: Sequence[str]) -> pa.Array:
    """A string column.

    >>> strings(["a", "bc"]).to_pylist()
    ['a', 'bc']
    """
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(texts), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))])


def lists(offset: np.ndarray, values: pa.Array) -> pa.Array:
    """A list column whose list i holds values `offset[i]` to `offset[i + 1]` (exclusive).

    >>> lists(np.array([0, 0, 2]), pa.array([7, 8])).to_pylist()
    [[], [7, 8]]
    """
    return pa.ListArray.from_arrays(as_arrow(offset.astype(np.int32)), values)


def to_values(column: pa.Array) -> Values:
    """Numbers, booleans, dates, times and decimals as int64, float64 or bool arrays.

    A decimal is represented by its unscaled value. If 64 bits do not hold all values of a column, they are Python's
    integers.

    >>> to_values(pa.array([1, None], pa.int32())).valid.tolist()
    [True, False]
    """
    valid = are_valid(column) if column.null_count else None
    kind = column.type
    if pa.types.is_null(kind):
        return Values(np.zeros(len(column), np.int64), np.zeros(len(column), bool))
    if pa.types.is_decimal(kind):
        return Values(_unscaled(column), valid)
    if pa.types.is_floating(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_date32(kind):
        column = column.view(pa.int32()).cast(pa.int64())
    elif pa.types.is_temporal(kind):
        column = column.view(pa.int64())
    elif not pa.types.is_boolean(kind):
        column = column.cast(pa.int64())
    values = as_numpy(column)
    return Values(values if valid is None else np.where(valid, values, values.dtype.type(0)), valid)


def _unscaled(column: pa.Array) -> np.ndarray:
    """The unscaled values of a decimal column: 16 bytes each, little-endian. 18 digits fit the lower 8 bytes.

    >>> import decimal
    >>> _unscaled(pa.array([decimal.Decimal("1.05"), decimal.Decimal("1e20")], pa.decimal128(38, 2))).tolist()
    [105, 10000000000000000000000]
    """
    buffer = column.buffers()[1]
    if buffer is None:
        return np.zeros(len(column), np.int64)
    words = np.frombuffer(buffer, np.int64, 2 * (len(column) + column.offset))[2 * column.offset :]
    low, high = words[0::2], words[1::2]
    if column.type.precision <= 18:
        return np.ascontiguousarray(low)
    if column.null_count:
        low, high = (np.where(are_valid(column), word, 0) for word in (low, high))
    low = np.ascontiguousarray(low)
    if ((low >> 63) == high).all():
        return low
    return high.astype(np.object_) * (1 << 64) + low.view(np.uint64).astype(np.object_)


def to_arrow(values: Values, kind: pa.DataType | None) -> pa.Array:
    """The inverse of to_values for the types of aggregates; `kind` None: the type of the NumPy array."""
    column = as_arrow(values.values, values.valid)
    if kind is None:
        return column
    if pa.types.is_date32(kind):
        return column.cast(pa.int32()).view(kind)
    if pa.types.is_temporal(kind):
        return column.cast(pa.int64()).view(kind)
    return column.cast(kind)


def differs(left: pa.Array, right: pa.Array) -> np.ndarray:
    """`bool[n]`: where the values of two columns differ; NULL does not differ from NULL.

    >>> differs(pa.array([1, None, None]), pa.array([2, None, 3])).tolist()
    [True, False, True]
    """
    unequal = pc.not_equal(left, right)
    if not unequal.null_count:
        return as_numpy(unequal)
    return (as_numpy(unequal) & are_valid(unequal)) | (are_valid(left) != are_valid(right))


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array; with 64-bit offsets if it is too long for 32-bit offsets."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return concatenated(column.chunks) if column.num_chunks else column.combine_chunks()


def stream_of(rows: pa.RecordBatch) -> pa.Buffer:
    """A batch as an Arrow stream.

    >>> pa.ipc.open_stream(stream_of(pa.record_batch([as_arrow(np.array([1, 2]))], ["x"]))).read_all()["x"].to_pylist()
    [1, 2]
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return sink.getvalue()


def shown_value(scalar: pa.Scalar) -> Any:
    """A value for a message; times and dates as text in UTC, because Python has no times before the year 1 or after
    9999.

    >>> shown_value(pa.array([2**63 - 1]).view(pa.timestamp("us", "UTC"))[0])
    '+294247-01-10 04:00:54.775807+00:00'
    """
    if scalar.is_valid and pa.types.is_timestamp(scalar.type):
        return write_timestamp(scalar.value) + ("+00:00" if scalar.type.tz else "")
    if scalar.is_valid and pa.types.is_date32(scalar.type):
        return write_date(scalar.value)
    return scalar.as_py()


def shown_key(columns: Mapping[str, pa.Array] | pa.RecordBatch, keys: Sequence[str], row: int) -> str:
    """The key of a row for a message, empty without keys.

    >>> shown_key({"a": pa.array([1, 2]), "b": pa.array(["x", None])}, ["a", "b"], 1)
    '(2, NULL)'
    """
    values = [shown_value(columns[key][row]) for key in keys]
    return f"({', '.join('NULL' if value is None else str(value) for value in values)})" if keys else ""


def taken(column: pa.Array, rows: np.ndarray) -> pa.Array:
    """`column[rows]`, NULL where the row is -1; with 64-bit offsets if 32-bit offsets cannot count the bytes."""
    if has_offsets(column.type) and total_bytes(column, rows) > MOST_BYTES:
        column = with_offsets(column, wide_type(column.type))
    return column.take(as_arrow(rows, rows >= 0))


@dataclass(frozen=True)
class Taken:
    """`column[row]`, NULL where the row is -1. It is computed piece by piece, because rows may occur many times."""

    column: pa.Array
    row: np.ndarray

    @property
    def type(self) -> pa.DataType:
        return self.column.type

    def bytes(self) -> np.ndarray:
        return row_bytes(self.column, self.row)

    def slice(self, start: int, length: int) -> pa.Array:
        return taken(self.column, self.row[start : start + length])


def limited_batches(
    columns: Sequence[tuple[str, pa.Array | Taken]], n: int, most_rows: int, most_bytes: int
) -> Iterator[pa.RecordBatch]:
    """Columns of n rows in batches as `byte_ranges` limits them, with 32-bit offsets.

    >>> columns = [("x", Taken(pa.array(["a", "bcd"]), np.array([1, -1, 0])))]
    >>> [batch.to_pydict() for batch in limited_batches(columns, 3, 9, 3)]
    [{'x': ['bcd', None]}, {'x': ['a']}]
    """
    sizes = np.full(n, sum(fixed_width(column.type) for _, column in columns if not has_offsets(column.type)))
    for _, column in columns:
        if has_offsets(column.type):
            sizes += column.bytes() if isinstance(column, Taken) else row_bytes(column, np.arange(n))
    names = [name for name, _ in columns]
    for lo, hi in byte_ranges(sizes, most_rows, most_bytes):
        parts = [narrowed(name, column.slice(lo, hi - lo)) for name, column in columns]
        yield pa.RecordBatch.from_arrays(parts, names=names)


def ranks(columns: list[pa.Array]) -> list[Values]:
    """Strings (or binaries) as int64 positions in the byte order of all distinct strings of all columns.

    `pyarrow.compute.rank` sorts all rows instead of the distinct strings, and takes up to eight times as long.

    >>> [v.values.tolist() for v in ranks([pa.array(["b", "a"]), pa.array(["c", "b"])])]
    [[1, 0], [2, 1]]
    """
    binary = [c.cast(pa.large_binary()) for c in columns]
    both = pa.concat_arrays(binary)
    encoded = both.dictionary_encode()
    order = as_numpy(pc.array_sort_indices(encoded.dictionary))
    rank = np.empty(len(order) or 1, np.int64)
    rank[order] = np.arange(len(order))
    valid = are_valid(both)
    codes = np.where(valid, as_numpy(encoded.indices), 0)
    ends = np.cumsum([len(c) for c in columns])[:-1]
    return [Values(v, m) for v, m in zip(np.split(rank[codes], ends), np.split(valid, ends))]


def mask_bytes(columns: list[pa.Array], n: int) -> np.ndarray:
    """Integer columns of bits as `uint8[n, bytes]`, little-endian: bit v is bit v % 8 of byte v // 8."""
    parts = [as_numpy(c) for c in columns]
    views = [p.view(np.uint8).reshape(n, p.dtype.itemsize) for p in parts]
    return views[0] if len(views) == 1 else np.ascontiguousarray(np.hstack(views))


def renamed(batches: Iterator[pa.RecordBatch], names: Sequence[tuple[str, str]]) -> Iterator[pa.RecordBatch]:
    """The batches with these columns only. `names`: (name in `batches`, new name) of each column, in the new order.

    >>> batch = pa.record_batch([[1], [2]], ["a", "b"])
    >>> [b.to_pydict() for b in renamed(iter([batch]), [("b", "x"), ("b", "y")])]
    [{'x': [2], 'y': [2]}]
    """
    columns, new_names = [column for column, _ in names], [name for _, name in names]
    for batch in batches:
        yield pa.RecordBatch.from_arrays([batch.column(column) for column in columns], new_names)
