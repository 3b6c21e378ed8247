"""The values of expressions over rows, computed in Python. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from sqlext.errors import SqlExtError
from sqlext.expressions.column_values import ColumnValues
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import join


class ComputedColumns(Mapping[str, pa.Array]):
    """The values of each text over `rows` rows, computed from `columns`; without texts that only Spark can compute."""

    def __init__(self, binder: StaticBinder, columns: Mapping[str, pa.Array], rows: int):
        self.binder = binder
        self.values_of = ColumnValues(columns=columns, rows=rows)

    def __getitem__(self, text: str) -> pa.Array:
        try:
            return self.values_of.array(self.binder.tree(join(text)))
        except SqlExtError:
            raise KeyError(text) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_of.columns)

    def __len__(self) -> int:
        return len(self.values_of.columns)
