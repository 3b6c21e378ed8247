"""Run on Spark 4.1 by test_iceberg.py and by `make test-iceberg`: what Delta's tables keep elsewhere, in Iceberg's."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

import sqlext
from sqlext.formats.known_formats import format_of
from sqlext.sessions.hook import unhooked
from tests.kafka.jars import NoJars
from tests.operators.match.event_rows import STREAM, append, lines
from tests.statements.cases import message, settings

from .rest_catalog import rest_catalog

pytestmark = [
    pytest.mark.skipif(os.environ.get("SQLEXT_TEST_FORMAT") != "iceberg", reason="make test-iceberg starts Iceberg"),
    pytest.mark.filterwarnings("ignore"),
]
CLAUSE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.i AS f, B.i AS l PATTERN (A B)
  DEFINE A AS c = 'A', B AS c = 'B')"""
PAIRS = f"SELECT k, f, l FROM {STREAM} {CLAUSE}"
FIRINGS = f"""SELECT k, window_start, max(i) AS m, window_rowtime AS at FROM TUMBLE(TABLE {STREAM}, DESCRIPTOR(ts),
  INTERVAL 10 SECONDS) GROUP BY k, window_start, window_end EMIT EVERY 1 ROWS"""
BATCH = {
    "a clause": f"SELECT * FROM events {CLAUSE}",
    "ASOF JOIN": """SELECT a.i, b.i AS j FROM events a LEFT ASOF JOIN events b MATCH_CONDITION (a.ts > b.ts)
      ON a.k = b.k""",
    "INTERVAL JOIN": """SELECT a.i, b.i AS j FROM events a INTERVAL JOIN events b
      ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 2 SECONDS""",
    "EMIT": """SELECT k, window_start, max(i) AS m FROM TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL 4 SECONDS)
      GROUP BY k, window_start, window_end EMIT EVERY 1 ROWS""",
}
FIRST = ["1 1 2", "2 4 5"]  # of these rows a stream decides these pairs
ROWS = ("1 0 A 1", "1 1 B 2", "2 1 A 3", "2 3 A 4", "2 4 B 5", "1 9 A 6")
RULE = "CREATE PATTERN RULE {name} ON rules FOR TABLE events AS " + CLAUSE.replace("PARTITION BY k ORDER BY ts ", "")


@pytest.fixture(scope="session")
def rest(spark, tmp_path_factory):
    """The name of a REST catalog, whose server ends with the tests."""
    try:
        with rest_catalog(tmp_path_factory.mktemp("rest")) as address:
            catalog = "org.apache.iceberg.spark.SparkCatalog"
            for name, value in {"": catalog, ".type": "rest", ".uri": address, ".cache-enabled": "false"}.items():
                spark.conf.set(f"spark.sql.catalog.rest{name}", value)
            spark.sql("CREATE NAMESPACE IF NOT EXISTS rest.default")
            yield "rest"
    except NoJars as error:
        pytest.skip(str(error))


@pytest.fixture(params=["local", "rest"])
def catalog(request):
    """The name of a catalog: a folder, or a REST server."""
    return "local" if request.param == "local" else request.getfixturevalue("rest")


@pytest.fixture
def events(spark, catalog):
    """An empty table `events` in the catalog, which is the current one; every table and view that a test creates is
    dropped after it."""
    values = {"sqlext.stream.trigger": "available-now", "sqlext.stream.buckets": "2"}
    spark.sql(f"USE {catalog}.default")
    with settings(spark, values):
        spark.sql("CREATE TABLE events (k INT, ts TIMESTAMP, c STRING, i INT)")
        yield spark
    for row in unhooked(spark)("SHOW TABLES").collect():
        if not row.isTemporary:
            spark.sql(f"DROP TABLE {row.tableName}")
    spark.sql("USE local.default")


def another_session(spark, catalog):
    """A session of the same Spark, in which the catalog is current."""
    other = sqlext.extend(spark.newSession())
    for name, value in spark.conf.getAll.items():
        if name.startswith(f"spark.sql.catalog.{catalog}"):
            other.conf.set(name, value)
    other.sql(f"USE {catalog}.default")
    return other


