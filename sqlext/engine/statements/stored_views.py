"""Statements about stored views, which Spark does not know: they return what Spark returns for its own views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sqlext.catalog import views
from sqlext.catalog.views import View
from sqlext.engine.queries.session_settings import settings_of
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements import run_statement, runners
from sqlext.engine.views import cached_views
from sqlext.errors import BindError, Place, SqlExtError, UnsupportedError
from sqlext.rewriter.heads import view_statements as vs
from sqlext.rewriter.heads.view_statements import Listing, ViewStatement, fits
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import Parts, quote
from sqlext.spark.quiet_probes import quiet_probes


def frame(call: SqlCall, name: Parts) -> DataFrame:
    """The rows of a stored view."""
    return run_statement.run_query(replace(call, text=f"SELECT * FROM {quote(name)}", args=None, frames={}))


def run(call: SqlCall, about: ViewStatement) -> DataFrame:
    """The result of a statement about a stored view, or of ALTER VIEW … AS a query with clauses for any view.

    Raises SqlExtError if the view's query has an error, or if the command cannot be used with stored views.
    """
    name = about.name.parts
    view = next(iter(call.views.values()), None) or views.lookup(call.spark, call.sql, name)
    if view is None and about.query is not None and views.is_known(call.spark, name):
        kind = "TEMPORARY VIEW" if call.spark.catalog.getTable(quote(name)).isTemporary else "VIEW"
        return runners.run(replace(call, text=f"CREATE OR REPLACE {kind} {quote(name)} AS {about.query.text}"))
    if view is None:
        return call.sql(f"ALTER VIEW {quote(name)} AS SELECT 1")  # raises Spark's own error
    if view.is_table and about.verb in _NOT_FOR_TABLES:
        raise UnsupportedError(
            "KAFKA_TABLE",
            f"there is no {about.verb} for {view.name}, a table of Kafka",
            place=Place(call.text, about.name.start, about.name.stop),
            hint=_NOT_FOR_TABLES[about.verb],
        )
    if about.verb in _COMMANDS:
        _COMMANDS[about.verb](call, about, view)
        return call.spark.createDataFrame([], T.StructType([]))
    schema, rows = _ANSWERS[about.verb](call, about, view)
    return call.spark.createDataFrame(rows, schema)


def listed(call: SqlCall, listing: Listing) -> DataFrame:
    """The result of SHOW VIEWS, SHOW TABLES or SHOW TABLE EXTENDED, with the stored views among Spark's own."""
    shown = runners.run_plain(call, listing)
    stored = [view for view in views.stored(call.spark, call.sql, listing.schema) if fits(view.name, listing.pattern)]
    stored = [view for view in stored if listing.has_tables or not view.is_table]
    if not stored:
        return shown
    schema = listing.schema[-1] if listing.schema else call.spark.catalog.currentDatabase()
    ours: list[tuple[Any, ...]] = [(schema, view.name, False) for view in stored]
    if listing.is_extended:
        about = [_information(call, schema, (*listing.schema, view.name), _kind(view)) for view in stored]
        ours = [(*row, information) for row, information in zip(ours, about)]
    rows = sorted([*map(tuple, shown.collect()), *ours], key=lambda row: (row[2], row[1]))
    return call.spark.createDataFrame(rows, shown.schema)


def _kind(view: View) -> str:
    return "KAFKA" if view.is_table else "VIEW"


def _information(call: SqlCall, schema: str, name: Parts, kind: str) -> str:
    """The description of a stored view in SHOW TABLE EXTENDED, in Spark's form; without columns if its query has an
    error."""
    try:
        with quiet_probes():
            columns = f"Schema: {frame(call, name).schema.treeString()}\n"
    except (SqlExtError, PySparkException):
        columns = ""  # for example, a table that the view reads was dropped
    return f"Database: {schema}\nTable: {name[-1]}\nType: {kind}\n{columns}"


# answers: a schema and rows

_Answer = tuple[str, list[tuple[Any, ...]]]


