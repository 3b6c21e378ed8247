"""The values of a seed as SQL. dbt-spark's session method writes an empty cell as the text None, and quotes as is."""

import datetime
from decimal import Decimal

import pytest
from dbt.adapters.sqlext.connections import ExtendedConnectionWrapper

VALUES = [
    (None, "NULL"), (True, "TRUE"), (Decimal("1.50"), "1.50BD"), ("a%", "'a%'"),
    ("O'Neil", "CAST(X'4F274E65696C' AS STRING)"), (datetime.date(2026, 1, 2), "DATE '2026-01-02'"),
    (datetime.datetime(2026, 1, 2, 3, 4), "'2026-01-02 03:04:00'"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "sql"), VALUES)
def test_a_value_of_a_seed_is_a_literal(value, sql):
    assert ExtendedConnectionWrapper._fix_binding(value) == sql
