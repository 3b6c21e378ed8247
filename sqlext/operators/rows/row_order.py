"""The order of a micro-batch's rows within each key, as Spark would sort them; and which rows have the same key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlext.operators.rows.arrow import are_valid, as_arrow, as_numpy, one_chunk, ranks, to_values
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rows.long_columns import narrow_type
from sqlext.operators.rows.text_order import text_numbers
from sqlext.pattern.task.within import in_order

_LARGEST = 2**63 - 1
_MANY = 1 << 14  # texts that are worth the kernels of `text_order`


def sorted_rows(
    rows: np.ndarray, code: np.ndarray, time: np.ndarray, table: pa.Table, keys: Sequence[SortKey]
) -> np.ndarray:
    """The rows `rows: int64[k]` of a table in the order of `code: int64[n]`, `time: int64[n]` and the sort keys.

    Columns are only read where rows tie. A column whose type cannot be ordered here (arrays, structs) leaves ties as
    they are.

    >>> table = pa.table({"x": [3, None, 1, 9]})
    >>> sorted_rows(np.array([0, 1, 2]), np.array([1, 1, 1, 1]), np.array([7, 7, 5, 5]), table, [SortKey("x")]).tolist()
    [2, 1, 0]
    """
    order = rows[np.lexsort((time[rows], code[rows]))]
    is_tied = (np.diff(code[order]) == 0) & (np.diff(time[order]) == 0)
    if not is_tied.any() or not keys:
        return order
    tied = np.zeros(len(order), np.bool_)
    tied[1:] |= is_tied
    tied[:-1] |= is_tied
    some = order[tied]
    columns = [(table.column(key.column), key) for key in reversed(keys)]
    by_key = [
        ranked(one_chunk(column.take(as_arrow(some))), key)
        for column, key in columns
        if not pa.types.is_nested(column.type)
    ]
    order[tied] = some[np.lexsort((*by_key, time[some], code[some]))]
    return order


def ranked(values: pa.Array, key: SortKey, threads: int = 1) -> np.ndarray:
    """`int64[n]`: smaller for values that come first, as Spark orders them; NaN is the largest number, -0.0 is 0.0.

    >>> ranked(pa.array([5, None, 7]), SortKey("x", is_descending=True, nulls_last=True)).tolist()
    [-6, -5, -8]
    """
    rank = _ascending(values, threads)
    if key.is_descending:
        rank = ~rank  # the smallest integer has no negative
    if not values.null_count:
        return rank
    valid = are_valid(values)
    if not valid.any():
        return np.zeros(len(values), np.int64)
    least, most = int(rank[valid].min()), int(rank[valid].max())
    if (most if key.nulls_last else -1 - least) == _LARGEST:  # no integer is left for NULL
        rank = np.unique(rank, return_inverse=True)[1].astype(np.int64)
        least, most = 0, len(values)
    return np.where(valid, rank, most + 1 if key.nulls_last else least - 1)


def _ascending(values: pa.Array, threads: int) -> np.ndarray:
    """`int64[n]` in the order of the values, arbitrary for NULL; it may be the memory of the values themselves.

    `pyarrow.compute.rank` puts NaN beside NULL, and is slower for strings; decimals have neither problem.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        rank = _ascending(values.dictionary, threads)
        return np.append(rank, 0)[np.where(are_valid(values), as_numpy(values.indices), len(rank))]
    if narrow_type(kind) in (pa.string(), pa.binary()):
        numbers = text_numbers(values, threads) if len(values) > _MANY else None
        return ranks([values])[0].values if numbers is None else numbers
    numbers = to_values(values).values
    if numbers.dtype == np.object_:  # decimals that 64 bits do not hold
        return as_numpy(pc.rank(values, tiebreaker="dense")).astype(np.int64)
    return numbers if numbers.dtype == np.int64 else in_order(numbers)


def key_codes(tables: Sequence[pa.Table], keys: Sequence[str]) -> list[np.ndarray]:
    """`int64[n]` for each table: rows of any of the tables have the same code if and only if they have the same key.

    >>> [c.tolist() for c in key_codes([pa.table({"k": ["a", "b"]}), pa.table({"k": ["b", None]})], ["k"])]
    [[0, 1], [1, 2]]
    """
    ends = np.cumsum([t.num_rows for t in tables])
    code = np.zeros(int(ends[-1]), np.int64)
    for key in keys:
        column = pa.chunked_array([c for t in tables for c in t.column(key).chunks], tables[0].schema.field(key).type)
        encoded = one_chunk(column).dictionary_encode()
        own = np.where(are_valid(encoded.indices), as_numpy(encoded.indices), len(encoded.dictionary)).astype(np.int64)
        code = np.unique(code * (len(encoded.dictionary) + 1) + own, return_inverse=True)[1] if code.any() else own
    return np.split(code, ends[:-1])
