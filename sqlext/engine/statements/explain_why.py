"""EXPLAIN MATCH WHY query FOR ROW condition: plans the query and asks about rows of the input of its clauses."""

from __future__ import annotations

from dataclasses import replace

from sqlext.catalog import pattern_rules
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.match.forms import PhysicalPlan
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.engine.why.explain_join import explain_join
from sqlext.engine.why.explain_rows import Question, explain_rows
from sqlext.errors import BindError, Place, SqlExtError, UnsupportedError
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.rules.rule_text import rule_over
from sqlext.rewriter.rules.rules_clause import RulesClause
from sqlext.rewriter.statements import parameters
from sqlext.rewriter.statements.parse_statement import ParsedStatement, parse_statement
from sqlext.rewriter.statements.why_statement import WhyStatement
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Source

_NOT_EXPLAINED = (
    "a clause in a stored view is explained by the view's query, a rule of MATCH_RULES by FOR RULE name FOR ROW …, "
    "and a join on time where the query has nothing else of the extended language; EMIT is not."
)


def explain_why(call: SqlCall, why: WhyStatement) -> str:
    """Explain why rows are, or are not, in a match of the query. Raises the SqlExtError that running it would raise."""
    query = why.query.text
    try:
        statement = parse_statement(query)
        edits = parameters.bind(query, call.args, statement.pattern_bodies)
        condition = _condition(call, why, statement)
        if why.rule is not None:
            return _explain_rule(call, why, statement, Source(query, edits), condition)
        if len(statement.parts) == 1 and isinstance(statement.parts[0], JoinClause):
            plan_statement(replace(call, text=query))
            return explain_join(_sides(call, statement, Source(query, edits)), condition, why.condition)
        return _explain(replace(call, text=query), edits, condition, why.condition)
    except SqlExtError as error:
        if error.place is not None and error.place.text == query:
            raise error.moved(call.text, why.query.start) from None
        raise


def _condition(call: SqlCall, why: WhyStatement, statement: ParsedStatement) -> str:
    """The condition with its parameters bound; a `?` in it is counted from the start of the whole text."""
    bodies = [(start + why.query.start, stop + why.query.start) for start, stop in statement.pattern_bodies]
    bound = Source(call.text, parameters.bind(call.text, call.args, bodies))
    return str(bound.slice(why.condition.start, why.condition.stop))


def _sides(call: SqlCall, statement: ParsedStatement, source: Source) -> JoinSides:
    (clause,) = statement.of(JoinClause)
    queries, prefix = Queries(call.sql, call.frames, source.text), statement.prefix(clause, source)
    return JoinSides(clause, number=0, tree=statement.tree, source=source, prefix=prefix, queries=queries)


def _explain(call: SqlCall, edits: tuple, condition: str, written: Fragment) -> str:
    plan = plan_statement(call)
    plans = [relation for relation in plan.relations.values() if isinstance(relation, PhysicalPlan)]
    if not plans:
        message = "WHY explains MATCH_RECOGNIZE, and the query has no such clause"
        raise UnsupportedError("WHY", message, place=Place(call.text, 0, 1), hint=_NOT_EXPLAINED)
    return explain_rows(
        Question(
            call=call,
            query=call.text,
            plans=plans,
            queries=plan.queries,
            condition=condition,
            written=written,
            parameters=edits,
        )
    )


def _explain_rule(call: SqlCall, why: WhyStatement, statement: ParsedStatement, source: Source, condition: str) -> str:
    """The answer about the last version of a rule, as a clause over the events of MATCH_RULES."""
    clauses = [part for part in statement.parts if isinstance(part, RulesClause)]
    if len(clauses) != 1:
        message = f"FOR RULE {why.rule} needs a query with one MATCH_RULES"
        hint = "write SELECT * FROM events MATCH_RULES (…) FOR RULE name FOR ROW condition."
        raise UnsupportedError("WHY", message, place=Place(source.text, 0, 1), hint=hint)
    (clause,) = clauses
    place = Place(source.text, clause.rules.start, clause.rules.stop)
    known = pattern_rules.current(pattern_rules.versions(call.sql, clause.rules.parts))
    version = next((v for name, v in known.items() if name.lower() == str(why.rule).lower()), None)
    if version is None or version.clause is None:
        names = ", ".join(sorted(name for name, v in known.items() if not v.is_dropped)) or "none"
        raise BindError(
            "UNKNOWN_RULE",
            f"there is no rule {why.rule} on {'.'.join(clause.rules.parts)}",
            place=place,
            hint=f"the rules are {names}.",
        )
    relation = str(source.slice(clause.relation.start, clause.relation.stop))
    keys, order = ([column.name for column in part] for part in (clause.partition_by, clause.order_by))
    query = f"{statement.prefix(clause, source)}{rule_over(relation, version.clause, keys, order)}"
    answer = _explain(replace(call, text=query, args=None), (), condition, why.condition)
    state = "" if version.enabled else ", which is disabled"
    return f"Rule {version.name}, version {version.version}{state}, over all rows of its input\n\n{answer}"
