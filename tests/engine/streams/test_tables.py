"""CREATE STREAMING TABLE and INSERT INTO: queries start, resume and are refused; nested clauses; late rows."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import pytest

import sqlext
from tests.operators.match.event_rows import STREAM, append, lines
from tests.statements.cases import settings

pytestmark = pytest.mark.spark
EPOCH = -1767225600  # 1970-01-01 in seconds from the time that `append` counts from
PAIRS = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES MATCH_ROWTIME() AS at, FIRST(i) AS f, LAST(i) AS l
  PATTERN (A B+) DEFINE A AS c = 'A', B AS c = 'B')"""


def test_a_streaming_table_is_started_resumed_and_refused_to_another_query(events):
    create = f"CREATE OR REFRESH STREAMING TABLE pairs AS SELECT k, f, l FROM {STREAM} {PAIRS}"
    append(events, "1 0 A 1", "1 1 B 2", "2 0 A 3", "1 30 C 4")
    assert events.sql(create).columns == []
    assert lines(events, "pairs") == []  # the row that ends the loop has not passed
    append(events, "2 40 B 5", "1 60 A 6")
    events.sql(create)
    assert lines(events, "pairs") == ["1 1 2"]
    append(events, "2 41 C 7", "1 90 A 8")  # one of them late
    events.sql(create)
    assert lines(events, "pairs") == ["1 1 2"]
    changed = create.replace("B+", "B*")
    with pytest.raises(sqlext.BindError, match="was written by PATTERN"):
        events.sql(changed)
    assert sqlext.explain(create, spark=events).count("stream: ") == 1
    events.sql("CREATE STREAMING TABLE copies AS SELECT k, i FROM STREAM events")  # without a clause of ours
    assert len(lines(events, "copies")) == 8
    with pytest.raises(sqlext.UnsupportedError, match="reads no stream"):
        events.sql("CREATE STREAMING TABLE copies2 AS SELECT k, i FROM events")


def test_a_process_killed_in_its_first_micro_batch_does_not_end_the_stream_for_ever(events):
    create = f"CREATE OR REFRESH STREAMING TABLE begun AS SELECT k, f, l FROM {STREAM} {PAIRS}"
    events.sql(create)
    (checkpoint,) = _folder(events, "begun").glob("_checkpoints/*")
    record = (checkpoint / "sqlext.json").read_text()
    shutil.rmtree(checkpoint)
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "sqlext.json").write_text(record)
    (checkpoint / "offsets" / ".0.528a266c.tmp").touch()  # which Spark renames when it is written
    append(events, "1 0 A 1", "1 1 B 2", "1 60 A 3", "1 500 A 4")
    events.sql(create)
    assert lines(events, "begun") == ["1 1 2"]


def test_late_rows_are_counted_and_written_into_a_table(events):
    events.conf.set("sqlext.late_rows", "too_late")
    create = f"CREATE STREAMING TABLE timely AS SELECT k, f, l FROM {STREAM} {PAIRS}"
    append(events, "1 0 A 1", "1 50 B 2", f"1 {EPOCH} A 8", f"1 {EPOCH - 1} A 9")  # as bad clocks write
    events.sql(create)
    append(events, "1 45 B 3", "1 46 B 4", "1 90 C 5")  # the watermark is at 45: one of them is late
    events.sql(create)
    append(events, "1 60 B 6", "1 200 C 7")
    events.sql(create)
    events.conf.unset("sqlext.late_rows")
    assert lines(events, "timely") == ["1 1 2"]
    late = events.sql(
        "SELECT row:i, time, watermark FROM (SELECT parse_json(row) AS row, time, watermark FROM too_late)"
    )
    assert sorted(f"{row.i} {row.time:%M:%S} {row.watermark:%M:%S}" for row in late.collect()) == [
        "3 00:45 00:45", "6 01:00 01:25", "8 00:00 00:00", "9 59:59 00:00",
    ]  # fmt: skip


