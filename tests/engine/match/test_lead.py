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
TAKEN = ["\n".join(clause) for _, clause, expected in CASES if expected.startswith("taken")]


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
    planned = plan(facts, query(clause))
    why_not = lead.refusal(planned)
    if expected.startswith("taken"):
        assert why_not is None
        assert expected in ("taken", f"taken: {lead.reason(planned)}")
    else:
        assert why_not == expected


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
    assert [t for t, (_, lines) in zip(texts, by_lead) if not lines and "A AS NULL" not in t] == []


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
    "v > PREV(v)",
    "x < 0 OR v = 0",
]
SKIPS = [
    "",
    "SKIP PAST LAST ROW",
    "SKIP TO NEXT ROW",
    "SKIP TO NEXT ROW",
    "SKIP TO LAST B",
    "SKIP TO FIRST C",
    "SKIP TO A ELSE NEXT ROW",
]
NAVIGATIONS = [
    "n",
    "A.x",
    "B.s",
    "FIRST(n)",
    "LAST(B.v, 1)",
    "PREV(n, 2)",
    "NEXT(FIRST(A.s))",
    "CLASSIFIER()",
    "NEXT(A.x, 3)",
]
AGGREGATES = ["COUNT(*)", "COUNT(B.v)", "MIN(x)", "MAX(A.i)", "MATCH_SEQUENCE_NUMBER()", "COUNT(C.*)"]
KEYS = ["PARTITION BY k ", "PARTITION BY d ", "PARTITION BY k % 2, b ", ""]
ORDERS = ["n", "i, n", "t DESC, n", "i NULLS LAST", "-n DESC"]


def random_clause(chance: random.Random) -> str:
    pattern = " ".join("ABC"[: chance.choice([1, 2, 3, 3])]) + chance.choice(["", "", " A", "{2}"])
    unused = [f"{name}." for name in "BC" if name not in pattern]
    conditions, navigations, aggregates = (
        [text for text in texts if not any(name in text for name in unused)]
        for texts in (CONDITIONS, NAVIGATIONS, AGGREGATES)
    )
    defined = [f"{name} AS {chance.choice(conditions)}" for name in "ABC" if name in pattern and chance.random() < 0.9]
    measures = chance.sample(navigations, 3) + chance.sample(aggregates, 2)
    skip = chance.choice([words for words in SKIPS if not any(words.endswith(name[0]) for name in unused)])
    return f"""{chance.choice(KEYS)}ORDER BY {chance.choice(ORDERS)}
        MEASURES {", ".join(f"{m} AS m{i}" for i, m in enumerate(measures))} {skip and "AFTER MATCH " + skip}
        PATTERN ({pattern}) DEFINE {", ".join(defined) or "A AS TRUE"}"""


@pytest.mark.random(every=2)
@pytest.mark.parametrize("seed", range(3))
def test_lead_returns_the_rows_of_reference_for_random_clauses(facts, seed):
    chance = random.Random(seed)
    texts = [query(random_clause(chance)) for _ in range(30)]
    taken = [text for text in texts if lead.refusal(plan(facts, text)) is None]
    assert len(taken) >= 8
    by_lead, by_reference = rows(facts, "lead", taken), rows(facts, "reference", taken)
    assert [(t, a, b) for t, a, b in zip(taken, by_lead, by_reference) if a != b] == []


def test_a_clause_that_lead_cannot_run_is_an_error_if_it_was_asked_for(facts):
    with settings(facts, {"sqlext.strategy": "lead"}), pytest.raises(sqlext.UnsupportedError) as error:
        facts.sql(query("ORDER BY n PATTERN (A+) DEFINE A AS v = 0"))
    assert error.value.error_class == "SQLEXT_STRATEGY_NOT_APPLICABLE"
    assert 'strategy "lead" cannot run this clause: PATTERN is not one fixed sequence' in error.value.message
    assert "two_pass" in (error.value.hint or "")


def test_explain_shows_the_query_that_spark_runs(facts):
    with settings(facts, {"sqlext.order": "spark"}):
        text = sqlext.explain(query(TAKEN[0]), spark=facts)
    assert "lead: PATTERN is a fixed sequence of 2 rows whose candidates cannot overlap" in text
    assert "== SQL of the match ==" in text
    assert "lead(__mask, 1) OVER __rows" in text
    assert "worker" not in text


SEQUENCE = "MEASURES A.n AS n PATTERN (A B) DEFINE A AS v = 0, B AS v = 1"


@pytest.mark.parametrize(
    ("clause", "is_lead"),
    [
        (f"PARTITION BY k ORDER BY n {SEQUENCE}", False),
        (f"PARTITION BY d ORDER BY n {SEQUENCE}", True),
        (f"ORDER BY n {SEQUENCE}", True),
        ("PARTITION BY k ORDER BY n MEASURES A.n AS n PATTERN (A) DEFINE A AS v = 0", True),
    ],
    ids=["workers order the rows", "keys that only Spark compares", "no keys", "a single row"],
)
def test_lead_runs_a_sequence_only_where_spark_sorts_anyway(facts, clause, is_lead):
    with settings(facts, {"sqlext.parallel": "off"}):
        text = sqlext.explain(query(clause), spark=facts)
    assert ("lead: PATTERN is a " in text, "workers order the rows" in text) == (is_lead, not is_lead)
