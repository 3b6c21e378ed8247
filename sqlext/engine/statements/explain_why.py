"""EXPLAIN MATCH WHY query FOR ROW condition: plans the query and asks about rows of the input of its clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from sqlext.catalog import pattern_rules
from sqlext.engine.emit.run_emit import PlannedEmit
from sqlext.engine.emit.why_emit import explain_emit
from sqlext.engine.joins.why_join import explain_join
from sqlext.engine.match.forms import PhysicalPlan
from sqlext.engine.match.why_rows import ChosenRows, explain_rows
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import StatementPlan, ViewPlan, plan_statement
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
        edits = parameters.bind(query, call.args, statement.pattern_bodies)
        condition = _condition(call, why, statement)
        if why.rule is not None:
            return _explain_rule(call, why.rule, statement, Source(query, edits), condition)
        return _explain(replace(call, text=query), edits, condition)


def _condition(call: SqlCall, why: WhyStatement, statement: ParsedStatement) -> RowCondition:
    """The condition with its parameters bound; a `?` in it is counted from the start of the whole text."""
    bodies = [(start + why.query.start, stop + why.query.start) for start, stop in statement.pattern_bodies]
    bound = Source(call.text, parameters.bind(call.text, call.args, bodies))
    return RowCondition(written=why.condition, sql=bound.of(why.condition))


@dataclass(frozen=True)
class _ExplainedPart:
    """A part of a query that WHY can explain: its first word, its name, and the explanation. `note`: what is said
    before it."""

    place: Place
    title: str
    answer: Callable[[], str]
    note: str = ""


def _explain(call: SqlCall, edits: tuple, condition: RowCondition) -> str:
    """The answers of all parts of a query whose rows have the columns of the condition."""
    plan = plan_statement(call)
    budget = Budget(MAX_ALL_STEPS, MAX_STEPS)
    parts = _with_own_titles(list(_parts(plan, "", edits, condition, budget)))
    if not parts:
        message = "WHY has nothing to explain in this query"
        error = UnsupportedError("WHY", message, place=Place(call.text, 0, 1), hint=_HINT)
        raise about_temporary_view(call.spark, error, call.text)
    answers: list[str] = []
    refused: list[tuple[str, UnsupportedError]] = []
    ambiguous: list[tuple[str, BindError]] = []
    errors: list[BindError] = []
    for part in parts:
        try:
            title = "" if len(parts) == 1 else part.title
            answers.append("\n".join(filter(None, [title, part.note, part.answer()])))
        except BindError as error:  # the condition may be about the input of one of several parts
            errors.append(error)
            if error.error_class == "SQLEXT_AMBIGUOUS_REFERENCE":
                ambiguous.append((part.title, error))
        except UnsupportedError as error:
            refused.append((part.title, error))
    if not answers:
        raise refused[0][1] if refused else likeliest(errors)
    answers += [f"{title}\nIt is not explained. {error.message}: {error.hint}" for title, error in refused]
    answers += [f"{title}\nIt is not explained. {error.message}" for title, error in ambiguous]
    return "\n\n".join(answers)


def _with_own_titles(parts: list[_ExplainedPart]) -> list[_ExplainedPart]:
    """The parts, with the columns of those that are not the only one of their title."""
    titles = Counter(part.title for part in parts)
    return [
        replace(part, title=f"{part.title}, column {part.place.column}") if titles[part.title] > 1 else part
        for part in parts
    ]


def _parts(
    plan: StatementPlan, of: str, edits: tuple, condition: RowCondition, budget: Budget
) -> Iterator[_ExplainedPart]:
    """The parts of a statement and of the stored views that it reads. `of`: which view it is, empty for the query."""
    for relation in plan.relations.values():
        if isinstance(relation, ViewPlan):
            settings, name = relation.other_settings, relation.view.name
            as_created = f"View {name} is read with {settings}, as when it was created; so is the condition of FOR ROW."
            for part in _parts(relation.statement, f" of view {name}", (), condition, budget):
                note = part.note or (as_created if settings else "")
                yield replace(part, answer=partial(relation.run, part.answer), note=note)
        elif isinstance(relation, PhysicalPlan):
            rows = ChosenRows(
                call=plan.call,
                physical=relation,
                queries=plan.queries,
                condition=condition.sql.unplaced,
                budget=budget,
                parameters=edits,
            )
            place = relation.plan.clause.keyword.place
            yield _ExplainedPart(place, f"Clause in line {place.line}{of}", partial(explain_rows, rows, condition))
        elif isinstance(relation, PlannedEmit):
            answer = partial(explain_emit, relation, plan.queries, plan.call.spark, condition)
            place = relation.plan.clause.keyword.place
            yield _ExplainedPart(place, f"EMIT in line {place.line}{of}", answer)
    for sides in plan.joins:
        place = sides.clause.keyword.place
        title = f"{sides.clause.kind} JOIN in line {place.line}{of}"
        yield _ExplainedPart(place, title, partial(explain_join, sides, condition))


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
    answer = _explain(replace(call, text=query, args=None), (), condition)
    state = "" if version.enabled else ", which is disabled"
    return f"Rule {version.name}, version {version.version}{state}, over all rows of its input\n\n{answer}"
