"""A stored view means in every session and at any time what it meant when it was created."""

from __future__ import annotations

import pytest

from sqlext.errors import BindError
from sqlext.sessions.hook import unhooked

CLAUSE = "MATCH_RECOGNIZE (ORDER BY i ALL ROWS PER MATCH PATTERN (A) DEFINE A AS x > 0)"
HINT = "Hint: write CREATE TEMPORARY VIEW, or read what is permanent."


@pytest.fixture
def sql(spark):
    spark.sql("CREATE TABLE kept AS SELECT 1 AS i, 10 AS x, 'a' AS s")
    yield spark.sql
    for name in ("VIEW IF EXISTS v", "TABLE kept", "TABLE IF EXISTS sqlext_views"):
        spark.sql(f"DROP {name}")


TEMPORARY = {
    "CREATE TEMPORARY VIEW own AS SELECT * FROM kept": ("FROM own", "own", "own, a temporary view", "VIEW own"),
    "CREATE GLOBAL TEMPORARY VIEW all_own AS SELECT * FROM kept": (
        "FROM global_temp.all_own", "global_temp.all_own", "global_temp.all_own, a temporary view",
        "VIEW global_temp.all_own",
    ),
    "CREATE TEMPORARY FUNCTION twice(n INT) RETURN 2 * n": (
        "FROM (SELECT twice(i) AS i, x FROM kept)", "twice", "twice, a temporary function", "TEMPORARY FUNCTION twice",
    ),
    "DECLARE VARIABLE lowest INT DEFAULT 5": (
        "FROM (SELECT i, x FROM kept WHERE x > lowest)", "lowest", "lowest, a temporary variable",
        "TEMPORARY VARIABLE lowest",
    ),
}  # fmt: skip


@pytest.mark.parametrize("declaration", TEMPORARY)
def test_a_stored_view_reads_nothing_temporary(sql, declaration):
    relation, name, named, dropped = TEMPORARY[declaration]
    sql(declaration)
    queries = [f"SELECT * {relation} {CLAUSE}", f"WITH c AS (SELECT * {relation}) SELECT * FROM c {CLAUSE}"]
    for text in [f"CREATE OR REPLACE VIEW v AS {query}" for query in queries]:
        with pytest.raises(BindError) as raised:
            sql(text)
        assert raised.value.error_class == "SQLEXT_INVALID_TEMP_OBJ_REFERENCE"
        assert f"a stored view cannot read {named} that other sessions do not have" in str(raised.value)
        assert HINT in str(raised.value)
        assert text[raised.value.place.start : raised.value.place.stop] == name
        sql(text.replace("VIEW v", "TEMPORARY VIEW w"))
        sql("DROP VIEW w")
    sql(f"CREATE VIEW v AS SELECT * FROM kept {CLAUSE}")
    with pytest.raises(BindError, match="INVALID_TEMP_OBJ_REFERENCE"):
        sql(f"ALTER VIEW v AS {queries[0]}")
    sql(f"DROP {dropped}")


def test_names_that_are_columns_or_ctes_are_not_temporary(sql):
    sql("DECLARE VARIABLE x INT DEFAULT 5")
    sql("CREATE TEMPORARY VIEW c AS SELECT 1 AS i, 2 AS x")
    sql(f"CREATE VIEW v AS WITH c AS (SELECT i, x FROM kept) SELECT * FROM c {CLAUSE}")
    assert sql("SELECT * FROM v").collect() == [(1, 10)]
    sql("DROP TEMPORARY VARIABLE x")
    sql("DROP VIEW c")


def test_a_view_keeps_its_columns_when_its_table_changes(sql):
    sql(f"CREATE VIEW v AS SELECT * FROM kept {CLAUSE}")
    sql("ALTER TABLE kept ADD COLUMNS (more INT FIRST)")
    sql("INSERT INTO kept VALUES (7, 2, 20, 'b')")
    assert sql("SELECT * FROM v ORDER BY i").collect() == [(1, 10, "a"), (2, 20, "b")]
    assert [f.simpleString() for f in sql("TABLE v").schema] == ["i:int", "x:int", "s:string"]
    sql("CREATE OR REPLACE TABLE kept AS SELECT 'b' AS s, 3L AS i, 30 AS x")
    assert sql("TABLE v").collect() == [(3, 30, "b")]
    assert [f.simpleString() for f in sql("TABLE v").schema] == ["i:int", "x:int", "s:string"]
    sql("CREATE OR REPLACE TABLE kept AS SELECT 3 AS i, 30 AS x, 'c' AS t")
    with pytest.raises(BindError) as raised:
        sql("SELECT count(*) FROM v")
    assert str(raised.value).split("\n")[0] == (
        "SQLEXT_INCOMPATIBLE_VIEW_SCHEMA_CHANGE: the query of the view v had one column s, and has no column of that "
        "name now"
    )
    assert raised.value.place.text[raised.value.place.start : raised.value.place.stop] == "v"
    sql(f"CREATE OR REPLACE VIEW v (a, b, c) AS SELECT * FROM kept {CLAUSE}")
    sql("ALTER TABLE kept ADD COLUMNS (more INT)")
    assert sql("TABLE v").columns == ["a", "b", "c"]
    sql(f"ALTER VIEW v AS SELECT * FROM kept {CLAUSE}")
    assert sql("TABLE v").columns == ["i", "x", "t", "more"]


def test_views_of_earlier_versions_are_read_and_replaced(spark, sql):
    own = unhooked(spark)
    own("DROP TABLE IF EXISTS sqlext_views")
    own("CREATE TABLE sqlext_views (name STRING, text STRING, columns ARRAY<STRING>, comment STRING, "
        "schema ARRAY<STRING>, created_at TIMESTAMP, created_by STRING) USING delta")  # fmt: skip
    for name in ("v", "gone", "old"):
        schema = "array('spark_catalog', 'default')"
        text = f"SELECT * FROM kept {CLAUSE}".replace("'", "''")
        own(f"INSERT INTO sqlext_views SELECT '{name}', '{text}', array(), NULL, {schema}, now(), '0.1.0'")
    assert sql("TABLE v").collect() == [(1, 10, "a")]
    sql("DROP VIEW gone")
    sql(f"CREATE OR REPLACE VIEW v AS SELECT i FROM kept {CLAUSE}")
    sql("ALTER VIEW old RENAME TO new")
    names = {row.viewName for row in sql("SHOW VIEWS").collect()}
    assert names & {"v", "gone", "old", "new"} == {"v", "new"}
    assert sql("TABLE new").collect() == [(1, 10, "a")]
    assert sql("TABLE v").collect() == [(1,)]
    for name in ("v", "new"):
        sql(f"DROP VIEW {name}")
