"""Spark pads what it compares CHAR columns with, also where the columns have passed through workers."""

from __future__ import annotations

import re

import pytest

import sqlext
from sqlext.expressions.function import PADDED_READS, STRINGS_FOR_CHARS, UNPADDED_PREDICATES
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
def chars(spark, tmp_path_factory):
    spark.sql("CREATE SCHEMA chars")
    spark.sql("""CREATE TABLE chars.rows (ts TIMESTAMP, c CHAR(5), w CHAR(3), x VARCHAR(5), v INT,
        s STRUCT<c: CHAR(5)>) USING delta""")
    spark.sql("""INSERT INTO chars.rows SELECT timestamp_seconds(id), 'ab', 'ab', 'ab', id, struct('ab')
        FROM range(1, 3)""")
    folder = tmp_path_factory.mktemp("unpadded") / "rows"
    short = "timestamp_seconds(id) ts, 'ab' c, 'ab   ' d, 'ab' w, 'ab' x, CAST(id AS INT) v"
    spark.range(1, 3).selectExpr(*short.split(", ")).write.parquet(str(folder))
    spark.sql(f"""CREATE TABLE chars.unpadded (ts TIMESTAMP, c CHAR(5), d CHAR(5), w CHAR(3), x STRING, v INT)
        USING parquet LOCATION '{folder}'""")
    rule = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS v > 0)"
    spark.sql(f"CREATE PATTERN RULE any ON chars.rules FOR TABLE chars.rows AS {rule}")
    yield spark
    spark.sql("DROP SCHEMA chars CASCADE")


@pytest.mark.parametrize("kind", PADDED)
def test_texts_are_padded(chars, kind):
    assert chars.sql(PADDED[kind]).collect() == [(True, True, True, True)]


@pytest.mark.parametrize("kind", ["ONE ROW PER MATCH", "an aggregate of Spark", "ALL ROWS WITH UNMATCHED ROWS"])
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


SETTINGS = [
    {},
    {PADDED_READS: "false"},
    {PADDED_READS: "false", UNPADDED_PREDICATES: "true"},
    {UNPADDED_PREDICATES: "true"},
    {STRINGS_FOR_CHARS: "true"},
]
OF_ANY_LENGTH = [
    "A.c = B.w",
    "A.c = B.d",
    "A.c <> B.w",
    "A.c IN (B.w, B.d)",
    "A.c IN (B.w, 'ab')",
    "equal_null(A.d, B.w)",
    "A.c BETWEEN B.w AND B.d",
    "A.c = 'ab' AND B.v > A.v",
    "A.c = B.x",
    "PREV(c) = w",
]


@pytest.mark.parametrize("values", SETTINGS, ids=lambda values: ", ".join(name.split(".")[-1] for name in values))
def test_values_that_files_hold_without_blanks_are_compared_as_the_settings_want(chars, values):
    def count(condition):
        define = MATCH.format("count(*) AS n", "", condition).replace("PARTITION BY c ", "")
        return f"SELECT count(*) FROM chars.unpadded {define}"

    over_one_row = [re.sub(r"\b[AB]\.|PREV", "", c).replace("v > v", "true") for c in OF_ANY_LENGTH]
    with settings(chars, values):
        chars.sql("REFRESH TABLE chars.unpadded")
        expected = chars.sql(f"SELECT {', '.join(over_one_row)} FROM chars.unpadded LIMIT 1").first()
        counts = chars.sql(" UNION ALL ".join(f"SELECT {i}, ({count(c)})" for i, c in enumerate(OF_ANY_LENGTH)))
        found = dict(counts.collect())
    assert {c: bool(found[i]) for i, c in enumerate(OF_ANY_LENGTH)} == dict(zip(OF_ANY_LENGTH, map(bool, expected)))


def test_portable_conditions_pad(chars):
    query = f"SELECT n FROM chars.rows {MATCH.format('count(*) AS n', '', 'A.c = B.w')}"
    assert chars.sql(sqlext.compile(query, spark=chars)).collect() == [(2,)]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("time", ["A.ts", "MATCH_ROWTIME()"])
def test_texts_are_padded_on_streams(chars, time):
    rows = "STREAM chars.rows WATERMARK ts DELAY OF INTERVAL 0 SECONDS"
    match = MATCH.format(f"{time} AS at, A.c = 'ab' AS m, A.w AS w", "", "true")
    create = f"""CREATE STREAMING TABLE chars.found OPTIONS ('trigger' = 'available-now') AS
        SELECT c = 'ab' AS c, m, w = 'ab' AS w FROM {rows} {match}"""
    chars.sql(create)
    assert chars.table("chars.found").collect() == [(True, True, True)]
    changed = pytest.raises(sqlext.BindError, match=r"SET spark.sql.legacy.charVarcharAsString = false resumes it")
    with settings(chars, {STRINGS_FOR_CHARS: "true"}), changed:
        chars.sql(create)
    chars.sql("DROP TABLE chars.found")