def _describe(call: SqlCall, about: ViewStatement, view: View) -> _Answer:
    fields = frame(call, about.name.parts).schema.fields
    if about.column is not None:
        field = next((f for f in fields if f.name.lower() == about.column.lower()), None)
        if field is None:
            place = Place(call.text, about.name.start, about.name.stop)
            raise BindError("UNKNOWN_COLUMN", f'the view {view.name} has no column "{about.column}"', place=place)
        pairs = [("col_name", field.name), ("data_type", field.dataType.simpleString()), ("comment", "NULL")]
        return "info_name STRING, info_value STRING", list(pairs)
    rows: list[tuple[Any, ...]] = [(f.name, f.dataType.simpleString(), None) for f in fields]
    if about.is_extended:
        text = "Statement" if view.is_table else "View Text"
        details = [("Database", _schema(call, about)), ("Table", view.name), ("Type", _kind(view)),
                   ("Created By", f"sqlext {view.created_by}"), ("Comment", view.comment or ""),
                   (text, view.text), ("View Catalog and Namespace", ".".join(view.schema))]  # fmt: skip
        rows += [("", "", ""), ("# Detailed Table Information", "", ""), *((*pair, "") for pair in details)]
    return "col_name STRING, data_type STRING, comment STRING", rows


def _show_create(call: SqlCall, about: ViewStatement, view: View) -> _Answer:
    if view.is_table:
        return "createtab_stmt STRING", [(view.text,)]
    columns = f" ({', '.join(map(quote, ((c,) for c in view.columns)))})" if view.columns else ""
    comment = f" COMMENT {string_literal(view.comment)}" if view.comment is not None else ""
    text = f"CREATE VIEW {_schema(call, about)}.{view.name}{columns}{comment} AS {view.text}"
    return "createtab_stmt STRING", [(text,)]


def _show_columns(call: SqlCall, about: ViewStatement, view: View) -> _Answer:
    return "col_name STRING", [(name,) for name in frame(call, about.name.parts).columns]


def _show_properties(call: SqlCall, about: ViewStatement, view: View) -> _Answer:
    return "key STRING, value STRING", []


def _schema(call: SqlCall, about: ViewStatement) -> str:
    return about.name.parts[-2] if len(about.name.parts) > 1 else call.spark.catalog.currentDatabase()


_ANSWERS: dict[str, Callable[[SqlCall, ViewStatement, View], _Answer]] = {
    vs.DESCRIBE: _describe,
    vs.SHOW_CREATE: _show_create,
    vs.SHOW_COLUMNS: _show_columns,
    vs.SHOW_PROPERTIES: _show_properties,
}

# commands


def _cache(call: SqlCall, about: ViewStatement, view: View) -> None:
    cached_views.cache(call.spark, about.name.parts, frame(call, about.name.parts), is_lazy=about.is_lazy)


def _uncache(call: SqlCall, about: ViewStatement, view: View) -> None:
    cached_views.uncache(call.spark, about.name.parts)


def _refresh(call: SqlCall, about: ViewStatement, view: View) -> None:
    if cached_views.uncache(call.spark, about.name.parts):
        _cache(call, replace(about, is_lazy=True), view)


def _alter(call: SqlCall, about: ViewStatement, view: View) -> None:
    assert about.query is not None
    if call.args or call.frames:
        place = Place(call.text, about.name.start, about.name.stop)
        raise UnsupportedError("VIEW_PARAMETERS", "a stored view cannot hold parameters", place=place)
    columns = run_statement.check_stored_query(call, about.query)
    cached_views.uncache(call.spark, about.name.parts)
    query = about.query.text
    views.alter(call.spark, call.sql, view, about.name.parts, query, columns, settings_of(call.spark, query))


def _rename(call: SqlCall, about: ViewStatement, view: View) -> None:
    old, new = about.name.parts, about.new_name
    place = Place(call.text, about.name.start, about.name.stop)
    new = new if len(new) > 1 or len(old) == 1 else (*old[:-1], *new)
    if new[:-1] != old[:-1]:
        raise UnsupportedError(
            "VIEW_OPTION",
            "a stored view cannot move to another schema",
            place=place,
            hint="CREATE it there, and DROP VIEW it here.",
        )
    if views.is_known(call.spark, new) or views.lookup(call.spark, call.sql, new) is not None:
        message = f"there is already a table or view {'.'.join(new)}"
        raise BindError("VIEW_ALREADY_EXISTS", message, place=place)
    cached_views.uncache(call.spark, old)
    views.rename(call.spark, call.sql, view, old, new)


_AGAIN = "CREATE OR REPLACE TABLE … USING kafka gives it other columns and options; DROP TABLE removes it."
_NOT_FOR_TABLES = {
    vs.CACHE: "CREATE TABLE … AS SELECT … keeps the records that there are now.",
    vs.ALTER_AS: _AGAIN,
    vs.RENAME: _AGAIN,
}
_COMMANDS: dict[str, Callable[[SqlCall, ViewStatement, View], None]] = {
    vs.CACHE: _cache,
    vs.UNCACHE: _uncache,
    vs.REFRESH: _refresh,
    vs.ALTER_AS: _alter,
    vs.RENAME: _rename,
}
