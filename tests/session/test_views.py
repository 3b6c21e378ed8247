"""Stored views: create, find, list, replace, drop, and how plain statements see them."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

from sqlext.catalog import views
from sqlext.errors import BindError
from sqlext.hook import unhooked
from sqlext.rewriter.heads import parse_create_view

TEXT = "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a{2}) DEFINE a AS x > 'it''s ${y} \\n' ) -- é"


@pytest.fixture(scope="module")
def sql(spark):
    own = unhooked(spark)
    own("CREATE TABLE t AS SELECT 1 AS x")
    own("CREATE DATABASE other")
    yield own
    for statement in ("DROP DATABASE other CASCADE", "DROP TABLE t", f"DROP TABLE IF EXISTS {views.TABLE}"):
        own(statement)


@pytest.fixture
def create(spark, sql):
    """Carries out CREATE VIEW statements; the views are gone behind the test."""
    made = []

    def run(text):
        statement = parse_create_view(text)
        made.append(statement.head.name.parts)
        return views.create(spark, sql, statement)

    yield run
    for name in made:
        views.drop(spark, sql, name)


def test_a_view_is_found_as_it_was_written(spark, sql, create):
    assert create(f"CREATE VIEW V (a, `b c`) COMMENT 'it''s' AS {TEXT}").collect() == []
    view = views.lookup(spark, sql, "`v`")
    assert (view.name, view.text, view.columns, view.comment) == ("v", TEXT, ("a", "b c"), "it's")
    assert view.schema == ("spark_catalog", "default")
    assert view.qualified_text == TEXT.replace("FROM t", "FROM `spark_catalog`.`default`.t")


def test_views_are_listed_by_schema(spark, sql, create):
    create(f"CREATE VIEW b AS {TEXT}")
    create(f"CREATE VIEW a AS {TEXT}")
    create(f"CREATE VIEW other.c AS {TEXT}")
    assert views.names(spark, sql) == ["a", "b"]
    assert views.names(spark, sql, ("other",)) == ["c"]
    assert views.names(spark, sql, ("no_such_schema",)) == []


def test_a_taken_name_is_an_error_unless_the_statement_allows_it(spark, sql, create):
    create("CREATE VIEW v AS SELECT 1")
    for taken in ("v", "t"):
        with pytest.raises(BindError, match="VIEW_ALREADY_EXISTS"):
            create(f"CREATE VIEW {taken} AS SELECT 2")
    create("CREATE VIEW IF NOT EXISTS v AS SELECT 3")
    assert views.lookup(spark, sql, "v").text == "SELECT 1"
    create("CREATE OR REPLACE VIEW v AS SELECT 4")
    assert views.lookup(spark, sql, "v").text == "SELECT 4"
    assert views.names(spark, sql) == ["v"]


def test_a_stored_view_may_replace_a_plain_one_but_no_table(spark, sql, create):
    sql("CREATE VIEW v AS SELECT 1 AS x")
    create(f"CREATE OR REPLACE VIEW v AS {TEXT}")
    assert not spark.catalog.tableExists("v")
    with pytest.raises(AnalysisException):
        create(f"CREATE OR REPLACE VIEW t AS {TEXT}")


def test_mentions_tell_where_a_statement_reads_a_view(spark, sql, create):
    create(f"CREATE VIEW v AS {TEXT}")
    text = "WITH c AS (SELECT 1) SELECT v.v, 'v' FROM t, V JOIN c /* v */ WHERE EXISTS (SELECT v FROM other.v, `v`)"
    found = views.mentioned(spark, sql, text)
    assert [text[m.name.start : m.name.stop] for m in found] == ["V", "`v`"]
    assert {m.view.name for m in found} == {"v"}
    assert views.mentioned(spark, sql, "SELECT * FROM delta.`/no/path`, no_catalog.a.b") == ()


def test_drop_view_drops_it(spark, create):
    create(f"CREATE VIEW v AS {TEXT}")
    assert spark.sql("DROP VIEW v").collect() == []
    spark.sql("DROP VIEW IF EXISTS v")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("DROP VIEW v")


def test_a_plain_view_takes_the_place_of_a_stored_one(spark, sql, create):
    create(f"CREATE VIEW v AS {TEXT}")
    with pytest.raises(BindError, match="VIEW_ALREADY_EXISTS"):
        spark.sql("CREATE VIEW v AS SELECT 5 AS x")
    spark.sql("CREATE VIEW IF NOT EXISTS v AS SELECT 5 AS x")
    assert not spark.catalog.tableExists("v")
    spark.sql("CREATE OR REPLACE VIEW v AS SELECT 5 AS x")
    assert views.names(spark, sql) == []
    assert spark.sql("SELECT * FROM v").collect() == [(5,)]
    spark.sql("DROP VIEW v")
