"""Run on Spark 4.1 by test_iceberg.py and by `make test-iceberg`: the law of materialized views over tables of Iceberg,
and in them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from sqlext.sessions.hook import unhooked
from tests.engine.materialized.histories import (
    ALTERED,
    ICEBERG_CLASSES,
    KINDS,
    check_history,
    compaction,
    create_sources,
    described,
    difference,
    drop_all,
    versions,
)
from tests.sampling import seeded

pytestmark = [
    pytest.mark.skipif(os.environ.get("SQLEXT_TEST_FORMAT") != "iceberg", reason="make test-iceberg starts Iceberg"),
    pytest.mark.filterwarnings("ignore"),
]
SEEDS = 30
GROUPS = KINDS["groups"][1]
CHANGELOG, PLACES = "Iceberg's changelog", "the places of its rows in files"
INSERT = "INSERT INTO ev VALUES (90, NULL, 4, 'b'), (90, NULL, 5, 'b')"


@pytest.fixture
def views(spark):
    yield spark
    spark.sql("RESET sqlext.read")
    drop_all(spark)


def created(views, clauses: str = "", seed: int = 1) -> None:
    """The sources and a view of them, whose key is k."""
    create_sources(views, seeded(seed), clauses)
    views.sql(f"CREATE MATERIALIZED VIEW mv AS {GROUPS}")


def explained(views) -> str:
    return views.sql("EXPLAIN REFRESH MATERIALIZED VIEW mv").first()[0]


def snapshots(views, table: str) -> list[int]:
    rows = unhooked(views)(f"SELECT snapshot_id FROM local.default.{table}.history ORDER BY made_current_at").collect()
    return [row[0] for row in rows]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_after_any_history_the_view_has_the_rows_of_its_query(views, seed):
    check_history(views, seeded(seed), seed)


CHANGES = {
    "appended": ("plain", [INSERT], CHANGELOG, 1),
    "appended and compacted": ("plain", [INSERT, compaction("ev")], CHANGELOG, 1),
    "rewritten": ("plain", [INSERT, "UPDATE ev SET v = v + 1 WHERE k = 3 AND v IS NOT NULL"], CHANGELOG, 2),
    "a row that is written as it was": ("plain", ["UPDATE ev SET v = v + 0"], CHANGELOG, 0),
    "deleted by files": ("deletes in files", ["DELETE FROM ev WHERE k = 3"], PLACES, 1),
    "deleted by vectors": ("vectors", ["DELETE FROM ev WHERE k = 3"], PLACES, 1),
    "deletes that were compacted": ("vectors", ["DELETE FROM ev WHERE k = 3", compaction("ev")], PLACES, 9),
    "merged on read": (
        "vectors",
        ["UPDATE ev SET v = 9 WHERE k = 3 OR k = 4", "DELETE FROM ev WHERE k = 5"],
        PLACES,
        3,
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_keys_of_changed_rows_are_computed_anew(views, name):
    clauses, statements, way, keys = CHANGES[name]
    created(views, ICEBERG_CLASSES[clauses])
    for statement in statements:
        views.sql(statement)
    assert f"k of its changed rows, by {way}" in explained(views)
    views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, GROUPS) == ""
    last = described(views)
    assert (last["kind"], int(last["changed_keys"])) == ("by key", keys)


def test_a_refresh_appends_what_is_new_and_commits_nothing_without_changes(views):
    created(views)
    before = versions(views, "mv")
    for statement in (
        compaction("ev"),
        "ALTER TABLE ev SET TBLPROPERTIES (note = '1')",
        "INSERT INTO ev SELECT * FROM ev WHERE false",
        "REFRESH MATERIALIZED VIEW mv",
    ):
        views.sql(statement)
    assert versions(views, "mv") == before
    assert explained(views) == "REFRESH does nothing: no row of a source has changed."
    views.sql(INSERT)
    views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, GROUPS) == ""
    operations = unhooked(views)("SELECT operation FROM local.default.mv.snapshots ORDER BY committed_at").collect()
    assert [row[0] for row in operations] == ["append", "append"]
    last = described(views)
    assert (last["rows_deleted"], last["rows_inserted"], last["files_rewritten"]) == ("0", "1", "0")


def test_a_table_without_rows_is_a_source(views):
    unhooked(views)("CREATE TABLE ev (k BIGINT, ts TIMESTAMP, v INT, c STRING)").collect()
    views.sql(f"CREATE MATERIALIZED VIEW mv AS {GROUPS}")
    assert explained(views) == "REFRESH does nothing: no row of a source has changed."
    views.sql(INSERT)
    views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, GROUPS) == "" and described(views)["kind"] == "by key"
    assert views.table("mv").count() == 1


def test_a_source_that_was_rolled_back_is_followed(views):
    created(views)
    (first,) = snapshots(views, "ev")
    for statement in (INSERT, "REFRESH MATERIALIZED VIEW mv"):
        views.sql(statement)
    views.sql(f"CALL local.system.rollback_to_snapshot('default.ev', {first})")
    assert f"by {PLACES}" in explained(views)
    views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, GROUPS) == "" and described(views)["kind"] == "by key"


REASONS = {
    "CALL local.system.expire_snapshots(table => 'default.ev', older_than => TIMESTAMP '2100-01-01')":
        "no longer has its snapshot",
    "ALTER TABLE ev ADD COLUMN more INT": ALTERED,
    "DELETE FROM mv WHERE k > 3": "another writer changed the rows of the view by",
}  # fmt: skip


@pytest.mark.parametrize("statement", REASONS)
def test_what_is_not_known_is_read_anew(views, statement):
    created(views)
    for each in (INSERT, statement):
        views.sql(each)
    with pytest.warns(UserWarning, match=REASONS[statement]):
        views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, GROUPS) == "" and described(views)["kind"] == "full"


@pytest.mark.parametrize(
    ("statements", "kind"),
    [
        (["ALTER TABLE ev ADD COLUMN more INT", "INSERT INTO ev VALUES (3, NULL, 5, 'b', 1)"], "by key"),
        (["ALTER TABLE ev DROP COLUMN v", "ALTER TABLE ev ADD COLUMN v INT AFTER ts", INSERT], "full"),
        (["ALTER TABLE ev RENAME COLUMN c TO d", "ALTER TABLE ev ADD COLUMN c STRING",
          "INSERT INTO ev VALUES (3, NULL, 5, 'b', 'c')"], "full"),
    ],
)  # fmt: skip
def test_other_columns_of_the_same_names_are_read_anew(views, statements, kind):
    created(views)
    for statement in (*statements, "REFRESH MATERIALIZED VIEW mv"):
        views.sql(statement)
    assert difference(views, GROUPS) == "" and described(views)["kind"] == kind


def test_two_refreshes_at_once_are_one(views):
    created(views)
    for number, statement in enumerate((INSERT, "UPDATE ev SET v = 9 WHERE v > 3")):
        views.sql(statement)
        before = versions(views, "mv")
        with ThreadPoolExecutor(3) as three:
            list(three.map(views.sql, ["REFRESH MATERIALIZED VIEW mv"] * 3))
        assert versions(views, "mv") == before + 1, number
        assert difference(views, GROUPS) == ""


def test_a_view_that_was_rolled_back_is_brought_up_to_date(views):
    created(views)
    for statement in (INSERT, "REFRESH MATERIALIZED VIEW mv"):
        views.sql(statement)
    views.sql(f"CALL local.system.rollback_to_snapshot('default.mv', {snapshots(views, 'mv')[0]})")
    views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, GROUPS) == "" and described(views)["kind"] == "by key"


def test_a_view_is_described_listed_replaced_and_dropped(views):
    created(views)
    last = described(views)
    assert last["source"] == f"local.default.ev, version {snapshots(views, 'ev')[-1]}"
    assert (last["refreshed"], last["kind"], last["reason"]) == ("by key: k", "full", "the view was created")
    assert int(last["rows_inserted"]) == views.table("mv").count()
    views.sql("CREATE OR REPLACE MATERIALIZED VIEW mv PARTITIONED BY (k) AS SELECT DISTINCT k FROM ev")
    assert [tuple(row)[:2] for row in views.sql("SHOW MATERIALIZED VIEWS").collect()] == [("default", "mv")]
    views.sql(INSERT)
    views.sql("REFRESH MATERIALIZED VIEW mv")
    assert difference(views, "SELECT DISTINCT k FROM ev") == "" and described(views)["kind"] == "by key"
    views.sql("DROP MATERIALIZED VIEW mv")
    assert views.sql("SHOW MATERIALIZED VIEWS").collect() == [] and not views.catalog.tableExists("mv")
