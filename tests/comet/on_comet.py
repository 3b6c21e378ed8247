"""Run by `make test-comet`: Comet hands rows to workers in Arrow's form, and changes no row."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

import sqlext
from sqlext.spark.quiet_probes import quiet_probes
from tests.comet import VERSION, WITH_COMET
from tests.engine.combinations.combination import combination
from tests.engine.combinations.test_combinations import Tables, comparable, result
from tests.statements.cases import settings

pytestmark = [
    pytest.mark.skipif(not VERSION, reason=f"without {WITH_COMET}, make test-comet starts Spark 4.1 with Comet"),
    pytest.mark.filterwarnings("ignore"),
]
OFF, ON = {"spark.comet.enabled": "false"}, {"spark.comet.enabled": "true"}
PARTS, AT_ONCE = 20, 8

# The values of each column of TABLES, which rows draw by chance, or NULL. k, id and v are small numbers, ts
# is a time within two hours.
VALUES = {
    "bo": "true, false",
    "ti": "-128Y, 0Y, 7Y",
    "si": "-32768S, 0S, 7S",
    "i": "-2147483648, 0, 3",
    "f": "0F, -0F, float('NaN'), float('-Infinity'), 1.1F",
    "d": "0D, -0D, double('NaN'), double('Infinity'), -3.25D, 1e-300D",
    "m": "1.10BD, -99999999.99BD, 0BD",
    "w": "CAST(1.1 AS DECIMAL(38, 18)), CAST('-99999999999999999999.999999999999999999' AS DECIMAL(38, 18))",
    "s": "'', 'a', 'A ', 'ü€😀', repeat('long ', 40)",
    "bi": "X'', X'00', X'FFFE'",
    "dt": "DATE'0001-01-01', DATE'1582-10-04', DATE'1582-10-15', DATE'2024-02-29', DATE'9999-12-31'",
    "at": """TIMESTAMP'0001-01-01 00:00:00Z', TIMESTAMP'1582-10-04 23:59:59.999999Z', TIMESTAMP'1900-01-01 00:00:00Z',
        TIMESTAMP'1969-12-31 23:59:59.999999Z', 
        TIMESTAMP'2024-03-31 01:30:00Z', TIMESTAMP'9999-12-31 23:59:59.999999Z'""",
    "lt": """TIMESTAMP_NTZ'0001-01-01 00:00:00', TIMESTAMP_NTZ'1582-10-04 23:59:59.999999',
        TIMESTAMP_NTZ'2024-03-31 02:30:00', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'""",
    "iv": "INTERVAL '-1 00:00:00.000001' DAY TO SECOND, INTERVAL '0 00:00:00' DAY TO SECOND",
    "c": "'a' COLLATE UTF8_LCASE, 'A' COLLATE UTF8_LCASE, 'b' COLLATE UTF8_LCASE",
    "ar": "array(), array(1, NULL), array(3)",
    "st": "struct(1 AS x, 'a' AS y), struct(CAST(NULL AS INT) AS x, '' AS y)",
    "mp": "map(), map('a', 0D, 'b', NULL), map('', double('NaN'))",
    "nested": "array(struct(map('a', array(DATE'1582-10-04')) AS x)), array(NULL, struct(NULL AS x))",
    "va": "parse_json('{\"a\": [1, null]}'), parse_json('1.5')",
}
ROWS = """SELECT id, CAST(pmod(hash(id, 'k'), 7) AS INT) AS k, nullif(pmod(hash(id, 'v'), 11), 10) AS v, {columns},
    timestamp_seconds(1711846800 + pmod(hash(id, 'ts'), 7200)) AS ts FROM range(0, 400, 1, 3)"""
NOT_KEYS = ("mp", "va", "nested")
ONLY_SPARK = (
    "va",
    "iv",
    "c",
)  # columns with which Comet leaves an operator to Spark, so that no row stays in Arrow's form
# The format of each table with the same rows, the columns that it cannot have, and the settings in which it is written.
TABLES = {
    "in_parquet": ("parquet", (), {}),
    "in_microseconds": ("parquet", (), {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}),
    "in_delta": ("delta", ("iv", "c"), {}),
}


