"""Columns of more bytes than the 32-bit offsets of Arrow's strings, binaries and lists can count.

Spark sends and receives batches with 32-bit offsets. The rows of a partition are read as one column, which gets 64-bit
offsets if it is too long for 32-bit offsets (`concatenated`). Results are cut by their bytes (`byte_ranges`) before
they get their own type again (`narrowed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError

MOST_BYTES = (1 << 31) - 1  # the most bytes that 32-bit offsets can count
_ROWS = 1 << 16
_WIDE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
_NARROW = {wide: narrow for narrow, wide in _WIDE.items()}


def concatenated(columns: Sequence[pa.Array], most_bytes: int = MOST_BYTES) -> pa.Array:
    """The columns, of one type, in one piece; with 64-bit offsets if they have more than `most_bytes` bytes.

    >>> parts = [pa.array(["a"]), pa.array(["bcd"])]
    >>> str(concatenated(parts).type), str(concatenated(parts, most_bytes=3).type)
    ('string', 'large_string')
    """
    kinds = {c.type for c in columns}
    if any(map(has_offsets, kinds)) and sum(c.nbytes for c in columns) > most_bytes:
        kinds = {wide_type(kind) for kind in kinds}
    if len(kinds) > 1:  # some of the columns are long
        kinds = {wide_type(c.type) for c in columns}
    (kind,) = kinds
    return pa.concat_arrays([with_offsets(c, kind) for c in columns])


def with_offsets(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column as `kind`, which is its type with other offsets. Raises ArrowInvalid if they cannot count the bytes.

    >>> words = pa.array([[("a", "x")], [("b", "y")]], pa.map_(pa.string(), pa.string()))
    >>> with_offsets(words.take(pa.array([1])), pa.map_(pa.large_string(), pa.string())).to_pylist()
    [[('b', 'y')]]
    """
    if column.type == kind:
        return column
    if "map<" in str(kind):  # PyArrow before 26 ends the process if it casts a map that `take` has made
        column = pa.concat_arrays([column, column.slice(0, 0)])
    return column.cast(kind)


def wide_type(kind: pa.DataType) -> pa.DataType:
    """The type with 64-bit offsets; a map keeps its 32-bit offsets, which count its entries.

    >>> str(wide_type(pa.list_(pa.struct([("a", pa.binary())]))))
    'large_list<item: struct<a: large_binary>>'
    """
    return _retyped(kind, _WIDE, pa.large_list)


def narrow_type(kind: pa.DataType) -> pa.DataType:
    """The inverse of `wide_type`: the type in which Spark receives a column.

    >>> str(narrow_type(pa.large_list(pa.struct([("a", pa.large_binary())]))))
    'list<item: struct<a: binary>>'
    """
    return _retyped(kind, _NARROW, pa.list_)


