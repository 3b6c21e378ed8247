"""Stored views: create, find, list, replace, drop, and how plain statements see them."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

import sqlext
from sqlext.catalog import views
from sqlext.errors import BindError
from sqlext.rewriter.heads.heads import parse_head, parse_view
from sqlext.sessions.hook import unhooked
from tests.statements.cases import settings

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
    """Carries out CREATE VIEW statements; the views are gone after the test."""
    made = []

    def run(text):
        statement = parse_view(parse_head(text))
        made.append(statement.head.name.parts)
        return views.create(spark, sql, statement)

    yield run
    for name in made:
        views.drop(spark, sql, name)


def test_a_view_is_found_as_it_was_written(spark, sql, create):
    assert create(f'CREATE VIEW V (a, `b c`) COMMENT "it\'s" AS {TEXT}').collect() == []
    view = views.lookup(spark, sql, "`v`")
    assert (view.name, view.text, view.columns, view.comment) == ("v", TEXT, ("a", "b c"), "it's")
    assert view.schema == ("spark_catalog", "default")
    assert view.qualified_text == TEXT.replace("FROM t", "FROM `spark_catalog`.`default`.t")


def test_views_are_listed_by_schema(spark, sql, create):
    create(f"CREATE VIEW b AS {TEXT}")
    create(f"CREATE VIEW a AS {TEXT}")
    create(f"CREATE VIEW other.c AS {TEXT}")
    assert [v.name for v in views.stored(spark, sql)] == ["a", "b"]
    assert [v.name for v in views.stored(spark, sql, ("other",))] == ["c"]
    assert [v.name for v in views.stored(spark, sql, ("no_such_schema",))] == []


def test_a_taken_name_is_an_error_unless_the_statement_allows_it(spark, sql, create):
    create("CREATE VIEW v AS SELECT 1")
    for taken in ("v", "t"):
        with pytest.raises(BindError, match="VIEW_ALREADY_EXISTS"):
            create(f"CREATE VIEW {taken} AS SELECT 2")
    create("CREATE VIEW IF NOT EXISTS v AS SELECT 3")
    assert views.lookup(spark, sql, "v").text == "SELECT 1"
    create("CREATE OR REPLACE VIEW v AS SELECT 4")
    assert views.lookup(spark, sql, "v").text == "SELECT 4"
    assert [v.name for v in views.stored(spark, sql)] == ["v"]


def test_a_stored_view_may_replace_a_plain_one_but_no_table(spark, sql, create):
    sql("CREATE VIEW v AS SELECT 1 AS x")
    create(f"CREATE OR REPLACE VIEW v AS {TEXT}")
    assert not views.is_known(spark, ("v",))
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
    assert not views.is_known(spark, ("v",))
    spark.sql("CREATE OR REPLACE VIEW v AS SELECT 5 AS x")
    assert [v.name for v in views.stored(spark, sql)] == []
    assert spark.sql("SELECT * FROM v").collect() == [(5,)]
    spark.sql("DROP VIEW v")


CLAUSE = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY x MEASURES COUNT(*) AS k PATTERN (a+) DEFINE a AS x > 0)"


def test_explain_match_shows_the_clauses_of_a_stored_view(spark, create):
    create(f"CREATE VIEW v AS {CLAUSE}")
    text = spark.sql("EXPLAIN MATCH SELECT k FROM v").collect()[0][0]
    assert text.startswith("== View v, which the statement reads as __sqlext_")
    assert "== Clause 1, line 1 ==" in text and "SELECT k FROM __sqlext_" in text


def test_methods_of_the_session_know_stored_views(spark, create):
    create(f"CREATE VIEW v (n) COMMENT 'it''s' AS {CLAUSE}")
    assert spark.table("v").collect() == spark.read.table("default.v").collect() == [(1,)]
    catalog = spark.catalog
    assert [catalog.tableExists(name) for name in ("v", "default.v", "no_v")] == [True, True, False]
    assert [t.name for t in catalog.listTables(pattern="V*")] == ["v"]
    view = catalog.getTable("V")
    assert (view.name, view.namespace, view.description, view.tableType) == ("v", ["default"], "it's", "VIEW")
    assert [(c.name, c.dataType) for c in catalog.listColumns("v")] == [("n", "bigint")]
    for name in ("table", "read.table", "catalog.getTable"):
        method = spark
        for part in name.split("."):
            method = getattr(method, part)
        with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
            method("no_v")


def test_a_cached_view_is_read_from_memory_until_it_changes(spark, create):
    create(f"CREATE VIEW v AS {CLAUSE}")
    spark.sql("CACHE TABLE v")
    assert spark.catalog.isCached("v") and spark.table("v").collect() == [(1,)]
    spark.sql("ALTER VIEW v AS SELECT 7 AS k")
    assert not spark.catalog.isCached("v") and spark.table("v").collect() == [(7,)]
    spark.catalog.cacheTable("v")
    spark.sql("UNCACHE TABLE IF EXISTS v")
    assert not spark.catalog.isCached("v")


def test_nothing_is_left_behind_by_views_and_functions_of_statements(spark, sql):
    before = {t.name for t in spark.catalog.listTables()}
    spark.sql(f"CREATE TEMPORARY VIEW tv AS {CLAUSE}")
    spark.conf.set("sqlext.engine", "udtf")
    assert spark.sql(CLAUSE).collect() == spark.table("tv").collect() == [(1,)]
    spark.conf.unset("sqlext.engine")
    assert {t.name for t in spark.catalog.listTables()} == {*before, "tv"}
    assert not [f for (f,) in sql("SHOW USER FUNCTIONS").collect() if "__" in f]
    spark.sql("DROP VIEW tv")


def test_a_compiled_statement_names_no_helper_of_a_stored_view(spark, create):
    create(f"CREATE VIEW v (n) AS {CLAUSE}")
    plain = sqlext.compile("SELECT v.n + 1 FROM v", spark=spark)
    assert "__sqlext" not in plain
    assert spark.sql(plain).collect() == [(2,)]


def test_a_view_keeps_the_settings_of_its_creation_as_views_of_spark_do(spark, sql):
    rows = "(SELECT timestamp_seconds(1774695600) AS ts)"
    size = "size(if({}ts IS NULL, array(1), NULL))"
    texts = {
        "of_spark": f"SELECT hour(ts) AS h, {size.format('')} AS n FROM {rows} WHERE hour(ts) = 12",
        "ours": f"""SELECT * FROM {rows} MATCH_RECOGNIZE (ORDER BY ts MEASURES hour(A.ts) AS h, {size.format("A.")} AS n
            PATTERN (A) DEFINE A AS hour(ts) = 12)""",
        "over_ours": """SELECT * FROM ours MATCH_RECOGNIZE (ORDER BY h MEASURES A.h AS h, A.n AS n
            PATTERN (A) DEFINE A AS h > 1)""",
    }
    created = {"spark.sql.session.timeZone": "Europe/Berlin", "spark.sql.ansi.enabled": "false"}
    try:
        with settings(spark, created):
            for name, text in texts.items():
                spark.sql(f"CREATE VIEW {name} AS {text}")
        found = {name: [tuple(row) for row in spark.table(name).collect()] for name in texts}
        assert found == {name: [(12, -1)] for name in texts}
        assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
        with settings(spark, {"spark.sql.legacy.useCurrentConfigsForView": "true"}):
            assert [spark.table(name).collect() for name in texts] == [[], [], []]
        spark.sql(f"ALTER VIEW ours AS {texts['ours']}")
        assert spark.sql("SELECT * FROM ours").collect() == []
    finally:
        for name in reversed(texts):
            spark.sql(f"DROP VIEW IF EXISTS {name}")


@pytest.mark.parametrize("head", ["", "EXPLAIN MATCH ", "EXPLAIN MATCH ANALYZE "])
def test_an_error_in_a_view_has_its_place_there(spark, create, head):
    create("CREATE VIEW wrong AS SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS gone > 0)")
    with pytest.raises(BindError) as refused:
        spark.sql(f"{head}SELECT * FROM wrong")
    assert refused.value.place.written == "gone"
