"""Whatever Spark can do with the DataFrame of a query, it can do with that of a clause."""

from __future__ import annotations

import contextlib
import io

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as f

CLAUSE = "t MATCH_RECOGNIZE (ORDER BY i MEASURES A.i AS i, B.x AS x PATTERN (A B) DEFINE B AS B.x > A.x)"
QUERIES = (
    f"SELECT * FROM {CLAUSE}",
    f"WITH c AS (SELECT * FROM {CLAUSE}) SELECT i, x FROM c ORDER BY i",
    "SELECT a.i, b.x FROM (SELECT i FROM t WHERE i IN (1, 3)) a ASOF JOIN (SELECT i + 1 AS k, x + 10 AS x FROM t "
    "WHERE i IN (1, 3)) b MATCH_CONDITION (a.i <= b.k)",
    "SELECT * FROM stored",
)
ROWS = [(1, 20), (3, 40)]


@pytest.fixture(scope="module")
def given(spark):
    spark.sql("CREATE TABLE t AS SELECT * FROM VALUES (1, 10), (2, 20), (3, 30), (4, 40) AS t(i, x)")
    spark.sql("CREATE TABLE target (i INT, x INT)")
    spark.sql(f"CREATE VIEW stored AS SELECT * FROM {CLAUSE}")
    yield spark
    for name in ("VIEW stored", "TABLE sqlext_views", "TABLE target", "TABLE t"):
        spark.sql(f"DROP {name}")


def merge(df):
    merging = df.alias("s").mergeInto("target", f.expr("s.i = target.i"))
    merging.whenMatched().updateAll().whenNotMatched().insertAll().merge()


INTO_A_TABLE = {
    "writeTo.append": lambda df: df.writeTo("target").append(),
    "writeTo.overwrite": lambda df: df.writeTo("target").overwrite(f.lit(True)),
    "writeTo.createOrReplace": lambda df: df.writeTo("target").using("delta").createOrReplace(),
    "write.saveAsTable": lambda df: df.write.mode("overwrite").saveAsTable("target"),
    "write.insertInto": lambda df: df.write.insertInto("target", overwrite=True),
    "mergeInto": merge,
}


@pytest.mark.parametrize("sink", INTO_A_TABLE)
def test_the_rows_of_a_query_reach_a_table(given, sink):
    query = QUERIES[list(INTO_A_TABLE).index(sink) % len(QUERIES)]
    given.sql("TRUNCATE TABLE target")
    INTO_A_TABLE[sink](given.sql(query))
    assert sorted(map(tuple, given.table("target").collect())) == ROWS


@pytest.mark.parametrize("query", QUERIES)
def test_a_result_can_be_written_again_after_other_statements(given, query):
    df = given.sql(query)
    given.sql(QUERIES[0]).createOrReplaceTempView("other")
    df.writeTo("target").overwrite(f.lit(True))
    df.createOrReplaceTempView("seen")
    given.sql("SELECT * FROM seen").writeTo("target").append()
    assert sorted(map(tuple, given.table("target").collect())) == sorted(ROWS * 2)
    with contextlib.redirect_stdout(io.StringIO()):
        df.explain(True)
    assert sorted(map(tuple, df.toLocalIterator())) == sorted(map(tuple, df.localCheckpoint().collect())) == ROWS
    for name in ("other", "seen"):
        given.catalog.dropTempView(name)


@pytest.mark.parametrize(
    "words", ["CACHE TABLE kept AS", "CACHE LAZY TABLE kept OPTIONS ('storageLevel' = 'DISK_ONLY')"]
)
@pytest.mark.parametrize("query", [QUERIES[0], QUERIES[-1]])
def test_the_result_of_a_query_is_cached(given, words, query):
    given.sql(f"{words} {query};")
    assert sorted(map(tuple, given.table("kept").collect())) == ROWS
    assert given.catalog.isCached("kept")
    with pytest.raises(AnalysisException, match="TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"):
        given.sql(f"{words} {query}")
    given.sql("UNCACHE TABLE kept")
    assert not given.catalog.isCached("kept")
    given.catalog.dropTempView("kept")


def test_a_view_that_cannot_be_cached_is_not_left_behind(given):
    with pytest.raises(Exception, match="NO_LEVEL"):
        given.sql(f"CACHE TABLE kept OPTIONS ('storageLevel' = 'NO_LEVEL') AS {QUERIES[0]}")
    assert not given.catalog.tableExists("kept")
