"""Windows with row patterns (R020) give the answers of a real Trino server."""

from __future__ import annotations

import json
import pathlib
import re
from dataclasses import replace

import pytest

from sqlext.engine.batch.run_batch import input_query, worker_plan
from sqlext.engine.plan_statement import plan_statement
from sqlext.engine.sql_call import SqlCall
from sqlext.engine.worker.match_rows import match_batches
from sqlext.errors import DataError
from sqlext.hook import unhooked
from sqlext.pattern.strategy import STRATEGIES, accepts

from ..sampling import sample
from .test_trino import answers, check, groups

pytestmark = pytest.mark.spark
CASES = json.loads((pathlib.Path(__file__).parent / "trino_window.json").read_text())
for case in CASES:
    values, clause = case["sql"].split(" AS t(", 1)
    case["sql"] = re.sub(r"\bnull\b", "CAST(NULL AS INT)", values) + " AS t(" + clause

# The query keeps rows whose array_agg is not NULL. Over no rows it is NULL in Trino, as in the standard, and an empty
# array in Spark, whose aggregates these are: so the other seven rows, which have no match, are kept.
ARRAY_OVER_NO_ROWS = 142
CASES[ARRAY_OVER_NO_ROWS]["rows"] += [[0, i, None, None, []] for i in range(1, 8)]
GOOD = [c for c in CASES if c["error"] is None]
BAD = [c for c in CASES if c["error"] is not None]


@pytest.mark.parametrize("cases", groups(GOOD))
def test_windows_give_trinos_answers(spark, cases):
    check(cases, answers(spark, [c["sql"] for c in cases]))


@pytest.mark.parametrize("case", BAD, ids=lambda c: c["error"][:60])
def test_what_trino_refuses_is_refused(spark, case):
    with pytest.raises(Exception, match="SQLEXT_"):
        spark.sql(case["sql"]).collect()


@pytest.mark.parametrize("cases", groups(sample(CASES, 4)))
def test_every_strategy_gives_the_same_result(spark, cases):
    for case in cases:
        try:
            statement = plan_statement(SqlCall(spark=spark, sql=unhooked(spark), text=case["sql"]))
        except Exception:
            assert case["error"]
            continue
        planned = statement.parts[0]
        rows = statement.queries.run(input_query(planned.plan, planned.prefix))
        chunk, plan = rows.toArrow(), worker_plan(planned.plan, planned.is_ansi)
        tasks = [replace(plan.task, strategy=name) for name in STRATEGIES]
        results = {t.strategy: outcome(chunk, replace(plan, task=t)) for t in tasks if accepts(t)}
        assert all(r == results["reference"] for r in results.values()), (case["sql"], results)


def outcome(chunk, plan) -> list:
    """All result rows, and the class of the error that ended them."""
    rows: list = []
    try:
        for batch in match_batches(iter(chunk.to_batches()), plan):
            rows += batch.to_pylist()
    except DataError as e:
        rows.append(e.error_class)
    return rows
