"""Windows with row patterns (R020) give the answers of a real Trino server."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.sessions.hook import unhooked

from ..sampling import sample
from .test_trino import answers, check, groups, results_by_strategy

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


@pytest.mark.random(every=3)
@pytest.mark.parametrize("cases", groups(GOOD))
def test_windows_give_trinos_answers(spark, cases):
    check(cases, answers(spark, [c["sql"] for c in cases]))


@pytest.mark.random(every=2)
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
        _, planned, *_ = statement.relations.values()  # after the base query
        results = results_by_strategy(statement, planned.physical)
        assert all(r == results["reference"] for r in results.values()), (case["sql"], results)
