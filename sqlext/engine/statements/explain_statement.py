"""EXPLAIN MATCH: how the clauses and the joins on time of a statement are run.

The sections are written beside the planners of the parts, in `explain_match`, `joins/explain_joins` and
`emit/explain_emit`, or by the planners of rules and of idle sources themselves.
"""

from __future__ import annotations

from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.rewriter.rules.rule_statements import parse_rule_statement
from sqlext.spark.user_warnings import warn


def explain_statement(call: SqlCall) -> str:
    """Explain how the statement would run. Raises the SqlExtError that running it would raise."""
    if parse_rule_statement(call.text) is not None:
        return "A statement about pattern rules: DESCRIBE PATTERN RULE shows the program of a rule."
    plan = plan_statement(call)
    warn(plan.warnings)
    return plan.explanation
