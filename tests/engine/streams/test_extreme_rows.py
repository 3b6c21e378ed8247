"""The first and the last values of each type as keys of WITHIN, in batch and on streams, where they end no query."""

from __future__ import annotations

import pytest

from tests.operators.match.event_rows import lines

pytestmark = pytest.mark.spark
LAST, FIRST = "timestamp_micros(9223372036854775807)", "timestamp_micros(-9223372036854775808)"
KEYS = {  # name: (keys, bound, first key and number of rows of each match of `A B?`)
    "bigint": ("-9223372036854775807L - 1L, 0L, 9223372036854775806L, 9223372036854775807L", "7",
               "-9223372036854775808 1, 0 1, 9223372036854775806 2"),
    "tinyint": ("-128Y, 0Y, 120Y, 127Y", "10Y", "-128 1, 0 1, 120 2"),
    "double": ("double('-inf'), 1D, double('inf'), double('NaN')", "7", "1.0 1"),
    "date": ("DATE'-5877641-06-23', DATE'2026-01-01', DATE'+5881580-07-11'", "7",
             "-5877641-06-23 1, 2026-01-01 1, +5881580-07-11 1"),
    "date and days": ("DATE'2026-01-01', DATE'+5881580-07-11'", "INTERVAL 7 DAYS", "2026-01-01 1, +5881580-07-11 1"),
    "date and hours": ("DATE'-5877641-06-23', DATE'2026-01-01', DATE'+5881580-07-11'", "INTERVAL 7 HOURS",
                       "-5877641-06-23 1, 2026-01-01 1, +5881580-07-11 1"),
    "timestamp": (f"{FIRST}, {LAST}", "INTERVAL 7 HOURS",
                  "-290308-12-21 19:59:05.224192 1, +294247-01-10 04:00:54.775807 1"),
    "date and months": ("DATE'2026-01-01', DATE'+5881580-07-11'", "INTERVAL 7 MONTHS",
                        "2026-01-01 1, +5881580-07-11 1"),
    "wall clock": ("TIMESTAMP_NTZ'2026-01-01', TIMESTAMP_NTZ'+294247-01-10T04:00:54.775807'", "INTERVAL 7 HOURS",
                   "2026-01-01 00:00:00 1, +294247-01-10 04:00:54.775807 1"),
}  # fmt: skip


def test_a_bound_beyond_the_last_value_of_a_type_ends_no_query_and_bounds_nothing(spark):
    def query(name: str) -> str:
        keys, bound, _ = KEYS[name]
        return f"""SELECT '{name}' AS name, f, n FROM (SELECT explode(array({keys})) AS x) MATCH_RECOGNIZE (
          ORDER BY x MEASURES CAST(FIRST(x) AS STRING) AS f, COUNT(*) AS n PATTERN (A B?) WITHIN {bound}
          DEFINE A AS x IS NOT NULL)"""

    found: dict[str, list[str]] = {name: [] for name in KEYS}
    for row in spark.sql("\nUNION ALL\n".join(map(query, KEYS))).collect():
        found[row.name].append(f"{row.f} {row.n}")
    assert {name: sorted(rows) for name, rows in found.items()} == {
        name: sorted(expected.split(", ")) for name, (_, _, expected) in KEYS.items()
    }


def test_rows_at_the_end_of_time_end_no_stream(events):
    stream = "STREAM events WATERMARK ts DELAY OF INTERVAL 1 SECOND"
    clause = f"FROM {stream} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(i) AS f, COUNT(*) AS n"
    events.sql(f"""INSERT INTO events VALUES (1, {FIRST}, 'A', 0), (1, TIMESTAMP'2026-01-01', 'A', 1),
      (1, TIMESTAMP'2026-01-01 00:01:00', 'B', 2), (1, TIMESTAMP'+294247-01-10T04:00:50Z', 'A', 4),
      (1, TIMESTAMP'+294247-01-10T04:00:51Z', 'B', 5), (2, {LAST}, 'A', 3)""")
    create = f"""CREATE OR REFRESH STREAMING TABLE ends AS
      SELECT 'match' AS name, f, n {clause} PATTERN (A B*) WITHIN INTERVAL 1 HOUR DEFINE B AS c = 'B')
      UNION ALL
      SELECT 'time-out', f, n {clause} ONE ROW PER MATCH SHOW TIMEOUT MATCHES AFTER MATCH NO SKIP
        PATTERN (A -> B) WITHIN INTERVAL 1 HOUR DEFINE A AS c = 'A', B AS i = 5)
      UNION ALL
      SELECT 'window', f, n FROM (SELECT min(i) AS f, count(*) AS n
        FROM CUMULATE(TABLE {stream}, DESCRIPTOR(ts), INTERVAL 5 MINUTES, INTERVAL 10 MINUTES)
        GROUP BY k, window_start, window_end EMIT AFTER WATERMARK)"""
    events.sql(create)
    events.sql("INSERT INTO events VALUES (1, TIMESTAMP'2026-01-02', 'A', 6)")  # late now, as all rows are
    events.sql(create)
    expected = ["match 1 2", "time-out 1 1", "time-out 4 2", "window 1 2", "window 1 2"]
    assert lines(events, "ends") == expected
    shown = {row.name: row for row in events.sql("SHOW STREAMING TABLES").collect()}["ends"]
    assert (shown.state, shown.watermark[:17], shown.late_rows) == ("stopped", "+294247-01-10 04:", 6)


def test_times_whose_range_ends_beyond_the_last_time_end_no_join(events):
    events.sql(f"""INSERT INTO events VALUES (1, TIMESTAMP'2026-01-01', 'A', 1),
      (1, TIMESTAMP'2026-01-01 00:00:30', 'B', 2), (1, {LAST}, 'A', 3)""")
    stream = "STREAM events WATERMARK ts DELAY OF INTERVAL 1 SECOND AS"
    events.sql(f"""CREATE STREAMING TABLE pairs AS SELECT 'pair' AS name, l.i AS f, r.i AS n
      FROM {stream} l LEFT INTERVAL JOIN {stream} r
        ON l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 1 MINUTE""")
    assert lines(events, "pairs") == ["pair 1 1", "pair 1 2", "pair 2 2", "pair 3 None"]
