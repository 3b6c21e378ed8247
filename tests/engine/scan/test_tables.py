"""Who reads the files of a table: the cases of tables.txt, and that the rows are those that Spark reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.engine.scan import scan_plan
from sqlext.errors import UnsupportedError

pytestmark = pytest.mark.spark
# each statement reads one table, whose name is the part that is missing
CLAUSE = """SELECT * FROM {} MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY t MEASURES FIRST(t) AS began, LAST(v) AS v, count(*) AS n AFTER MATCH SKIP TO NEXT ROW
    PATTERN (A B*) DEFINE B AS B.t > PREV(B.t))"""


def blocks():
    for block in (Path(__file__).parent / "tables.txt").read_text().split("\n== ")[1:]:
        title, *lines = block.strip().split("\n")
        statements = [line.rstrip(";") for line in lines if line.endswith(";")]
        (relation,) = (line[5:] for line in lines if line.startswith("from "))
        (read,) = (line[5:] for line in lines if line.startswith("read "))
        query = next((line[6:] for line in lines if line.startswith("query ")), CLAUSE)
        yield pytest.param(statements, relation, read, query, id=title)


@pytest.fixture
def tables(spark):
    """Drops the tables of a case at its end, and restores the settings that it changes."""
    names = {s.split()[1] for p in blocks() for s in p.values[0] if s.startswith("SET ")} | {"sqlext.read"}
    before = {name: spark.conf.get(name, None) for name in names}
    yield spark
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)
    spark.sql("DROP VIEW IF EXISTS files_view")
    spark.sql("DROP TABLE IF EXISTS files")


@pytest.mark.random(every=2)
@pytest.mark.parametrize(("statements", "relation", "read", "query"), list(blocks()))
def test_the_reader_and_the_rows_are(tables, statements, relation, read, query):
    for statement in statements:
        tables.sql(statement)
    clause = query.format(relation)
    explained = tables.sql(f"EXPLAIN MATCH {clause}").collect()[0][0]
    (reason,) = (line for line in explained.splitlines() if line.startswith("read: "))
    assert ("one worker reads" if read == "worker" else read) in reason
    texts = f"SELECT CAST(struct(*) AS STRING) AS row FROM ({clause})"
    rows = sorted(row.row for row in tables.sql(texts).collect())
    tables.conf.set("sqlext.read", "spark")
    assert rows == sorted(row.row for row in tables.sql(texts).collect())


EMIT = "SELECT k, count(*) AS n FROM GLOBAL_WINDOW(TABLE {}) GROUP BY k EMIT EVERY 2 ROWS"
WINDOW = """SELECT k, count(*) OVER (
    ORDER BY t ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING PATTERN (A) DEFINE A AS t > 0) FROM {}"""


@pytest.mark.parametrize("query", [CLAUSE, EMIT, WINDOW], ids=["match", "emit", "window"])
def test_a_session_that_asks_for_a_worker_is_told_why_it_cannot(tables, query):
    tables.conf.set("sqlext.read", "worker")
    with pytest.raises(UnsupportedError, match="it is no table of files") as error:
        tables.sql(query.format("(SELECT * FROM VALUES (1, 1, 'a') AS t(k, t, v))"))
    assert error.value.error_class == "SQLEXT_READ_BY_WORKER"


def made(spark, properties: str = "") -> None:
    spark.sql(f"CREATE TABLE files (k INT, t INT, v STRING) USING delta {properties}")
    spark.sql("INSERT INTO files SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 1, 'a'), (1, 2, 'b')")


def test_a_result_that_is_computed_later_has_the_rows_that_are_there_then(tables):
    made(tables)
    result = tables.sql(CLAUSE.format("files"))
    assert result.count() == 2
    tables.sql("INSERT INTO files VALUES (2, 1, 'c')")
    assert result.count() == 3
    tables.sql("DELETE FROM files WHERE k = 1")
    assert [row.v for row in result.select("v").collect()] == ["c"]


def test_rows_that_are_marked_as_deleted_later_are_an_error_and_not_read(tables):
    made(tables)
    result = tables.sql(CLAUSE.format("files"))
    tables.sql("ALTER TABLE files SET TBLPROPERTIES (delta.enableDeletionVectors = true)")
    tables.sql("DELETE FROM files WHERE t = 1")
    with pytest.raises(Exception, match="SQLEXT_TABLE_CHANGED"):
        result.select("v").collect()
    assert tables.sql(CLAUSE.format("files")).count() == 1


def test_a_value_that_cannot_be_computed_is_an_error_as_in_spark(tables):
    made(tables)
    tables.sql("INSERT INTO files VALUES (1, 2147483647, 'b')")
    clause = CLAUSE.format("(SELECT k, t + 1 AS t, v FROM files)")
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        tables.sql(clause).collect()
    tables.conf.set("sqlext.read", "spark")
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        tables.sql(clause).collect()


@pytest.mark.parametrize(("share", "reader"), [(4, "one worker reads"), (20, "the rows need")])
def test_rows_above_memory_are_divided_by_their_keys(tables, monkeypatch, share, reader):
    """`share`: how many times the memory for rows they need."""
    tables.sql("CREATE TABLE files USING delta AS SELECT INT(id % 40) AS k, INT(id) AS t, 'a' AS v FROM range(1000)")
    clause = CLAUSE.format("(SELECT * FROM files WHERE k > 3)")
    query = f"SELECT sum(began), sum(n), count(*) FROM ({clause})"
    tables.conf.set("sqlext.read", "spark")
    expected = tables.sql(query).collect()
    monkeypatch.setattr(scan_plan, "_held_bytes", lambda: 1000 * 24 // share)
    tables.conf.set("sqlext.read", "auto")
    assert reader in tables.sql(f"EXPLAIN MATCH {query}").collect()[0][0]
    assert tables.sql(query).collect() == expected
