"""The distances that ON DELTA and EVICT KEEP DELTA compare with their thresholds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sqlext.operators.rows.arrow import are_valid, one_chunk, to_values


class DeltaValues(NamedTuple):
    """The values of the expression of a DELTA: `number: float64[n]`, `is_null: bool[n]`."""

    number: np.ndarray
    is_null: np.ndarray

    def take(self, at: np.ndarray) -> DeltaValues:
        """The values at these indexes."""
        return DeltaValues(self.number[at], self.is_null[at])


def delta_values(column: pa.ChunkedArray) -> DeltaValues:
    """The values of a column of numbers."""
    values = one_chunk(column)
    return DeltaValues(to_values(values).values.astype(np.float64), ~are_valid(values))


def distances(a: np.ndarray | float, b: np.ndarray | float) -> np.ndarray:
    """`abs(a - b)`, `float64[n]`: 0 for equal values, and infinite between NaN and a number, because Spark takes NaN
    as equal to NaN and as larger than any number.

    >>> nan, inf = np.nan, np.inf
    >>> distances(np.array([1.5, inf, -inf, nan, nan]), np.array([4.0, inf, inf, 2.0, nan])).tolist()
    [2.5, 0.0, inf, inf, 0.0]
    """
    with np.errstate(invalid="ignore"):
        distance = np.abs(np.subtract(a, b))
    is_same = np.equal(a, b) | (np.isnan(a) & np.isnan(b))
    return np.where(is_same, 0.0, np.where(np.isnan(distance), np.inf, distance))
