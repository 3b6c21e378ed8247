"""MATCH_RULES in statements: in batch, over a stream that is stopped and resumed, and with rows that are no rules."""

from __future__ import annotations

from pathlib import Path

import pytest

import sqlext
from sqlext.engine.streams import reports
from sqlext.errors import SqlExtError

UP = "MATCH_RECOGNIZE (MEASURES A.v AS a, array_agg(v) AS vs PATTERN (A B) DEFINE B AS v > A.v)"
BIG = "MATCH_RECOGNIZE (MEASURES A.amount AS m PATTERN (A) DEFINE A AS amount > 100)"
ROWS = "rule_name, rule_version, match_number, k, unix_seconds(first_time), unix_seconds(last_time), to_json(measures)"


@pytest.fixture
def tables(spark, tmp_path: Path):
    """The names of a table of events and of one of rules, in a database of their own."""
    spark.sql(f"CREATE DATABASE rules_db LOCATION '{tmp_path / 'db'}'")
    spark.sql("CREATE TABLE rules_db.ev (k STRING, ts TIMESTAMP, v INT, amount DECIMAL(10,2)) USING delta")
    yield "rules_db.ev", "rules_db.rules"
    spark.sql("DROP DATABASE rules_db CASCADE")


def matches(spark, query: str) -> list[tuple]:
    return sorted(tuple(row) for row in spark.sql(f"SELECT {ROWS} FROM {query}").collect())


def insert(spark, events: str, *rows: tuple) -> None:
    values = ", ".join(f"('{k}', timestamp_seconds({at}), {v}, {amount})" for k, at, v, amount in rows)
    spark.sql(f"INSERT INTO {events} VALUES {values}")


def test_a_stream_follows_the_rules_and_batch_replays_it(spark, tables, tmp_path):
    events, rules = tables
    spark.sql(f"CREATE PATTERN RULE up ON {rules} FOR TABLE {events} AS {UP}")
    spark.sql(f"CREATE PATTERN RULE big ON {rules} AS {BIG}")
    insert(spark, events, ("a", 1, 2, 1.5), ("a", 2, 5, 10), ("b", 3, 5, 200), ("b", 4, 7, 3))
    first = [
        ("big", 1, 1, "b", 3, 3, '{"m":"200.00"}'),
        ("up", 1, 1, "a", 1, 2, '{"a":"2","vs":"[2,5]"}'),
        ("up", 1, 1, "b", 3, 4, '{"a":"5","vs":"[5,7]"}'),
    ]
    clause = f"MATCH_RULES (PARTITION BY k ORDER BY ts RULES {rules}) AS m"
    assert matches(spark, f"{events} {clause}") == first
    answer = sqlext.why(f"SELECT * FROM {events} {clause}", "amount = 3", rule="big", spark=spark)
    assert answer.startswith("Rule big, version 1, over all rows of its input")
    assert "amount > 100 is false (amount = 3.00)" in answer

    query = f"SELECT * FROM STREAM {events} WATERMARK ts DELAY OF INTERVAL 0 SECONDS {clause}"
    assert "the rules table is a second stream" in spark.sql(f"EXPLAIN MATCH {query}").collect()[0][0]
    stream = spark.sql(query)

    unfinished = tmp_path / "db" / "rules_log" / "_delta_log" / "_staged_commits"
    unfinished.mkdir(parents=True)  # as a process leaves it that is killed while it creates the table

    def run() -> None:
        writer = stream.writeStream.format("delta").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).toTable("rules_db.found")
        query.awaitTermination()
        reports.settle(spark, [query])  # reports reach their tables after the micro-batch

    run()
    assert matches(spark, "rules_db.found") == first
    spark.sql(f"DROP PATTERN RULE big ON {rules}")
    nothing = "true, NULL, 'x', NULL, NULL"
    spark.sql(f"INSERT INTO {rules} VALUES ('bad', 1, 'nonsense', {nothing}), (NULL, 1, 'x', {nothing})")
    insert(spark, events, ("a", 11, 2, 500), ("a", 12, 5, 500), ("a", 60, 0, 0))
    run()
    second = [*first, ("up", 1, 2, "a", 11, 12, '{"a":"2","vs":"[2,5]"}')]
    assert matches(spark, "rules_db.found") == sorted(second)
    log = spark.sql(f"SELECT name, version FROM {rules}_log ORDER BY ALL").collect()
    assert [tuple(row) for row in log] == [("bad", 1), ("big", 1), ("big", 2), ("up", 1)]
    assert matches(spark, f"{events} {clause}") == sorted(second)
    errors = spark.sql(f"SELECT name, version, error_class FROM {rules}_errors ORDER BY name").collect()
    assert [tuple(row) for row in errors] == [("", 1, "SQLEXT_RULE_ROW"), ("bad", 1, "SQLEXT_RULE_TEXT")]


