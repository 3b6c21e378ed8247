"""The rows that the playground searches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from sqlext.engine.why.shown_values import shown
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.values import from_arrow
from sqlext.operators.rows.arrow import to_values

MOST_ROWS = 10_000
SETTINGS = ExecutionSettings(is_ansi=True, time_zone="UTC")


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under a `name`. `types`: the Spark type of each column; `note`: what the user should know about the rows,
    for example that there are more of them."""

    name: str
    types: dict[str, str]
    columns: dict[str, pa.Array] = field(repr=False)
    note: str = ""

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def as_json(self) -> dict[str, Any]:
        """The name, and for each column its type, its values as text, and as numbers that the page draws.

        >>> table = Table(name="t", types={"v": "int"}, columns={"v": pa.array([7, None], pa.int32())})
        >>> table.as_json()["columns"]
        [{'name': 'v', 'type': 'int', 'cells': ['7', None], 'numbers': [7.0, None], 'is_time': False}]
        """
        return {
            "name": self.name,
            "note": self.note,
            "rows": self.rows,
            "columns": [
                {
                    "name": name,
                    "type": self.types[name],
                    "cells": _cells(column, self.types[name]),
                    "numbers": numbers(column),
                    "is_time": pa.types.is_temporal(column.type),
                }
                for name, column in self.columns.items()
            ],
        }


def _cells(column: pa.Array, spark_type: str) -> list[str | None]:
    return [None if value is None else _text(value, spark_type) for value in from_arrow(column, spark_type)]


def _text(value: Any, spark_type: str) -> str:
    """A value without the quotes and the name of its type."""
    if spark_type == "string":
        return str(value)[:200]
    written = shown(value, spark_type, SETTINGS)
    return written.split("'")[1] if written.startswith(("DATE '", "TIMESTAMP '")) else written


def numbers(column: pa.Array) -> list[float | None] | None:
    """The values as numbers, times in milliseconds; None for a column that cannot be drawn."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _finite(to_values(column), 1000 if pa.types.is_timestamp(kind) else 1 / 86_400_000)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _finite(to_values(column), 1)
    if pa.types.is_decimal(kind):
        return [None if value is None else float(value) for value in column.to_pylist()]
    return None


def _finite(values: Any, unit: float) -> list[float | None]:
    """The values in this unit; None where they are NULL, infinite or no number, which JSON does not have."""
    drawn = values.values.astype(np.float64) / unit
    valid = np.isfinite(drawn) & (True if values.valid is None else values.valid)
    return [value if is_valid else None for value, is_valid in zip(drawn.tolist(), valid.tolist())]
