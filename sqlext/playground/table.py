"""The rows that the playground searches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from sqlext.errors import SqlExtError
from sqlext.expressions.column_values import ColumnValues
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.scalar_tree import Column, Scalar
from sqlext.expressions.values import from_arrow
from sqlext.operators.rows.arrow import to_values
from sqlext.operators.rules.rule_results import texts_of

MOST_ROWS = 10_000
_LONGEST = 200  # characters of a value that are shown
SETTINGS = ExecutionSettings(is_ansi=True, time_zone="UTC")


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under a `name`. `types`: the Spark type of each column; `note`: what the user should know about the rows,
    for example that there are more of them. `file`: the file that has them, which Spark's reader of this `format` reads
    with these `options`; `is_sparks`: Spark has the table."""

    name: str
    types: dict[str, str]
    columns: dict[str, pa.Array] = field(repr=False)
    note: str = ""
    file: str = ""
    format: str = "csv"
    options: dict[str, str | bool] = field(default_factory=dict)
    is_sparks: bool = False

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def as_json(self) -> dict[str, Any]:
        """The name, and for each column its type, its values as text, and as numbers that the page draws.

        >>> table = Table(name="t", types={"v": "int"}, columns={"v": pa.array([7, None], pa.int32())})
        >>> table.as_json()["columns"]
        [{'name': 'v', 'type': 'int', 'cells': ['7', None], 'numbers': [7.0, None], 'is_time': False}]
        """
        values = ColumnValues(columns=self.columns, rows=self.rows)
        return {
            "name": self.name,
            "note": self.note,
            "rows": self.rows,
            "columns": [
                {
                    "name": name,
                    "type": self.types[name],
                    "cells": cells(values, Column(name, self.types[name])),
                    "numbers": numbers(column),
                    "is_time": is_time(column.type),
                }
                for name, column in self.columns.items()
            ],
        }


def cells(values: ColumnValues, tree: Scalar) -> list[str | None]:
    """The values of an expression as the page shows them, None for NULL."""
    try:
        texts, _ = texts_of(values, tree)
    except SqlExtError:  # a type that has no text
        texts = [None if value is None else str(value) for value in from_arrow(values.array(tree), tree.type)]
    return [None if text is None else text[:_LONGEST] for text in texts]


def is_time(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) or pa.types.is_date(kind)


def per_millisecond(kind: pa.DataType) -> float:
    """How many units of a time, microseconds or days, are a millisecond."""
    return 1000 if pa.types.is_timestamp(kind) else 1 / 86_400_000


def numbers(column: pa.Array) -> list[float | None] | None:
    """The values as numbers, times in milliseconds; None for a column that cannot be drawn."""
    kind = column.type
    if is_time(kind):
        return _finite(to_values(column), per_millisecond(kind))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _finite(to_values(column), 1)
    if pa.types.is_decimal(kind):
        return [None if value is None else float(value) for value in column.to_pylist()]
    return None


def _finite(values: Any, unit: float) -> list[float | None]:
    """The values in this unit; None where they are NULL, infinite or no number, which JSON does not have."""
    drawn = values.values.astype(np.float64) / unit
    valid = np.isfinite(drawn) & values.is_valid
    return [value if is_valid else None for value, is_valid in zip(drawn.tolist(), valid.tolist())]
