"""The texts that Spark receives mean the same where settings of the session change how Spark reads SQL."""

from __future__ import annotations

import pytest

from sqlext.errors import BindError
from tests.statements.cases import settings

pytestmark = pytest.mark.spark
SETTINGS = {
    "TIMESTAMP is TIMESTAMP_NTZ": {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
    "more words are reserved": {"spark.sql.ansi.enforceReservedKeywords": "true"},
    "cross joins are written": {"spark.sql.crossJoin.enabled": "false"},
}
# In Berlin the clocks go back in the middle of `night`, so times of an hour before are later there as local times.
EVENTS = {
    "texts.events": (1767225600, {}),
    "texts.night": (1729990600, {"spark.sql.session.timeZone": "Europe/Berlin"}),
}
STATEMENTS = {
    "MATCH_RECOGNIZE": """SELECT * FROM texts.events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
        MEASURES LAST(v) AS v, MIN(ts) AS t, MAX(DATE '2026-01-01') AS d PATTERN (A B+) WITHIN INTERVAL 1 HOUR
        DEFINE B AS v > PREV(v) AND abs(MAX(A.v) - v) < 10 AND MAX(A.ts) <= ts)""",
    "WITHIN": """SELECT * FROM texts.events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(ts) AS f,
        LAST(ts) AS l PATTERN (A X* B) WITHIN INTERVAL 1 MINUTE DEFINE A AS v > 6, X AS v < 9, B AS v < 2)""",
    "WITHIN by rows": """SELECT * FROM texts.events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(ts) AS f,
        LAST(ts) AS l PATTERN (A X* B) DEFINE A AS v > 6, X AS v < 9 AND ts <= A.ts + INTERVAL 1 MINUTE,
        B AS v < 2 AND ts <= A.ts + INTERVAL 1 MINUTE)""",
    "WITHIN of days": """SELECT * FROM (SELECT *, CAST(ts AS DATE) AS d FROM texts.events) MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY d, ts MEASURES FIRST(ts) AS f, LAST(ts) AS l PATTERN (A X* B) WITHIN INTERVAL 25 HOURS
        DEFINE A AS v > 6, X AS v < 9, B AS v < 2)""",
    "absence": """SELECT * FROM texts.events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(ts) AS f
        PATTERN (A !-> B) WITHIN INTERVAL 1 MINUTE DEFINE A AS v > 6, B AS v < 2)""",
    "conditions over several rows": """SELECT * FROM texts.events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
        MEASURES LAST(ts) AS l, MAX(A.ts) AS m, max_by(ts, v) AS b PATTERN (A+ B)
        DEFINE A AS coalesce(PREV(ts, 2), FIRST(A.ts)) >= ts - INTERVAL 1 MINUTE,
        B AS greatest(MAX(A.ts), FIRST(A.ts)) < ts AND date_trunc('HOUR', FIRST(A.ts)) < LAST(B.ts))""",
    "OVER a window": """SELECT k, ts, t OVER w AS t FROM texts.events WINDOW w AS (PARTITION BY k ORDER BY ts MEASURES
        MAX(B.ts) AS t ROWS BETWEEN CURRENT ROW AND 5 FOLLOWING PATTERN (A B+) DEFINE B AS ts > FIRST(A.ts))""",
    "EMIT": """SELECT k, window_end, sum(v) AS s, max(ts) AS t
        FROM TUMBLE(TABLE texts.events, DESCRIPTOR(ts), INTERVAL 5 MINUTES)
        GROUP BY k, window_end EMIT EVERY 2 ROWS""",
    "EMIT without a time": """SELECT k, window_start, sum(v) AS s
        FROM GLOBAL_WINDOW(TABLE texts.events) GROUP BY k, window_start EMIT""",
    "INTERVAL JOIN": """SELECT a.v, b.v AS w FROM texts.events a LEFT INTERVAL JOIN texts.events b
        ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 30 SECONDS""",
    "INTERVAL JOIN by ranges that vary": """SELECT a.v, b.v AS w FROM texts.events a FULL INTERVAL JOIN texts.events b
        ON b.ts BETWEEN a.ts AND a.ts + make_dt_interval(0, 0, 0, a.v)""",
    "NEAREST": """SELECT a.v, b.v AS w FROM texts.events a ASOF JOIN texts.events b
        MATCH_CONDITION (NEAREST (a.ts, b.ts)) WITHIN INTERVAL 10 SECONDS ON a.v = b.k""",
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
    "WITHIN": f"""SELECT * FROM {STREAM} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(ts) AS f,
        LAST(ts) AS l PATTERN (A X* B) WITHIN INTERVAL 1 MINUTE DEFINE A AS v > 6, X AS v < 9, B AS v < 2)""",
    "absence": f"""SELECT * FROM {STREAM} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(ts) AS f,
        MATCH_ROWTIME() AS t PATTERN (A !-> B) WITHIN INTERVAL 1 MINUTE DEFINE A AS v > 6, B AS v < 2)""",
    "EMIT": f"""SELECT k, window_end, sum(v) AS s FROM TUMBLE(TABLE {STREAM}, DESCRIPTOR(ts), INTERVAL 5 MINUTES)
        GROUP BY k, window_end EMIT EVERY 2 ROWS""",
    "ASOF JOIN": f"""SELECT a.v, b.v AS w FROM {STREAM} AS a LEFT ASOF JOIN {STREAM} AS b
        MATCH_CONDITION (a.ts > b.ts) ON a.k = b.k""",
    "INTERVAL JOIN": f"""SELECT a.v, b.v AS w FROM {STREAM} AS a LEFT INTERVAL JOIN {STREAM} AS b
        ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 30 SECONDS""",
    "INTERVAL JOIN without a key": f"""SELECT a.v, b.v AS w FROM {STREAM} AS a INTERVAL JOIN {STREAM} AS b
        ON b.ts BETWEEN a.ts AND a.ts + INTERVAL 10 SECONDS""",
    "FULL INTERVAL JOIN without a key": f"""SELECT a.v, b.v AS w FROM {STREAM} AS a FULL INTERVAL JOIN {STREAM} AS b
        ON b.ts BETWEEN a.ts AND a.ts + INTERVAL 10 SECONDS""",
    "MATCH_RULES": f"SELECT rule_name, k, last_time FROM {STREAM} MATCH_RULES "
    "(PARTITION BY k ORDER BY ts RULES texts.rules)",
}


@pytest.fixture(scope="module")
def events(spark):
    spark.sql("CREATE SCHEMA texts")
    for table, (start, _) in EVENTS.items():
        spark.sql(f"""CREATE TABLE {table} USING delta AS
            SELECT id % 3 AS k, timestamp_seconds({start} + id * 7) AS ts, CAST(id * 7919 % 10 AS INT) AS v
            FROM range(60)""")
    spark.sql(f"CREATE PATTERN RULE falls ON texts.rules FOR TABLE texts.events AS {RULE}")
    yield spark
    spark.sql("DROP SCHEMA texts CASCADE")


def rows_of(frame) -> list[tuple]:
    return sorted(map(tuple, frame.collect()), key=str)


@pytest.mark.random(every=2)
@pytest.mark.parametrize("table", EVENTS)
@pytest.mark.parametrize("kind", STATEMENTS)
def test_rows_of_tables_are_the_same(events, kind, table):
    statement, zone = STATEMENTS[kind].replace("texts.events", table), EVENTS[table][1]
    with settings(events, zone):
        expected = rows_of(events.sql(statement))
    assert expected
    for title, values in SETTINGS.items():
        with settings(events, {**zone, **values}):
            assert rows_of(events.sql(statement)) == expected, title


@pytest.mark.random(every=2 * len(STREAMS))
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("table", EVENTS)
@pytest.mark.parametrize("kind", STREAMS)
def test_rows_of_streams_are_the_same(events, kind, table):
    results = []
    both = {**SETTINGS["TIMESTAMP is TIMESTAMP_NTZ"], **SETTINGS["more words are reserved"]}
    sides = {} if "INTERVAL JOIN" in kind else SIDE_TABLES
    for values in ({}, both):
        with settings(events, {**EVENTS[table][1], **values, **sides}):
            query = STREAMS[kind].replace("texts.events", table)
            events.sql(f"CREATE STREAMING TABLE texts.result OPTIONS ('trigger' = 'available-now') AS {query}")
            results.append(rows_of(events.table("texts.result")))
            events.sql("DROP TABLE texts.result")
            for side in SIDE_TABLES.values():
                events.sql(f"DROP TABLE IF EXISTS {side}")
    assert results[0]
    assert results[1] == results[0]


@pytest.mark.random(every=len(STREAMS))
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_resumes_where_timestamp_means_another_type_unless_its_text_has_the_word(events, kind):
    local, night = SETTINGS["TIMESTAMP is TIMESTAMP_NTZ"], EVENTS["texts.night"][1]
    create = f"CREATE STREAMING TABLE {{}} OPTIONS ('trigger' = 'available-now') AS {STREAMS[kind]}"
    create = create.replace("texts.events", "texts.grows")
    is_first, results = "ts < '2024-10-27T00:59:58Z'", []
    for name, second in (("texts.same", {}), ("texts.other", local)):
        events.sql(f"CREATE TABLE texts.grows USING delta AS SELECT * FROM texts.night WHERE {is_first}")
        with settings(events, night):
            events.sql(create.format(name))
        events.sql(f"INSERT INTO texts.grows SELECT * FROM texts.night WHERE NOT {is_first}")
        with settings(events, {**night, **second}):
            if kind == "MATCH_RULES" and second:
                with pytest.raises(BindError, match="TIMESTAMP means TIMESTAMP_LTZ, and here it means TIMESTAMP_NTZ"):
                    events.sql(create.format(name))
            else:
                events.sql(create.format(name))
                results.append(rows_of(events.table(name)))
        events.sql(f"DROP TABLE {name}")
        events.sql("DROP TABLE texts.grows")
    assert results[0] and results[-1] == results[0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_stream_that_reads_local_times_resumes_only_in_its_time_zone(events):
    clause = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.ts AS a, B.ts AS b
        PATTERN (A B) WITHIN INTERVAL 1 DAY DEFINE B AS {condition})"""
    create = f"""CREATE STREAMING TABLE texts.{{name}} OPTIONS ('trigger' = 'available-now')
        AS SELECT * FROM {STREAM} {clause}"""
    local = create.format(name="local", condition="B.ts - A.ts < INTERVAL 5 HOURS")
    elsewhere = create.format(name="elsewhere", condition="B.v > A.v")
    berlin, kolkata = ({"spark.sql.session.timeZone": zone} for zone in ("Europe/Berlin", "Asia/Kolkata"))
    try:
        for statement in (local, elsewhere):
            with settings(events, berlin):
                events.sql(statement)
        with settings(events, kolkata):
            events.sql(elsewhere)
            with pytest.raises(
                BindError, match="written in the time zone Europe/Berlin, the session's is Asia/Kolkata"
            ):
                events.sql(local)
        with settings(events, berlin):
            events.sql(local)
    finally:
        events.sql("DROP TABLE IF EXISTS texts.local")
        events.sql("DROP TABLE IF EXISTS texts.elsewhere")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_stream_resumes_with_other_settings_unless_its_values_depend_on_them(events):
    create = f"""CREATE STREAMING TABLE texts.{{name}} OPTIONS ('trigger' = 'available-now') AS SELECT * FROM {STREAM}
        MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.ts AS a, B.ts AS b PATTERN (A B)
        DEFINE B AS {{condition}})"""
    sizes = create.format(name="sizes", condition="size(if(B.v > 5, array(B.v), NULL)) = size(array(A.v))")
    larger = create.format(name="larger", condition="B.v > A.v")
    first = {"spark.sql.ansi.enabled": "false", "spark.sql.legacy.sizeOfNull": "true"}
    others = {
        "spark.sql.legacy.sizeOfNull": "false",
        "spark.sql.legacy.timeParserPolicy": "EXCEPTION",
        "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    }
    try:
        for statement in (sizes, larger):
            with settings(events, first):
                events.sql(statement)
        with settings(events, {**first, **others}):
            events.sql(larger)
            with pytest.raises(BindError, match=r"with spark.sql.legacy.sizeOfNull = true, .* and now it is false"):
                events.sql(sizes)
        with (
            settings(events, {**first, "spark.sql.ansi.enabled": "true"}),
            pytest.raises(BindError, match=r"SET spark.sql.ansi.enabled = false resumes it"),
        ):
            events.sql(larger)
        with settings(events, {**first, "spark.sql.legacy.charVarcharAsString": "true"}):  # no column is CHAR
            events.sql(larger)
        with settings(events, first):
            events.sql(sizes)
    finally:
        events.sql("DROP TABLE IF EXISTS texts.sizes")
        events.sql("DROP TABLE IF EXISTS texts.larger")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.random(every=2)
@pytest.mark.parametrize("is_of_view", [True, False], ids=["a temporary view", "a date beside a time"])
def test_a_stream_resumes_only_in_its_time_zone_where_its_text_does_not_show_what_it_reads(events, is_of_view):
    rows = "SELECT *, hour(ts) AS h FROM STREAM texts.events" if is_of_view else "SELECT * FROM STREAM texts.days"
    condition = "h = A.h" if is_of_view else "d <= A.ts"
    clause = f"""MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.ts AS a, B.ts AS b PATTERN (A B)
        DEFINE B AS {condition})"""
    source = "shown" if is_of_view else f"({rows})"
    create = f"""CREATE STREAMING TABLE texts.hidden OPTIONS ('trigger' = 'available-now')
        AS SELECT * FROM {source} WATERMARK ts DELAY OF INTERVAL 0 SECONDS {clause}"""
    berlin, kolkata = ({"spark.sql.session.timeZone": zone} for zone in ("Europe/Berlin", "Asia/Kolkata"))
    events.sql("CREATE TABLE texts.days USING delta AS SELECT *, DATE '2026-01-01' AS d FROM texts.events")
    try:
        with settings(events, berlin):
            events.sql(f"CREATE OR REPLACE TEMPORARY VIEW shown AS {rows}")
            events.sql(create)
        with settings(events, kolkata):
            events.sql(f"CREATE OR REPLACE TEMPORARY VIEW shown AS {rows}")
            with pytest.raises(BindError, match="written in the time zone Europe/Berlin"):
                events.sql(create)
        with settings(events, berlin):
            if is_of_view:  # Spark reads a temporary view in the time zone in which it was created
                with pytest.raises(BindError, match="the view shown means something else"):
                    events.sql(create)
                events.sql(f"CREATE OR REPLACE TEMPORARY VIEW shown AS {rows}")
            events.sql(create)
    finally:
        events.sql("DROP TABLE IF EXISTS texts.hidden")
        events.sql("DROP TABLE IF EXISTS texts.days")
        events.sql("DROP VIEW IF EXISTS shown")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_join_of_streams_resumes_only_in_its_time_zone_if_it_compares_a_time_with_a_date(events):
    create = """CREATE STREAMING TABLE texts.{name} OPTIONS ('trigger' = 'available-now') AS SELECT a.v, b.v AS w
        FROM STREAM texts.dated WATERMARK ts DELAY OF INTERVAL 0 SECONDS AS a
        INTERVAL JOIN STREAM texts.dated WATERMARK ts DELAY OF INTERVAL 0 SECONDS AS b
        ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR AND {condition}"""
    mixed = create.format(name="mixed", condition="b.ts > a.d")
    plain = create.format(name="plain", condition="b.v > a.v")
    berlin, kolkata = ({"spark.sql.session.timeZone": zone} for zone in ("Europe/Berlin", "Asia/Kolkata"))
    events.sql("CREATE TABLE texts.dated USING delta AS SELECT *, DATE '2026-01-01' AS d FROM texts.events")
    try:
        with settings(events, berlin):
            events.sql(mixed)
            events.sql(plain)
        with settings(events, kolkata):
            events.sql(plain)
            with pytest.raises(BindError, match="written in the time zone Europe/Berlin"):
                events.sql(mixed)
    finally:
        for name in ("mixed", "plain", "dated"):
            events.sql(f"DROP TABLE IF EXISTS texts.{name}")


DATED = "STREAM texts.dates WATERMARK ts DELAY OF INTERVAL 0 SECONDS"
WITH_DATE = f"(SELECT k, ts, v, make_date(2026, 1, 1 + n) AS d FROM {DATED})"
HIDDEN_DATES = {  # queries whose text shows neither a type nor a column that is a date or a local time
    "a date that the subquery of an INTERVAL JOIN makes": f"""SELECT a.v, b.v AS w FROM {WITH_DATE} AS a
        INTERVAL JOIN {DATED} AS b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR AND b.ts > a.d""",
    "a date that the subquery of an ASOF JOIN makes": f"""SELECT a.v, b.ts > a.d AS is_later FROM {WITH_DATE} AS a
        ASOF JOIN {DATED} AS b MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k""",
    "a time that the subquery of a join makes": f"""SELECT a.v, b.v AS w
        FROM (SELECT k, ts, v, timestamp_seconds(n) AS t FROM {DATED}) AS a INTERVAL JOIN {DATED} AS b
        ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR AND b.local > a.t""",
    "a local time whose column an alias renames": f"""SELECT a.v, b.v AS w FROM {DATED} AS a (k, ts, v, n, s, l)
        INTERVAL JOIN {DATED} AS b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR AND b.ts > a.l""",
    "a field of a struct": f"""SELECT a.v, b.v AS w FROM {DATED} AS a INTERVAL JOIN {DATED} AS b
        ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR AND b.ts > a.s.x""",
    "a date beside EMIT": f"""SELECT k, window_end, count_if(ts > make_date(2026, 1, 1 + n)) AS c
        FROM TUMBLE(TABLE {DATED}, DESCRIPTOR(ts), INTERVAL 5 MINUTES) GROUP BY k, window_end EMIT""",
    "a date in MATCH_RECOGNIZE": f"""SELECT * FROM {DATED} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
        MEASURES A.v AS v PATTERN (A B) DEFINE B AS B.ts > make_date(2026, 1, 1 + A.n))""",
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.random(every=4)
@pytest.mark.parametrize("kind", HIDDEN_DATES)
def test_a_stream_resumes_only_in_its_time_zone_if_it_compares_a_time_with_a_date_that_no_word_shows(events, kind):
    create = f"CREATE STREAMING TABLE texts.mixed OPTIONS ('trigger' = 'available-now') AS {HIDDEN_DATES[kind]}"
    berlin, kolkata = ({"spark.sql.session.timeZone": zone} for zone in ("Europe/Berlin", "Asia/Kolkata"))
    events.sql("""CREATE TABLE texts.dates USING delta AS SELECT *, CAST(k AS INT) AS n,
        named_struct('x', DATE '2026-01-01') AS s, TIMESTAMP_NTZ '2026-01-01 00:00:00' AS local FROM texts.events""")
    try:
        with settings(events, berlin):
            events.sql(create)
        with settings(events, kolkata), pytest.raises(BindError, match="written in the time zone Europe/Berlin"):
            events.sql(create)
    finally:
        events.sql("DROP TABLE IF EXISTS texts.mixed")
        events.sql("DROP TABLE IF EXISTS texts.dates")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.random(every=2)
@pytest.mark.parametrize("columns", ["(at DATE)", None], ids=["a list of columns", "a table"])
def test_a_stream_resumes_only_in_its_time_zone_if_its_table_has_a_date_where_the_query_has_a_time(events, columns):
    query = f"""SELECT at FROM {STREAM} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES B.ts AS at
        PATTERN (A B) DEFINE A AS true)"""
    options = "OPTIONS ('trigger' = 'available-now')"
    berlin, kolkata = ({"spark.sql.session.timeZone": zone} for zone in ("Europe/Berlin", "Asia/Kolkata"))
    statement = f"INSERT INTO texts.cast_to {query}"
    if columns is None:
        events.sql("CREATE TABLE texts.cast_to (at DATE) USING delta")
    else:
        statement = f"CREATE STREAMING TABLE texts.cast_to {columns} {options} AS {query}"
    try:
        with settings(events, {**berlin, "sqlext.stream.trigger": "available-now"}):
            events.sql(statement)
        with (
            settings(events, {**kolkata, "sqlext.stream.trigger": "available-now"}),
            pytest.raises(BindError, match="written in the time zone Europe/Berlin"),
        ):
            events.sql(statement)
    finally:
        events.sql("DROP TABLE IF EXISTS texts.cast_to")