def _retyped(
    kind: pa.DataType, leaves: Mapping[pa.DataType, pa.DataType], list_of: Callable[[pa.Field], pa.DataType]
) -> pa.DataType:
    """The type with other offsets: `leaves` has the types of strings and binaries, and `list_of` makes those of
    lists."""

    def field(old: pa.Field) -> pa.Field:
        return old.with_type(_retyped(old.type, leaves, list_of))

    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return list_of(field(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(field(kind.key_field), field(kind.item_field))
    if pa.types.is_struct(kind):
        return pa.struct([field(part) for part in kind])
    return leaves.get(kind, kind)


def narrowed(name: str, column: pa.Array) -> pa.Array:
    """The column with 32-bit offsets. Raises DataError if they cannot count the bytes.

    >>> str(narrowed("c", pa.array(["a"], pa.large_string())).type)
    'string'
    """
    try:
        return with_offsets(column, narrow_type(column.type))
    except pa.ArrowInvalid:
        raise DataError(
            "LONG_VALUE", f"a value of {name} has more than 2 GiB, which Spark cannot hold", hint="collect fewer rows."
        ) from None


def has_offsets(kind: pa.DataType) -> bool:
    """Return True if the values of a type have no fixed width.

    >>> has_offsets(pa.struct([("x", pa.map_(pa.int8(), pa.int8()))])), has_offsets(pa.struct([("y", pa.int32())]))
    (True, False)
    """
    if pa.types.is_struct(kind):
        return any(has_offsets(field.type) for field in kind)
    return wide_type(narrow_type(kind)) != narrow_type(kind) or pa.types.is_map(kind)


def fixed_width(kind: pa.DataType) -> int:
    """The bytes of a value of a type that has no offsets."""
    if pa.types.is_struct(kind):
        return sum(fixed_width(field.type) for field in kind)
    return 0 if pa.types.is_null(kind) else kind.bit_width // 8


def bytes_of(column: pa.Array, first: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """`int64[k]`: the bytes of the values `first[i]` to `stop[i]` (exclusive) of the column, without the bytes of
    NULLs.

    >>> texts, lists = pa.array(["a", None, "bcd"]), pa.array([[1, 2], [], [3]], pa.list_(pa.int64()))
    >>> [bytes_of(c, np.array([0, 2, 0]), np.array([1, 3, 3])).tolist() for c in (texts, lists)]
    [[1, 3, 4], [16, 8, 24]]
    """
    kind = column.type
    if pa.types.is_struct(kind):
        fields = (bytes_of(column.field(i), first, stop) for i in range(kind.num_fields))
        return sum(fields, np.zeros(len(first), np.int64))
    if not has_offsets(kind):
        return (stop - first).astype(np.int64) * fixed_width(kind)
    offsets = column.buffers()[1]
    if not len(column) or offsets is None:
        return np.zeros(len(first), np.int64)
    ends = np.frombuffer(
        offsets,
        np.int64 if kind in (pa.large_string(), pa.large_binary()) or pa.types.is_large_list(kind) else np.int32,
    )
    first, stop = (ends[at + column.offset].astype(np.int64) for at in (first, stop))
    if pa.types.is_map(kind):
        return bytes_of(column.keys, first, stop) + bytes_of(column.items, first, stop)
    return bytes_of(column.values, first, stop) if hasattr(column, "values") else stop - first


def row_bytes(column: pa.Array, rows: np.ndarray) -> np.ndarray:
    """`int64[k]`: the bytes of `column[rows]`, 0 where the row is -1.

    >>> row_bytes(pa.array(["a", "bcd"]), np.array([1, -1, 0])).tolist()
    [3, 0, 1]
    """
    return bytes_of(column, np.maximum(rows, 0), rows + 1)


def total_bytes(column: pa.Array, rows: np.ndarray) -> int:
    """The sum of `row_bytes`, computed for some rows at a time, as all of them may be many.

    >>> total_bytes(pa.array(["a", "bcd"]), np.array([1, -1, 0]))
    4
    """
    return sum(int(row_bytes(column, rows[lo : lo + _ROWS]).sum()) for lo in range(0, len(rows), _ROWS))


def byte_ranges(sizes: np.ndarray, most_rows: int, most_bytes: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows, each of at most `most_rows` rows and, unless it is a single row, of at most `most_bytes` bytes.

    >>> list(byte_ranges(np.array([1, 2, 9, 1, 1, 1, 1]), 3, 4))
    [(0, 2), (2, 3), (3, 6), (6, 7)]
    """
    ends, lo = np.cumsum(sizes), 0
    while lo < len(sizes):
        before = ends[lo - 1] if lo else 0
        hi = int(np.searchsorted(ends, before + most_bytes, "right"))
        hi = min(max(lo + 1, hi), lo + most_rows)
        yield lo, hi
        lo = hi


def cut_batch(rows: pa.RecordBatch, most_bytes: int) -> Iterator[pa.RecordBatch]:
    """The rows in batches of at most `most_bytes` bytes, or of a single longer row, with 32-bit offsets.

    >>> [b.to_pydict() for b in cut_batch(pa.record_batch([["abc", "d", "e"]], ["x"]), most_bytes=2)]
    [{'x': ['abc']}, {'x': ['d', 'e']}]
    """
    every = np.arange(rows.num_rows)
    sizes = sum((row_bytes(column, every) for column in rows.columns), np.zeros(rows.num_rows, np.int64))
    names = rows.schema.names
    for lo, hi in byte_ranges(sizes, rows.num_rows, most_bytes):
        part = rows.slice(lo, hi - lo)
        yield pa.RecordBatch.from_arrays([narrowed(n, c) for n, c in zip(names, part.columns)], names)
