"""The values of expressions over the rows of a table, computed in Python. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from sqlext.errors import SqlExtError
from sqlext.expressions.column_values import ColumnValues
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import join


class ComputedColumns(Mapping[str, pa.Array]):
    """The values of each text over the rows of a table. What only Spark can compute is missing."""

    def __init__(self, binder: StaticBinder, table: pa.Table):
        self.binder, self.table = binder, table
        columns = {name: table.column(name).combine_chunks() for name in table.column_names}
        self.values_of = ColumnValues(columns=columns, rows=table.num_rows)

    def __getitem__(self, text: str) -> pa.Array:
        try:
            return self.values_of.array(self.binder.tree(join(text)))
        except SqlExtError:
            raise KeyError(text) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.table.column_names)

    def __len__(self) -> int:
        return self.table.num_columns
