"""Spark pads what it compares CHAR columns with, also where the columns have passed through workers."""

from __future__ import annotations

import re

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
    "ALL ROWS WITH UNMATCHED ROWS": f"""SELECT c = 'ab', g = 'ab', g = h, g IN (w)
        FROM chars.rows {MATCH.format("A.c AS g, A.w AS h", "ALL ROWS PER MATCH WITH UNMATCHED ROWS", "v > 2")}
        WHERE g IS NOT NULL""".replace("(A B)", "(A B?)").replace("B AS", "A AS v = 1, B AS"),
    "OVER a window": """SELECT DISTINCT c = 'ab', m OVER x, g OVER x = 'ab', g OVER x = h OVER x
        FROM chars.rows WINDOW x AS (PARTITION BY c ORDER BY ts MEASURES A.c = 'ab' AS m, A.c AS g, A.w AS h
        ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A) DEFINE A AS true)""",
    "EMIT": """SELECT c = 'ab', w = 'ab', c = w, max(x) = 'ab' FROM GLOBAL_WINDOW(TABLE chars.rows)
        GROUP BY c, w HAVING c = 'ab' EMIT AFTER WATERMARK""",
    "MATCH_RULES": """SELECT DISTINCT c = 'ab', true, true, true
        FROM chars.rows MATCH_RULES (PARTITION BY c ORDER BY ts RULES chars.rules)""",
}


@pytest.fixture(scope="module")
def chars(spark):
    spark.sql("CREATE SCHEMA chars")
    spark.sql("""CREATE TABLE chars.rows (ts TIMESTAMP, c CHAR(5), w CHAR(3), x VARCHAR(5), v INT,
        s STRUCT<c: CHAR(5)>) USING delta""")
    spark.sql("""INSERT INTO chars.rows SELECT timestamp_seconds(id), 'ab', 'ab', 'ab', id, struct('ab')
        FROM range(1, 3)""")
    rule = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS v > 0)"
    spark.sql(f"CREATE PATTERN RULE any ON chars.rules FOR TABLE chars.rows AS {rule}")
    yield spark
    spark.sql("DROP SCHEMA chars CASCADE")


@pytest.mark.parametrize("kind", PADDED)
def test_texts_are_padded(chars, kind):
    assert chars.sql(PADDED[kind]).collect() == [(True, True, True, True)]


@pytest.mark.parametrize("kind", ["ONE ROW PER MATCH", "ALL ROWS WITH UNMATCHED ROWS"])
def test_texts_are_padded_in_other_ways(chars, kind):
    query = PADDED[kind]
    assert chars.sql(sqlext.compile(query, spark=chars)).collect() == [(True, True, True, True)]
    with settings(chars, {"sqlext.engine": "udtf"}):
        assert chars.sql(query).collect() == [(True, True, True, True)]


# All rows have the same values, so that Spark knows the answer from one row.
OVER_SEVERAL_ROWS = [
    "A.c = B.w",
    "B.w = (A.c)",
    "B.w < A.c",
    "A.c <> B.w",
    "A.c <=> B.w",
    "A.c IS DISTINCT FROM B.w",
    "NOT A.c = LAST(B.w)",
    "A.c = B.c AND A.w >= B.w",
    "A.c IN (B.w)",
    "A.c IN (B.w, A.w)",
    "A.c IN (B.w, 'ab')",
    "A.c IN (B.w, B.x)",
    "A.c = B.x",
    "A.c BETWEEN B.w AND B.c",
    "B.w BETWEEN A.c AND 'abc'",
    "equal_null(A.c, B.w)",
    "nullif(A.c, B.w) IS NULL",
    "CASE A.c WHEN B.x THEN false WHEN B.w THEN true END",
    "CASE A.c WHEN 'ab' THEN B.v > 0 END",
    "CASE WHEN A.c = B.w THEN concat(A.x, B.x) = 'abab' END",
    "A.c = A.w",
    "coalesce(A.c, B.x) = B.w",
    "A.c = w",
    "(rows.w) < A.c",
    "rtrim(A.c) = B.x",
    "A.s.c = B.w",
    "A.c = B.s.c",
    "PREV(c) = w",
    "PREV(c) = 'ab'",
    "PREV(c) = PREV(w)",
    "PREV(c) = 'ab' AND concat(PREV(x), x) = 'abab'",
]


@pytest.mark.parametrize("condition", OVER_SEVERAL_ROWS)
def test_conditions_over_several_rows_pad_what_conditions_over_one_row_pad(chars, condition):
    define = MATCH.format("count(*) AS n", "", condition)
    over_one_row = re.sub(r"\b[AB]\.|PREV|LAST", "", condition)
    (expected,) = chars.sql(f"SELECT DISTINCT coalesce({over_one_row}, false) FROM chars.rows").first()
    for key in ("c", "v / v"):  # a window of Spark finds the second
        matches = chars.sql(f"SELECT * FROM chars.rows {define.replace('BY c', f'BY {key}')}")
        assert bool(matches.count()) == expected, key


def test_portable_conditions_pad(chars):
    query = f"SELECT n FROM chars.rows {MATCH.format('count(*) AS n', '', 'A.c = B.w')}"
    assert chars.sql(sqlext.compile(query, spark=chars)).collect() == [(2,)]


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
