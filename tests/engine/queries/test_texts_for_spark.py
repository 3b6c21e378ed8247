"""The texts that Spark receives mean the same where settings of the session change how Spark reads SQL."""

from __future__ import annotations

import pytest

from tests.statements.cases import settings

pytestmark = pytest.mark.spark
SETTINGS = {
    "TIMESTAMP is TIMESTAMP_NTZ": {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
    "more words are reserved": {"spark.sql.ansi.enforceReservedKeywords": "true"},
    "cross joins are written": {"spark.sql.crossJoin.enabled": "false"},
}
STATEMENTS = {
    "MATCH_RECOGNIZE": """SELECT * FROM texts.events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
        MEASURES LAST(v) AS v, MIN(ts) AS t, MAX(DATE '2026-01-01') AS d PATTERN (A B+) WITHIN INTERVAL 1 HOUR
        DEFINE B AS v > PREV(v) AND abs(MAX(A.v) - v) < 10 AND MAX(A.ts) <= ts)""",
    "EMIT": """SELECT k, window_end, sum(v) AS s, max(ts) AS t
        FROM TUMBLE(TABLE texts.events, DESCRIPTOR(ts), INTERVAL 5 MINUTES)
        GROUP BY k, window_end EMIT EVERY 2 ROWS""",
    "EMIT without a time": """SELECT k, window_start, sum(v) AS s
        FROM GLOBAL_WINDOW(TABLE texts.events) GROUP BY k, window_start EMIT""",
    "INTERVAL JOIN": """SELECT a.v, b.v AS w FROM texts.events a LEFT INTERVAL JOIN texts.events b
        ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 30 SECONDS""",
    "INTERVAL JOIN by ranges that vary": """SELECT a.v, b.v AS w FROM texts.events a FULL INTERVAL JOIN texts.events b
        ON b.ts BETWEEN a.ts AND a.ts + make_dt_interval(0, 0, 0, a.v)""",
    "ASOF JOIN": """SELECT a.v, b.v AS w FROM texts.events a LEFT ASOF JOIN texts.events b
        MATCH_CONDITION (a.ts > b.ts) WITHIN INTERVAL 1 MINUTE ON a.k = b.k""",
    "MATCH_RULES": "SELECT * FROM texts.events MATCH_RULES (PARTITION BY k ORDER BY ts RULES texts.rules)",
}
RULE = "MATCH_RECOGNIZE (MEASURES A.v AS v PATTERN (A B) DEFINE A AS v > 3, B AS v < A.v)"
SIDE_TABLES = {"sqlext.late_rows": "texts.late", "sqlext.failed_rows": "texts.failed"}
STREAM = "STREAM texts.events WATERMARK ts DELAY OF INTERVAL 0 SECONDS"
STREAMS = {
    "MATCH_RECOGNIZE": f"""SELECT * FROM {STREAM} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
        MEASURES LAST(v) AS v, MIN(ts) AS t PATTERN (A -> B) DEFINE A AS v > 3, B AS v < A.v)""",
    "EMIT": f"""SELECT k, window_end, sum(v) AS s FROM TUMBLE(TABLE {STREAM}, DESCRIPTOR(ts), INTERVAL 5 MINUTES)
        GROUP BY k, window_end EMIT EVERY 2 ROWS""",
    "ASOF JOIN": f"""SELECT a.v, b.v AS w FROM {STREAM} AS a LEFT ASOF JOIN {STREAM} AS b
        MATCH_CONDITION (a.ts > b.ts) ON a.k = b.k""",
    "INTERVAL JOIN": f"""SELECT a.v, b.v AS w FROM {STREAM} AS a LEFT INTERVAL JOIN {STREAM} AS b
        ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 30 SECONDS""",
    "MATCH_RULES": f"SELECT rule_name, k, last_time FROM {STREAM} MATCH_RULES "
    "(PARTITION BY k ORDER BY ts RULES texts.rules)",
}


@pytest.fixture(scope="module")
def events(spark):
    spark.sql("CREATE SCHEMA texts")
    spark.sql("""CREATE TABLE texts.events USING delta AS
        SELECT id % 3 AS k, timestamp_seconds(1767225600 + id * 7) AS ts, CAST(id * 7919 % 10 AS INT) AS v
        FROM range(60)""")
    spark.sql(f"CREATE PATTERN RULE falls ON texts.rules FOR TABLE texts.events AS {RULE}")
    yield spark
    spark.sql("DROP SCHEMA texts CASCADE")


def rows_of(frame) -> list[tuple]:
    return sorted(map(tuple, frame.collect()), key=str)


@pytest.mark.parametrize("kind", STATEMENTS)
def test_rows_of_tables_are_the_same(events, kind):
    expected = rows_of(events.sql(STATEMENTS[kind]))
    assert expected
    for title, values in SETTINGS.items():
        with settings(events, values):
            assert rows_of(events.sql(STATEMENTS[kind])) == expected, title


@pytest.mark.random(every=len(STREAMS))
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", STREAMS)
def test_rows_of_streams_are_the_same(events, kind):
    results = []
    both = {**SETTINGS["TIMESTAMP is TIMESTAMP_NTZ"], **SETTINGS["more words are reserved"]}
    for values in ({}, both):
        with settings(events, {**values, **(SIDE_TABLES if kind != "INTERVAL JOIN" else {})}):
            events.sql(f"CREATE STREAMING TABLE texts.result OPTIONS ('trigger' = 'available-now') AS {STREAMS[kind]}")
            results.append(rows_of(events.table("texts.result")))
            events.sql("DROP TABLE texts.result")
            for table in ("late", "failed"):
                events.sql(f"DROP TABLE IF EXISTS texts.{table}")
    assert results[0]
    assert results[1] == results[0]