def query_of_rows(left_out: Sequence[str] = ()) -> str:
    drawn = "element_at(array({0}, NULL), 1 + pmod(hash(id, '{1}'), size(array({0}, NULL)))) AS {1}"
    columns = (drawn.format(values, name) for name, values in VALUES.items() if name not in left_out)
    return ROWS.format(columns=", ".join(columns))


KINDS = {
    "whole rows": """SELECT * FROM {t} MATCH_RECOGNIZE (PARTITION BY {key} ORDER BY ts, id
        MEASURES CLASSIFIER() AS var, first({value}) AS first ALL ROWS PER MATCH WITH UNMATCHED ROWS
        PATTERN (A B+) DEFINE B AS v > PREV(v))""",
    "ordered by the key": """SELECT * FROM {t} MATCH_RECOGNIZE (PARTITION BY k ORDER BY {key}, id
        MEASURES first(id) AS f, last({value}) AS last, count(*) AS n PATTERN (A B*) DEFINE B AS v >= PREV(v))""",
    "conditions on the match so far": """SELECT * FROM {t} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, id
        MEASURES first(id) AS f, count({value}) AS n, array_agg({key}) AS of_match
        PATTERN (A B*) DEFINE B AS {key} IS NOT DISTINCT FROM first(A.{key}) OR v > A.v)""",
    "without keys": """SELECT * FROM {t} MATCH_RECOGNIZE (ORDER BY ts, id MEASURES last({value}) AS last, A.{key} AS f
        PATTERN (A B) DEFINE A AS v > 4, B AS v < 4)""",
    "sorted by Spark": """SELECT * FROM {t} MATCH_RECOGNIZE (PARTITION BY {key} ORDER BY ar, id
        MEASURES last({value}) AS last, count(*) AS n PATTERN (A B*) DEFINE B AS v > PREV(v))""",
    "CEP": """SELECT * FROM {t} MATCH_RECOGNIZE (PARTITION BY {key} ORDER BY ts, id MEASURES A.id AS a, C.{value} AS c
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A -> C) WITHIN INTERVAL 5 MINUTES DEFINE A AS v > 6, C AS v < 3)""",
    "a window": """SELECT id, {value}, x OVER w AS x, y OVER w AS y FROM {t}
        WINDOW w AS (PARTITION BY {key} ORDER BY ts, id MEASURES last({value}) AS x, count(*) AS y
        ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS v > PREV(v))""",
    "EMIT": """SELECT {key}, window_start, window_end, count({value}) AS n, first({value}) AS f, sum(v) AS s
        FROM TUMBLE(TABLE {t}, DESCRIPTOR(ts), INTERVAL 10 MINUTES) GROUP BY {key}, window_start, window_end
        EMIT EVERY 3 ROWS""",
    "ASOF JOIN": """SELECT * FROM {t} a LEFT ASOF JOIN {t} b
        MATCH_CONDITION (a.ts >= b.ts) ON a.{key} = b.{key}""",
    "nearest": """SELECT a.id, b.{value} AS of_b FROM {t} a ASOF JOIN (SELECT * FROM {t} WHERE id % 3 = 0) b
        MATCH_CONDITION (NEAREST(a.ts, b.ts)) ON a.{key} <=> b.{key}""",
    "INTERVAL JOIN": """SELECT a.id, b.id AS other, a.{value}, b.{value} AS of_b FROM {t} a LEFT INTERVAL JOIN {t} b
        ON a.{key} = b.{key} AND b.ts BETWEEN a.ts - INTERVAL 30 SECONDS AND a.ts + INTERVAL 1 MINUTE""",
    "INTERVAL JOIN without keys": """SELECT a.id, b.id AS other, a.{value} FROM {t} a INTERVAL JOIN {t} b
        ON b.ts BETWEEN a.ts AND a.ts + INTERVAL 5 SECONDS""",
}


@pytest.fixture(scope="module")
def tables(request):
    try:
        spark = request.getfixturevalue("spark")
    except sqlext.SetupError as error:
        pytest.skip(str(error))
    spark.sql("CREATE SCHEMA mixed")
    spark.sql("CREATE SCHEMA types")
    for table, (of, left_out, values) in TABLES.items():
        with settings(spark, {**OFF, **values}):
            spark.sql(f"CREATE TABLE types.{table} USING {of} AS {query_of_rows(left_out)}")
    return Tables(spark)