def test_late_rows_of_queries_with_the_same_clause_are_all_in_the_table(events):
    """A second table, a clause twice in one query, and a query that replaces another one."""
    query = f"AS SELECT k, f, l FROM {STREAM} {PAIRS}"
    first, second = (f"CREATE STREAMING TABLE {name} {query}" for name in ("first", "second"))
    twice = f"CREATE STREAMING TABLE twice {query} UNION ALL SELECT k, l, f FROM {STREAM} {PAIRS}"
    replaced = first.replace("CREATE", "CREATE OR REPLACE")

    def late_after(row: str, *statements: str) -> list[str]:
        append(events, *row.split(", "))
        for statement in statements:
            events.sql(statement)
        rows = events.sql("SELECT row:i FROM (SELECT parse_json(row) AS row FROM missed)").collect()
        return sorted(str(row.i) for row in rows)

    with settings(events, {"sqlext.late_rows": "missed"}):
        assert late_after("1 0 A 1, 1 50 B 2", first, second, twice) == []
        assert late_after("1 10 B 3, 1 90 C 4", first, second, twice) == ["3", "3", "3"]
        assert late_after("1 95 C 5", replaced) == ["3", "3", "3"]
        assert late_after("1 12 B 6, 1 100 C 7", first) == ["3", "3", "3", "6"]
        facts = events.sql("DESCRIBE STREAMING TABLE first FOR KEY (k = 1)").collect()
    late = [fact.text.partition(";")[0] for fact in facts if fact.fact == "late" and fact.key is not None]
    assert late == ['{"k":1,"ts":"2026-01-01T00:00:12.000Z","c":"B","i":6}']


def test_a_query_that_is_stopped_beside_its_copy_of_late_rows_is_resumed(events):
    """`query.stop()` ends the query alone; STOP STREAMING TABLE ends the copy, too."""
    create = f"CREATE STREAMING TABLE stopped AS SELECT k, f, l FROM {STREAM} {PAIRS}"

    def state() -> str:
        return {row.name: row.state for row in events.sql("SHOW STREAMING TABLES").collect()}["stopped"]

    def query():
        return next(query for query in events.streams.active if query.name == "stopped")

    append(events, "1 0 A 1", "1 50 B 2")
    with settings(events, {"sqlext.late_rows": "missed", "sqlext.stream.trigger": ""}):
        try:
            events.sql(create)
            assert state() == "running"
            query().processAllAvailable()
            query().stop()
            assert state() == "stopped"
            append(events, "1 10 B 3", "1 90 C 4")
            events.sql(create)
            query().processAllAvailable()
            assert state() == "running" and query().exception() is None
        finally:
            events.sql("STOP STREAMING TABLE stopped")
        assert not [query.name for query in events.streams.active if query.name.startswith("stopped")]
        with settings(events, {"sqlext.stream.trigger": "available-now"}):
            events.sql(create)
    assert events.table("missed").count() == 1


def test_a_query_of_an_earlier_version_keeps_the_folders_of_its_late_rows(events):
    """They had no identifier in their names, and none was in the record of the query."""
    create = f"CREATE STREAMING TABLE earlier AS SELECT k, f, l FROM {STREAM} {PAIRS}"
    append(events, "1 0 A 1", "1 50 B 2")
    with settings(events, {"sqlext.late_rows": "missed"}):
        events.sql(create)
        (record_file,) = _folder(events, "earlier").glob("_checkpoints/*/sqlext.json")
        record = json.loads(record_file.read_text())
        identifier = record.pop("identifier")
        record_file.write_text(json.dumps(record))
        for own in _folder(events, "missed").glob(f"_*/*-{identifier}"):
            own.rename(str(own).removesuffix(f"-{identifier}"))
        append(events, "1 10 B 3", "1 90 C 4")
        events.sql(create)
    assert events.table("missed").count() == 1
    assert not list(_folder(events, "missed").glob("_*/*-*"))


def _folder(spark, table: str) -> Path:
    return Path(spark.sql(f"DESCRIBE DETAIL {table}").first()["location"].removeprefix("file:"))


FAILING = {  # name → measures and the rest of the clause; rows: 10 / v, a cast, a sum or PREV that overflows
    "masks": """LAST(10 / B.v) AS n PATTERN (A B)
      DEFINE A AS c = 'A' AND i > (SELECT 0), B AS 10 / v > 1 AND CAST(s AS INT) > 0""",
    "path": "LAST(i) AS n PATTERN (A B) DEFINE A AS c = 'A', B AS B.v / A.v > 1",
    "skipped": "LAST(i) AS n PATTERN (A -> B) DEFINE A AS c = 'A', B AS B.v / A.v > 1",
    "every": "LAST(i) AS n AFTER MATCH NO SKIP PATTERN (A -> B) DEFINE A AS c = 'A', B AS B.v / A.v > 1",
    "sums": "SUM(v) AS n PATTERN (A B) DEFINE A AS c = 'A'",
    "neighbours": "LAST(i) AS n PATTERN (A B) DEFINE A AS c = 'A', B AS v + PREV(v) > 2",
    "measures": "LAST(v) / FIRST(v) AS n PATTERN (A B) DEFINE A AS c = 'A'",
    "partial": "SUM(10 / v) AS n PATTERN (A B) DEFINE A AS c = 'A'",
    "defined": "LAST(i) AS n PATTERN (A B) DEFINE A AS c = 'A', B AS SUM(10 / A.v) > 1",
}
RESULTS = {
    "masks": ["3 2.5"], "path": ["2 4", "3 6"], "skipped": ["2 4", "3 6"], "every": ["2 4", "3 6"],
    "sums": ["1 0", "2 6", "3 6", "4 None"], "neighbours": ["2 4", "3 6"],
    "measures": ["1 None", "2 5.0", "3 2.0", "4 1.0"],
    "partial": ["1 None", "2 12.0", "3 7.5", "4 2.168404344971009E-18"], "defined": ["2 4", "3 6"],
}  # fmt: skip


