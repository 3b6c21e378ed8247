"""EXPLAIN MATCH: how the clauses and the joins on time of a statement are run.

The sections are written beside the planners of the parts, in `explain_match`, `joins/explain_joins` and
`emit/explain_emit`, or by the planners of rules and of idle sources themselves.
"""

from __future__ import annotations

from dataclasses import replace

from sqlext.engine.match.forms import PhysicalPlan
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.engine.why.explain_rows import explain_rows
from sqlext.errors import SqlExtError
from sqlext.rewriter.rules.rule_statements import parse_rule_statement
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.statements.why_statement import WhyStatement
from sqlext.spark.user_warnings import warn


def explain_statement(call: SqlCall) -> str:
    """Explain how the statement would run. Raises the SqlExtError that running it would raise."""
    if parse_rule_statement(call.text) is not None:
        return "A statement about pattern rules: DESCRIBE PATTERN RULE shows the program of a rule."
    plan = plan_statement(call)
    warn(plan.warnings)
    return plan.explanation


def explain_why(call: SqlCall, why: WhyStatement) -> str:
    """Explain why rows are, or are not, in a match of the query. Raises the SqlExtError that running it would raise."""
    try:
        plan = plan_statement(replace(call, text=why.query.text))
        statement = parse_statement(why.query.text)
        plans = [relation for relation in plan.relations.values() if isinstance(relation, PhysicalPlan)]
        return explain_rows(call, why, statement, plans, plan.queries)
    except SqlExtError as error:
        if error.place is not None and error.place.text == why.query.text:
            raise error.moved(call.text, why.query.start) from None
        raise
