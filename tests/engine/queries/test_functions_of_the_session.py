"""Conditions over several rows call the function that Spark calls by a name."""

from __future__ import annotations

import pytest

CLAUSE = """SELECT * FROM VALUES (1), (2), (44) AS t(v) MATCH_RECOGNIZE (
    ORDER BY v MEASURES B.v AS v, abs(A.v - B.v) AS n PATTERN (A B) DEFINE B AS abs(A.v - B.v) = {})"""


@pytest.fixture
def with_own_abs(spark):
    spark.udf.register("abs", lambda x: 42, "int")
    yield spark
    spark.sql("DROP TEMPORARY FUNCTION IF EXISTS abs")


def test_a_udf_with_the_name_of_a_function_of_spark_is_called_if_spark_calls_it(with_own_abs):
    (row,) = with_own_abs.sql("SELECT abs(-1) AS n").collect()  # 42 before Spark 4.2
    (found,) = with_own_abs.sql(CLAUSE.format(row.n)).collect()
    assert found == (2, row.n)
