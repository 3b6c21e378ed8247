"""Every way of running a clause gives the answers of a real Trino server."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import sqlext
from sqlext import DataError
from sqlext.engine.match.run_batch import input_query
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.operators.match.match_rows import match_batches
from sqlext.pattern.strategy import STRATEGIES, accepts
from sqlext.rewriter.lowering.operator_plan import worker_plan
from sqlext.sessions.hook import unhooked

from ..sampling import sample
from .trino import CASES, answer, error_class, spark_text

pytestmark = pytest.mark.spark
GOOD = [c for c in CASES if c["error"] is None]
BAD = [c for c in CASES if c["error"] is not None]
AT_ONCE = 20  # queries in one statement: Spark's cost per job would be most of the time


def groups(cases):
    return [pytest.param(cases[i : i + AT_ONCE], id=str(i)) for i in range(0, len(cases), AT_ONCE)]


def answers(spark, texts: list[str]) -> list[list]:
    """The rows of several queries, run as one statement."""
    union = " UNION ALL ".join(
        f"SELECT {i} AS q, to_json(struct(*), map('ignoreNullFields', 'false')) AS r FROM ({text})"
        for i, text in enumerate(texts)
    )
    found: list[list] = [[] for _ in texts]
    for q, row in spark.sql(union).collect():
        found[q].append(list(json.loads(row).values()))
    return found


def check(cases, found) -> None:
    wrong = [(c["sql"], f) for c, f in zip(cases, found) if answer(f) != answer(c["rows"])]
    assert not wrong, wrong[0]


@pytest.mark.random(every=4)
@pytest.mark.parametrize("cases", groups(GOOD))
def test_the_clause_gives_trinos_answers(spark, cases):
    check(cases, answers(spark, [spark_text(c) for c in cases]))


@pytest.mark.parametrize("cases", groups(sample(GOOD, 10)))
def test_the_engine_udtf_gives_trinos_answers(spark, cases):
    spark.conf.set("sqlext.engine", "udtf")
    try:
        check(cases, answers(spark, [spark_text(c) for c in cases]))
    finally:
        spark.conf.unset("sqlext.engine")


@pytest.mark.parametrize("cases", groups(sample(GOOD, 10)))
def test_the_portable_table_function_gives_trinos_answers(spark, cases):
    check(cases, answers(spark, [sqlext.compile(spark_text(c), spark=spark) for c in cases]))


@pytest.mark.random(every=5)
@pytest.mark.parametrize("cases", groups(CASES))
def test_every_strategy_gives_the_same_result(spark, cases):
    for case in cases:
        statement = plan_statement(SqlCall(spark=spark, sql=unhooked(spark), text=spark_text(case)))
        (planned,) = statement.relations.values()
        results = results_by_strategy(statement, planned.physical)
        assert all(r == results["reference"] for r in results.values()), (case["sql"], results)


def results_by_strategy(statement, planned) -> dict[str, list]:
    """The outcome of a planned clause with each strategy that accepts it."""
    rows = statement.queries.run(input_query(planned.plan, planned.prefix))
    chunk, plan = rows.toArrow(), worker_plan(planned.plan)
    tasks = [replace(plan.task, strategy=name) for name in STRATEGIES]
    return {t.strategy: outcome(chunk, replace(plan, task=t)) for t in tasks if accepts(t)}


def outcome(chunk, plan) -> list:
    """All result rows, and the class of the error that ended them."""
    rows: list = []
    try:
        for batch in match_batches(iter(chunk.to_batches()), plan):
            rows += batch.to_pylist()
    except DataError as e:
        rows.append(e.error_class)
    return rows


@pytest.mark.parametrize("case", BAD[::6], ids=lambda c: error_class(c))
def test_a_failed_skip_is_reported_with_variable_partition_and_match(spark, case):
    with pytest.raises(Exception, match=error_class(case)):
        spark.sql(spark_text(case)).collect()