CONDITIONS_OF_RULES = [
    "c = 'ab'",
    "c IN ('abcde', upper('ab'), lower('AB'))",
    "c IN ('ab', NULL)",
    "c > 'aa'",
    "c <> 'ab'",
    "c = w",
    "c BETWEEN 'ab' AND 'ab'",
    "w BETWEEN c AND 'abc'",
    "CASE c WHEN 'ab' THEN true END",
    "nullif(c, 'ab') IS NULL",
    "c = 'ab   '",
    "w IN ('EUR', 'USD')",
    "rtrim(c) = 'ab' AND x = 'ab'",
    "c = x",
    "c LIKE 'ab%'",
    "concat(c, '.') = 'ab   .' OR struct(c = 'ab', v).v > 7",
    *OF_ANY_LENGTH,
    "A.c = LAST(B.w) AND A.v < B.v",
    "CASE A.c WHEN B.w THEN true END",
    "count_if(c = 'ab') = 2",
    "LAST(A.c = 'ab')",
]


@pytest.fixture(scope="module")
def rules(chars):
    """The first rule is created by its statement, the others are appended at once: each statement is a transaction."""
    first, *others = CONDITIONS_OF_RULES
    rule = f"MATCH_RECOGNIZE (MEASURES A.c = 'ab' AS m PATTERN (A B) DEFINE B AS ({first}))"
    chars.sql(f"CREATE PATTERN RULE r0 ON chars.compared FOR TABLE chars.unpadded AS {rule}")
    created = chars.table("chars.compared").first()
    rows = [
        (f"r{i}", created.version, created.clause.replace(f"({first})", condition), *created[3:])
        for i, condition in enumerate(others, 1)
    ]
    chars.createDataFrame(rows, chars.table("chars.compared").schema).writeTo("chars.compared").append()
    return chars


@pytest.mark.parametrize("values", SETTINGS, ids=lambda values: ", ".join(name.split(".")[-1] for name in values))
def test_rules_pad_what_spark_pads(rules, values):
    over_one_row = [
        re.sub(r"\b[AB]\.|PREV|LAST", "", c).replace("v > v", "true").replace("v < v", "true")
        for c in CONDITIONS_OF_RULES
    ]
    over_one_row[-2] = "c = 'ab'"
    with settings(rules, values):
        rules.sql("REFRESH TABLE chars.unpadded")
        expected = rules.sql(f"SELECT c = 'ab', {', '.join(over_one_row)} FROM chars.unpadded LIMIT 1").first()
        found = rules.sql("SELECT * FROM chars.unpadded MATCH_RULES (ORDER BY ts RULES chars.compared)").collect()
    names = {row.rule_name for row in found}
    held = {c: f"r{i}" in names for i, c in enumerate(CONDITIONS_OF_RULES)}
    assert held == dict(zip(CONDITIONS_OF_RULES, map(bool, expected[1:])))
    assert {row.measures["m"] for row in found} == {str(expected[0]).lower()}


@pytest.mark.parametrize("values", SETTINGS, ids=lambda values: ", ".join(name.split(".")[-1] for name in values))
def test_asof_join_pads_its_keys_as_a_join_of_spark_does(chars, values):
    conditions = [
        "a.c = b.c", "a.c = b.w", "a.c <=> b.d", "a.d = b.d", "a.c = b.x", "a.x = b.x", "a.w = b.c AND a.d = b.c",
    ]  # fmt: skip
    rows = "SELECT a.ts, max(b.ts) FROM chars.unpadded AS a"
    plain = f"{rows} JOIN chars.unpadded AS b ON {{}} WHERE a.ts >= b.ts GROUP BY a.ts"
    asof = f"{rows} ASOF JOIN chars.unpadded AS b MATCH_CONDITION (a.ts >= b.ts) ON {{}} GROUP BY a.ts"
    with settings(chars, values):
        chars.sql("REFRESH TABLE chars.unpadded")
        for condition in conditions:
            expected = chars.sql(plain.format(condition)).collect()
            assert sorted(chars.sql(asof.format(condition)).collect()) == sorted(expected), condition


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_asof_join_of_streams_pads_its_keys_and_returns_char_columns(chars):
    rows = "STREAM chars.rows WATERMARK ts DELAY OF INTERVAL 0 SECONDS"
    chars.sql(f"""CREATE STREAMING TABLE chars.pairs OPTIONS ('trigger' = 'available-now') AS
        SELECT a.c = 'ab' AS c, b.w = 'ab' AS w, a.x = 'ab' AS x FROM {rows} AS a
        ASOF JOIN {rows} AS b MATCH_CONDITION (a.ts > b.ts) ON a.c = b.w""")
    assert chars.table("chars.pairs").collect() == [(True, True, True)]
    chars.sql("DROP TABLE chars.pairs")
