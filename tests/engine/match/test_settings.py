"""Conditions over several rows mean what their text means to Spark in the same session (`settings.txt`)."""

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
