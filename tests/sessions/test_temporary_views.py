"""A temporary view over a clause reads the rows that its tables have when it is read, in each format of files."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.spark
CLAUSE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY i MEASURES LAST(i) AS last PATTERN (A+ B)
    DEFINE A AS true, B AS NEXT(i) IS NULL)"""


@pytest.mark.parametrize("table", ["USING parquet", "USING parquet PARTITIONED BY (k)", "USING delta"])
def test_a_view_reads_the_files_that_are_there(spark, table):
    spark.sql(f"CREATE TABLE refreshed (i INT, k INT) {table}")
    spark.sql("INSERT INTO refreshed SELECT id, 0 FROM range(2)")
    spark.sql(f"CREATE TEMPORARY VIEW last_rows AS SELECT last FROM refreshed {CLAUSE}")
    rows = lambda: [row[0] for row in spark.sql("SELECT * FROM last_rows").collect()]  # noqa: E731
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
