"""Threads and sessions of one driver: none sees the settings and relations of another, and none leaves anything."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import sqlext

QUERY = "SELECT * FROM mine MATCH_RECOGNIZE (ORDER BY id MEASURES COUNT(*) AS n PATTERN (a b+) DEFINE b AS id % 3 > 0)"
SETTINGS = {"sqlext.engine": "udtf", "sqlext.strategy": "reference"}


@pytest.fixture
def sessions(spark):
    """Two sessions with a view of the same name; the second one has other rows and other settings."""
    other = sqlext.extend(spark.newSession())
    for name, value in SETTINGS.items():
        other.conf.set(name, value)
    spark.range(30).createOrReplaceTempView("mine")
    other.range(12).createOrReplaceTempView("mine")
    yield spark, other
    spark.catalog.dropTempView("mine")
    other.catalog.dropTempView("mine")
    sqlext.restore(other)


def names(spark) -> set[str]:
    tables = {table.name for table in spark.catalog.listTables()}
    return tables | {row[0] for row in spark.sql("SHOW USER FUNCTIONS").collect()}


def test_threads_of_two_sessions_keep_their_rows_and_settings_and_leave_nothing(sessions):
    def answer(session) -> tuple[int, bool]:
        return len(session.sql(QUERY).collect()), '"reference"' in sqlext.explain(QUERY, spark=session)

    before = [names(session) for session in sessions]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(answer, [*sessions, *sessions])) == [(10, False), (4, True)] * 2
    assert [names(session) for session in sessions] == before


def test_replacing_and_dropping_a_temporary_view_leaves_nothing(sessions):
    spark, _ = sessions
    before = names(spark)
    for _ in range(2):
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW counted AS {QUERY}")
    assert names(spark) == before | {"counted"}
    spark.sql("DROP VIEW counted")
    assert names(spark) == before
