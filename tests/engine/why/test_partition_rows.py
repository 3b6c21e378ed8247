"""The order of the rows of a partition as WHY finds it, which is that of Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sqlext.engine.why.why_clause import PartitionRows
from sqlext.operators.rows.columns import SortKey

NAN = float("nan")
COLUMNS = {
    "arrays": (pa.array([[2], None, [1, 5], [1], [1, None], [2]]), [1, 3, 4, 2, 0, 5]),
    "structs": (
        pa.array([{"x": x, "y": y} for x, y in ((1.0, "b"), (NAN, "a"), (None, "c"), (1.0, "a"))]),
        [2, 3, 0, 1],
    ),
    "nested": (pa.array([[{"x": 2}], [{"x": 1}, {"x": 1}], []]), [2, 1, 0]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_rows_are_ordered_by_nested_values(kind):
    column, order = COLUMNS[kind]
    n = len(column)
    for is_descending in (False, True):
        key = SortKey("", is_descending=is_descending, nulls_last=is_descending)
        rows = PartitionRows(columns={"a": column}, sort=(("a", key),), keys=1, is_chosen=np.zeros(n, bool), total=n)
        ties = rows.ties()
        assert len(set(ties.tolist())) == len(set(map(repr, column.to_pylist())))
        assert ties[rows.order()].tolist() == ties[order[::-1] if is_descending else order].tolist()
