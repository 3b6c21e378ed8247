"""EXPLAIN MATCH WHY query FOR ROW condition: plans the query and asks about rows of the input of its clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sqlext.catalog import pattern_rules
from sqlext.engine.planning.answers import Explained
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.engine.views.temporary_objects import about_temporary_view
from sqlext.engine.why.explain_row import MAX_ALL_STEPS, MAX_STEPS
from sqlext.engine.why.row_condition import RowCondition, likeliest
from sqlext.errors import BindError, Place, UnsupportedError, placed_at, places_after
from sqlext.pattern.why.row_search import Budget
from sqlext.rewriter.rules.rule_text import rule_over
from sqlext.rewriter.rules.rules_clause import RulesClause
from sqlext.rewriter.statements import parameters
from sqlext.rewriter.statements.explain_statement import WhyStatement
from sqlext.rewriter.statements.parse_statement import ParsedStatement, parse_statement
from sqlext.rewriter.text.splice import Source

_HINT = "it explains MATCH_RECOGNIZE, INTERVAL JOIN, ASOF JOIN and EMIT, and a rule of MATCH_RULES by FOR RULE name."


def explain_why(call: SqlCall, why: WhyStatement) -> str:
    """Explain why rows are, or are not, in a match of the query. Raises the SqlExtError that running it would raise."""
    query = why.query.text
    with places_after(call.text, query, why.query.start):
        statement = parse_statement(query)
        condition = _condition(call, why, statement)
        if why.rule is not None:
            source = Source(query, parameters.bind(query, call.args, statement.pattern_bodies))
            return _explain_rule(call, why.rule, statement, source, condition)
        return _explain(replace(call, text=query), condition)


def _condition(call: SqlCall, why: WhyStatement, statement: ParsedStatement) -> RowCondition:
    """The condition with its parameters bound; a `?` in it is counted from the start of the whole text."""
    bodies = [(start + why.query.start, stop + why.query.start) for start, stop in statement.pattern_bodies]
    bound = Source(call.text, parameters.bind(call.text, call.args, bodies))
    return RowCondition(written=why.condition, sql=bound.of(why.condition))


def _explain(call: SqlCall, condition: RowCondition) -> str:
    """The answers of all parts of a query whose rows have the columns of the condition."""
    parts = plan_statement(call).why(condition, Budget(MAX_ALL_STEPS, MAX_STEPS))
    if not parts:
        message = "WHY has nothing to explain in this query"
        error = UnsupportedError("WHY", message, place=Place(call.text, 0, 1), hint=_HINT)
        raise about_temporary_view(call.spark, error, call.text)
    answers: list[str] = []
    refused: list[tuple[str, UnsupportedError]] = []
    ambiguous: list[tuple[str, BindError]] = []
    errors: list[BindError] = []
    for part, title in zip(parts, _titles(parts)):
        try:
            shown = "" if len(parts) == 1 else title
            answers.append("\n".join(filter(None, [shown, part.note, part.answer()])))
        except BindError as error:  # the condition may be about the input of one of several parts
            errors.append(error)
            if error.error_class == "SQLEXT_AMBIGUOUS_REFERENCE":
                ambiguous.append((title, error))
        except UnsupportedError as error:
            refused.append((title, error))
    if not answers:
        raise refused[0][1] if refused else likeliest(errors)
    answers += [f"{title}\nIt is not explained. {error.message}: {error.hint}" for title, error in refused]
    answers += [f"{title}\nIt is not explained. {error.message}" for title, error in ambiguous]
    return "\n\n".join(answers)


def _titles(parts: Sequence[Explained]) -> list[str]:
    """The titles of the parts, with the columns of those that are not the only one of their title."""
    titles = Counter(part.title for part in parts)
    return [f"{part.title}, column {part.place.column}" if titles[part.title] > 1 else part.title for part in parts]


def _explain_rule(call: SqlCall, rule: str, statement: ParsedStatement, source: Source, condition: RowCondition) -> str:
    """The answer about the last version of a rule, as a clause over the events of MATCH_RULES."""
    clauses = [part for part in statement.parts if isinstance(part, RulesClause)]
    if len(clauses) != 1:
        message = f"FOR RULE {rule} needs a query with one MATCH_RULES"
        hint = "write SELECT * FROM events MATCH_RULES (…) FOR RULE name FOR ROW condition."
        raise UnsupportedError("WHY", message, place=Place(source.text, 0, 1), hint=hint)
    (clause,) = clauses
    place = Place(source.text, clause.rules.start, clause.rules.stop)
    with placed_at(place):
        pattern_rules.check_exists(call.spark, call.sql, clause.rules.parts)
        known = pattern_rules.current(pattern_rules.versions(call.sql, clause.rules.parts))
    version = next((v for name, v in known.items() if name.lower() == rule.lower()), None)
    if version is None or version.clause is None:
        names = ", ".join(sorted(name for name, v in known.items() if not v.is_dropped)) or "none"
        raise BindError(
            "UNKNOWN_RULE",
            f"there is no rule {rule} on {'.'.join(clause.rules.parts)}",
            place=place,
            hint=f"the rules are {names}.",
        )
    relation = str(source.of(clause.relation))
    keys, order = ([column.name for column in part] for part in (clause.partition_by, clause.order_by))
    query = f"{statement.prefix(clause, source)}{rule_over(relation, version.clause, keys, order)}"
    answer = _explain(replace(call, text=query, args=None), condition)
    state = "" if version.enabled else ", which is disabled"
    return f"Rule {version.name}, version {version.version}{state}, over all rows of its input\n\n{answer}"
