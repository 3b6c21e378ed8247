"""Rules mean what their text means to Spark in the same session (`settings.txt`)."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from sqlext.engine.queries.session_settings import settings_of_rules
from sqlext.errors import SqlExtError
from sqlext.expressions.scalar_tree import evaluate
from sqlext.rewriter.rules.compile_rule import RuleEvents
from sqlext.rewriter.text.splice import join
from tests.statements.cases import cases_of_settings, settings

pytestmark = pytest.mark.spark
ZONE = {"spark.sql.session.timeZone": "Europe/Berlin"}
COLUMNS = [("k", "string"), ("ts", "timestamp"), ("v", "int"), ("m", "decimal(10,2)"), ("d", "decimal(38,20)")]
ROW = {"k": "2026-03-28 12:00:00", "ts": 1_774_695_600_000_000, "v": 7, "m": Decimal("12.34"), "d": Decimal("1.5")}
EVENTS = """SELECT '2026-03-28 12:00:00' AS k, timestamp_seconds(1774695600) AS ts, 7 AS v,
  CAST('12.34' AS DECIMAL(10, 2)) AS m, CAST('1.5' AS DECIMAL(38, 20)) AS d"""
CASES = cases_of_settings(Path(__file__).parent / "settings.txt")


@pytest.mark.parametrize("values, expressions", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_rule_computes_what_spark_computes_in_the_session(spark, values, expressions):
    with settings(spark, {**ZONE, **values}):
        binder = RuleEvents(columns=COLUMNS, order=("ts",), settings=settings_of_rules(spark)).binder("")
        results, expected = {}, {}
        for expression, refusal in expressions:
            text = f"CAST(({expression}) AS STRING)"
            try:
                results[expression] = evaluate(binder.tree(join(text)), ROW)
            except SqlExtError as error:
                results[expression] = error.error_class
            expected[expression] = refusal or spark.sql(f"SELECT {text} FROM ({EVENTS})").collect()[0][0]
    assert results == expected


def test_a_rule_that_is_added_between_two_runs_of_a_stream_means_what_it_means_in_its_session(spark, tmp_path):
    rule = """MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS v = {}
        AND ts >= TIMESTAMP '2026-{} 12:00:00' + INTERVAL 24 HOURS)"""
    stream = "STREAM local_rules.ev WATERMARK ts DELAY OF INTERVAL 0 SECONDS"
    clause = "MATCH_RULES (PARTITION BY k ORDER BY ts RULES local_rules.rules)"
    shown, run = "SELECT rule_name, k, first_time", "OPTIONS ('trigger' = 'available-now')"
    spark.sql(f"CREATE DATABASE local_rules LOCATION '{tmp_path}'")
    try:
        with settings(spark, {**ZONE, "spark.sql.timestampType": "TIMESTAMP_NTZ"}):
            spark.sql("CREATE TABLE local_rules.ev (k STRING, ts TIMESTAMP_LTZ, v INT) USING delta")
            for number, before, day, after in ((1, "03-28", "03-29", "03-30"), (2, "10-24", "10-25", "10-26")):
                name = f"after{number} ON local_rules.rules FOR TABLE local_rules.ev"
                spark.sql(f"CREATE PATTERN RULE {name} AS {rule.format(number, before)}")
                # The clocks of Berlin are changed in the night between, so 24 hours later it is not noon.
                spark.sql(f"""INSERT INTO local_rules.ev VALUES ('a', TIMESTAMP_LTZ '2026-{day} 10:30:00Z', {number}),
                    ('b', TIMESTAMP_LTZ '2026-{day} 11:30:00Z', {number}), ('c', TIMESTAMP_LTZ '2026-{after}', 0)""")
                spark.sql(f"CREATE STREAMING TABLE local_rules.o {run} AS {shown} FROM {stream} {clause}")
            found = spark.table("local_rules.o").collect()
            assert sorted((row.rule_name, row.k) for row in found) == [
                ("after1", "a"),
                ("after1", "b"),
                ("after2", "b"),
            ]
            replayed = spark.sql(f"{shown} FROM local_rules.ev {clause}").collect()
            assert sorted(replayed) == sorted(found)
    finally:
        spark.sql("DROP DATABASE local_rules CASCADE")
