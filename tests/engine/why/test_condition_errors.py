"""Errors of the condition of FOR ROW: they are Spark's, or ours, and mark the condition and nothing else."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

import sqlext

from .report_cases import cases

CASES = cases("condition_errors.txt")
QUERIES = [
    "SELECT * FROM range(5) l MATCH_RECOGNIZE (PARTITION BY l.id % 2 ORDER BY id PATTERN (A B) DEFINE B AS id = 1)",
    "SELECT l.id FROM range(9) l INTERVAL JOIN range(9) r ON l.id = 1 AND r.id BETWEEN l.id - l.id % 2 AND l.id",
    "SELECT l.id FROM range(9) l ASOF JOIN range(9) r MATCH_CONDITION (l.id > r.id)",
    "SELECT count(*) AS n FROM GLOBAL_WINDOW(TABLE l) WHERE l.id % 2 = 1 GROUP BY window_start EMIT EVERY 3 ROWS",
]


@pytest.fixture
def view(spark):
    spark.range(9).createOrReplaceTempView("l")
    yield
    spark.catalog.dropTempView("l")


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_an_error_marks_its_part_of_the_condition(spark, view, case, query):
    _, condition, message, marked = case
    with pytest.raises(sqlext.BindError) as error:
        spark.sql(f"EXPLAIN MATCH WHY {query}\nFOR ROW {condition}")
    assert str(error.value).startswith(message.removeprefix("=> "))
    place = error.value.place
    assert place.text[place.start : place.stop] == marked.removeprefix("=> ")
    assert place.start >= place.text.index("FOR ROW")


@pytest.mark.parametrize(("value", "query"), list(zip("abcd", QUERIES)))
def test_an_error_of_the_condition_on_a_row_marks_the_condition(spark, view, value, query):
    with pytest.raises(PySparkException) as error:
        spark.sql(f"EXPLAIN MATCH WHY {query}\nFOR ROW l.id % 2 = '{value}'")
    assert f"  2 | FOR ROW l.id % 2 = '{value}'\n    |         ^^^^^^^^^^^^^^" in str(error.value)
    assert "__chosen" not in str(error.value)


def test_a_column_of_both_relations_of_a_join_needs_a_qualifier(spark):
    with pytest.raises(sqlext.BindError) as error:
        sqlext.why(QUERIES[2], "id = 1", spark=spark)
    assert error.value.error_class == "SQLEXT_AMBIGUOUS_REFERENCE"
    assert error.value.place.text[error.value.place.start :] == "id = 1"
