"""What Delta lets be done to the source of a stream: what ends the query, what `last_error` shows, and the cure.

docs/operations.md has the table. After the cure the result is that over all rows that the source was given.
"""

from __future__ import annotations

import pytest

import sqlext
from tests.sampling import sample

pytestmark = pytest.mark.spark
SKIP = "WITH (skipChangeCommits = true)"
MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')"
CHANGES = {  # change: (properties of the source, what is done to it, error, the cure: options of the source)
    "DELETE": ("", ["DELETE FROM changing WHERE i = 1"], "DELTA_SOURCE_IGNORE_DELETE", SKIP),
    "UPDATE": ("", ["UPDATE changing SET note = 0"], "DELTA_SOURCE_TABLE_IGNORE_CHANGES", SKIP),
    "OVERWRITE": ("", ["INSERT OVERWRITE changing SELECT * FROM changing WHERE i > 1"],
                  "DELTA_SOURCE_TABLE_IGNORE_CHANGES", SKIP),
    "RESTORE": ("", ["RESTORE TABLE changing TO VERSION AS OF 1"], "DELTA_SOURCE", SKIP),
    "OPTIMIZE": ("", ["OPTIMIZE changing"], None, ""),
    "ADD COLUMN": ("", ["ALTER TABLE changing ADD COLUMN extra STRING"], None, ""),
}  # fmt: skip
QUERIES = {
    "match": """SELECT k, l FROM STREAM changing {} WATERMARK ts DELAY OF INTERVAL 0 SECONDS MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY ts MEASURES LAST(i) AS l PATTERN (A B) DEFINE A AS i % 2 = 1, B AS i % 2 = 0)""",
    "emit": """SELECT k, sum(i) AS l FROM TUMBLE(TABLE STREAM changing {} WATERMARK ts
        DELAY OF INTERVAL 0 SECONDS, DESCRIPTOR(ts), INTERVAL 10 SECONDS)
        GROUP BY k, window_start, window_end EMIT AFTER WATERMARK""",
}
RESULTS = {"match": [2, 6, 62], "emit": [12, 123]}


def append(spark, *seconds: int) -> None:
    rows = ", ".join(f"(1, TIMESTAMP '2026-01-01' + INTERVAL {i} SECONDS, {i}, 0)" for i in seconds)
    spark.sql(f"INSERT INTO changing (k, ts, i, note) VALUES {rows}")


def error_of(spark) -> str | None:
    return {row.name: row.last_error for row in spark.sql("SHOW STREAMING TABLES").collect()}["changed"]


@pytest.mark.parametrize("change, kind", sample([(c, k) for c in CHANGES for k in QUERIES], 6))
def test_a_query_goes_on_behind_a_change_of_its_source(events, change, kind):
    properties, statements, error, cure = CHANGES[change]
    events.sql(f"CREATE TABLE changing (k INT, ts TIMESTAMP, i INT, note INT) USING delta {properties}")
    create = f"CREATE OR REFRESH STREAMING TABLE changed AS {QUERIES[kind]}"
    append(events, 1)
    append(events, 2, 3)
    events.sql(create.format(""))
    for statement in statements:
        events.sql(statement)
    append(events, 6, 61)
    append(events, 62)
    append(events, 100)
    if error is not None:
        with pytest.raises(Exception, match="STREAM_FAILED"):
            events.sql(create.format(""))
        assert error in error_of(events) and "The source table can be found at path" in error_of(events)
    events.sql(create.format(cure))
    events.sql("REFRESH STREAMING TABLE changed")  # by the statement with the cure
    assert sorted(row.l for row in events.table("changed").collect()) == RESULTS[kind]


def test_a_running_query_ends_when_its_source_gets_a_column_and_goes_on_when_it_is_created_again(events):
    events.conf.unset("sqlext.stream.trigger")
    events.sql("CREATE TABLE changing (k INT, ts TIMESTAMP, i INT, note INT)")
    create = f"CREATE OR REFRESH STREAMING TABLE changed AS {QUERIES['match'].format('')}"
    append(events, 1, 2, 3)
    events.sql(create)
    (query,) = (q for q in events.streams.active if q.name == "changed")
    query.processAllAvailable()
    events.sql("ALTER TABLE changing ADD COLUMN extra STRING")
    append(events, 6, 61)
    with pytest.raises(Exception, match="STREAM_FAILED"):
        query.processAllAvailable()
    assert "Detected schema change in version" in error_of(events) and "try restarting the query" in error_of(events)
    append(events, 62, 100)
    events.conf.set("sqlext.stream.trigger", "available-now")
    events.sql(create)
    assert sorted(row.l for row in events.table("changed").collect()) == RESULTS["match"]
    with pytest.raises(sqlext.BindError, match="what differs: DEFINE"):
        events.sql(create.replace("i % 2 = 0", "i % 3 = 0"))
