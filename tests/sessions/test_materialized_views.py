"""Materialized views in several processes: of other readers, and of the next session.

The test of Connect sessions, `test_processes.py`, has those of a Connect client."""

from __future__ import annotations

import pyarrow as pa
import pytest

from .programs import printed

pytestmark = [pytest.mark.spark, pytest.mark.slow]

QUERY = "SELECT k, n FROM ev MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES count(*) AS n PATTERN (A B+) " \
    "DEFINE B AS v > PREV(v))"  # fmt: skip

FIRST = f"""
    import sqlext
    spark = sqlext.session(master="local[2]", warehouse="here")
    spark.sql("CREATE TABLE ev AS SELECT id % 3 AS k, timestamp_seconds(id) AS ts, id % 2 AS v FROM range(9)")
    spark.sql("CREATE MATERIALIZED VIEW mv TBLPROPERTIES (delta.enableChangeDataFeed = true) AS {QUERY}")
    spark.sql("INSERT INTO ev VALUES (1, timestamp_seconds(98), 3L), (1, timestamp_seconds(99), 7L)")
    spark.sql("REFRESH MATERIALIZED VIEW mv")
    spark.sql("DELETE FROM ev WHERE k = 2 AND v = 1")
    spark.sql("REFRESH MATERIALIZED VIEW mv")
    print(spark.sql("DESCRIBE DETAIL mv").first().location)
"""

# without sqlext
PLAIN = """
    import sys
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.master("local[1]").config(map={{
        "spark.jars.packages": "{delta}",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "2",
    }}).getOrCreate()
    assert "sqlext.engine" not in sys.modules
    print(sorted(map(tuple, spark.read.format("delta").load("{path}").collect())))
    feed = spark.read.option("readChangeFeed", True).option("startingVersion", 1).format("delta").load("{path}")
    print(sorted(map(tuple, feed.select("_commit_version", "_change_type", "k", "n").collect())))
"""

AGAIN = """
    import sqlext
    spark = sqlext.session(master="local[2]", warehouse="here")
    spark.sql("REFRESH MATERIALIZED VIEW mv")
    print(spark.sql("DESCRIBE HISTORY mv").count())
    spark.sql("CREATE OR REPLACE MATERIALIZED VIEW mv AS SELECT k, count(*) AS n FROM ev GROUP BY k")
    print(sorted(map(tuple, spark.table("mv").collect())))
    spark.sql("INSERT INTO ev VALUES (1, timestamp_seconds(100), 7L)")
    spark.sql("REFRESH MATERIALIZED VIEW mv")
    print(sorted(map(tuple, spark.table("mv").collect())), spark.sql("SHOW MATERIALIZED VIEWS").first().kind)
"""

CHANGES = [(1, "delete", 1, 2), (1, "insert", 1, 4), (2, "delete", 2, 2)]


ROWS = [(0, 2), (1, 4)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which a process has created a view and refreshed it twice, and the path of the view."""
    folder = tmp_path_factory.mktemp("views")
    (location,) = printed(FIRST, folder)
    return folder, location.removeprefix("file:")


def test_spark_alone_reads_a_view_and_its_changes(folder):
    import pyspark

    from sqlext.formats.delta import DELTA

    plain = PLAIN.format(delta=DELTA.package(pyspark.__version__), path=folder[1])
    assert printed(plain, folder[0]) == [str(ROWS), str(CHANGES)]


def test_deltalake_reads_a_view_and_its_changes(folder):
    deltalake = pytest.importorskip("deltalake", reason="deltalake, another reader of Delta tables, is not installed")
    table = deltalake.DeltaTable(folder[1])
    assert sorted(tuple(row.values()) for row in table.to_pyarrow_table().to_pylist()) == ROWS
    feed = pa.table(table.load_cdf(starting_version=1).read_all()).to_pylist()
    assert sorted(tuple(row[name] for name in ("_commit_version", "_change_type", "k", "n")) for row in feed) == CHANGES


def test_the_next_session_refreshes_and_replaces_a_view(folder):
    assert printed(AGAIN, folder[0]) == ["3", "[(0, 3), (1, 5), (2, 2)]", "[(0, 3), (1, 6), (2, 2)] by key"]