def test_no_row_of_data_ends_a_stream_and_what_fails_is_null_counted_and_reported(events):
    big = 2**63 - 1
    events.sql(f"""CREATE TABLE numbers AS
        SELECT k, TIMESTAMP '2026-01-01' + make_dt_interval(0, 0, 0, i) AS ts, c, i, v, s
          FROM VALUES (1, 1, 'A', 0L, '1'), (1, 2, 'B', 0L, '1'), (2, 3, 'A', 1L, '1'), (2, 4, 'B', 5L, 'x'),
            (3, 5, 'A', 2L, '1'), (3, 6, 'B', 4L, '3'), (4, 7, 'A', {big}L, '1'), (4, 8, 'B', {big}L, '1'),
            (9, 99, 'C', 1L, '1') AS t(k, i, c, v, s)""")
    parts = [
        f"""SELECT '{name}' AS name, k, CAST(n AS STRING) AS n
              FROM STREAM numbers WATERMARK ts DELAY OF INTERVAL 1 SECOND
              MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {clause})"""
        for name, clause in FAILING.items()
    ]
    query = "\nUNION ALL\n".join(parts)
    events.conf.set("sqlext.failed_rows", "failures")
    try:
        events.sql(f"CREATE STREAMING TABLE results AS {query}")
    finally:
        events.conf.unset("sqlext.failed_rows")
    rows = {name: [] for name in FAILING}
    for row in sorted(events.table("results").collect()):
        rows[row.name].append(f"{row.k} {row.n}")
    assert rows == RESULTS
    failures = sorted(f"{r.time:%S} {r.error.partition(':')[0]}" for r in events.table("failures").collect())
    in_spark = [f"{second} cannot be computed" for second in ("01", "02", "04")]
    divided, overflow = ["02 SQLEXT_DIVIDE_BY_ZERO"] * 3, ["08 SQLEXT_ARITHMETIC_OVERFLOW"] * 2
    of_sums = ["01 cannot be computed", "02 cannot be computed", "02 SQLEXT_ARGUMENT_FAILED"] * 2
    assert failures == sorted([*in_spark, *divided, *overflow, *of_sums])
    with settings(events, {"sqlext.stream.on_data_error": "fail"}), pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        events.sql(f"CREATE STREAMING TABLE strict AS {parts[0]}")
    for name, value, hint in (("on_data_error", "no", "skip, fail"), ("buckets", "many", "to a whole number")):
        with settings(events, {f"sqlext.stream.{name}": value}), pytest.raises(sqlext.BindError, match=hint):
            events.sql(f"CREATE STREAMING TABLE strict AS {parts[0]}")


def test_explain_of_a_stream_creates_nothing(events):
    """Its late rows are to be kept in a table, and it is itself the input of a clause."""
    query = f"""SELECT * FROM (SELECT * FROM {STREAM} {PAIRS}) MATCH_RECOGNIZE (
      ORDER BY at MEASURES LAST(l) AS l PATTERN (P P) DEFINE P AS l > f)"""
    before = created(events)
    events.conf.set("sqlext.late_rows", "too_late")
    try:
        for text in (query, f"CREATE STREAMING TABLE pairs AS {query}"):
            assert sqlext.explain(text, spark=events).count("stream: ") == 2
            events.sql(f"EXPLAIN MATCH {text}").collect()
    finally:
        events.conf.unset("sqlext.late_rows")
    assert created(events) == before


def created(spark) -> tuple[set[str], set[str]]:
    """The tables, and the functions of the session."""
    functions = {row[0] for row in spark.sql("SHOW USER FUNCTIONS").collect()}
    return {t.name for t in spark.catalog.listTables()}, functions


