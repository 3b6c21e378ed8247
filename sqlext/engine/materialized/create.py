"""Creates a materialized view: a table with the rows of its query over one version of each source."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sqlext.catalog import views, warehouse
from sqlext.catalog.materialized_views import NO_VERSION, PROPERTY, Definition, Refresh, definition_of, property_of
from sqlext.engine.materialized.refresh import ViewToRefresh, query_rows, source_views
from sqlext.engine.materialized.tables import table_of
from sqlext.engine.materialized.write import create_table
from sqlext.engine.queries.queries import user_functions
from sqlext.engine.queries.session_settings import settings_of
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.run_statement import check_stored_query
from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.formats.catalogs import current_schema, whole_name
from sqlext.formats.known_formats import format_of
from sqlext.rewriter.heads.materialized_views import CreateMaterializedView
from sqlext.rewriter.refresh_keys.unstable import unstable_part
from sqlext.rewriter.text.names import Parts, quote, quoted, unquoted
from sqlext.rewriter.text.tokens import tokenize
from sqlext.rewriter.tree.read_clauses import stream_words
from sqlext.rewriter.tree.read_tree import read_tree
from sqlext.rewriter.tree.sources import relations
from sqlext.spark.user_warnings import warn

_PROPERTIES = ("TBLPROPERTIES",)
_WITHOUT_MATERIALIZED_VIEWS = (
    "create the view in a catalog of Delta, where it may read this one's tables, or write CREATE TABLE … AS, or CREATE "
    "STREAMING TABLE for rows that are only appended."
)


def create(call: SqlCall, statement: CreateMaterializedView) -> None:
    """Carry out CREATE MATERIALIZED VIEW.

    Raises BindError if the name is taken or the columns do not fit, UnsupportedError for a stream or parameters, and
    the errors of the query.
    """
    name = whole_name(call.spark, statement.name)
    if not (tables := format_of(call.spark, name)).has_materialized_views:
        tables.lacks("materialized views", statement.place, _WITHOUT_MATERIALIZED_VIEWS)
    if _is_there(call, statement, name):
        return
    definition = _definition(call, statement)
    view = ViewToRefresh(call=call, name=name, place=statement.place, definition=definition)
    started = time.time_ns() // 1000
    query = view.query
    new = Refresh(
        identifier=uuid.uuid4().hex,
        view=definition.identifier,
        versions=query.versions,
        queries=query.digest,
        base=_base(call, statement, name),
        started=started,
        reason="the view was created",
    )
    with source_views(view, query) as text:
        rows = _commented(query_rows(view, text), statement)
        head = _head(statement, name, tables.name, definition)
        warehouse.run(call.spark, lambda: create_table(call.spark, tables, head, rows, new))


def _is_there(call: SqlCall, statement: CreateMaterializedView, name: Parts) -> bool:
    """Whether there is a view of the name, and the statement does nothing. Raises BindError if it may not replace what
    has the name."""
    title = ".".join(statement.name)
    if views.is_known(call.spark, name):
        is_ours = call.spark.catalog.getTable(quote(name)).tableType in ("MANAGED", "EXTERNAL") and (
            definition_of(call.sql, name) is not None
        )
    elif views.lookup(call.spark, call.sql, statement.name) is not None:
        is_ours = False
    else:
        return False
    if statement.if_not_exists:
        what = "the materialized view" if is_ours else "another table or view"
        warn([f"{what} {title} is there, so CREATE MATERIALIZED VIEW IF NOT EXISTS did nothing."])
        return True
    if not is_ours or not statement.or_replace:
        hint = "write CREATE OR REPLACE MATERIALIZED VIEW, or DROP MATERIALIZED VIEW first."
        raise BindError(
            "VIEW_ALREADY_EXISTS",
            f"there is already a table or view {title}",
            place=statement.place,
            hint=hint if is_ours else "take another name; OR REPLACE replaces materialized views only.",
        )
    return False


def _definition(call: SqlCall, statement: CreateMaterializedView) -> Definition:
    if call.args or call.frames:
        message = "a materialized view cannot hold parameters"
        raise UnsupportedError("VIEW_PARAMETERS", message, place=statement.place)
    streams = stream_words(read_tree(statement.query.in_place))
    if streams is not None:
        raise UnsupportedError(
            "MATERIALIZED_VIEW_STREAM",
            "the query of a materialized view reads tables, and this one reads a stream",
            place=streams.place,
            hint="leave the word out, or write CREATE STREAMING TABLE.",
        )
    columns = check_stored_query(call, statement.query)
    _check_column_names(statement)
    names = [field["name"] for field in json.loads(columns)["fields"]]
    _check_columns(statement, names)
    text = statement.query.text
    sources = tuple(name.parts for name in relations(text))
    return Definition(
        identifier=uuid.uuid4().hex,
        text=text,
        schema=current_schema(call.spark),
        sources=sources,
        columns=tuple(column.name for column in statement.columns),
        query_columns=columns,
        settings=tuple(settings_of(call.spark, text).items()),
        unstable=unstable_part(text, _columns_of(call, sources), user_functions(call.sql)) or "",
    )


def _check_column_names(statement: CreateMaterializedView) -> None:
    """Raise UnsupportedError if a column is named with the schema of its table, which is read under its name alone."""
    text = statement.query.in_place
    tokens = tokenize(text)
    for name in relations(text):
        length = 2 * len(name.parts)
        for i in range(len(tokens) - length):
            words = [unquoted(token.text).lower() for token in tokens[i : i + length]]
            is_column = words[1::2] == ["."] * len(name.parts) and words[::2] == [p.lower() for p in name.parts]
            if is_column and len(name.parts) > 1:
                raise UnsupportedError(
                    "MATERIALIZED_VIEW_NAME",
                    "the query of a materialized view cannot name the schema of a column",
                    place=Place(text, tokens[i].start, tokens[i + length].stop),
                    hint=f"write {name.parts[-1]}.{tokens[i + length].text}, or give the table an alias.",
                )


def _check_columns(statement: CreateMaterializedView, names: Sequence[str]) -> None:
    if statement.columns and len(statement.columns) != len(names):
        raise BindError(
            "COLUMN_COUNT",
            f"the list names {len(statement.columns)} columns, and the query has {len(names)}",
            place=statement.columns[min(len(names), len(statement.columns) - 1)].place,
        )
    shown = [name.lower() for name in names]
    repeated = next((name for name in shown if shown.count(name) > 1), None)
    if repeated is not None and not statement.columns:
        raise BindError(
            "DUPLICATE_COLUMN",
            f"the query has two columns {repeated}",
            place=statement.place,
            hint="name one of them with AS, or write a list of columns after the name of the view.",
        )


def _columns_of(call: SqlCall, sources: Sequence[Parts]) -> set[str]:
    return {
        column.lower()
        for source in sources
        if views.is_known(call.spark, source)
        for column in call.spark.table(quote(source)).columns
    }


def _base(call: SqlCall, statement: CreateMaterializedView, name: Parts) -> int:
    is_replaced = statement.or_replace and views.is_known(call.spark, name)
    version = table_of(call.spark, call.sql, name).version if is_replaced else None
    return NO_VERSION if version is None else version.version


def _commented(rows: DataFrame, statement: CreateMaterializedView) -> DataFrame:
    """The rows with the comments of the list of columns."""
    comments = {column.name.lower(): column.comment for column in statement.columns if column.comment is not None}
    if not comments:
        return rows
    columns = []
    for field in rows.schema.fields:
        comment = comments.get(field.name.lower())
        metadata = {**field.metadata, **({} if comment is None else {"comment": comment})}
        columns.append(F.col(quoted(field.name)).alias(field.name, metadata=metadata))
    return rows.select(*columns)


def _head(statement: CreateMaterializedView, name: Parts, tables: str, definition: Definition) -> str:
    """CREATE TABLE … AS, without the query."""
    clauses = dict(statement.clauses)
    ours = f"'{PROPERTY}' = '{property_of(definition)}'"
    users = clauses.pop(_PROPERTIES, None)
    properties = f"{users.text.rstrip()[:-1]}, {ours})" if users is not None else f"TBLPROPERTIES ({ours})"
    replaced = "OR REPLACE " if statement.or_replace else ""
    others = " ".join(clause.text for clause in clauses.values())
    return f"CREATE {replaced}TABLE {quote(name)} USING {tables} {others} {properties} AS"
