"""Whether the clause of a pattern rule is right: its syntax, and its names and types over the columns of the events.

A rule is `MATCH_RECOGNIZE (…)` without PARTITION BY, ORDER BY and ALL ROWS. To check it, the clause is planned as one
over a table without rows; errors get their places in the statement that the user wrote.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.sql import types as T

from sqlext.engine.physical import PhysicalPlan
from sqlext.engine.plan_statement import plan_statement
from sqlext.engine.sql_call import SqlCall
from sqlext.errors import BindError, Place, SqlExtError, SqlExtErrors, raise_all
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.match_plan import MatchPlan
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.parameters import bind
from sqlext.rewriter.rules.rule_statements import RuleDefinition, parse_rule_statement
from sqlext.rewriter.scan import scan
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Source, Text, join
from sqlext.rewriter.text.tokens import tokenize

_EVENTS = "events"


@dataclass(frozen=True)
class ParsedRule:
    """`source`: the statement with its parameters bound; `measures_start`: where it names the first measure, if any."""

    source: Source
    measures_start: int | None


def parse_rule(call: SqlCall, definition: RuleDefinition) -> ParsedRule:
    """Raises the syntax errors of the rule, and those of its parameters."""
    text = call.text
    query = join(f"SELECT * FROM {_EVENTS} ", Source(text).slice(definition.clause.start, definition.clause.stop))
    with places_in_statement(query, definition):
        tokens = tokenize(str(query))
        clauses = [parse_match(str(query), tokens, site) for site in scan(str(query))]
        raise_all(list(_misplaced(clauses[-1])))
    by = definition.clause.start - clauses[-1].keyword.start
    bodies = [(clause.pattern_text.start + by, clause.pattern_text.stop + by) for clause in clauses]
    measures = clauses[-1].measures
    start = measures[0].expression.start + by if measures else None
    return ParsedRule(Source(text, bind(text, call.args, bodies)), start)


def _misplaced(clause: MatchClause) -> Iterator[SqlExtError]:
    """Errors for the parts of a clause that MATCH_RULES has instead of the rule."""
    hint = "MATCH_RULES (PARTITION BY … ORDER BY … RULES table) has it, for all rules."
    for keys, words in ((clause.partition_by, "PARTITION BY"), (clause.order_by, "ORDER BY")):
        if keys:
            place = replace(keys[0].expression.place, stop=keys[-1].expression.stop)
            yield BindError("RULE_KEYS", f"a rule cannot have {words}", place=place, hint=hint)
    if clause.rows_per_match.is_all_rows and clause.rows_per_match.fragment is not None:
        yield BindError(
            "RULE_ROWS", "a rule returns one row per match", place=clause.rows_per_match.fragment.place,
            hint="leave ALL ROWS PER MATCH out.",
        )  # fmt: skip


def check_rule(call: SqlCall, definition: RuleDefinition, rule: ParsedRule, schema: T.StructType) -> MatchPlan:
    """The plan of a rule over events with those columns. Raises BindError and UnsupportedError."""
    view = f"__rule_events_{uuid.uuid4().hex}"
    order = time_column(schema)
    head = f"SELECT * FROM {view} AS {_EVENTS} MATCH_RECOGNIZE (" + (f"ORDER BY {quoted(order)} " if order else "")
    query = join(head, rule.source.slice(definition.body.start, definition.body.stop), ")")
    call.spark.createDataFrame([], schema).createOrReplaceTempView(view)
    try:
        with places_in_statement(query, definition):
            plan = plan_statement(replace(call, text=str(query), args=None))
    finally:
        call.spark.catalog.dropTempView(view)
    part = plan.parts[-1]
    assert isinstance(part, PhysicalPlan)
    return part.plan


def stored_rule_plan(call: SqlCall, clause: str, schema: T.StructType) -> MatchPlan:
    """The plan of a clause as a table of rules has it. Raises SqlExtError with a place in the clause."""
    call = replace(call, text=f"CREATE PATTERN RULE r ON rules AS {clause}", args=None)
    statement = parse_rule_statement(call.text)
    assert statement is not None and statement.definition is not None
    return check_rule(call, statement.definition, parse_rule(call, statement.definition), schema)


def time_column(schema: T.StructType) -> str | None:
    """A column that WITHIN can stand for time: which one MATCH_RULES orders by is not known yet."""
    kinds = (T.TimestampType, T.TimestampNTZType, T.DateType, T.NumericType)
    return next((field.name for kind in kinds for field in schema.fields if isinstance(field.dataType, kind)), None)


@contextmanager
def places_in_statement(query: Text, definition: RuleDefinition) -> Iterator[None]:
    """Errors that are raised inside get their places in the user's statement, parts of which stand in `query`."""

    def moved(error: SqlExtError) -> SqlExtError:
        place = error.place
        if place is None or place.text != str(query):
            return error
        start = query.origin(place.start)
        stop = query.origin(max(place.start, place.stop - 1))
        if start is None:
            return error.with_(place=definition.keyword.place)
        text = definition.clause.source
        return error.with_(place=Place(text, start, start + 1 if stop is None else max(stop, start) + 1))

    try:
        yield
    except SqlExtErrors as errors:
        raise SqlExtErrors([moved(error) for error in errors.errors]) from None
    except SqlExtError as error:
        raise moved(error) from None