def test_insert_goes_by_position_and_a_clause_reads_the_result_of_another(events):
    events.sql("CREATE TABLE runs (number BIGINT, who INT)")
    statement = f"""INSERT INTO runs
        SELECT CAST(n AS INT), k FROM (SELECT * FROM {STREAM} {PAIRS}) MATCH_RECOGNIZE (
          PARTITION BY k ORDER BY at MEASURES MATCH_ROWTIME() AS at2, COUNT(*) AS n
          PATTERN (P P) DEFINE P AS l > f)"""
    with pytest.raises(sqlext.BindError, match="`no_such` cannot be found") as missing:
        events.sql(statement.replace("INTO runs", "INTO no_such"))
    assert missing.value.place.excerpt().splitlines()[-1].split() == ["|", "^^^^^^^"]
    append(events, *(f"1 {t} {'AB'[t % 2]} {t}" for t in range(12)))
    append(events, "1 50 C 50")
    events.sql(statement)
    append(events, "1 100 C 100")
    events.sql(statement)
    assert lines(events, "runs") == ["2 1", "2 1", "2 1"]


def test_processing_time_orders_rows_by_their_arrival(events):
    create = """CREATE STREAMING TABLE arrivals AS SELECT k, f, l FROM STREAM events MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY PROCTIME() MEASURES FIRST(i) AS f, LAST(i) AS l
      PATTERN (A B) DEFINE A AS c = 'A', B AS c = 'B')"""
    append(events, "1 50 A 1", "2 10 B 2")
    events.sql(create)
    append(events, "1 0 B 3", "2 0 A 4")  # earlier by their own time
    events.sql(create)
    assert lines(events, "arrivals") == ["1 1 3"]
    with pytest.raises(sqlext.UnsupportedError, match="makes WITHIN depend on the clock"):
        events.sql(create.replace("arrivals", "others").replace("(A B)", "(A B) WITHIN INTERVAL 1 HOUR"))


def test_a_cart_without_a_purchase_within_an_hour_is_emitted_when_time_runs_out(events):
    """sql_examples/20 over a stream: no further row of the first customer arrives."""
    create = f"""CREATE OR REFRESH STREAMING TABLE abandoned AS SELECT * FROM {STREAM} MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY ts MEASURES FIRST(i) AS put, MATCH_ROWTIME() AS at
      PATTERN (put !-> buy) WITHIN INTERVAL 1 HOUR DEFINE put AS c = 'P', buy AS c = 'B')"""
    append(events, "1 0 P 1", "2 10 P 2", "2 3500 B 3")
    events.sql(create)
    assert lines(events, "abandoned") == []
    append(events, "3 3700 P 4")
    events.sql(create)
    assert lines(events, "abandoned") == ["1 1 2026-01-01 01:00:00"]


def test_a_stream_warns_of_rows_that_it_may_await_for_ever(events):
    def warned(pattern: str) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            events.sql(
                f"SELECT * FROM {STREAM} MATCH_RECOGNIZE (ORDER BY ts {pattern} DEFINE A AS c = 'A', B AS c = 'B')"
            )
        return [str(w.message) for w in caught if "could still come" in str(w.message)]

    assert "while B could still come" in warned("PATTERN (A (-> B)*)")[0]
    assert "while B could still come" in warned("PATTERN (A -> B | C)")[0]
    for fine in (
        "PATTERN (A -> B)",
        "PATTERN (A (-> B)*) WITHIN INTERVAL 1 HOUR",
        "AFTER MATCH NO SKIP PATTERN (A (-> B)*)",
    ):
        assert warned(fine) == []


def test_what_a_stream_cannot_answer_is_refused_with_a_place(events):
    def refused(clause: str) -> str:
        with pytest.raises(sqlext.SqlExtError) as caught:
            events.sql(f"SELECT * FROM {STREAM} MATCH_RECOGNIZE ({clause} DEFINE A AS c = 'A')")
        return f"{caught.value.error_class} at {caught.value.place.line}"

    assert refused("ORDER BY i PATTERN (A)") == "SQLEXT_STREAM_ORDER at 1"
    assert refused("PATTERN (A)") == "SQLEXT_STREAM_ORDER at 1"
    assert refused("ORDER BY ts DESC PATTERN (A)") == "SQLEXT_STREAM_ORDER at 1"
    assert refused("ORDER BY ts PATTERN (A $)") == "SQLEXT_STREAM_HAS_NO_END at 1"
    assert refused("ORDER BY ts PATTERN (A X*)") == "SQLEXT_STREAM_NEVER_DECIDED at 1"
    assert refused("ORDER BY ts AFTER MATCH SKIP TO B PATTERN (A B?)") == "SQLEXT_STREAM_SKIP_MAY_FAIL at 1"
    assert refused("ORDER BY ts MEASURES percentile_approx(i, 0.5) AS m PATTERN (A)") == "SQLEXT_STREAM_AGGREGATE at 1"
    every = "ORDER BY ts ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH NO SKIP PATTERN (A -> B)"
    assert refused(every) == "SQLEXT_STREAM_OPERATOR at 1"
