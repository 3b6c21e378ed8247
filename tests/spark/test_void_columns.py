"""Columns without a type, such as `array()`, pass through clauses."""

from __future__ import annotations

import pytest

COLUMNS = {
    "a": "array()", "m": "map()", "n": "NULL", "s": "named_struct('x', map(), 'y', 1)", "l": "array(map(), NULL)",
    "v": "map('k', NULL)",
}  # fmt: skip


@pytest.mark.parametrize("rows", ["ALL ROWS PER MATCH", "ONE ROW PER MATCH"])
def test_columns_without_a_type_pass(spark, rows):
    spark.range(2).selectExpr("id AS i", *(f"{text} AS {name}" for name, text in COLUMNS.items())).createTempView("odd")
    measures = [f"LAST(A.{name}) AS {name}" for name in COLUMNS] + ["array_agg(A.m) AS g"]
    shown = "" if rows.startswith("ALL") else "MEASURES A.i AS i, " + ", ".join(measures)
    result = spark.sql(f"SELECT * FROM odd MATCH_RECOGNIZE (ORDER BY i {shown} {rows} PATTERN (A) DEFINE A AS i = 0)")
    expected = spark.table("odd")
    assert [x.simpleString() for x in result.schema][: len(COLUMNS) + 1] == [x.simpleString() for x in expected.schema]
    assert result.drop("g").collect() == expected.where("i = 0").collect()
    spark.catalog.dropTempView("odd")
