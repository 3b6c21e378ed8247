"""Spark pads what it compares CHAR columns with, also where the columns have passed through workers."""

from __future__ import annotations

import pytest

import sqlext
from tests.statements.cases import settings

pytestmark = pytest.mark.spark
MATCH = "MATCH_RECOGNIZE (PARTITION BY c ORDER BY ts MEASURES {} {} PATTERN (A B) DEFINE B AS {})"
PADDED = {
    "ONE ROW PER MATCH": f"""SELECT c = 'ab' AS of_key, m, w = 'ab' AS of_measure, x = 'ab' AS of_text
        FROM chars.rows {MATCH.format("A.c = 'ab' AS m, A.w AS w, B.x AS x", "", "true")}""",
    "only names": f"""SELECT true, true, true, true FROM (SELECT c, w, x
        FROM chars.rows {MATCH.format("A.w AS w, B.x AS x", "", "true")}) WHERE c = 'ab' AND w IN ('ab', 'x')""",
    "ALL ROWS PER MATCH": f"""SELECT DISTINCT c = 'ab', w IN ('ab', 'x'), c = w, x = 'ab'
        FROM chars.rows {MATCH.format("1 AS one", "ALL ROWS PER MATCH", "true")}""",
    "an aggregate of Spark": f"""SELECT c = 'ab', w = 'ab', h IS NOT NULL, m
        FROM chars.rows {MATCH.format("A.w AS w, histogram_numeric(v, 5) AS h, A.c = 'ab' AS m", "", "true")}""",
    "OVER a window": """SELECT DISTINCT c = 'ab', m OVER x, true, true FROM chars.rows WINDOW x AS (
        PARTITION BY c ORDER BY ts MEASURES A.c = 'ab' AS m ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A) DEFINE A AS true)""",
    "EMIT": """SELECT c = 'ab', w = 'ab', c = w, max(x) = 'ab' FROM GLOBAL_WINDOW(TABLE chars.rows)
        GROUP BY c, w HAVING c = 'ab' EMIT AFTER WATERMARK""",
    "MATCH_RULES": """SELECT DISTINCT c = 'ab', true, true, true
        FROM chars.rows MATCH_RULES (PARTITION BY c ORDER BY ts RULES chars.rules)""",
}


@pytest.fixture(scope="module")
def chars(spark):
    spark.sql("CREATE SCHEMA chars")
    spark.sql("CREATE TABLE chars.rows (ts TIMESTAMP, c CHAR(5), w CHAR(3), x VARCHAR(5), v INT) USING delta")
    spark.sql("""INSERT INTO chars.rows VALUES (timestamp_seconds(1), 'ab', 'ab', 'ab', 1),
        (timestamp_seconds(2), 'ab', 'ab', 'ab', 2)""")
    rule = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS v > 0)"
    spark.sql(f"CREATE PATTERN RULE any ON chars.rules FOR TABLE chars.rows AS {rule}")
    yield spark
    spark.sql("DROP SCHEMA chars CASCADE")


@pytest.mark.parametrize("kind", PADDED)
def test_texts_are_padded(chars, kind):
    assert chars.sql(PADDED[kind]).collect() == [(True, True, True, True)]


def test_texts_are_padded_in_other_ways(chars):
    query = PADDED["ONE ROW PER MATCH"]
    assert chars.sql(sqlext.compile(query, spark=chars)).collect() == [(True, True, True, True)]
    with settings(chars, {"sqlext.engine": "udtf"}):
        assert chars.sql(query).collect() == [(True, True, True, True)]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("time", ["A.ts", "MATCH_ROWTIME()"])
def test_texts_are_padded_on_streams(chars, time):
    rows = "STREAM chars.rows WATERMARK ts DELAY OF INTERVAL 0 SECONDS"
    match = MATCH.format(f"{time} AS at, A.c = 'ab' AS m, A.w AS w", "", "true")
    chars.sql(f"""CREATE STREAMING TABLE chars.found OPTIONS ('trigger' = 'available-now') AS
        SELECT c = 'ab' AS c, m, w = 'ab' AS w FROM {rows} {match}""")
    assert chars.table("chars.found").collect() == [(True, True, True)]
    chars.sql("DROP TABLE chars.found")


CONDITIONS = {  # of a rule → whether it is refused, because Spark pads a text that the rule does not
    "c = 'ab'": True,
    "c IN ('abcde', 'ab')": True,
    "c > 'aa'": True,
    "c = w": True,
    "CASE c WHEN 'ab' THEN true END": True,
    "c = 'ab   '": False,
    "w IN ('EUR', 'USD')": False,
    "rtrim(c) = 'ab' AND x = 'ab'": False,
    "c = x": False,
    "c LIKE 'ab%'": False,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_rules_have_the_rows_of_spark_or_are_refused(chars, condition):
    rule = f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {condition})"
    create = f"CREATE OR REPLACE PATTERN RULE compares ON chars.compared FOR TABLE chars.rows AS {rule}"
    if CONDITIONS[condition]:
        with pytest.raises(sqlext.UnsupportedError, match=r"RULE_EXPRESSION.*which is CHAR"):
            chars.sql(create)
        return
    chars.sql(create)
    found = chars.sql("SELECT * FROM chars.rows MATCH_RULES (PARTITION BY c ORDER BY ts RULES chars.compared)").count()
    assert found == chars.sql(f"SELECT * FROM chars.rows WHERE {condition}").count()
