"""Two sources whose rows come in alternate runs: what is not emitted is told, and comes when both have rows."""

from __future__ import annotations

import warnings

import pytest

pytestmark = pytest.mark.spark
WATERMARK = "WATERMARK ts DELAY OF INTERVAL 1 SECOND{}"
QUERIES = {
    "union": f"""SELECT k, at, n FROM (
        SELECT * FROM STREAM events {WATERMARK} UNION ALL SELECT * FROM STREAM others {WATERMARK}) MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY ts MEASURES MATCH_ROWTIME() AS at, LAST(i) AS n PATTERN (A) DEFINE A AS true)""",
    "join": f"""SELECT l.k, l.ts AS at, l.i AS n
        FROM STREAM events {WATERMARK} AS l LEFT INTERVAL JOIN STREAM others {WATERMARK} AS r
        ON l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 1 SECOND""",
}
ROWS = "INSERT INTO {} VALUES (1, TIMESTAMP '2026-01-01 0{}:00:00', 'a', {})"


def said(spark, statement: str) -> list[str]:
    """The warnings about silent sources."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        spark.sql(statement)
    return [str(warning.message) for warning in caught if "no row came from" in str(warning.message)]


@pytest.mark.parametrize("name", QUERIES)
def test_a_source_that_holds_back_the_watermark_is_told(events, name):
    events.sql("CREATE TABLE others (k INT, ts TIMESTAMP, c STRING, i INT)")
    create = f"CREATE STREAMING TABLE turns AS {QUERIES[name].format('', '')}"
    idle = f"CREATE STREAMING TABLE idle AS {QUERIES[name].format(*[' IDLE AFTER INTERVAL 1 DAY'] * 2)}"
    for run in range(3):
        table, silent = ("events", "others") if run % 2 == 0 else ("others", "events")
        events.sql(ROWS.format(table, run, run))
        (sentence,) = said(events, create)
        assert f"/{silent}]" in sentence and f"/{table}]" not in sentence and "IDLE AFTER" in sentence
        assert said(events, idle) == []
    assert events.table("turns").isEmpty()
    while run < 8 and events.table("idle").count() < (3 if name == "union" else 2):
        events.sql(idle)
        run += 1
    assert sorted(row.n for row in events.table("idle").collect()) == ([0, 1, 2] if name == "union" else [0, 2])
    for table in ("events", "others"):
        events.sql(ROWS.format(table, 5, 5))
    assert said(events, create) == []
    assert sorted(row.n for row in events.table("turns").collect()) == (
        [0, 1, 2] if name == "union" else [0, 2, 5]
    )  # a pair does not wait for the watermark
