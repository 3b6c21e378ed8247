"""Aggregates over rows on which an argument could not be computed: the value is NULL, since an aggregate of the other
rows would look like the whole value.

For each argument that may fail there is a column NOT_COMPUTED.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.operators.rows.arrow import are_valid, as_numpy
from sqlext.operators.rows.columns import NOT_COMPUTED


def failed_rows(column: str, columns: Mapping[str, pa.Array]) -> np.ndarray | None:
    """`bool[n]`: the rows on which a column could not be computed; None if there are none."""
    failed = columns.get(NOT_COMPUTED + column)
    if failed is None:
        return None
    rows = as_numpy(failed) & are_valid(failed)
    return rows if rows.any() else None


def failed_aggregate(function: str) -> DataError:
    return DataError(
        "ARGUMENT_FAILED",
        f"{function} is over a row on which its argument could not be computed",
        hint="correct the row, or guard the argument, for example with try_divide or FILTER.",
    )
