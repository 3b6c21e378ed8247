"""Streaming tables over windows: EMIT starts, resumes and is refused to another query; grouped windows of Spark."""

from __future__ import annotations

import pytest

import sqlext
from tests.operators.match.event_rows import STREAM, append, lines
from tests.statements.cases import settings

pytestmark = pytest.mark.spark
TUMBLE = f"""FROM TUMBLE(TABLE {STREAM}, DESCRIPTOR(ts), INTERVAL 10 SECONDS)
  GROUP BY k, window_start, window_end"""
SHOWN = "k, second(window_start) AS at, sum(i) AS s"


def test_a_table_of_firings_is_started_resumed_replaced_and_refused_to_another_query(events):
    create = f"""CREATE STREAMING TABLE firings AS SELECT {SHOWN}, window_timing {TUMBLE}
      EMIT EARLY EVERY INTERVAL 5 SECONDS ALLOW LATENESS INTERVAL 10 SECONDS"""
    append(events, "1 1 A 1", "1 6 A 2", "1 11 A 4")
    events.conf.set("sqlext.late_rows", "too_late")
    try:
        events.sql(create)
        assert lines(events, "firings") == ["1 0 1 EARLY"]
        append(events, "1 20 A 8")
        events.sql(create)
        assert lines(events, "firings") == ["1 0 1 EARLY", "1 0 3 ON_TIME", "1 10 4 EARLY"]
        append(events, "1 7 A 16", "1 2 A 32", "1 30 A 64")  # the watermark is at 15
        events.sql("REFRESH STREAMING TABLE firings")
        before = ["1 0 1 EARLY", "1 0 19 LATE", "1 0 3 ON_TIME", "1 10 4 EARLY", "1 10 4 ON_TIME", "1 20 8 EARLY"]
        assert lines(events, "firings") == before
        shown = dict(map(tuple, events.sql("DESCRIBE STREAMING TABLE firings").collect()))
        names = ("open_windows", "rows_kept", "emitted_rows", "late_rows")
        assert [shown[name] for name in names] == ["2", "1", "2", "1"]
    finally:
        events.conf.unset("sqlext.late_rows")
    late = events.sql("SELECT row:i FROM (SELECT parse_json(row) AS row FROM too_late)").collect()
    assert [str(row.i) for row in late] == ["32"]
    for old, new in {
        "EVERY INTERVAL 5": "EVERY INTERVAL 4",
        "sum(i)": "sum(i + 1)",
        ", window_timing": ", 'x' AS x",
    }.items():
        with pytest.raises(sqlext.BindError, match="was written by") as caught:
            events.sql(create.replace(old, new))
        assert caught.value.error_class == "SQLEXT_CHANGED_QUERY"
    assert lines(events, "firings") == before
    events.sql(create.replace("CREATE", "CREATE OR REPLACE"))
    assert "1 0 51 ON_TIME" in lines(events, "firings")


def test_a_grouping_of_windows_by_spark_is_a_streaming_table(events):
    """Its time is one without a zone, as the hint for such columns says to write it."""
    local = "(SELECT *, CAST(ts AS TIMESTAMP_NTZ) AS at FROM STREAM events)"
    rows = f"{local} WATERMARK CAST(at AS TIMESTAMP) AS event_time DELAY OF INTERVAL 5 SECONDS"
    create = f"""CREATE STREAMING TABLE sums AS SELECT {SHOWN}
      FROM TUMBLE(TABLE {rows}, DESCRIPTOR(event_time), INTERVAL 10 SECONDS) GROUP BY ALL"""
    append(events, "1 1 A 1", "1 6 A 2", "1 11 A 4", "1 16 A 5", "1 30 A 8")
    events.sql(create)
    assert lines(events, "sums") == ["1 0 3", "1 10 9"]
    with pytest.raises(sqlext.BindError, match="other text here: SUM"):
        events.sql(create.replace("sum(i)", "max(i)"))
    with pytest.raises(sqlext.BindError, match="functions OVER rows need all of them"):
        events.sql(f"CREATE STREAMING TABLE ranks AS SELECT k, rank() OVER (ORDER BY i) AS r FROM {STREAM}")
    assert not events.catalog.tableExists("ranks")


def test_days_begin_at_midnight_in_utc_also_after_a_restart_in_another_time_zone(events):
    create = f"""CREATE STREAMING TABLE days AS SELECT k, unix_seconds(window_start) % 86400 AS at, sum(i) AS s
      FROM TUMBLE(TABLE {STREAM}, DESCRIPTOR(ts), INTERVAL '1' DAY) GROUP BY k, window_start
      EMIT EARLY EVERY INTERVAL '12' HOURS"""
    append(events, "1 0 A 1", "1 50000 A 2")
    with settings(events, {"spark.sql.session.timeZone": "America/New_York"}):
        events.sql(create)
    append(events, "1 60000 A 4", "1 100000 A 8")
    with settings(events, {"spark.sql.session.timeZone": "Europe/Berlin"}):
        events.sql(create)
    assert lines(events, "days") == ["1 0 1", "1 0 7"]


def test_what_cannot_be_computed_of_a_firing_is_null_and_a_failure(events):
    """A sum exceeds its type, a cast fails on a row, a division on a firing, and HAVING cannot be decided."""
    query = f"""SELECT k, window_start, sum(i * 9223372036854775807L) AS s, sum(CAST(c AS INT)) AS n,
        6 div (count(*) - 1) AS d
      FROM TUMBLE(TABLE {STREAM}, DESCRIPTOR(ts), INTERVAL 10 SECONDS)
      GROUP BY k, window_start HAVING 1 div (k - 5) IS NOT NULL EMIT EVERY 2 ROWS"""
    append(events, "1 1 7 1", "1 2 8 1", "1 11 9 1", "2 12 x 1", "2 13 4 0", "5 14 1 0", "1 30 1 0")
    events.conf.set("sqlext.failed_rows", "failures")
    try:
        events.sql(f"CREATE STREAMING TABLE sums AS {query}")
    finally:
        events.conf.unset("sqlext.failed_rows")
    most = 2**63 - 1
    rows = sorted(f"{r.k} {r.window_start:%S} {r.s} {r.n} {r.d}" for r in events.table("sums").collect())
    assert rows == [
        "1 00 None 15 6", "1 00 None 15 6", f"1 10 {most} 9 None", f"2 10 {most} None 6", f"2 10 {most} None 6",
    ]  # fmt: skip
    failures = sorted(f"{r.time:%S} {r.error.partition(':')[0]} {r.row}" for r in events.table("failures").collect())
    overflow = 'SQLEXT_ARITHMETIC_OVERFLOW [1, "2026-01-01 00:00:00+00:00"]'
    assert failures[:2] == [f"02 {overflow}", f"09 {overflow}"]
    assert failures[2].startswith('12 cannot be computed {"')
    of_sum = 'SQLEXT_ARGUMENT_FAILED [2, "2026-01-01 00:00:10+00:00"]'
    assert failures[3:] == [f"13 {of_sum}", f"19 {of_sum}"]
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        events.conf.set("sqlext.stream.on_data_error", "fail")
        try:
            events.sql(f"CREATE STREAMING TABLE strict AS {query}")
        finally:
            events.conf.unset("sqlext.stream.on_data_error")