@pytest.mark.parametrize("kind", BATCH)
def test_rows_of_a_table_are_those_of_the_same_rows_in_memory(events, kind):
    append(events, *ROWS)
    expected = [str(row) for row in events.sql("SELECT * FROM events").collect()]
    assert len(expected) == len(ROWS)
    schema, rows = events.table("events").schema, events.table("events").collect()
    stored = sorted(map(str, events.sql(BATCH[kind]).collect()))
    in_memory = events.createDataFrame(rows, schema)
    text = BATCH[kind].replace("TABLE events", "TABLE {copy}").replace("FROM events", "FROM {copy}")
    text = text.replace("JOIN events", "JOIN {copy}")
    assert stored == sorted(map(str, events.sql(text, copy=in_memory).collect())) and stored


def test_tables_are_created_and_appended_to_from_clauses(events):
    append(events, *ROWS)
    events.sql(f"CREATE TABLE pairs USING iceberg AS SELECT k, f, l FROM events {CLAUSE}")
    events.sql(f"INSERT INTO pairs SELECT k, l, f FROM events {CLAUSE}")
    assert lines(events, "pairs") == ["1 1 2", "1 2 1", "2 4 5", "2 5 4"]


def test_a_stream_between_tables_resumes_with_each_row_once(events, catalog):
    events.sql("CREATE TABLE inserted (k INT, l INT NOT NULL, note STRING, f INT)")
    append(events, *ROWS)
    create = f"CREATE STREAMING TABLE pairs AS {PAIRS}"
    insert = f"INSERT INTO inserted (f, l, k) {PAIRS.replace('SELECT k, f, l', 'SELECT f, l, k')}"
    for _ in range(2):
        events.sql(create)
        events.sql(insert)
    assert lines(events, "pairs") == FIRST and lines(events, "inserted") == ["1 2 None 1", "2 5 None 4"]
    append(events, "1 10 B 7", "2 30 A 8")
    for _ in range(2):
        events.sql("REFRESH STREAMING TABLE pairs")
        events.sql(insert)
    assert lines(events, "pairs") == ["1 1 2", "1 6 7", "2 4 5"]
    assert lines(events, "inserted") == ["1 2 None 1", "1 7 None 6", "2 5 None 4"]
    shown = {row.name: row.state for row in events.sql("SHOW STREAMING TABLES").collect()}
    assert shown["pairs" if catalog == "local" else f"{catalog}.pairs"] == "stopped"
    changed = message(lambda: events.sql(create.replace("c = 'B'", "c = 'C'")))
    assert changed.startswith("SQLEXT_CHANGED_QUERY")


def test_rows_that_come_too_late_are_kept_in_a_table(events):
    append(events, "1 20 A 1")
    events.conf.set("sqlext.late_rows", "late")
    try:
        events.sql(f"CREATE STREAMING TABLE pairs AS {PAIRS}")
        append(events, "1 1 A 2")
        events.sql("REFRESH STREAMING TABLE pairs")
    finally:
        events.conf.unset("sqlext.late_rows")
    (row,) = events.table("late").collect()
    assert '"i":2' in row.row and format_of(events, ("late",)).name == "iceberg"


def test_the_last_firing_of_each_window_is_kept(events):
    append(events, "1 0 A 5", "1 1 A 9", "2 2 A 3")
    create = f"CREATE STREAMING TABLE latest UPSERT KEY (k, window_start) AS {FIRINGS}"
    events.sql(create)
    append(events, "1 6 A 7", "1 30 A 1")
    events.sql(create)
    last = events.sql("SELECT k, date_format(window_start, 'ss') AS s, m FROM latest").collect()
    assert sorted(map(tuple, last)) == [(1, "00", 9), (2, "00", 3)]


def test_rules_are_kept_and_followed(events):
    append(events, *ROWS)
    events.sql(RULE.format(name="pair"))
    events.sql(f"""CREATE STREAMING TABLE alerts AS SELECT rule_name, rule_version, k, to_json(measures) AS m
      FROM {STREAM} MATCH_RULES (PARTITION BY k ORDER BY ts RULES rules)""")
    events.sql(RULE.format(name="other").replace("'B'", "'A'"))
    append(events, "2 20 A 8", "2 21 A 9", "2 40 B 10")
    events.sql("REFRESH STREAMING TABLE alerts")
    found = {line.replace('"', "") for line in lines(events, "alerts")}
    assert {"pair 1 1 {f:1,l:2}", "pair 1 2 {f:4,l:5}", "other 1 2 {f:8,l:9}"} <= found
    assert {row.name for row in events.table("rules_log").collect()} == {"pair", "other"}


