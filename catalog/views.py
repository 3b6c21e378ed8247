"""Views over extended text, which Spark's catalog cannot store.

A view `db.v` is a row of the Delta table `db.sqlext_views`, so that it is moved and dropped with its schema. A name is
always looked up in Spark first: a table, view or CTE of the same name hides a stored view. Names compare without case.

All functions take the session and its own, unhooked `sql(text, args=None, **frames)`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlext.errors import BindError
from sqlext.rewriter.heads.heads import CREATE_VIEW, DROP_VIEW, CreateView, Head, parse_head
from sqlext.rewriter.text.names import Parts, RelationName, quote, split_name
from sqlext.rewriter.tree.sources import qualify, relations
from sqlext.spark.quiet_probes import quiet_probes
from sqlext.version import __version__

TABLE = "sqlext_views"
_QUERY_COLUMNS = "query_columns"  # a column that tables of earlier versions do not have


@dataclass(frozen=True, kw_only=True)
class View:
    """A stored view. `schema` (catalog, schema) was current when our version `created_by` created the view.

    `query_columns`: the columns of its query at its creation, as the JSON of Spark's StructType; None if an earlier
    version of ours stored the view.
    """

    name: str
    text: str
    columns: tuple[str, ...]
    comment: str | None
    schema: Parts
    created_by: str
    query_columns: str | None = None

    @property
    def qualified_text(self) -> str:
        """The text with a schema in front of each name, so that it means the same whatever schema is current."""
        return qualify(self.text, self.schema)


NO_VIEWS: Mapping[Parts, View] = MappingProxyType({})


@dataclass(frozen=True)
class Mention:
    """A place where a statement reads a stored view."""

    view: View
    name: RelationName


def lookup(spark: Any, sql: Callable[..., Any], name: str | Parts) -> View | None:
    """The stored view of that name (as written, or in parts); None if there is none."""
    parts = split_name(name) if isinstance(name, str) else name
    rows = _read(spark, sql, parts[:-1], f"WHERE name = {string_literal(parts[-1].lower())}")
    return rows[0] if rows else None


def names(spark: Any, sql: Callable[..., Any], schema: Parts = ()) -> list[str]:
    """The names of the stored views of a schema (default: the current one), in order."""
    return [view.name for view in _read(spark, sql, schema, "ORDER BY name")]


def mentioned(
    spark: Any, sql: Callable[..., Any], text: str, known: Mapping[Parts, View] = NO_VIEWS
) -> tuple[Mention, ...]:
    """The places where the statement reads stored views, in the order of the text.

    Each relation is looked up in Spark's catalog. A table of views is read only for relations that Spark does not know,
    and that are not among the views `known`.
    """
    mentions = []
    for name in relations(text):
        if not is_known(spark, name.parts):
            view = known.get(name.parts) or lookup(spark, sql, name.parts)
            mentions += [Mention(view, name)] if view else []
    return tuple(mentions)


def create(spark: Any, sql: Callable[..., Any], statement: CreateView, query_columns: str | None = None) -> Any:
    """Carry out CREATE VIEW over extended text, whose query has been checked, and return an empty DataFrame.

    `query_columns`: as in View.

    Raises BindError if the name is taken and the statement has neither OR REPLACE nor IF NOT EXISTS.
    """
    head = statement.head
    parts = head.name.parts
    is_sparks = is_known(spark, parts)
    if is_sparks and head.or_replace:
        sql(f"DROP VIEW {quote(parts)}")  # raises Spark's own error if it is a table
    elif is_sparks or lookup(spark, sql, parts) is not None:
        if head.if_exists:
            return _nothing(sql, parts)
        if not head.or_replace:
            raise _already_exists(head)
    _write(spark, sql, statement, query_columns)
    return _nothing(sql, parts)


def alter(
    spark: Any, sql: Callable[..., Any], view: View, name: Parts, query: str, query_columns: str | None = None
) -> None:
    """Give a stored view another query, which has been checked; it keeps its comment. `query_columns`: as in View."""
    head = Head(text=query, verb=CREATE_VIEW, name=RelationName(name, 0, 0))
    comment = string_literal(view.comment) if view.comment is not None else None
    _write(spark, sql, CreateView(head=head, columns=(), comment=comment, query_start=0), query_columns)


def rename(spark: Any, sql: Callable[..., Any], name: Parts, new_name: Parts) -> None:
    """Give a stored view another name in its schema, which the caller knows to be free."""
    table = _table(name[:-1])
    before, after = string_literal(name[-1].lower()), string_literal(new_name[-1].lower())
    sql(f"UPDATE {table} SET name = {after} WHERE name = {before}")


def drop(spark: Any, sql: Callable[..., Any], name: Parts) -> bool:
    """Remove a stored view; False if there is none."""
    if lookup(spark, sql, name) is None:
        return False
    sql(f"DELETE FROM {_table(name[:-1])} WHERE name = {string_literal(name[-1].lower())}")
    return True


def run_plain(spark: Any, sql: Callable[..., Any], text: str) -> Any | None:
    """Carry out a CREATE VIEW or DROP VIEW without extended clauses as far as it concerns stored views.

    Returns its DataFrame, or None if Spark must carry out the statement. Without this function, Spark would carry out
    `DROP VIEW IF EXISTS v` and remove nothing, and a new view of Spark's would hide a stored v.
    """
    head = parse_head(text)
    if head is None or head.is_temporary or head.verb not in (CREATE_VIEW, DROP_VIEW):
        return None
    parts = head.name.parts
    if is_known(spark, parts) or lookup(spark, sql, parts) is None:
        return None
    if head.verb == CREATE_VIEW and head.if_exists:
        return _nothing(sql, parts)
    if head.verb == CREATE_VIEW and not head.or_replace:
        raise _already_exists(head)
    result = _nothing(sql, parts) if head.verb == DROP_VIEW else sql(text)
    drop(spark, sql, parts)
    return result


def _already_exists(head: Head) -> BindError:
    return BindError(
        "VIEW_ALREADY_EXISTS",
        f"there is already a table or view {'.'.join(head.name.parts)}",
        place=head.place,
        hint="write CREATE OR REPLACE VIEW, or DROP VIEW first.",
    )


def _nothing(sql: Callable[..., Any], parts: Parts) -> Any:
    """The empty DataFrame that commands return. It may be called only if Spark has no view of the name."""
    return sql(f"DROP VIEW IF EXISTS {quote(parts)}")


def _table(schema: Parts) -> str:
    return quote((*schema, TABLE))


def is_known(spark: Any, name: Parts) -> bool:
    """True if Spark has a table or view of that name."""
    if "/" in name[-1]:
        return True  # delta.`/a/path`: a lookup would open it
    try:
        with quiet_probes():
            catalog = spark.catalog
            return type(catalog).tableExists(catalog, quote(name))  # in an extended session its own method counts views
    except Exception as error:
        # An unknown catalog, for example. This package does not import pyspark, whose errors have this method.
        if hasattr(error, "getCondition"):
            return False
        raise


def _read(spark: Any, sql: Callable[..., Any], schema: Parts, tail: str) -> list[View]:
    table = _table(schema)
    if not is_known(spark, (*schema, TABLE)):
        return []
    rows = sql(f"SELECT * FROM {table} {tail}").collect()
    return [
        View(
            name=row.name,
            text=row.text,
            columns=tuple(row.columns),
            comment=row.comment,
            schema=tuple(row.schema),
            created_by=row.created_by,
            query_columns=row.asDict().get(_QUERY_COLUMNS),
        )
        for row in rows
    ]


def _write(spark: Any, sql: Callable[..., Any], statement: CreateView, query_columns: str | None) -> None:
    """Append or replace the view's row, in one commit."""
    parts = statement.head.name.parts
    table = _table(parts[:-1])
    if not is_known(spark, (*parts[:-1], TABLE)):
        sql(
            f"CREATE TABLE IF NOT EXISTS {table} (name STRING, text STRING, columns ARRAY<STRING>, comment STRING, "
            f"schema ARRAY<STRING>, created_at TIMESTAMP, created_by STRING, {_QUERY_COLUMNS} STRING) "
            "USING delta COMMENT 'views kept by sqlext'"
        )
    elif _QUERY_COLUMNS not in sql(f"SELECT * FROM {table}").columns:
        sql(f"ALTER TABLE {table} ADD COLUMNS ({_QUERY_COLUMNS} STRING)")
    schema = (spark.catalog.currentCatalog(), spark.catalog.currentDatabase())
    row = (
        f"SELECT {string_literal(parts[-1].lower())} AS name, {string_literal(statement.query)} AS text, "
        f"{_array(statement.columns)} AS columns, {statement.comment or 'CAST(NULL AS STRING)'} AS comment, "
        f"{_array(schema)} AS schema, current_timestamp() AS created_at, {string_literal(__version__)} AS created_by, "
        f"{string_literal(query_columns) if query_columns else 'CAST(NULL AS STRING)'} AS {_QUERY_COLUMNS}"
    )
    sql(
        f"MERGE INTO {table} AS old USING ({row}) AS new ON old.name = new.name "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def string_literal(value: str) -> str:
    """A string as SQL that means the same under every parser setting: escapes, `${…}` substitution, collations.

    >>> string_literal("a'b")
    "decode(unbase64('YSdi'), 'UTF-8')"
    """
    return f"decode(unbase64('{base64.b64encode(value.encode()).decode()}'), 'UTF-8')"


def _array(values: tuple[str, ...]) -> str:
    return f"CAST(array({', '.join(map(string_literal, values))}) AS ARRAY<STRING>)"
