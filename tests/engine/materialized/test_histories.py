"""The law of materialized views: after each refresh the table has the rows of its query, whatever has happened to its
sources."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from sqlext.engine.materialized.delta_table import delta_table_of
from sqlext.formats.delta_history import history, history_in
from tests.engine.materialized import histories
from tests.engine.materialized.histories import (
    CLASSES,
    KINDS,
    VIEWS,
    check_history,
    create_sources,
    described,
    difference,
    drop_all,
    versions,
)
from tests.sampling import seeded

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::UserWarning")]
SEEDS = 300


@pytest.fixture
def views(spark):
    yield spark
    spark.sql("RESET sqlext.read")
    drop_all(spark)


@pytest.mark.random(every=150, few=150)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_after_any_history_the_view_has_the_rows_of_its_query(views, seed):
    check_history(views, seeded(seed), seed)


@pytest.mark.random(every=3)
@pytest.mark.parametrize("title", ["matches", "doubles", "the highest"])
def test_a_refresh_replaces_only_what_differs_and_nothing_without_changes(views, title):
    key, query = KINDS[title]
    create_sources(views, seeded(1), "")
    views.sql("INSERT INTO ev VALUES (7, TIMESTAMP '2026-01-01', 8, 'a')")
    views.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    before = versions(views, "mv")
    for statement in ("OPTIMIZE ev", "ALTER TABLE ev SET TBLPROPERTIES (note = '1')", "REFRESH MATERIALIZED VIEW mv"):
        views.sql(statement)
    assert versions(views, "mv") == before
    views.sql("INSERT INTO ev VALUES (7, TIMESTAMP '2026-01-02', 9, 'a')")
    views.sql("INSERT INTO px VALUES (7, TIMESTAMP '2026-01-02', -0.0), (7, TIMESTAMP '2026-01-02', 0.0)")
    views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, query) == ""
    last = described(views)
    if key == "full":
        assert (last["kind"], last["reason"]) == ("full", "LIMIT takes rows of all keys together")
    else:
        assert (last["kind"], last["reason"]) == ("by key", None)
        assert int(last["rows_deleted"]) <= 2 and int(last["rows_inserted"]) <= 2


def test_two_refreshes_at_once_are_one(views):
    _, query = KINDS["groups"]
    create_sources(views, seeded(2), "")
    views.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    for number in range(2):
        views.sql(f"INSERT INTO ev VALUES (3, TIMESTAMP '2026-01-01', {number}, 'a'), (4, NULL, 5, 'b')")
        before = versions(views, "mv")
        with ThreadPoolExecutor(3) as three:
            list(three.map(views.sql, ["REFRESH MATERIALIZED VIEW mv"] * 3))
        assert versions(views, "mv") == before + 1
        assert difference(views, query) == ""


def test_what_another_writer_changed_is_repaired(views):
    _, query = KINDS["groups"]
    create_sources(views, seeded(3), "")
    views.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    views.sql("DELETE FROM mv WHERE k > 3")
    with pytest.warns(UserWarning, match="another writer changed the rows of the view by DELETE at its version 1"):
        views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, query) == ""
    assert described(views)["kind"] == "full"


@pytest.mark.random(every=3)
@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("CREATE OR REPLACE TABLE ev AS SELECT 1L AS k, now() AS ts, 2 AS v, 'a' AS c", "was changed by CREATE OR"),
        ("ALTER TABLE ev ADD COLUMN more INT", "has other columns than at the last refresh, which the query may read"),
        ("ALTER TABLE ev ALTER COLUMN v AFTER c", "has other columns than at the last refresh"),
    ],
)
def test_a_source_whose_columns_may_be_other_ones_is_read_anew(views, statement, reason):
    _, query = KINDS["rows of matches"]
    create_sources(views, seeded(4), "")
    views.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    views.sql(statement)
    with pytest.warns(UserWarning, match=reason):
        views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, query) == ""


@pytest.mark.random(every=4)
@pytest.mark.parametrize("clauses", [CLASSES["feed"], CLASSES["vectors"]])
@pytest.mark.parametrize(
    "statements",
    [
        ["ALTER TABLE ev ADD COLUMN more INT", "INSERT INTO ev VALUES (3, NULL, 5, 'b', 1)"],
        ["RESTORE TABLE ev TO VERSION AS OF 0"],
        ["DELETE FROM ev WHERE k < 4", "RESTORE TABLE ev TO VERSION AS OF 1", "DELETE FROM ev WHERE k = 3"],
        ["SET spark.databricks.delta.schema.autoMerge.enabled = true",
         "MERGE INTO ev USING (SELECT 2L AS k, 9 AS v, 8 AS other) AS s ON ev.k = s.k "
         "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
         "RESET spark.databricks.delta.schema.autoMerge.enabled"],
    ],
)  # fmt: skip
def test_columns_that_the_query_does_not_read_leave_it_by_key(views, clauses, statements):
    _, query = KINDS["groups"]
    create_sources(views, seeded(9), clauses)
    views.sql("INSERT INTO ev VALUES (2, NULL, 4, 'b'), (3, NULL, 5, 'b')")
    views.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    for statement in [*statements, "REFRESH MATERIALIZED VIEW mv"]:
        views.sql(statement)
    assert difference(views, query) == ""
    assert (described(views)["kind"], described(views)["reason"]) == ("by key", None)


COMPACTED = "the changed files of spark_catalog.default.ev were compacted"


@pytest.mark.random(every=4)
@pytest.mark.parametrize(
    ("clauses", "reason"),
    [("", None), (CLASSES["feed"], None), (CLASSES["vectors"], None), (CLASSES["partitioned"], COMPACTED)],
)
def test_rows_of_files_that_were_compacted_since_are_found(views, clauses, reason):
    _, query = KINDS["groups"]
    create_sources(views, seeded(10), clauses)
    views.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    for statement in (*["INSERT INTO ev VALUES (2, NULL, 4, 'b'), (3, NULL, 5, 'b')"] * 2, "OPTIMIZE ev"):
        views.sql(statement)
    views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, query) == ""
    assert described(views)["reason"] == reason


@pytest.mark.random(every=3)
@pytest.mark.parametrize(
    ("properties", "operations"),
    [("", [("WRITE", "0"), ("WRITE", "2")]), (CLASSES["feed"], [("WRITE", "0"), ("MERGE", "1")]),
     ("TBLPROPERTIES (delta.enableRowTracking = true)", [("WRITE", "0"), ("MERGE", "1")])],
)  # fmt: skip
def test_a_small_view_is_written_anew_unless_it_keeps_account_of_its_rows(views, properties, operations):
    _, query = KINDS["groups"]
    create_sources(views, seeded(11), "")
    views.sql(f"CREATE MATERIALIZED VIEW mv {properties} AS {query}")
    expected = [(0, 1), (1, 1)]  # a new key, and one that is there
    for operation, counts in zip(operations, expected):
        views.sql("INSERT INTO ev VALUES (90, NULL, 4, 'b'), (90, NULL, 5, 'b')")
        views.sql("REFRESH MATERIALIZED VIEW mv")
        last = views.sql("DESCRIBE HISTORY mv LIMIT 1").first()
        assert (last.operation, described(views)["files_rewritten"]) == operation
        assert (int(described(views)["rows_deleted"]), int(described(views)["rows_inserted"])) == counts
    assert difference(views, query) == ""


@pytest.mark.random(every=4)
@pytest.mark.parametrize("mode", ["auto", "spark"])
@pytest.mark.parametrize("kind", ["DECIMAL(10,2)", "DECIMAL(30,4)", "BINARY", "DOUBLE"])
def test_keys_of_other_types_are_found(views, kind, mode):
    views.sql(f"SET sqlext.read = {mode}")
    views.sql(f"CREATE TABLE ev AS SELECT CAST(CAST(nullif(id, 9) AS STRING) AS {kind}) AS k, id AS v FROM range(10)")
    query = "SELECT k, count(*) AS n, sum(v) AS total FROM ev GROUP BY k"
    views.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    views.sql("INSERT INTO ev SELECT k, v + 1 FROM ev WHERE v IN (3, 9)")
    views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, query) == ""
    last = described(views)
    assert [last[name] for name in ("kind", "changed_keys", "rows_deleted", "rows_inserted")] == ["by key", *"222"]


@pytest.mark.random(every=2)
@pytest.mark.parametrize(
    ("query", "reason"),
    [("SELECT k AS card, n AS rise, rand() AS r", r"rand\(\) in the view rises gives other rows each time"),
     ("SELECT k AS card, n + 1 AS rise", "the query of a view that it reads was changed")],
)  # fmt: skip
def test_a_stored_view_with_another_query_is_read_anew(views, query, reason):
    create_sources(views, seeded(12), "")
    views.sql("CREATE MATERIALIZED VIEW mv AS SELECT card, rise FROM rises")
    assert described(views)["refreshed"] == "by key: card"
    clause = VIEWS["rises"].partition(" FROM ")[2]
    views.sql(f"CREATE OR REPLACE VIEW rises AS {query} FROM {clause}")
    with pytest.warns(UserWarning, match=reason):
        views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, "SELECT card, rise FROM rises") == ""


@pytest.mark.parametrize("properties", ["", "TBLPROPERTIES (delta.enableInCommitTimestamps = true)"])
def test_a_log_is_read_on_this_machine_as_spark_reads_it(views, properties):
    create_sources(views, seeded(13), properties)
    for statement in ("DELETE FROM ev WHERE k = 3", "OPTIMIZE ev", "INSERT INTO ev VALUES (3, NULL, 5, 'b')"):
        views.sql(statement)
    table = delta_table_of(views, views.sql, ("ev",))
    assert table.log is not None
    for limit in (2, None):
        assert history_in(table.log, limit) == history(views.sql, ("ev",), limit)


def test_another_table_of_the_name_is_read_anew(views):
    _, query = KINDS["groups"]
    create_sources(views, seeded(5), "")
    views.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    create_sources(views, seeded(6), "")
    views.sql("INSERT INTO ev VALUES (3, NULL, 5, 'b')")
    with pytest.warns(UserWarning, match="is another table than at the last refresh"):
        views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, query) == ""


def test_a_version_that_vacuum_removed_is_not_read(views):
    _, query = KINDS["groups"]
    create_sources(views, seeded(7), "TBLPROPERTIES (delta.deletedFileRetentionDuration = 'interval 0 seconds')")
    views.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    views.sql("UPDATE ev SET v = v + 1")
    views.sql("SET spark.databricks.delta.retentionDurationCheck.enabled = false")
    views.sql("VACUUM ev RETAIN 0 HOURS")
    views.sql("RESET spark.databricks.delta.retentionDurationCheck.enabled")
    with pytest.warns(UserWarning, match="can no longer be read"):
        views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, query) == ""


def test_settings_of_a_refresh_are_not_seen_by_other_statements(views):
    create_sources(views, seeded(8), "")
    views.sql(f"CREATE MATERIALIZED VIEW mv AS {KINDS['groups'][1]}")
    views.sql("INSERT INTO ev VALUES (3, NULL, 5, 'b')")
    views.sql("REFRESH MATERIALIZED VIEW mv")
    views.sql("INSERT INTO ev VALUES (4, NULL, 5, 'b')")
    assert views.sql("DESCRIBE HISTORY ev LIMIT 1").first().userMetadata is None
    assert {row.key for row in views.sql("SET").collect() if "txnAppId" in row.key} == set()
    assert [table.name for table in views.catalog.listTables() if table.name.startswith("__sqlext")] == []


def test_rows_of_histories_differ_by_the_sign_of_zero(views):
    assert histories.rows(views, "SELECT 0.0D AS z") != histories.rows(views, "SELECT -0.0D AS z")