@pytest.mark.parametrize("part", range(PARTS))
def test_rows_of_a_combination_are_those_without_comet(tables, part):
    for seed in range(part * AT_ONCE, (part + 1) * AT_ONCE):
        case = combination(seed)
        statements = case.statements(case.input)
        tables.make(" ".join(statements))
        expected = result(tables.spark, statements, {**case.settings, **OFF})
        assert result(tables.spark, statements, {**case.settings, **ON}) == expected, (statements, case.settings)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_all_types_are_those_without_comet(tables, kind):
    spark, different = tables.spark, []
    for i, (key, value) in enumerate(columns_of_clauses()):
        table = list(TABLES)[(i + list(KINDS).index(kind)) % len(TABLES)]
        is_there = not {key, value} & set(TABLES[table][1])
        relation = f"types.{table if is_there else 'in_parquet'}"
        statement = KINDS[kind].format(t=without(relation, {*ONLY_SPARK} - {key, value}), key=key, value=value)
        expected, found = (rows_with(spark, statement, values) for values in (OFF, ON))
        if found != expected:
            different.append((statement, sorted({*found} - {*expected})[:2], sorted({*expected} - {*found})[:2]))
    assert not different


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.split()[0] not in ("INTERVAL", "ASOF")])
def test_rows_stay_in_arrow(tables, kind, table):
    statement = KINDS[kind].format(t=without(f"types.{table}", {*ONLY_SPARK}), key="s", value="at")
    with settings(tables.spark, {"sqlext.parallel": "off"}):  # on a cluster, ranges of the order are Spark's
        assert says_and_stays(tables.spark, statement) == (True, True)


def test_explain_says_why_rows_leave_arrow(tables):
    statement = KINDS["whole rows"].format(t=without("types.in_parquet", {"va", "c"}), key="s", value="at")
    assert says_and_stays(tables.spark, statement) == (False, False)
    (explained,) = tables.spark.sql(f"EXPLAIN MATCH {statement}").collect()[0]
    assert "leave Arrow's form before the workers: Comet does not run Exchange: unsupported shuffle data" in explained


def without(relation: str, columns: set[str]) -> str:
    """The relation without those of the columns that it has."""
    there = columns - {*TABLES[relation.partition(".")[2]][1]}
    return f"(SELECT * EXCEPT ({', '.join(sorted(there))}) FROM {relation})" if there else relation


def says_and_stays(spark, statement: str) -> tuple[bool, bool]:
    """Whether EXPLAIN MATCH says that rows stay in Arrow's form, and whether they do in the plan that has run."""
    (explained,) = spark.sql(f"EXPLAIN MATCH {statement}").collect()[0]
    rows = spark.sql(statement)
    rows = rows.toDF(*map(str, range(len(rows.columns))))
    rows.toArrow()
    final = rows._jdf.queryExecution().executedPlan().toString().partition("== Initial Plan ==")[0]
    return "rows stay in Arrow's form" in explained, "CometMapInBatch" in final and " MapInArrow" not in final


def columns_of_clauses():
    """Each column as a key, if it can be one, with another one as a value."""
    names = list(VALUES)
    for i, name in enumerate(names):
        yield ("k", name) if name in NOT_KEYS else (name, names[(i + 7) % len(names)])


def rows_with(spark, statement: str, values: dict[str, str]) -> list[str]:
    """The rows of a statement, or the name of its error."""
    with settings(spark, values), quiet_probes():
        try:
            # of a join, two columns may have one name; toArrow of Spark 4.1 fails for a VARIANT that is NULL
            rows = spark.sql(statement)
            rows = rows.toDF(*map(str, range(len(rows.columns))))
            texts = {name: F.to_json(name) for name, of in rows.dtypes if of == "variant"}
            found = rows.withColumns(texts).toArrow().to_pylist()
        except (sqlext.SqlExtError, PySparkException) as error:
            return [error.getCondition() if isinstance(error, PySparkException) else error.error_class]
    return sorted(repr(comparable(tuple(row.values()))) for row in found)
