"""Checks the clause of CREATE PATTERN RULE: its syntax, and its names and types over the events.

The clause is compiled as the workers of a stream will compile it; errors get their places in the user's statement.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import types as T

from sqlext.catalog.pattern_rules import RulesTable
from sqlext.engine.queries.python_functions import python_functions
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.session_settings import count, settings_of_rules
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.rules.plan_rules import MAX_LENGTH_SETTING, can_be_read
from sqlext.engine.shipped.data_types import lengths_of_chars
from sqlext.errors import BindError, Place, SqlExtError, UnsupportedError
from sqlext.expressions.spark_types import in_sql
from sqlext.operators.rules.limits import MAX_LENGTH
from sqlext.rewriter.rules.compile_rule import CompiledRule, RuleEvents, compile_rule
from sqlext.rewriter.rules.rule_statements import RuleDefinition
from sqlext.rewriter.rules.rule_text import read_rule
from sqlext.rewriter.statements.parameters import bind
from sqlext.rewriter.text.names import Parts, quote
from sqlext.rewriter.text.splice import Source, Text, join
from sqlext.spark.quiet_probes import quiet_probes


@dataclass(frozen=True)
class ParsedRule:
    """`source`: the statement with its parameters bound; `measures_start`: the place where the statement names the
    first measure, if any."""

    source: Source
    measures_start: int | None


def parse_rule(call: SqlCall, definition: RuleDefinition) -> ParsedRule:
    """The parsed rule. Raises the syntax errors of the rule and of its parameters."""
    clause = definition.clause
    with places_in_statement(Source(call.text).of(clause), definition):
        parsed = read_rule(clause.text)
    body = parsed.pattern_text.start + clause.start, parsed.pattern_text.stop + clause.start
    start = parsed.measures[0].expression.start + clause.start if parsed.measures else None
    return ParsedRule(Source(call.text, bind(call.text, call.args, [body])), start)


def check_rule(call: SqlCall, definition: RuleDefinition, rule: ParsedRule, table: RulesTable) -> CompiledRule:
    """Compile the rule over the events of a table. Raises BindError and UnsupportedError."""
    clause = rule.source.of(definition.clause)
    time_column(table)  # an error in the table has no place in the clause
    with places_in_statement(clause, definition):
        try:
            return compiled_rule(call, str(clause), table)
        except UnsupportedError as error:
            raise _spark_error(call, clause, error, _schema(table)) or error from None


_CANNOT_COMPUTE = ("SQLEXT_RULE_EXPRESSION", "SQLEXT_TYPE_OF_EXPRESSION")
_MISTAKES = (  # what their classes begin with
    "SQLEXT_PARSE_SYNTAX_ERROR",
    "SQLEXT_INVALID_SQL_SYNTAX",
    "SQLEXT_UNSUPPORTED_DATATYPE",
    "SQLEXT_UNRESOLVED_ROUTINE",
    "SQLEXT_OUTSIDE_MATCH_RECOGNIZE",
)


def _spark_error(call: SqlCall, clause: Text, error: UnsupportedError, schema: T.StructType) -> BindError | None:
    """Spark's error about an expression that rules cannot compute: its syntax is wrong, or it names a column, a
    type or a function that does not exist. None if Spark reads the expression."""
    place = error.place
    if error.error_class not in _CANNOT_COMPUTE or place is None or not place.text.startswith(str(clause)):
        return None
    columns = [
        f"CAST(NULL AS {in_sql(field.dataType.simpleString())}) AS {quote((field.name,))}" for field in schema.fields
    ]
    expression = clause.part(place.start, place.stop)
    try:
        Queries(call.sql, {}, call.text).run(join("SELECT (", expression, ") FROM (SELECT ", ", ".join(columns), ")"))
    except BindError as of_spark:
        return of_spark if _is_mistake(of_spark) else None
    return None


def _is_mistake(error: BindError) -> bool:
    """Return True if an expression is wrong whatever its variables are. A name with a dot may be of a variable, which
    Spark does not know."""
    if error.error_class.startswith("SQLEXT_UNRESOLVED_COLUMN"):
        place = error.place
        return place is not None and "." not in place.text[place.start : place.stop]
    return error.error_class.startswith(_MISTAKES)


def compiled_rule(call: SqlCall, clause: str, table: RulesTable) -> CompiledRule:
    """Compile a clause of a table of rules. Raises SqlExtError with a place in the clause.

    The events have the columns that they had at the first rule or, if the rule reads other columns, the columns that
    they have now.
    """
    try:
        return _compiled(call, clause, table, _schema(table))
    except BindError as error:
        schema = _current_schema(call, table) if error.error_class == "SQLEXT_UNRESOLVED_COLUMN" else None
        if schema is None or schema == _schema(table):
            raise
        return _compiled(call, clause, table, schema)


def _current_schema(call: SqlCall, table: RulesTable) -> T.StructType | None:
    """The columns that the events have now; None if the table or view no longer exists."""
    try:
        with quiet_probes():
            return call.spark.table(table.events).schema
    except PySparkException:
        return None


def _compiled(call: SqlCall, clause: str, table: RulesTable, schema: T.StructType) -> CompiledRule:
    columns = [(field.name, field.dataType.simpleString()) for field in schema.fields]
    columns = [(name, kind) for name, kind in columns if can_be_read(kind)]
    events = RuleEvents(
        columns=columns,
        order=(time_column(table),),  # it is not known yet by which columns MATCH_RULES orders and partitions the rows
        settings=settings_of_rules(call.spark),
        functions=python_functions(call.spark),
        max_length=count(call.spark, MAX_LENGTH_SETTING, MAX_LENGTH),
        chars=lengths_of_chars(schema),
    )
    return compile_rule(clause, events)


def time_column(table: RulesTable) -> str:
    """The first timestamp column of the events. Raises BindError if there is none."""
    fields = [field.name for field in _schema(table).fields if isinstance(field.dataType, T.TimestampType)]
    if not fields:
        raise BindError(
            "EVENTS_WITHOUT_TIME",
            f"{table.events} has no column of the type TIMESTAMP",
            hint="MATCH_RULES orders the events by their time.",
        )
    return fields[0]


def check_columns(table: RulesTable, names: Iterable[Parts]) -> None:
    """Raise BindError if the events have no column of one of these names; fields of columns are not checked."""
    columns = _schema(table).fieldNames()
    known = {column.lower() for column in columns}
    for name in names:
        if name[0].lower() not in known:
            raise BindError(
                "UNKNOWN_COLUMN",
                f"{table.events} has no column {quote(name)}",
                hint=f"its columns are {', '.join(columns)}.",
            )


def _schema(table: RulesTable) -> T.StructType:
    return T.StructType.fromJson(json.loads(table.schema))


@contextmanager
def places_in_statement(query: Text, definition: RuleDefinition) -> Iterator[None]:
    """Errors that are raised in the `with` block get their places in the user's statement, parts of which are in
    `query`. The text that they are about begins with `query`."""

    def moved(error: SqlExtError) -> SqlExtError:
        place = error.place
        if place is None:
            return error.with_(place=definition.keyword.place)
        if not place.text.startswith(str(query)):
            return error
        start = query.origin(place.start) if place.start < len(str(query)) else None
        if start is None:
            return error.with_(place=definition.keyword.place)
        stop = query.origin(max(place.start, place.stop - 1))
        return error.with_(place=Place(definition.clause.source, start, max(stop or start, start) + 1))

    try:
        yield
    except SqlExtError as error:
        raise error.each(moved) from None
