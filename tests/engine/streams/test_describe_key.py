"""DESCRIBE STREAMING TABLE … FOR KEY: read from the checkpoint of a stopped and of a running query, untouched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sqlext
from tests.operators.match.event_rows import STREAM, append, lines

pytestmark = pytest.mark.spark
PAIRS = f"""CREATE OR REFRESH STREAMING TABLE pairs AS SELECT * FROM {STREAM} MATCH_RECOGNIZE (
  PARTITION BY k AS card ORDER BY ts MEASURES FIRST(i) AS f, LAST(i) AS l
  PATTERN (A B+ C?) WITHIN INTERVAL 40 SECONDS DEFINE A AS c = 'A', B AS c = 'B' AND i <> 6, C AS c = 'C')"""
SUMS = f"""CREATE STREAMING TABLE sums AS SELECT k, window_start, count(*) AS n, sum(i) AS s
  FROM TUMBLE(TABLE {STREAM}, DESCRIPTOR(ts), INTERVAL 20 SECONDS) GROUP BY k, window_start, window_end
  EMIT EARLY EVERY INTERVAL 10 SECONDS"""
DAY = "2026-01-01 00:00"


def files(spark, table: str) -> dict[str, tuple[bytes, float]]:
    folder = Path(spark.sql(f"DESCRIBE DETAIL {table}").first()["location"].removeprefix("file:"))
    found = (file for file in (folder / "_checkpoints").rglob("*") if file.is_file())
    return {str(file): (file.read_bytes(), file.stat().st_mtime) for file in found}


def facts(rows) -> list[str]:
    texts = [(row.fact, row.time, row.text) for row in rows.collect()]
    return [f"{fact} {time}: {text}".replace(DAY, "").replace(DAY.replace(" ", "T"), "") for fact, time, text in texts]


def test_a_stream_says_what_it_keeps_for_a_key_stopped_and_running(events):
    append(events, "1 0 A 1", "1 1 B 2", "2 0 A 3", "1 30 C 4", "2 31 A 5")
    events.sql(PAIRS)
    before = files(events, "pairs")
    assert facts(events.sql("DESCRIBE STREAMING TABLE pairs FOR KEY (card = 1)")) == [
        "watermark :26: rows up to :26 have passed; as of micro-batch 1",
        "late None: no row of any key has come too late",
        'row :00: {"i":1}; by itself it may be A; it is A of match 1 at :30, if no further row comes',
        'row :01: {"i":2}; by itself it may be B; it is B of match 1 at :30, if no further row comes; AFTER MATCH '
        "SKIP lets no match begin here",
        'row :30: {"i":4}; by itself it may be C; the watermark has not passed it, it is C of match 1 at :30, if no '
        "further row comes; AFTER MATCH SKIP lets no match begin here",
        "search position :00: the search waits at this row: earlier start rows are decided; the next match is number 1",
        "partial match :00: A (:00) B (:01), a match unless a later row makes a preferred one, waits for B or C; "
        "WITHIN ends it when the watermark reaches :40",
        'not yet :30: the watermark is :26 and needs :30: if no further row of the key comes, the result then has '
        '{"card":1,"f":1,"l":4}',
    ]  # fmt: skip
    assert files(events, "pairs") == before
    keys = {row.key for row in events.sql("DESCRIBE STREAMING TABLE pairs FOR KEY (true)").collect()}
    assert keys == {None, '{"card":1}', '{"card":2}'}
    with pytest.raises(sqlext.BindError, match="needs `key`"):
        sqlext.state("pairs")
    with pytest.raises(sqlext.BindError, match="colour"):
        events.sql("DESCRIBE STREAMING TABLE pairs FOR KEY (colour = 1)")
    assert "nothing is kept for such a key" in facts(events.sql("DESC STREAMING TABLE pairs FOR KEY (card = 9)"))[-1]
    events.conf.set("sqlext.stream.trigger", "")
    events.sql(PAIRS)
    append(events, "2 35 X 6")
    events.sql("REFRESH STREAMING TABLE pairs")
    running = facts(sqlext.state("pairs", key="card = 2", spark=events))
    events.sql("STOP STREAMING TABLE pairs")
    assert lines(events, "pairs") == ["1 1 4"]  # the watermark has reached :30
    assert running[0].startswith("watermark :30: rows up to :30 have passed; as of micro-batch ")
    assert running[-5:-1] == [
        "search position :00: the search waits at this row: earlier start rows are decided; the next match is number 1",
        "partial match :00: A (:00) waits for B; WITHIN ends it when the watermark reaches :40",
        "no match :00: it is in no match, if no further row comes: the closest is A (:00); the row of :31 cannot be "
        "B: c = 'B' is not true",
        "no match :31: it is in no match, if no further row comes: the closest is A (:31); the row of :35 cannot be "
        "B: i <> 6 is false (i = 6)",
    ]


def test_it_is_said_that_more_keys_have_not_been_described(events):
    append(events, *(f"{card} 0 A 1" for card in range(22)))
    events.sql(PAIRS)
    few, many = (events.sql(f"DESCRIBE STREAMING TABLE pairs FOR KEY (card < {most})").collect() for most in (20, 21))
    cut = "the condition holds for more than 20 keys, of which 20 are described: make it narrower"
    assert [len({row.key for row in rows if row.key}) for rows in (few, many)] == [20, 20]
    assert (few[-1].text == cut, many[-1].text == cut) == (False, True)


def test_before_the_first_micro_batch_is_completed_nothing_is_kept(events):
    """Spark writes what operators there are when the first micro-batch begins."""
    append(events, "1 0 A 1")
    events.sql(PAIRS)
    for name in files(events, "pairs"):
        if "/commits/" in name:
            Path(name).unlink()
    shown = facts(events.sql("DESCRIBE STREAMING TABLE pairs FOR KEY (card = 1)"))
    assert shown == ["key None: no micro-batch has been completed yet"]


def test_windows_of_emit_say_when_they_fire_next_and_other_state_is_refused(events):
    append(events, "1 0 A 1", "1 30 C 4", "2 31 A 5", "1 38 A 6", "2 36 A 7")
    events.sql(SUMS)
    assert facts(events.sql("DESCRIBE STREAMING TABLE sums FOR KEY (k = 1)"))[2:] == [
        'row :38: {"i":6}; the watermark has not passed it, the firing of its window from :20 to :40 at :39.999999 '
        "sees it",
        "window :20: to :40: 1 row, fired 0 times; it fires next (ON_TIME) when the watermark reaches :39.999999",
        "not yet :39.999999: the watermark is :33 and needs :39.999999: if no further row of the key comes, the result "
        'then has {"k":1,"window_start":":20.000Z","n":2,"s":10}',
    ]
    events.sql("CREATE STREAMING TABLE copies AS SELECT k, i FROM STREAM events")
    with pytest.raises(sqlext.UnsupportedError, match="copies has no MATCH_RECOGNIZE, no MATCH_RULES, no EMIT"):
        events.sql("DESCRIBE STREAMING TABLE copies FOR KEY (k = 1)")
    with pytest.raises(sqlext.ParseError, match="a condition on the key in parentheses"):
        events.sql("DESCRIBE STREAMING TABLE copies FOR KEY k = 1")


def test_rows_of_which_no_column_is_read_are_shown_in_words(events):
    append(events, "1 0 A 1", "1 30 A 2")
    queries = {
        "sessions": f"count(*) AS n FROM SESSION(TABLE {STREAM}, DESCRIPTOR(ts), INTERVAL 10 SECONDS) "
        "GROUP BY window_start, window_end EMIT EVERY 2 ROWS",
        "pairs": f"n FROM {STREAM} MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B) DEFINE B AS true)",
    }
    for name, query in queries.items():
        events.sql(f"CREATE STREAMING TABLE {name} AS SELECT {query}")
        shown = facts(events.sql(f"DESCRIBE STREAMING TABLE {name} FOR KEY (true)"))
        (last,) = (fact for fact in shown if fact.startswith("row :30: "))
        assert last.startswith("row :30: a row of which the query reads no other column; "), last


def test_what_does_not_fit_into_memory_is_read_again(events, monkeypatch):
    append(events, "1 0 A 1", "1 1 B 2", "2 1 A 3", "1 30 C 4")
    events.sql(PAIRS)
    at_once = facts(events.sql("DESCRIBE STREAMING TABLE pairs FOR KEY (card > 0)"))
    monkeypatch.setattr("sqlext.engine.statements.describe_key.MAX_IN_MEMORY", 0)
    assert facts(events.sql("DESCRIBE STREAMING TABLE pairs FOR KEY (card > 0)")) == at_once


def test_rows_are_shown_without_what_is_computed_from_them(events):
    append(events, "1 0 A 1", "1 1 B 2", "1 30 C 4")
    events.sql(f"""CREATE STREAMING TABLE rising AS SELECT * FROM {STREAM} MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY ts MEASURES LAST(B.i) AS l, LAST(upper(c)) AS c
      PATTERN (A B+ C) DEFINE B AS i + 1L > A.i * 1.5, C AS i < A.i + 9)""")
    rows = [text.partition(";")[0] for text in facts(events.sql("DESCRIBE STREAMING TABLE rising FOR KEY (k = 1)"))]
    assert rows[2:5] == [
        'row :00: {"i":1,"upper(c)":"A"}',
        'row :01: {"i":2,"upper(c)":"B"}',
        'row :30: {"i":4,"upper(c)":"C"}',
    ]


def test_rows_have_each_column_once_and_times_without_a_zone_as_they_are(events):
    append(events, "1 0 A 1", "1 1 B 2")
    events.sql(f"""CREATE STREAMING TABLE steps AS SELECT k, local, i, at
      FROM (SELECT *, CAST(ts AS TIMESTAMP_NTZ) AS local, CAST(ts AS TIMESTAMP_NTZ) AS at FROM {STREAM})
      MATCH_RECOGNIZE (PARTITION BY k, local ORDER BY ts
      ALL ROWS PER MATCH PATTERN (A B C) DEFINE B AS i > PREV(i))""")
    shown = events.sql("DESCRIBE STREAMING TABLE steps FOR KEY (local = TIMESTAMP_NTZ '2026-01-01 00:00:01')").collect()
    (row,) = (row for row in shown if row.fact == "row")
    assert row.key == '{"k":1,"local":"2026-01-01T00:00:01.000"}'
    assert row.text.partition(";")[0] == '{"i":2,"at":"2026-01-01T00:00:01.000"}'


def test_rows_of_a_global_window_have_the_values_of_delta_as_they_are_written(events):
    append(events, "1 0 A 1", "1 30 C 4", "2 31 A 5", "1 38 A 6")
    events.sql(f"""CREATE STREAMING TABLE changes AS SELECT k, count(*) AS n, sum(i) AS s
      FROM GLOBAL_WINDOW(TABLE {STREAM}) GROUP BY k HAVING count(*) > 9
      EMIT EVERY 3 ROWS, ON DELTA(i * 0.25) > 2.25 EVICT KEEP DELTA(i - 1) < 3""")
    assert facts(events.sql("DESCRIBE STREAMING TABLE changes FOR KEY (k = 1)"))[2:] == [
        'row :00: {"i":1,"i * 0.25":0.25,"i - 1":0.0}; EVICT leaves it out of the firing of its window at :38',
        'row :30: {"i":4,"i * 0.25":1.0,"i - 1":3.0}; the firing of its window at :38 sees it',
        'row :38: {"i":6,"i * 0.25":1.5,"i - 1":5.0}; the watermark has not passed it, the firing of its window at :38 '
        "sees it",
        "window None: 2 rows, fired 0 times; it fires next (EARLY) when the watermark reaches :38, and EVICT then "
        "leaves out the row of :00; EVERY 3 ROWS fires after 3 further rows; ON DELTA fires after a row whose value "
        "differs by more than 2.25 from 0.25",
        "not yet :38: if no further row of the key comes, the firing when the watermark reaches :38 is not in the "
        "result: HAVING does not hold on it",
    ]


@pytest.mark.random(every=2)
@pytest.mark.parametrize("join", ["LEFT ASOF JOIN", "ASOF LEFT JOIN"])
def test_an_asof_join_of_streams_says_which_rows_wait(events, join):
    append(events, "1 0 A 1", "1 6 C 2", "2 31 A 3", "2 31 C 5", "1 28 A 4")
    left, right = (f"(SELECT k, ts, i FROM {STREAM} WHERE c {sign} 'C')" for sign in ("<>", "="))
    events.sql(f"""CREATE STREAMING TABLE nearest AS SELECT l.i, r.i AS partner
      FROM {left} AS l {join} {right} AS r MATCH_CONDITION (l.ts >= r.ts) ON l.k = r.k""")
    described = events.sql("DESCRIBE STREAMING TABLE nearest FOR KEY (k = 1)")
    assert {row.clause for row in described.collect()} == {"ASOF JOIN in line 2"}
    assert facts(described)[2:] == [
        'row :06: {"k":1,"ts":":06.000Z","i":2}; right row, kept because a left row may take it',
        'row :28: {"k":1,"ts":":28.000Z","i":4}; left row, decided when the watermark reaches :28: a nearer '
        "right row may come before",
        'not yet :28: the watermark is :26 and needs :28: if no further row of the key comes, the result then has '
        '{"k":1,"ts":":28.000Z","i":4} with {"k":1,"ts":":06.000Z","i":2}',
    ]  # fmt: skip


@pytest.mark.random(every=3)
@pytest.mark.parametrize("condition", ["l.ts >= r.ts", "l.ts < r.ts", "NEAREST (l.ts, r.ts)"])
def test_a_row_of_an_asof_join_comes_exactly_at_the_watermark_that_is_named(events, condition):
    """Both streams are advanced, because the watermark of the join is the smaller one of theirs."""
    events.sql("CREATE TABLE others LIKE events")
    within = "" if ">=" in condition else "WITHIN INTERVAL 4 SECONDS"
    joined = f"""CREATE OR REFRESH STREAMING TABLE nearest AS SELECT l.k, l.i, r.i AS partner FROM {STREAM} AS l
      LEFT ASOF JOIN {STREAM.replace("events", "others")} AS r MATCH_CONDITION ({condition}) {within} ON l.k = r.k"""
    append(events, "1 30 A 1", "1 40 A 2")
    events.sql("INSERT INTO others VALUES (1, TIMESTAMP '2026-01-01 00:00:29.5', 'B', 11), "
               "(1, TIMESTAMP '2026-01-01 00:00:32.001', 'B', 12)")  # fmt: skip
    events.sql(joined)
    first, *_ = events.sql("DESCRIBE STREAMING TABLE nearest FOR KEY (k = 1)").where("fact = 'not yet'").collect()
    left, *right = re.findall(r'"i":(\d+)', first.text)
    for more, expected in (("4.999", []), ("5.000", [f"1 {left} {right[0] if right else None}"])):
        for table in ("events", "others"):
            events.sql(f"INSERT INTO {table} VALUES (9, TIMESTAMP '{first.time}' + INTERVAL '{more}' SECOND, 'X', 0)")
        events.sql(joined)
        assert [line for line in lines(events, "nearest") if line.startswith("1 ")] == expected, f"{first}, {more} s"


def interval(spark, kind: str, on: str = "l.k = r.k AND") -> None:
    left, right = (f"(SELECT k, ts, i FROM {STREAM} WHERE c {sign} 'C')" for sign in ("<>", "="))
    spark.sql(f"""CREATE STREAMING TABLE near AS SELECT l.i FROM {left} AS l {kind} INTERVAL JOIN {right} AS r
      ON {on} r.ts BETWEEN l.ts - INTERVAL '5' SECOND AND l.ts + INTERVAL '9' SECOND""")


RIGHT_ROW, RIGHT_OF_ANTI = ' {"k":2,"ts":":31.000Z"}', ": only its key and time are kept"


@pytest.mark.random(every=3)
@pytest.mark.parametrize("kind", ["", "LEFT", "LEFT ANTI"])
def test_an_interval_join_of_streams_says_which_rows_it_keeps(events, kind):
    append(events, "1 0 A 1", "1 6 C 2", "2 31 A 3", "2 31 C 5", "1 28 A 4")
    interval(events, kind)
    before = files(events, "near")
    assert facts(events.sql("DESCRIBE STREAMING TABLE near FOR KEY (k = 2)")) == [
        "watermark :26: rows up to :26 have passed; as of micro-batch 1",
        "range None: in a pair r.ts is from l.ts - INTERVAL '5' SECOND to l.ts + INTERVAL '9' SECOND; a row is kept "
        "while a partner may come",
        'row :31: left row {"k":2,"ts":":31.000Z","i":3}',
        f"row :31: right row{RIGHT_OF_ANTI if 'ANTI' in kind else RIGHT_ROW}",
    ]
    first = sqlext.state("near", key="k < 2", spark=events)
    assert facts(first)[2:] == ['row :28: left row {"k":1,"ts":":28.000Z","i":4}']
    assert {row.key for row in first.collect()[2:]} == {'{"k":1}'}
    keys = {row.key for row in sqlext.state("near", key="true", spark=events).collect()}
    assert keys == {None, '{"k":1}', '{"k":2}'}
    assert "nothing is kept for such a key" in facts(events.sql("DESC STREAMING TABLE near FOR KEY (k = 9)"))[-1]
    assert files(events, "near") == before
    with pytest.raises(sqlext.BindError, match="colour") as error:
        events.sql("DESCRIBE STREAMING TABLE near FOR KEY (colour = 1)")
    assert error.value.place.text[error.value.place.start : error.value.place.stop] == "colour"
    with pytest.raises(sqlext.BindError, match=r"The value 'x' of the type \"STRING\" cannot be cast") as error:
        events.sql("DESCRIBE STREAMING TABLE near FOR KEY (k = 'x')")
    assert error.value.place.written == "k = 'x'"


def test_an_interval_join_of_streams_says_which_ends_of_its_range_are_excluded(events):
    append(events, "2 31 A 3", "2 31 C 5")
    left, right = (f"(SELECT k, ts, i FROM {STREAM} WHERE c {sign} 'C')" for sign in ("<>", "="))
    events.sql(f"""CREATE STREAMING TABLE near AS SELECT l.i FROM {left} AS l INTERVAL JOIN {right} AS r
      ON l.k = r.k AND r.ts > l.ts - INTERVAL '5' SECOND AND r.ts <= l.ts + INTERVAL '9' SECOND""")
    (range_,) = (fact for fact in facts(events.sql("DESCRIBE STREAMING TABLE near FOR KEY (k = 2)")) if "range" in fact)
    assert "r.ts is after l.ts - INTERVAL '5' SECOND up to l.ts + INTERVAL '9' SECOND" in range_


@pytest.mark.random(every=2)
@pytest.mark.parametrize("kind", ["", "LEFT ANTI"])
def test_of_an_interval_join_without_a_key_each_row_is_shown_once(events, kind):
    """Spark keeps copies of rows, by buckets of time."""
    append(events, "1 0 A 1", "1 6 C 2", "2 31 A 3", "2 31 C 5", "1 28 A 4", "1 28 A 4")
    interval(events, kind, on="")
    shown = facts(events.sql("DESCRIBE STREAMING TABLE near FOR KEY (true)"))
    assert shown[2:] == [
        'row :28: left row {"ts":":28.000Z","i":4}',
        'row :28: left row {"ts":":28.000Z","i":4}',
        'row :31: left row {"ts":":31.000Z","i":3}',
        "row :31: right row: only its key and time are kept" if kind else 'row :31: right row {"ts":":31.000Z"}',
    ]
    with pytest.raises(sqlext.BindError, match=r"write FOR KEY \(true\)"):
        events.sql("DESCRIBE STREAMING TABLE near FOR KEY (k = 1)")


def test_each_join_of_a_query_is_described_by_its_name(events):
    append(events, "1 0 A 1", "1 6 C 2", "2 31 A 3", "2 31 C 5", "1 28 A 4", "1 29 B 6")
    left, right = (f"(SELECT k, ts, i FROM {STREAM} WHERE c = '{c}')" for c in "AC")
    third = f"(SELECT k AS k2, ts AS ts2, i AS i2 FROM {STREAM} WHERE c = 'B')"
    events.sql(f"""CREATE STREAMING TABLE near AS SELECT l.i, r.i AS j, i2 FROM {left} AS l
      INTERVAL JOIN {right} AS r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '5' SECOND AND l.ts + INTERVAL '9' SECOND
      INTERVAL JOIN {third} AS m ON l.k = k2 AND ts2 BETWEEN l.ts AND l.ts + INTERVAL '60' SECOND""")
    rows = events.sql("DESCRIBE STREAMING TABLE near FOR KEY (k = 2)").collect()
    assert [(row.clause, row.fact, row.text.partition(", ")[0]) for row in rows if row.fact == "row"] == [
        ("INTERVAL JOIN in line 2", "row", 'left row {"k":2,"ts":"2026-01-01T00:00:31.000Z","i":3}'),
        ("INTERVAL JOIN in line 2", "row", 'right row {"k":2,"ts":"2026-01-01T00:00:31.000Z","i":5}'),
        ("INTERVAL JOIN in line 3", "row", 'left row {"k":2,"ts":"2026-01-01T00:00:31.000Z","i":3,"i":5}'),
    ]


def test_joins_that_keep_the_same_columns_are_told_apart_by_their_order(events):
    append(events, "1 0 A 1", "1 6 C 2", "1 6 B 3", "1 30 D 4")
    joins = []
    for one, other in ("AC", "AB", "BA"):
        left, right = (f"(SELECT k, ts, i FROM {STREAM} WHERE c = '{c}')" for c in (one, other))
        joins.append(f"""SELECT l.i, r.i AS j FROM {left} AS l INTERVAL JOIN {right} AS r
          ON l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '90' SECOND""")
    events.sql(f"CREATE STREAMING TABLE near AS {' UNION ALL '.join(joins)}")
    rows = events.sql("DESCRIBE STREAMING TABLE near FOR KEY (k = 1)").collect()
    kept = [(row.clause, re.search(r'"i":(.)', row.text)[1]) for row in rows if row.fact == "row"]
    assert kept == [
        (f"INTERVAL JOIN in line {line}", i) for line, both in ((1, "12"), (2, "13"), (3, "31")) for i in both
    ]


def test_joins_of_which_one_is_in_a_cte_are_not_told_apart(events):
    append(events, "1 0 A 1", "1 6 C 2")
    joins = []
    for one, other in ("AC", "BA"):
        left, right = (f"(SELECT k, ts, i FROM {STREAM} WHERE c = '{c}')" for c in (one, other))
        joins.append(f"""SELECT l.i, r.i AS j FROM {left} AS l INTERVAL JOIN {right} AS r
          ON l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '9' SECOND""")
    query = f"WITH first AS ({joins[0]}) {joins[1]} UNION ALL SELECT * FROM first"
    events.sql(f"CREATE STREAMING TABLE near AS {query}")
    rows = events.sql("DESCRIBE STREAMING TABLE near FOR KEY (k = 1)").collect()
    assert len(rows) == 2
    assert all("the query has several joins of streams" in row.text for row in rows)


def test_clauses_in_one_line_are_told_apart_by_their_columns(events):
    append(events, "1 0 A 1")
    clause = f"FROM {STREAM} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.i AS a PATTERN (A) DEFINE A AS c = "
    events.sql(f"CREATE STREAMING TABLE both AS SELECT * {clause}'A') UNION ALL SELECT * {clause}'B')")
    names = sorted({row.clause for row in events.sql("DESCRIBE STREAMING TABLE both FOR KEY (true)").collect()})
    assert len(names) == 2 and all("MATCH_RECOGNIZE in line 1, column " in name for name in names)


EXACT = f"""(SELECT CAST(k AS DECIMAL(9, 2)) AS k, ts, ts + INTERVAL '0.000001' SECOND AS at, i * 1.50BD AS price,
  nullif(i, 1) AS n, c FROM {STREAM})"""
ROW = '"ts":"2026-01-01T01:00:00.000+01:00","at":"2026-01-01T01:00:00.000001+01:00","price":1.50,"n":null'


@pytest.mark.random(every=3)
@pytest.mark.parametrize(
    ("output", "query", "row"),
    [
        (
            "*",
            f"""FROM {EXACT} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(price) AS p, FIRST(n) AS n,
            FIRST(at) AS at PATTERN (A B) DEFINE B AS price > A.price)""",
            '{"price":1.50,"n":null,"at":"2026-01-01T01:00:00.000001+01:00"}; by itself it may be ',
        ),
        (
            "l.*",
            f"""FROM {EXACT} AS l LEFT ASOF JOIN {EXACT.replace("STREAM events", "STREAM others")} AS r
            MATCH_CONDITION (l.ts <= r.ts) WITHIN INTERVAL 90 SECONDS ON l.k = r.k""",
            f'{{"k":1.00,{ROW},"c":"A"}}; left row, ',
        ),
        (
            "l.*",
            f"""FROM {EXACT} AS l LEFT INTERVAL JOIN {EXACT.replace("STREAM events", "STREAM others")} AS r
            ON l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 90 SECONDS""",
            f'left row {{"k":1.00,{ROW},"c":"A"}}',
        ),
    ],
    ids=["MATCH_RECOGNIZE", "ASOF JOIN", "INTERVAL JOIN"],
)
def test_rows_and_keys_are_written_exactly_and_in_the_session_s_time_zone(events, output, query, row):
    events.sql("CREATE TABLE others LIKE events")
    zone = events.conf.get("spark.sql.session.timeZone")
    append(events, "1 0 A 1", "2 31 A 3")
    events.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        events.sql(f"CREATE STREAMING TABLE exact AS SELECT {output} {query}")
        rows = events.sql("DESCRIBE STREAMING TABLE exact FOR KEY (k = 1)").collect()
    finally:
        events.conf.set("spark.sql.session.timeZone", zone)
    assert [fact.key for fact in rows if fact.fact == "row"] == ['{"k":1.00}']
    assert [fact.text.startswith(row) for fact in rows if fact.fact == "row"] == [True], [fact.text for fact in rows]


def test_late_rows_of_a_key_say_by_how_much_they_were_late(events):
    events.conf.set("sqlext.late_rows", "too_late")
    try:
        append(events, "1 0 A 1", "1 30 C 2", "2 31 A 3")
        events.sql(PAIRS)
        append(events, "1 23 B 4", "2 10 B 5")
        events.sql(PAIRS)
        described = [
            facts(events.sql(f"DESCRIBE STREAMING TABLE pairs FOR KEY (card = {card})"))[1:3] for card in (1, 2)
        ]
        of_all = facts(events.sql("DESCRIBE STREAMING TABLE pairs FOR KEY (true)"))
    finally:
        events.conf.unset("sqlext.late_rows")
    late = "came {} s after the watermark had passed it, and was dropped"
    assert [row.split("; it ")[-1] for rows in described for row in rows if " None" not in row] == [
        late.format(3), late.format(16),
    ]  # fmt: skip
    assert {late.format(3), late.format(16)} <= {row.split("; it ")[-1] for row in of_all}


def test_a_row_without_a_time_is_not_said_to_have_come_late(events):
    events.conf.set("sqlext.late_rows", "too_late")
    try:
        append(events, "1 0 A 1", "1 30 C 2")
        events.sql(PAIRS)
        events.sql("INSERT INTO events VALUES (1, NULL, 'B', 7)")
        append(events, "1 10 B 8")
        events.sql("REFRESH STREAMING TABLE pairs")
        described = facts(events.sql("DESCRIBE STREAMING TABLE pairs FOR KEY (card = 1)"))
    finally:
        events.conf.unset("sqlext.late_rows")
    assert described[1:4] == [
        "late None: 2 rows of all keys came too late, or have no time, and were dropped",
        'late :10: {"k":1,"ts":":10.000Z","c":"B","i":8}; it came 15 s after the watermark had passed it, and was '
        "dropped",
        'late None: {"k":1,"c":"B","i":7}; it has no time, which a watermark could reach: it was dropped, and is in no '
        "result",
    ]


def test_pattern_rules_say_what_they_keep_and_wait_for(events):
    rule = "MATCH_RECOGNIZE (MEASURES B.i AS i PATTERN (A B) WITHIN INTERVAL 9 SECONDS DEFINE A AS c = 'A', B AS i > 5)"
    events.sql(f"CREATE PATTERN RULE pair ON rules FOR TABLE events AS {rule}")
    clause = f"FROM {STREAM} MATCH_RULES (PARTITION BY k ORDER BY ts RULES rules)"
    append(events, "2 0 X 0")
    events.sql(f"CREATE OR REFRESH STREAMING TABLE alerts AS SELECT * {clause}")
    append(events, "1 1 A 1", "1 9 A 2", "1 14 C 6", "2 16 X 0")
    events.sql("REFRESH STREAMING TABLE alerts")
    described = facts(events.sql("DESCRIBE STREAMING TABLE alerts FOR KEY (k = 1)"))
    kinds = ["watermark", "late", "row", "row", "rule", "search position", "partial match", "not yet"]
    assert [text.partition(" :")[0].partition(" None")[0] for text in described] == kinds
    assert described[2].startswith('row :09: {"k":1,"ts":":09.000Z","c":"A","i":2}; pair, version 1: it is A of')
    assert described[-1].endswith('"measures":{"i":"6"}}')
