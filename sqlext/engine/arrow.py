"""Between Arrow arrays and the plain arrays that matchers read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlext.pattern.task import Values


def to_values(column: pa.Array) -> Values:
    """Numbers, booleans, dates, times and decimals of at most 18 digits as int64, float64 or bool arrays.

    >>> to_values(pa.array([1, None], pa.int32())).valid.tolist()
    [True, False]
    """
    valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    kind = column.type
    if pa.types.is_null(kind):
        return Values(np.zeros(len(column), np.int64), np.zeros(len(column), bool))
    if pa.types.is_decimal(kind):  # 16 bytes a value, little-endian; 18 digits fit the lower 8
        words = np.frombuffer(column.buffers()[1], np.int64, 2 * (len(column) + column.offset))
        return Values(np.ascontiguousarray(words[2 * column.offset :: 2]), valid)
    if pa.types.is_floating(kind):
        return Values(_numbers(column, pa.float64()), valid)
    if pa.types.is_boolean(kind):
        return Values(pc.fill_null(column, False).to_numpy(zero_copy_only=False), valid)
    if pa.types.is_date32(kind):
        column = column.view(pa.int32())
    elif pa.types.is_temporal(kind):
        column = column.view(pa.int64())
    return Values(_numbers(column, pa.int64()), valid)


def _numbers(column: pa.Array, kind: pa.DataType) -> np.ndarray:
    column = column.cast(kind)
    return (pc.fill_null(column, 0) if column.null_count else column).to_numpy(zero_copy_only=False)


def to_arrow(values: Values, kind: pa.DataType | None) -> pa.Array:
    """The inverse of to_values for the types that aggregates give; `kind` None: as they are held."""
    mask = None if values.valid is None else ~values.valid
    plain = pa.array(values.values, mask=mask)
    if kind is None:
        return plain
    if pa.types.is_date32(kind):
        return plain.cast(pa.int32()).view(kind)
    if pa.types.is_temporal(kind):
        return plain.cast(pa.int64()).view(kind)
    return plain.cast(kind)


def differs(left: pa.Array, right: pa.Array) -> np.ndarray:
    """`bool[n]`: which values of two columns are not the same; NULL is the same as NULL.

    >>> differs(pa.array([1, None, None]), pa.array([2, None, 3])).tolist()
    [True, False, True]
    """
    unequal = pc.not_equal(left, right)
    if unequal.null_count:
        unequal = pc.fill_null(unequal, False)
        unequal = pc.or_(unequal, pc.xor(left.is_null(), right.is_null()))
    return unequal.to_numpy(zero_copy_only=False)


def int_column(values: np.ndarray, valid: np.ndarray | None) -> pa.Array:
    return pa.array(values.astype(np.int64), mask=None if valid is None else ~valid)


def taken(column: pa.Array, rows: np.ndarray) -> pa.Array:
    """`column[rows]`, NULL where the row is -1."""
    missing = rows < 0
    return column.take(pa.array(rows, mask=missing if missing.any() else None))


def ranks(columns: list[pa.Array]) -> list[Values]:
    """Strings (or binaries) as int64 positions in the byte order of all distinct strings of all columns.

    >>> [v.values.tolist() for v in ranks([pa.array(["b", "a"]), pa.array(["c", "b"])])]
    [[1, 0], [2, 1]]
    """
    binary = [c.cast(pa.large_binary()) for c in columns]
    both = pa.concat_arrays(binary)
    encoded = both.dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order) or 1, np.int64)
    rank[order] = np.arange(len(order))
    codes = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
    valid = both.is_valid().to_numpy(zero_copy_only=False)
    ends = np.cumsum([len(c) for c in columns])[:-1]
    return [Values(v, m) for v, m in zip(np.split(rank[codes], ends), np.split(valid, ends))]


def mask_bytes(columns: list[pa.Array], n: int) -> np.ndarray:
    """Integer columns of bits as `uint8[n, bytes]`, little-endian: bit v is bit v % 8 of byte v // 8."""
    if not columns:
        return np.zeros((n, 1), np.uint8)
    parts = [np.ascontiguousarray(c.to_numpy(zero_copy_only=False)) for c in columns]
    views = [p.view(np.uint8).reshape(n, p.dtype.itemsize) for p in parts]
    return views[0] if len(views) == 1 else np.ascontiguousarray(np.hstack(views))
