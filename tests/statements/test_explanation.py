"""EXPLAIN MATCH names the strategy that then runs, and has no effect."""

from __future__ import annotations

import pytest

import sqlext
from sqlext.engine.match.forms import LEAD
from sqlext.engine.queries.quoted_names import names_in_backticks
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.pattern import strategy
from sqlext.rewriter.lowering.operator_plan import worker_plan
from sqlext.rewriter.statements.script import read_script
from sqlext.sessions.hook import unhooked

from .cases import HERE, Case, cases, settings

pytestmark = pytest.mark.spark
FILES = sorted(path.name for path in HERE.glob("*.txt") if path.name != "relations.txt")


def groups():
    """The cases of a file, or one case whose statements make tables and views."""
    for name in FILES:
        scripts = [case for case in cases(name) if len(case.steps) > 1]
        yield pytest.param([case for case in cases(name) if case not in scripts], id=name)
        yield from (pytest.param([case], id=str(case)) for case in scripts)


def named_strategies(explanation: str) -> list[str]:
    """The strategy of each clause that the text of EXPLAIN MATCH names."""
    sections = explanation.split("== Strategy ==\n")[1:]
    return [section.partition(":")[0] for section in sections]


def run_strategies(plan) -> list[str]:
    """The strategy of each clause that the workers of the plan's DataFrame run, those of stored views first."""
    names = [name for view in plan.views for name in run_strategies(view.statement)]
    for clause in (relation.physical for relation in plan.relations.values() if hasattr(relation, "physical")):
        is_lead = clause.form is LEAD
        names.append(LEAD.name if is_lead else strategy.choose(worker_plan(clause.plan).task)[0])
    return names


def plans(spark, case: Case):
    """The plans of a case's statements, each with the statements before it carried out."""
    frames = {name: spark.sql(text) for name, text in case.frames.items()}
    for step in case.steps:
        call = SqlCall(spark=spark, sql=unhooked(spark), text=step.text, args=case.args, frames=frames)
        is_script = bool(read_script(step.text))  # each of its statements is planned when it runs
        try:
            if not is_script:
                with names_in_backticks(call) as quoted:
                    plan = plan_statement(quoted)
                yield plan
            if is_script or len(case.steps) > 1:
                spark.sql(step.text, case.args, **frames)
        except Exception:
            if step.kind != "error":
                raise


@pytest.mark.random(every=3)
@pytest.mark.parametrize("group", list(groups()))
def test_explain_names_the_strategy_that_runs(clean, group):
    for case in group:
        with settings(clean, case.settings):
            for plan in plans(clean, case):
                explanation = plan.explanation
                plan.build()
                assert named_strategies(explanation) == run_strategies(plan), case.title


def test_neither_explain_nor_a_statement_leaves_a_function(session):
    """The engine udtf calls one for each clause."""
    query = """SELECT * FROM letters MATCH_RECOGNIZE (ORDER BY n MEASURES n AS n PATTERN (A) DEFINE A AS c = 'A')
      MATCH_RECOGNIZE (ORDER BY n PATTERN (B+) DEFINE B AS n > 0)"""
    before = session.sql("SHOW USER FUNCTIONS").count()
    with settings(session, {"sqlext.engine": "udtf"}):
        sqlext.explain(query, spark=session)
        assert session.sql("SHOW USER FUNCTIONS").count() == before
        session.sql(query)
        assert session.sql("SHOW USER FUNCTIONS").count() == before