def test_a_statement_ends_when_failures_are_in_their_tables(spark, tables):
    """Also the failures of a running stream are there after REFRESH, SHOW and STOP."""
    events, rules = tables
    over = "MATCH_RECOGNIZE (MEASURES SUM(100 / A.v) AS t, 1 / (B.v - 7) AS u PATTERN (A B) DEFINE B AS v > A.v)"
    spark.sql(f"CREATE PATTERN RULE over ON {rules} FOR TABLE {events} AS {over}")
    assert spark.table(f"{rules}_errors").collect() == []
    insert(spark, events, ("a", 1, 0, 1), ("a", 2, 7, 1), ("b", 3, 2, 1), ("b", 4, 4, 1), ("c", 9, 1, 1))
    statement = (
        f"SELECT k, measures FROM STREAM {events} WATERMARK ts DELAY OF INTERVAL 0 SECONDS "
        f"MATCH_RULES (PARTITION BY k ORDER BY ts RULES {rules}) AS m"
    )
    spark.conf.set("sqlext.failed_rows", "rules_db.failed")
    try:
        head = "CREATE STREAMING TABLE rules_db.over OPTIONS ('trigger' = 'available-now') AS"
        spark.sql(f"{head} {statement}")
        assert _errors(spark, rules) == ["SQLEXT_ARGUMENT_FAILED", "SQLEXT_DIVIDE_BY_ZERO"]
        assert [row.state for row in spark.sql(f"SHOW PATTERN RULES ON {rules}").collect()] == ["failed"]
        alerts = {row.k: row.measures for row in spark.table("rules_db.over").collect()}
        assert alerts == {"a": {"t": None, "u": None}, "b": {"t": "50.0", "u": "-0.3333333333333333"}}
        failed = spark.sql("SELECT split(error, ': ')[1] AS e, row FROM rules_db.failed ORDER BY e, row").collect()
        assert [(row.e, row.row[:8]) for row in failed] == [
            ("SQLEXT_ARGUMENT_FAILED", '{"k":"a"'),
            ("SQLEXT_DIVIDE_BY_ZERO", '{"k":"a"'),
            ("SQLEXT_DIVIDE_BY_ZERO", '{"k":"a"'),
        ]
    finally:
        spark.conf.unset("sqlext.failed_rows")
    spark.sql(f"CREATE STREAMING TABLE rules_db.running AS {statement}")
    (query,) = spark.streams.active
    commands = (
        "REFRESH STREAMING TABLE rules_db.running",
        f"SHOW PATTERN RULES ON {rules}",
        "STOP STREAMING TABLE rules_db.running",
    )
    for number, command in enumerate(commands):
        clause = f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS CAST(k AS INT) > {number})"
        spark.sql(f"CREATE PATTERN RULE text{number} ON {rules} AS {clause}")
        query.processAllAvailable()  # it takes up the rule before it reads the rows
        insert(spark, events, ("d", 100 * number + 100, 0, 1), ("e", 100 * number + 150, 7, 1))
        query.processAllAvailable()
        spark.sql(command)
        failed = spark.sql(f"SELECT error_class FROM {rules}_errors WHERE name = 'text{number}'").collect()
        assert {row.error_class for row in failed} == {"SQLEXT_CAST_INVALID_INPUT"}, command


def _errors(spark, rules: str) -> list[str]:
    return sorted({row.error_class for row in spark.table(f"{rules}_errors").collect()})


@pytest.mark.parametrize(
    ("clause", "error"),
    [
        ("MATCH_RULES (PARTITION BY kk ORDER BY ts RULES r)", "UNKNOWN_COLUMN"),
        ("MATCH_RULES (ORDER BY v RULES r)", "RULES_TIME"),
        ("MATCH_RULES (ORDER BY ts RULES nope)", "NO_RULES_TABLE"),
        ("MATCH_RULES (ORDER BY ts + 1 RULES r)", "RULES_KEY"),
        ("MATCH_RULES (PARTITION BY k RULES r)", "RULES_CLAUSE"),
        ("MATCH_RULES (RULES r ORDER BY ts)", "RULES_CLAUSE"),
        ("MATCH_RULES (ORDER BY ts RULES)", "RULES_CLAUSE"),
    ],
)
def test_a_mistake_has_a_place(spark, clause, error):
    events = "(SELECT 'a' AS k, TIMESTAMP'2026-01-01' AS ts, 1 AS v)"
    with pytest.raises(SqlExtError) as e:
        spark.sql(f"SELECT * FROM {events} {clause}")
    assert e.value.error_class == f"SQLEXT_{error}" and e.value.place is not None
