"""What values on whole columns alone can get wrong. The rest is compared with Spark by `test_against_spark`."""

from __future__ import annotations

import pyarrow as pa

from sqlext.expressions.column_values import ColumnValues
from sqlext.expressions.function import ExecutionSettings
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import join


def test_a_choice_of_in_fails_only_where_no_earlier_one_is_equal():
    settings = ExecutionSettings(is_ansi=True, time_zone="UTC")
    tree = StaticBinder(columns={"x": "int", "y": "int"}, settings=settings).tree(join("x IN (1, x / y)"))
    table = ColumnValues(columns={"x": pa.array([1, 2], pa.int32()), "y": pa.array([0, 0], pa.int32())}, rows=2)
    assert table.vector(tree).valid.tolist() == [True, False]
    assert table.vector(tree).failed.tolist() == [False, True]
