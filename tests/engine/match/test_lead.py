"""Which clauses `lead` takes, and that it returns the rows and columns of `reference`."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql.types import StructType

import sqlext
from sqlext.engine.match import lead
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.sessions.hook import unhooked
from tests.statements.cases import results_of, settings

pytestmark = pytest.mark.spark
AT_ONCE = 12  # queries in one statement: Spark's cost per job would be most of the time
SCHEMA = "k INT, d DOUBLE, n INT NOT NULL, i INT, t TIMESTAMP, v INT, x DOUBLE, s STRING, b BOOLEAN NOT NULL"
NAN = float("nan")
BLOCKS = ("\n" + (Path(__file__).parent / "lead.txt").read_text("utf-8")).split("\n== ")[1:]
CASES = [(title, clause, expected) for title, *clause, expected in (block.strip("\n").split("\n") for block in BLOCKS)]
TAKEN = ["\n".join(clause) for _, clause, expected in CASES if expected == "taken"]


@pytest.fixture(scope="module")
def facts(spark):
    """The session with the table of lead.txt: keys of one row and of many, values that often follow one another."""
    chance = random.Random(1)
    rows = [fact(chance, n) for n in range(600)]
    spark.createDataFrame(rows, SCHEMA).createOrReplaceTempView("facts")
    yield spark
    spark.catalog.dropTempView("facts")


def fact(chance: random.Random, n: int) -> tuple:
    k = chance.choice([None, 1, 2, 2, 3, 3, 3, 4, 100 + n])
    i = chance.choice([None, *range(12)])
    v = chance.choice([None, 0, 0, 0, 1, 1, 1, 2, 3])
    t = None if i is None else datetime(2026, 1, 1) + timedelta(minutes=i)
    x = chance.choice([None, NAN, *(j / 4 for j in range(-30, 30))])
    return k, chance.choice([None, NAN, 0.0, -0.0, 1.5]), n, i, t, v, x, chance.choice("aabbc"), chance.random() < 0.7


def query(clause: str, relation: str = "facts") -> str:
    return f"SELECT * FROM {relation} MATCH_RECOGNIZE (\n{clause}\n)"


def plan(spark, text: str):
    with settings(spark, {"sqlext.prefilter": "off"}):
        (clause,) = plan_statement(SqlCall(spark=spark, sql=unhooked(spark), text=text)).relations.values()
    return clause.physical.plan


@pytest.mark.parametrize(("clause", "expected"), [pytest.param("\n".join(c), s, id=t) for t, c, s in CASES])
def test_a_clause_is_taken_or_the_reason_is_given(facts, clause, expected):
    assert (lead.refusal(plan(facts, query(clause))) or "taken") == expected


def rows(spark, strategy: str, texts: list[str]) -> list[tuple[str, list[str]]]:
    with settings(spark, {"sqlext.strategy": strategy}):
        return results_of(spark.sql, texts)


@pytest.mark.random(every=2)
@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("first", range(0, len(TAKEN), AT_ONCE))
def test_lead_returns_the_rows_of_reference(facts, ansi, first):
    texts = [query(clause) for clause in TAKEN[first : first + AT_ONCE]]
    with settings(facts, {"spark.sql.ansi.enabled": ansi}):
        by_lead, by_reference = rows(facts, "lead", texts), rows(facts, "reference", texts)
    assert [(t, a, b) for t, a, b in zip(texts, by_lead, by_reference) if a != b] == []
    assert [t for t, (_, lines) in zip(texts, by_lead) if not lines and "AS NULL" not in t] == []


@pytest.mark.random(every=2)
@pytest.mark.parametrize("relation", ["(SELECT * FROM facts WHERE n < 0)", "(SELECT * FROM facts WHERE n = 7)"])
def test_lead_returns_the_rows_of_reference_for_none_and_for_one_row(facts, relation):
    counts = [f"SELECT count(*) AS rows FROM ({query(clause, relation)})" for clause in TAKEN]
    assert rows(facts, "lead", counts) == rows(facts, "reference", counts)


@pytest.mark.parametrize("first", range(0, len(TAKEN), AT_ONCE))
def test_lead_returns_the_columns_of_reference(facts, first):
    """Names, types, what may be NULL, and nothing else that a table made of them would keep."""
    for clause in TAKEN[first : first + AT_ONCE]:
        schemas = []
        for strategy in ("lead", "reference"):
            with settings(facts, {"sqlext.strategy": strategy}):
                schemas.append(facts.sql(query(clause)).schema)
        assert schemas[0] == schemas[1], clause
        assert isinstance(schemas[0], StructType)


CONDITIONS = [
    "v = 0",
    "v = 1",
    "v IN (1, 2)",
    "v >= 1",
    "v < 1",
    "s = 'a'",
    "s = 'b' AND v < 3",
    "b",
    "NOT b",
    "x < 0 OR v = 0",
]
SKIPS = ["", "SKIP PAST LAST ROW", "SKIP TO NEXT ROW", "SKIP TO A ELSE NEXT ROW"]
NAVIGATIONS = ["n", "A.x", "A.s", "FIRST(n)", "LAST(A.v, 1)", "CLASSIFIER()"]
AGGREGATES = ["COUNT(*)", "COUNT(A.v)", "MIN(x)", "MAX(A.i)", "MATCH_SEQUENCE_NUMBER()", "AVG(A.x)"]
KEYS = ["PARTITION BY k ", "PARTITION BY d ", "PARTITION BY k % 2, b ", ""]
ORDERS = ["n", "i, n", "t DESC, n", "i NULLS LAST", "-n DESC"]


def random_clause(chance: random.Random) -> str:
    measures = chance.sample(NAVIGATIONS, 3) + chance.sample(AGGREGATES, 2)
    skip = chance.choice(SKIPS)
    return f"""{chance.choice(KEYS)}ORDER BY {chance.choice(ORDERS)}
        MEASURES {", ".join(f"{m} AS m{i}" for i, m in enumerate(measures))} {skip and "AFTER MATCH " + skip}
        PATTERN (A) DEFINE A AS {chance.choice(CONDITIONS)}"""


@pytest.mark.random(every=2)
@pytest.mark.parametrize("seed", range(3))
def test_lead_returns_the_rows_of_reference_for_random_clauses(facts, seed):
    chance = random.Random(seed)
    texts = [query(random_clause(chance)) for _ in range(15)]
    by_lead, by_reference = rows(facts, "lead", texts), rows(facts, "reference", texts)
    assert [(t, a, b) for t, a, b in zip(texts, by_lead, by_reference) if a != b] == []


def test_a_sequence_is_an_error_if_lead_was_asked_for(facts):
    with settings(facts, {"sqlext.strategy": "lead"}), pytest.raises(sqlext.UnsupportedError) as error:
        facts.sql(query("ORDER BY n PATTERN (A B) DEFINE A AS v = 0, B AS v = 1"))
    assert error.value.error_class == "SQLEXT_STRATEGY_NOT_APPLICABLE"
    assert 'strategy "lead" cannot run this clause: PATTERN is not a single row.' in error.value.message
    assert "two_pass" in (error.value.hint or "")


def test_explain_shows_the_query_that_spark_runs(facts):
    text = sqlext.explain(query(TAKEN[0]), spark=facts)
    assert f"lead: {lead.REASON}" in text
    assert "== SQL of the match ==" in text
    assert "IF((v = 0) AND (x > 0), TRUE, FALSE) AS __mask" in text
    assert "worker" not in text
