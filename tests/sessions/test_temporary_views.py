"""A temporary view over a clause reads the rows that its tables have when it is read, in each format of files."""

from __future__ import annotations

import random

import pytest
from pyspark.sql.functions import udf

pytestmark = pytest.mark.spark
CLAUSE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY i MEASURES LAST(i) AS last PATTERN (A+ B)
    DEFINE A AS true, B AS NEXT(i) IS NULL)"""


@pytest.mark.parametrize("table", ["USING parquet", "USING parquet PARTITIONED BY (k)", "USING delta"])
def test_a_view_reads_the_files_that_are_there(spark, table):
    spark.sql(f"CREATE TABLE refreshed (i INT, k INT) {table}")
    spark.sql("INSERT INTO refreshed SELECT id, 0 FROM range(2)")
    spark.sql(f"CREATE TEMPORARY VIEW last_rows AS SELECT last FROM refreshed {CLAUSE}")

    def rows():
        return [row[0] for row in spark.sql("SELECT * FROM last_rows").collect()]

    try:
        assert rows() == [1]
        for last in (2, 3):
            spark.sql(f"INSERT INTO refreshed VALUES ({last}, 0)")
            assert rows() == [last]
        spark.sql("INSERT OVERWRITE refreshed VALUES (7, 0), (8, 0)")
        assert rows() == [8]
        spark.sql("INSERT OVERWRITE refreshed VALUES (8, 0), (9, 0)")
        assert [row[0] for row in spark.table("last_rows").collect()] == [9]
    finally:
        spark.catalog.dropTempView("last_rows")
        spark.sql("DROP TABLE refreshed")


def test_plain_views_over_a_view_read_the_files_that_are_there(spark):
    spark.sql("CREATE TABLE refreshed (i INT, k INT) USING parquet")
    spark.sql("INSERT INTO refreshed SELECT id, 0 FROM range(2)")
    spark.sql(f"CREATE TEMPORARY VIEW last_rows AS SELECT last FROM refreshed {CLAUSE}")
    spark.sql("CREATE TEMPORARY VIEW plain AS SELECT last + 1 AS after FROM last_rows")
    spark.sql("CREATE GLOBAL TEMPORARY VIEW outer_view AS SELECT after FROM plain")
    spark.sql("CREATE TEMPORARY VIEW changed AS SELECT 0 AS after")
    spark.sql("ALTER VIEW changed AS SELECT after FROM global_temp.outer_view")

    def rows(view):
        return [row[0] for row in spark.sql(f"SELECT * FROM {view}").collect()]

    try:
        for last in range(2, 5):
            spark.sql(f"INSERT INTO refreshed VALUES ({last}, 0)")
            view = ("plain", "global_temp.outer_view", "changed")[last % 3]
            assert rows(view) == [last + 1]
        spark.sql("CREATE OR REPLACE TEMPORARY VIEW plain AS SELECT 3 AS after")
        assert rows("plain") == [3] and rows("changed") == [3]
    finally:
        for view in ("changed", "plain", "last_rows"):
            spark.catalog.dropTempView(view)
        spark.catalog.dropGlobalTempView("outer_view")
        spark.sql("DROP TABLE refreshed")


def test_what_spark_keeps_of_a_query_over_a_view_of_delta_stays(spark):
    spark.sql("CREATE TABLE kept (i INT, k INT) USING delta")
    spark.sql("INSERT INTO kept SELECT id, 0 FROM range(2)")
    spark.sql(f"CREATE TEMPORARY VIEW last_rows AS SELECT last FROM kept {CLAUSE}")
    draw = udf(random.random, "double").asNondeterministic()
    drawn = spark.table("last_rows").select("last", draw().alias("number")).cache()
    try:
        before = drawn.collect()
        assert spark.sql("SELECT last FROM last_rows").collect() == [(1,)]
        assert drawn.collect() == before
    finally:
        drawn.unpersist()
        spark.catalog.dropTempView("last_rows")
        spark.sql("DROP TABLE kept")