def test_writers_of_rules_at_the_same_time_number_them_without_a_gap(events, catalog):
    events.sql(RULE.format(name="pair"))
    others = [another_session(events, catalog) for _ in range(3)]
    change = RULE.format(name="pair").replace("CREATE", "CREATE OR REPLACE")
    with ThreadPoolExecutor(len(others)) as threads:
        jobs = [threads.submit(other.sql, change.replace("'B'", f"'{n}'")) for n, other in enumerate(others)]
        for job in jobs:
            job.result()
    versions = sorted(row.version for row in unhooked(events)("SELECT version FROM rules").collect())
    assert versions == [1, 2, 3, 4]


def test_a_materialized_view_is_refreshed_by_key(events):
    append(events, *ROWS)
    events.sql(f"CREATE MATERIALIZED VIEW pairs AS SELECT k, f, l FROM events {CLAUSE}")
    append(events, "1 10 B 7")
    events.sql("REFRESH MATERIALIZED VIEW pairs")
    assert lines(events, "pairs") == ["1 1 2", "1 6 7", "2 4 5"]
    described = {row.property: row.value for row in events.sql("DESCRIBE MATERIALIZED VIEW pairs").collect()}
    assert (described["kind"], described["changed_keys"]) == ("by key", "1")


def test_views_over_clauses_are_kept_in_the_catalog(events, catalog):
    append(events, *ROWS)
    events.sql(f"CREATE VIEW pairs AS SELECT k, f FROM events {CLAUSE}")
    other = another_session(events, catalog)
    assert sorted(map(tuple, other.sql(f"SELECT * FROM {catalog}.default.pairs").collect())) == [(1, 1), (2, 4)]
    assert "SQLEXT_VIEW_ALREADY_EXISTS" in str(message(lambda: other.sql("CREATE VIEW pairs AS SELECT 1 AS x")))
    other.sql("DROP VIEW pairs")
    assert "TABLE_OR_VIEW_NOT_FOUND" in message(lambda: events.sql("SELECT * FROM pairs"))


def test_a_table_that_was_rolled_back_is_refused_until_its_rows_are_back(events, catalog):
    create = f"CREATE STREAMING TABLE pairs AS {PAIRS}"
    append(events, *ROWS)
    events.sql(create)
    snapshots = f"SELECT max_by(snapshot_id, committed_at) AS id FROM {catalog}.default.pairs.snapshots"
    first = events.sql(snapshots).first().id
    append(events, "1 10 B 7", "2 30 A 8")
    events.sql(create)
    whole = lines(events, "pairs")
    events.sql(f"CALL {catalog}.system.rollback_to_snapshot('default.pairs', {first})")
    error = message(lambda: events.sql(create))
    assert error.startswith("SQLEXT_CHECKPOINT_AHEAD")
    events.sql(error.partition("Hint: ")[2].partition(" brings them back")[0])
    events.sql(create)
    assert lines(events, "pairs") == whole == ["1 1 2", "1 6 7", "2 4 5"]


def test_a_table_that_is_created_again_begins_anew(events):
    append(events, *ROWS)
    for _ in range(2):
        events.sql(f"CREATE STREAMING TABLE pairs AS {PAIRS}")
        assert lines(events, "pairs") == FIRST
        events.sql("DROP TABLE pairs")
    events.sql(f"CREATE OR REPLACE STREAMING TABLE pairs USING iceberg PARTITIONED BY (k) AS {PAIRS}")
    events.sql(f"CREATE OR REPLACE STREAMING TABLE pairs AS {PAIRS}")
    assert lines(events, "pairs") == FIRST


def test_a_source_whose_rows_were_overwritten_ends_the_stream_unless_an_option_skips_it(events):
    create = f"CREATE STREAMING TABLE pairs AS {PAIRS}"
    append(events, *ROWS)
    events.sql(create)
    events.sql("INSERT OVERWRITE events SELECT * FROM events WHERE i < 4")
    append(events, "1 30 A 8")
    assert "overwrite" in message(lambda: events.sql(create)).lower()
    option = "events WITH ('streaming-skip-overwrite-snapshots' = 'true')"
    events.sql(create.replace("STREAM events", f"STREAM {option}"))
    assert lines(events, "pairs") == ["1 1 2", "2 4 5"]


REFUSED = {
    f"CREATE STREAMING TABLE t USING delta AS {PAIRS}": "SQLEXT_STREAM_OPTION: a streaming table of this catalog is a",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_what_iceberg_lacks_is_refused_by_its_name(events, statement):
    assert message(lambda: events.sql(statement)).startswith(REFUSED[statement])
