"""UPSERT KEY: the last row of each key stays, MERGED rows delete, micro-batches that run again change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import sqlext
from sqlext.catalog.conflicts import repeated_on_conflict
from sqlext.spark.locations import local_path
from tests.operators.match.event_rows import STREAM, append, lines

pytestmark = pytest.mark.spark
SESSIONS = f"""SELECT k, window_start AS since, sum(i) AS s
  FROM SESSION(TABLE {STREAM} PARTITION BY k, DESCRIPTOR(ts), INTERVAL 5 SECONDS)
 GROUP BY k, window_start, window_end HAVING sum(i) > 0 EMIT EVERY 1 ROWS ALLOW LATENESS INTERVAL 1 HOUR"""
QUERIES = {  # what is written after the name of the table, and a query over it
    "sessions": (f"UPSERT KEY (k, since) AS {SESSIONS}", "SELECT k, unix_timestamp(since) % 3600, s"),
    "last_sessions": (f"UPSERT KEY (k) AS {SESSIONS}", "SELECT k, unix_timestamp(since) % 3600, s"),
    "pairs": (
        f"""UPSERT KEY (K) AS SELECT * FROM {STREAM} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
          MEASURES MATCH_ROWTIME() AS at, LAST(i) AS l PATTERN (A B) DEFINE A AS c = 'A', B AS c = 'B')""",
        "SELECT k, l",
    ),
    "newest": (f"UPSERT KEY (k) AS SELECT k, ts AS `at.x`, i FROM (SELECT * FROM {STREAM})", "SELECT k, i"),
}
PORTIONS = [  # rows, then the rows of each table
    (
        ("1 1 A 1", "1 2 B 2", "1 20 A 4", "1 21 B 8", "1 30 C 0", "NULL 8 C 7"),
        {
            "sessions": ["1 1 3", "1 20 12", "None 8 7"], "last_sessions": ["1 20 12", "None 8 7"], "pairs": ["1 8"],
            "newest": ["1 0", "None 7"],
        },
    ),
    (  # late rows: one joins the session at 20 to an earlier one, one is older than the newest row
        ("1 16 A 16", "1 11 A 32", "1 60 C 64", "2 50 A 3", "2 51 B 9", "2 59 A 1"),
        {
            "sessions": ["1 1 3", "1 11 60", "2 50 12", "None 8 7"],
            "last_sessions": ["1 11 60", "2 50 12", "None 8 7"],
            "pairs": ["1 8", "2 9"], "newest": ["1 64", "2 1", "None 7"],
        },
    ),
]  # fmt: skip


@pytest.fixture
def create(events):
    def run(table: str) -> None:
        events.sql(f"CREATE STREAMING TABLE {table} {QUERIES[table][0]}")

    return run


def test_the_last_row_of_each_key_stays_and_a_micro_batch_that_runs_again_changes_nothing(events, create):
    for rows, expected in PORTIONS:
        append(events, *rows)
        for table, (_, shown) in QUERIES.items():
            create(table)
            events.sql(f"{shown} FROM {table}").createOrReplaceTempView("shown")
            assert lines(events, "shown") == expected[table], table
    events.catalog.dropTempView("shown")
    described = dict(map(tuple, events.sql("DESCRIBE STREAMING TABLE pairs").collect()))
    assert (described["upsert_key"], described["rows_kept"], described["late_rows"]) == ("k", "2", "2")
    with pytest.raises(sqlext.BindError) as changed:
        events.sql(f"CREATE STREAMING TABLE pairs {QUERIES['pairs'][0].replace('UPSERT KEY (K)', '')}")
    assert changed.value.error_class == "SQLEXT_CHANGED_QUERY"
    (commits,) = Path(local_path(events.sql("DESCRIBE DETAIL pairs").first().location)).glob("_checkpoints/*/commits")
    last = max(int(file.name) for file in commits.glob("[0-9]*"))
    for file in (commits / f"{last}", commits / f".{last}.crc"):
        file.unlink()
    events.sql("UPDATE pairs SET l = -1")
    versions = events.sql("DESCRIBE HISTORY pairs").count()
    create("pairs")
    assert (lines(events, "pairs")[0][-2:], events.sql("DESCRIBE HISTORY pairs").count()) == ("-1", versions)


@pytest.mark.parametrize("message, calls", [("[DELTA_CONCURRENT_APPEND] x", 3), ("[DIVIDE_BY_ZERO] x", 1)])
def test_a_merge_that_loses_to_other_writers_is_run_again_some_times(message, calls):
    made = []

    def merge():
        made.append(message)
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="x"):
        repeated_on_conflict(merge, attempts=3)
    assert len(made) == calls


def test_mistakes_in_upsert_key_are_placed(events):
    def refused(table: str, query: str) -> str:
        with pytest.raises(sqlext.SqlExtError) as caught:
            events.sql(f"CREATE STREAMING TABLE {table} {query}")
        return f"{caught.value.error_class} {caught.value.place.excerpt()}".replace("SQLEXT_", "").split("\n")[0]

    pairs = QUERIES["pairs"][0]
    for query, error in {
        pairs.replace("(K)", "(k, z)"): "UPSERT_KEY",
        pairs.replace("(K)", "()"): "UPSERT_KEY",
        pairs.replace("SELECT *", "SELECT k, l"): "UPSERT_ORDER",
        pairs.replace("SELECT *", "SELECT map(1, 2) AS k, at"): "UPSERT_KEY",
        f"UPSERT KEY (k) AS SELECT k, since, s FROM ({SESSIONS})": "UPSERT_MERGED",
    }.items():
        assert refused("refused", query).split()[0] == error
    events.sql("CREATE TABLE others (q INT, at TIMESTAMP, l INT)")
    assert refused("others", pairs).startswith("UPSERT_KEY")
