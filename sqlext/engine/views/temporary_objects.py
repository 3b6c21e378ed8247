"""Temporary views, functions and variables, which a stored view cannot read: other sessions do not have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sqlext.engine.queries.queries import is_accepted, user_functions
from sqlext.engine.queries.sql_call import SqlCall, may_have_variables
from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.rewriter.text.names import Parts, RelationName, quote, tokens_of, unquoted
from sqlext.rewriter.text.tokens import Tokens
from sqlext.rewriter.tree.sources import relations
from sqlext.spark.quiet_probes import quiet_probes


@dataclass(frozen=True)
class TemporaryObject:
    """A temporary view, function or variable of the session, at the place where a query reads it."""

    kind: str
    name: str
    place: Place


def check_permanent(call: SqlCall, query: str) -> None:
    """Raise BindError INVALID_TEMP_OBJ_REFERENCE, as Spark does, if the query of a stored view reads an object that
    only this session has."""
    for temporary in temporary_objects(call, query):
        raise BindError(
            "INVALID_TEMP_OBJ_REFERENCE",
            f"a stored view cannot read {temporary.name}, a temporary {temporary.kind} that other sessions do not have",
            place=temporary.place,
            hint="write CREATE TEMPORARY VIEW, or read what is permanent.",
        )


def temporary_objects(call: SqlCall, query: str) -> Iterator[TemporaryObject]:
    """The temporary objects that a query reads."""
    tokens = tokens_of(query)
    objects = chain(
        (("view", name) for name in relations(query) if is_temporary_view(call.spark, name.parts)),
        (("function", name) for name in _temporary_functions(call, tokens)),
        (("variable", name) for name in _variables(call, query, tokens)),
    )
    for kind, name in objects:
        yield TemporaryObject(kind, ".".join(name.parts), Place(query, name.start, name.stop))


def is_table(spark: SparkSession, name: Parts) -> bool:
    """Return True if Spark has a table of that name, and no view."""
    if "/" in name[-1]:
        return True  # delta.`/a/path`
    try:
        with quiet_probes():
            return spark.catalog.getTable(quote(name)).tableType in ("MANAGED", "EXTERNAL")
    except PySparkException:
        return False


def is_temporary_view(spark: SparkSession, name: Parts) -> bool:
    """Return True if Spark knows a temporary view of that name."""
    if "/" in name[-1]:
        return False  # delta.`/a/path`: looking the name up would open the table
    catalog = spark.catalog
    try:
        with quiet_probes():
            return type(catalog).getTable(catalog, quote(name)).isTemporary
    except PySparkException:
        return False  # for example a stored view


def about_temporary_view(spark: SparkSession, error: UnsupportedError, text: str) -> UnsupportedError:
    """The error that a query has nothing to explain, at the first temporary view that it reads, if it reads one: Spark
    keeps these views, and their clauses are no longer known."""
    view = next((name for name in relations(text) if is_temporary_view(spark, name.parts)), None)
    if view is None:
        return error
    place = Place(text, view.start, view.stop)
    hint = (
        f"if {place.written} has a clause: it is a temporary view, whose query only Spark knows. Write the query in "
        f"place of the name, FROM (SELECT …) AS {view.parts[-1]}, or store the view: CREATE VIEW, without TEMPORARY."
    )
    return error.with_(place=place, hint=hint)


def _temporary_functions(call: SqlCall, tokens: Tokens) -> Iterator[RelationName]:
    """The calls of temporary functions, whose names have no schema."""
    names = user_functions(call.sql)
    for token, after in pairwise(tokens):
        if after.text == "(" and token.is_name and unquoted(token.text).lower() in names:
            yield RelationName((unquoted(token.text),), token.start, token.stop)


def _variables(call: SqlCall, query: str, tokens: Tokens) -> Iterator[RelationName]:
    """The names that are session variables: `session.x`, and names that are not a column of a relation of the query."""
    if not may_have_variables(call.spark):
        return
    columns = set(chain.from_iterable(_columns(call, name) for name in relations(query)))
    columns |= {unquoted(t.text).lower() for a, t in pairwise(tokens) if a.word == "AS"}
    known: dict[str, bool] = {}
    for i, token in enumerate(tokens):
        name, before = unquoted(token.text).lower(), tokens[i - 1].text if i else ""
        is_called = i + 1 < len(tokens) and tokens[i + 1].text in ("(", ".")
        is_qualified = before == "." and tokens[i - 2].word == "SESSION"
        if not token.is_name or is_called or (not is_qualified and (before == "." or name in columns)):
            continue
        if name not in known:
            known[name] = is_accepted(call.sql, f"SELECT system.session.{quote((name,))}")
        if known[name]:
            yield RelationName((unquoted(token.text),), token.start, token.stop)


def _columns(call: SqlCall, name: RelationName) -> list[str]:
    try:
        with quiet_probes():
            return [column.lower() for column in call.sql(f"SELECT * FROM {quote(name.parts)}").columns]
    except PySparkException:
        return []
