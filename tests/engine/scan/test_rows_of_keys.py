"""A clause over the rows of some keys, which one worker reads from the files of a table."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sqlext.engine.scan.file_relation import named_relation
from sqlext.engine.scan.rows_of_keys import relation_of_keys, rows_of_keys
from sqlext.errors import UnsupportedError

CLAUSE = """SELECT k, n FROM (SELECT k, v + 1 AS w FROM some_keys WHERE v > 5) AS s MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY w MEASURES count(*) AS n PATTERN (A+) DEFINE A AS w < 40)"""


@pytest.fixture
def session(spark):
    spark.sql("CREATE TABLE keyed AS SELECT nullif(id % 5, 4) AS k, id AS v FROM range(50)")
    spark.sql("SET sqlext.read = worker")
    yield spark
    spark.sql("RESET sqlext.read")
    spark.sql("DROP TABLE keyed")
    spark.catalog.dropTempView("some_keys")


def test_a_clause_over_a_named_relation_of_keys_is_run_by_the_worker_that_reads_its_files(session):
    rows = session.sql("SELECT * FROM keyed")
    relation = relation_of_keys(rows, pa.table({"k0": [1, None, 8]}), {"k": "k0"})
    rows_of_keys(rows, relation, 2).createOrReplaceTempView("some_keys")
    assert session.sql("SELECT DISTINCT k FROM some_keys ORDER BY k").collect() == [(None,), (1,)]
    with pytest.raises(UnsupportedError, match="no worker can read the input"):
        session.sql(CLAUSE)
    with named_relation("some_keys", relation):
        assert sorted(session.sql(CLAUSE).collect(), key=str) == [(1, 7), (None, 6)]
