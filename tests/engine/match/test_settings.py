"""Conditions over several rows and aggregates mean what their text means to Spark in the same session."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sqlext.errors import SqlExtError
from sqlext.spark.quiet_probes import quiet_probes
from tests.statements.cases import cases_of_settings, settings

pytestmark = pytest.mark.spark
ZONE = {"spark.sql.session.timeZone": "Europe/Berlin"}
ROWS = """SELECT id, 'k1' AS k, CAST(NULL AS ARRAY<INT>) AS none, array(1, 2) AS some, 7 AS v, 1.5D AS f,
    X'61' AS b, timestamp_seconds(1774695600) AS ts, DATE '2026-03-28' AS d, '2026-03-28 12:00:00' AS t,
    CAST('12.34' AS DECIMAL(10, 2)) AS m, CAST('1.5' AS DECIMAL(38, 20)) AS w FROM range(2)"""
CASES = cases_of_settings(Path(__file__).parent / "settings.txt")
OF_AGGREGATES = cases_of_settings(Path(__file__).parent / "settings_of_aggregates.txt")
EVENTS = """SELECT k, timestamp_seconds(t), v, x, y FROM VALUES ('one', 1, 7, 1.5D, 2D), ('equal', 2, 3, 2D, 1D),
    ('equal', 3, 3, 3D, 2D), ('none', 4, NULL, NULL, NULL), ('two', 5, 4, 1D, 3D), ('two', 6, 1, 4D, 1D)
    AS e(k, t, v, x, y)"""
CLAUSE = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {}"
ALL = "PATTERN (A+) DEFINE A AS TRUE"
A_RULE = "MATCH_RECOGNIZE (MEASURES {} " + ALL + ")"


@pytest.mark.parametrize("values, expressions", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_condition_over_several_rows_computes_what_spark_computes_in_the_session(spark, values, expressions):
    expected = {expression: refusal or "equal" for expression, refusal in expressions}
    with settings(spark, {**ZONE, **values}):
        results = {expression: compared(spark, expression) for expression in expected}
    assert results == expected


def compared(spark, expression: str) -> str:
    """Whether a condition has the value that Spark computes on one row, or the name of the error."""
    of_one_row = re.sub(r"\b[AB]\.", "", expression)
    query = f"""SELECT * FROM (SELECT *, {of_one_row} AS expected FROM ({ROWS})) MATCH_RECOGNIZE (ORDER BY id
        MEASURES B.expected AS expected PATTERN (A B) DEFINE B AS ({expression}) IS NOT DISTINCT FROM B.expected)"""
    try:
        with quiet_probes():
            return "equal" if spark.sql(query).collect() else "other"
    except SqlExtError as error:
        return error.error_class


@pytest.mark.parametrize("values, calls", [case[1:] for case in OF_AGGREGATES], ids=[case[0] for case in OF_AGGREGATES])
def test_an_aggregate_computes_what_spark_computes_in_the_session(spark, tmp_path, values, calls):
    texts = {f"m{i}": call for i, (call, _) in enumerate(calls)}
    spark.sql(f"CREATE DATABASE agg LOCATION '{tmp_path}'")
    try:
        spark.sql("CREATE TABLE agg.rows (k STRING, ts TIMESTAMP, v INT, x DOUBLE, y DOUBLE) USING delta")
        spark.sql(f"INSERT INTO agg.rows {EVENTS}")
        measures = listed("{call} AS {name}", texts)
        spark.sql(f"CREATE PATTERN RULE r ON agg.rules FOR TABLE agg.rows AS {A_RULE.format(measures)}")
        with settings(spark, values):
            query = f"SELECT k, {listed('CAST({call} AS STRING) AS {name}', texts)} FROM agg.rows GROUP BY k"
            results = {place: by_key(spark, text) for place, text in aggregated(texts).items()}
            assert results == dict.fromkeys(results, by_key(spark, query))
    finally:
        spark.sql("DROP DATABASE agg CASCADE")


def by_key(spark, query: str) -> dict[str, tuple]:
    return {row.k: tuple(row)[1:] for row in spark.sql(query).collect()}


def listed(text: str, calls: dict[str, str]) -> str:
    """A list of the text for each aggregate and its name."""
    return ", ".join(text.format(call=call, name=name) for name, call in calls.items())


def aggregated(calls: dict[str, str]) -> dict[str, str]:
    """Queries for the values of aggregates over the rows of each key as texts, by the place of the aggregates."""
    measures, texts = listed("{call} AS {name}", calls), listed("CAST({name} AS STRING) AS {name}", calls)
    expected = f"""(SELECT r.*, e.* EXCEPT (k), ts = max(ts) OVER (PARTITION BY r.k) AS is_last FROM agg.rows AS r
        JOIN (SELECT k, {measures} FROM agg.rows GROUP BY k) AS e ON e.k = r.k)"""
    conditions = " AND ".join(f"{call} IS NOT DISTINCT FROM B.{name}" for name, call in calls.items())
    return {
        "MEASURES": f"SELECT k, {texts} FROM agg.rows {CLAUSE.format(measures)} {ALL})",
        "RUNNING": f"""SELECT k, {listed("max_by({name}, ts) AS {name}", calls)} FROM (
            SELECT k, ts, {texts} FROM agg.rows {CLAUSE.format(measures)} ALL ROWS PER MATCH {ALL})) GROUP BY k""",
        "DEFINE": f"""SELECT k, {texts} FROM {expected}
            {CLAUSE.format(listed("B.{name} AS {name}", calls))}
            PATTERN (A* B) DEFINE A AS NOT is_last, B AS is_last AND {conditions})""",
        "EMIT": f"""SELECT k, {listed("CAST({call} AS STRING) AS {name}", calls)}
            FROM TUMBLE(TABLE agg.rows, DESCRIPTOR(ts), INTERVAL 1 DAY)
            GROUP BY k, window_start EMIT AFTER WATERMARK, EVERY 10 ROWS""",
        "rules": f"""SELECT k, {listed("measures['{name}'] AS {name}", calls)}
            FROM agg.rows MATCH_RULES (PARTITION BY k ORDER BY ts RULES agg.rules)""",
    }
