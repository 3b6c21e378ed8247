"""Errors of the data, raised in workers, and actions that a stream does not have, as users meet them."""

from __future__ import annotations

import pytest

import sqlext
from tests.sessions.programs import run_program

LINES = [
    "SQLEXT_SKIP_TO_MISSING_ROW: AFTER MATCH SKIP TO LAST B: no row is mapped to B in match 1",
    "Hint: write ELSE NEXT ROW after it to resume at the next row instead.",
]
QUERY = """SELECT * FROM range(3) MATCH_RECOGNIZE (
  ORDER BY id MEASURES COUNT(*) AS k AFTER MATCH SKIP TO B PATTERN (A B?) DEFINE B AS id > 100)"""

ACTIONS = {
    "collect": lambda spark, frame: frame.collect(),
    "show": lambda spark, frame: frame.filter("k > 0").show(),
    "toPandas": lambda spark, frame: frame.toPandas(),
    "toLocalIterator": lambda spark, frame: list(frame.toLocalIterator()),
    "write": lambda spark, frame: frame.write.saveAsTable("never_written"),
    "CREATE TABLE": lambda spark, frame: spark.sql(f"CREATE TABLE never_written AS {QUERY}"),
}


@pytest.fixture
def stream(spark):
    spark.sql("CREATE TABLE timed AS SELECT timestamp_seconds(id) AS ts FROM range(3)")
    yield spark.sql("""SELECT * FROM STREAM timed WATERMARK ts DELAY OF INTERVAL 1 SECOND MATCH_RECOGNIZE (
        ORDER BY ts MEASURES COUNT(*) AS k PATTERN (A B) DEFINE A AS true)""")
    spark.sql("DROP TABLE timed")


@pytest.mark.parametrize("action", ACTIONS)
def test_an_error_of_a_worker_arrives_as_what_it_is(spark, action):
    with pytest.raises(sqlext.DataError) as caught:
        ACTIONS[action](spark, spark.sql(QUERY))
    assert str(caught.value).splitlines() == LINES
    assert caught.value.error_class == "SQLEXT_SKIP_TO_MISSING_ROW"


def test_an_error_of_a_users_function_stays_sparks(spark):
    from pyspark.errors import PythonException

    spark.udf.register("fails", lambda x: x.none, "int")
    with pytest.raises(PythonException):
        spark.sql("SELECT fails(1)").collect()
    spark.sql("DROP TEMPORARY FUNCTION fails")


@pytest.mark.parametrize("action", ["show", "collect", "toPandas"])
def test_an_action_over_a_stream_names_the_remedy(stream, action):
    with pytest.raises(sqlext.UnsupportedError, match=r"STREAM_WITHOUT_TABLE.*\nHint: write CREATE STREAMING TABLE"):
        getattr(stream, action)()


def test_a_notebook_shows_the_lines_of_the_error_alone():
    error = sqlext.DataError("STEP_BUDGET", "too many steps", hint="fewer.")
    more = "For more: sqlext explain-error STEP_BUDGET"
    assert error._render_traceback_() == ["SQLEXT_STEP_BUDGET: too many steps", "Hint: fewer.", more]


QUIET = """
    import sys, sqlext
    spark = sqlext.session(master="local[2]", warehouse="tables")
    numbers = "(SELECT id, id % 7 AS v, id % 2 AS k FROM range(3000000))"
    clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY id MEASURES LAST(v) AS l PATTERN (a b) DEFINE b AS {})"
    divides = spark.sql(f"SELECT * FROM {numbers} " + clause.format("b.v / a.v > 1"))
    casts = spark.sql(f"SELECT * FROM {numbers} " + clause.format("CAST(concat('x', v) AS INT) > 1"))
    def fails(action):
        try:
            action()
        except Exception as error:
            shown = error._render_traceback_()
            print(shown[0].partition("] ")[0].partition(": ")[0], any("Traceback" in line for line in shown))
    for frame in (divides, casts):
        fails(frame.show)
        fails(frame.collect)
        fails(frame.toPandas)
        fails(lambda: frame.write.mode("overwrite").parquet("out"))
    some = spark.sql(f"SELECT * FROM {numbers} " + clause.format("true"))
    print(len(some.limit(10000).toPandas()), len(some.take(3)))
"""


@pytest.mark.slow
def test_failing_values_and_rows_that_nobody_reads_print_nothing(tmp_path):
    done = run_program(QUIET, tmp_path)
    expected = ["SQLEXT_DIVIDE_BY_ZERO False"] * 4 + ["[CAST_INVALID_INPUT False"] * 4 + ["10000 3"]
    assert (done.stdout.splitlines(), done.stderr) == (expected, "")
