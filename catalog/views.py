"""Views over extended text and tables of Kafka, which Spark's catalog cannot store: how they are kept, and looked up by
name.

A view `db.v` is a property of the table `db.sqlext_views`, so that it is moved and dropped with its schema. To
write a property takes a commit without data, and to read one takes no job: a row of the table costs ten times as much.
Earlier versions stored rows, which are read until the first change copies them. A name is always looked up in Spark
first: a table, view or CTE of the same name hides a stored view. Names compare without case.

All functions take the session and its own, unhooked `sql(text, args=None, **frames)`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

from sqlext.catalog.conflicts import repeated_on_conflict
from sqlext.errors import BindError
from sqlext.formats.catalogs import current_schema
from sqlext.formats.known_formats import format_of
from sqlext.rewriter.heads.heads import CREATE_VIEW, DROP_VIEW, CreateView, Head
from sqlext.rewriter.heads.source_table import SourceTable
from sqlext.rewriter.text.names import Parts, RelationName, quote, split_name
from sqlext.rewriter.tree.sources import qualify, relations
from sqlext.spark.quiet_probes import quiet_probes
from sqlext.spark.user_warnings import warn
from sqlext.version import __version__

TABLE = "sqlext_views"
_FORMAT, _VIEW = "sqlext.views", "sqlext.view."  # properties of the table; the latter is followed by a view's name
_CURRENT_FORMAT = "2"  # tables whose rows are the views have no property _FORMAT
_DIGITS, _LETTERS = "0123456789abcdef", "abcdefghijklmnop"


@dataclass(frozen=True, kw_only=True)
class View:
    """A stored view. `schema` (catalog, schema) was current when our version `created_by` created the view.

    `query_columns`: the columns of its query at its creation, as the JSON of Spark's StructType; None if an earlier
    version of ours stored the view. `settings`: the values of the settings of Spark on which its rows depend, at its
    creation; none if an earlier version stored it.

    `is_table`: it is a table of the records of topics. Then `text` is its CREATE TABLE, and `query_columns` are the
    columns of the values of the records, None if these stay as they are.
    """

    name: str
    text: str
    columns: tuple[str, ...]
    comment: str | None
    schema: Parts
    created_by: str
    query_columns: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    is_table: bool = False

    @property
    def qualified_text(self) -> str:
        """The text with a schema in front of each name, so that it means the same whatever schema is current."""
        return qualify(self.text, self.schema)


NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
NO_VIEWS: Mapping[Parts, View] = MappingProxyType({})


@dataclass(frozen=True)
class Mention:
    """A place where a statement reads a stored view."""

    view: View
    name: RelationName


def lookup(spark: Any, sql: Callable[..., Any], name: str | Parts) -> View | None:
    """The stored view of that name (as written, or in parts); None if there is none."""
    parts = split_name(name) if isinstance(name, str) else name
    return _views(sql, parts[:-1], _properties(spark, sql, parts[:-1])).get(parts[-1].lower())


def stored(spark: Any, sql: Callable[..., Any], schema: Parts = ()) -> list[View]:
    """The stored views of a schema (default: the current one), in the order of their names."""
    views = _views(sql, schema, _properties(spark, sql, schema))
    return [views[name] for name in sorted(views)]


def mentioned(
    spark: Any,
    sql: Callable[..., Any],
    text: str,
    known: Mapping[Parts, View] = NO_VIEWS,
    is_sparks: Callable[[RelationName], bool] = lambda name: False,
) -> tuple[Mention, ...]:
    """The places where the statement reads stored views, in the order of the text.

    Each relation is looked up in Spark's catalog, except the views `known`, which Spark did not find a moment ago, and
    the relations that Spark has analysed (`is_sparks`). A table of views is read only for relations that Spark does not
    know.
    """
    mentions = []
    for name in relations(text):
        view = known.get(name.parts)
        if view is not None or not (is_sparks(name) or is_known(spark, name.parts)):
            view = view or lookup(spark, sql, name.parts)
            mentions += [Mention(view, name)] if view else []
    return tuple(mentions)


def create(
    spark: Any,
    sql: Callable[..., Any],
    statement: CreateView,
    query_columns: str | None = None,
    settings: Mapping[str, str] = NO_SETTINGS,
) -> Any:
    """Carry out CREATE VIEW over extended text, whose query has been checked, and return an empty DataFrame.

    `query_columns`, `settings`: as in View.

    Raises BindError if the name is taken and the statement has neither OR REPLACE nor IF NOT EXISTS.
    """
    head = statement.head
    parts = head.name.parts
    comment = sql(f"SELECT {statement.comment}").collect()[0][0] if statement.comment else None
    view = _new(
        spark,
        parts[-1].lower(),
        statement.query.text,
        query_columns,
        settings,
        columns=statement.columns,
        comment=comment,
    )

    def write() -> Any:
        is_sparks = is_known(spark, parts)
        if is_sparks and head.or_replace:
            sql(f"DROP VIEW {quote(parts)}")  # raises Spark's own error if it is a table
        properties = _properties(spark, sql, parts[:-1])
        stored = _views(sql, parts[:-1], properties)
        if not head.or_replace and (is_sparks or view.name in stored):
            if head.if_exists:
                if is_sparks or (stored[view.name].text, stored[view.name].columns) != (view.text, view.columns):
                    warn([other_view(head)])
                return _nothing(sql, parts)
            raise _already_exists(head)
        _check_no_table(head, stored.get(view.name))
        return _change(spark, sql, parts[:-1], properties, {view.name: view})

    return repeated_on_conflict(write)


def create_table(
    spark: Any,
    sql: Callable[..., Any],
    table: SourceTable,
    columns: str | None,
    settings: Mapping[str, str] = NO_SETTINGS,
) -> Any:
    """Carry out the CREATE TABLE of a table of the records of topics, which has been checked, and return an empty
    DataFrame.

    `columns`, `settings`: as `View.query_columns` and `View.settings`. Raises BindError TABLE_EXISTS if the name is
    taken and the statement has neither OR REPLACE, for such a table, nor IF NOT EXISTS.
    """
    parts = table.name
    view = _new(spark, parts[-1].lower(), table.text, columns, settings, comment=table.comment, is_table=True)

    def write() -> Any:
        properties = _properties(spark, sql, parts[:-1])
        before = _views(sql, parts[:-1], properties).get(view.name)
        is_sparks = is_known(spark, parts)
        if (is_sparks or before is not None) and table.if_not_exists:
            if before is None or before.text != view.text:
                warn([f"there is a table {'.'.join(parts)} already, so CREATE TABLE IF NOT EXISTS did nothing."])
            return _nothing(sql, parts)
        if is_sparks or (before is not None and not (before.is_table and table.or_replace)):
            raise BindError(
                "TABLE_EXISTS",
                f"there is already a table or view {'.'.join(parts)}",
                place=table.place,
                hint="DROP it first, or write CREATE OR REPLACE TABLE for a table of Kafka.",
            )
        return _change(spark, sql, parts[:-1], properties, {view.name: view})

    return repeated_on_conflict(write)


def drop_table(spark: Any, sql: Callable[..., Any], name: Parts) -> Any | None:
    """Remove a table of the records of topics, and return an empty DataFrame; None if Spark knows the name, or if there
    is no such table."""
    if is_known(spark, name):
        return None
    view = lookup(spark, sql, name)
    if view is None or not view.is_table:
        return None
    drop(spark, sql, name)
    return _nothing(sql, name)


def other_view(head: Head) -> str:
    """The warning that IF NOT EXISTS has left a view with another query as it was."""
    name = ".".join(head.name.parts)
    return (
        f"there is a view or table {name} of another query already, so CREATE VIEW IF NOT EXISTS did nothing: CREATE "
        "OR REPLACE VIEW gives it this query."
    )


def alter(
    spark: Any,
    sql: Callable[..., Any],
    view: View,
    name: Parts,
    query: str,
    query_columns: str | None = None,
    settings: Mapping[str, str] = NO_SETTINGS,
) -> None:
    """Give a stored view another query, which has been checked; it keeps its comment.

    `query_columns`, `settings`: as in View.
    """
    altered = _new(spark, view.name, query, query_columns, settings, comment=view.comment)
    _change_on_conflict_again(spark, sql, name[:-1], {view.name: altered})


def rename(spark: Any, sql: Callable[..., Any], view: View, name: Parts, new_name: Parts) -> None:
    """Give the stored view `name` another name in its schema, which the caller knows to be free."""
    new = new_name[-1].lower()
    changes = {new: replace(view, name=new), view.name: None}
    _change_on_conflict_again(spark, sql, name[:-1], changes)


def drop(spark: Any, sql: Callable[..., Any], name: Parts) -> bool:
    """Remove a stored view; False if there is none."""
    view = lookup(spark, sql, name)
    if view is None:
        return False
    _change_on_conflict_again(spark, sql, name[:-1], {view.name: None})
    return True


def run_plain(spark: Any, sql: Callable[..., Any], head: Head) -> Any | None:
    """Carry out a CREATE VIEW or DROP VIEW without extended clauses as far as it concerns stored views.

    Returns its DataFrame, or None if Spark must carry out the statement. Without this function, Spark would carry out
    `DROP VIEW IF EXISTS v` and remove nothing, and a new view of Spark's would hide a stored v.
    """
    parts = head.name.parts
    if head.is_temporary or is_known(spark, parts) or (view := lookup(spark, sql, parts)) is None:
        return None
    if head.verb == DROP_VIEW or head.or_replace:
        _check_no_table(head, view)
    if head.verb == CREATE_VIEW and head.if_exists:
        return _nothing(sql, parts)
    if head.verb == CREATE_VIEW and not head.or_replace:
        raise _already_exists(head)
    result = sql(head.text) if head.verb == CREATE_VIEW else _nothing(sql, parts)
    drop(spark, sql, parts)
    return result


def _already_exists(head: Head) -> BindError:
    return BindError(
        "VIEW_ALREADY_EXISTS",
        f"there is already a table or view {'.'.join(head.name.parts)}",
        place=head.place,
        hint="write CREATE OR REPLACE VIEW, or DROP VIEW first.",
    )


def _check_no_table(head: Head, view: View | None) -> None:
    """Raise BindError for a statement about a view whose name is that of a table of the records of topics."""
    if view is not None and view.is_table:
        raise BindError(
            "VIEW_ALREADY_EXISTS",
            f"{'.'.join(head.name.parts)} is a table, and no view",
            place=head.place,
            hint="write DROP TABLE to remove it.",
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


def _new(
    spark: Any,
    name: str,
    text: str,
    query_columns: str | None,
    settings: Mapping[str, str],
    *,
    columns: tuple[str, ...] = (),
    comment: str | None = None,
    is_table: bool = False,
) -> View:
    """A view that this version stores now."""
    schema = current_schema(spark)
    return View(
        name=name,
        text=text,
        columns=columns,
        comment=comment,
        schema=schema,
        created_by=__version__,
        query_columns=query_columns,
        settings=tuple(settings.items()),
        is_table=is_table,
    )


# the table of the views of a schema


def _properties(spark: Any, sql: Callable[..., Any], schema: Parts) -> dict[str, str] | None:
    """The properties of the table of the views of a schema; None if there is no such table."""
    if not is_known(spark, (*schema, TABLE)):
        return None
    return {row[0]: row[1] for row in sql(f"SHOW TBLPROPERTIES {_table(schema)}").collect()}


def _views(sql: Callable[..., Any], schema: Parts, properties: Mapping[str, str] | None) -> dict[str, View]:
    """The stored views of a schema by their names. `properties`: of its table of views."""
    if properties is None:
        return {}
    if _FORMAT not in properties:
        return _views_in_rows(sql, schema)
    values = [value for key, value in properties.items() if key.startswith(_VIEW) and value]
    views = (_view(json.loads(decoded(value))) for value in values)
    return {view.name: view for view in views}


def _change_on_conflict_again(
    spark: Any, sql: Callable[..., Any], schema: Parts, changes: Mapping[str, View | None]
) -> None:
    """Store views as `_change` does, again if another session was quicker."""
    repeated_on_conflict(lambda: _change(spark, sql, schema, _properties(spark, sql, schema), changes))


def _change(
    spark: Any,
    sql: Callable[..., Any],
    schema: Parts,
    properties: Mapping[str, str] | None,
    changes: Mapping[str, View | None],
) -> Any:
    """Store views by their names; None removes one. A rename is one commit. Returns the empty DataFrame of a command.

    `properties`: of the table of views, None if there is no such table.
    """
    table = _table(schema)
    views = dict(changes)
    if properties is None:
        tables = format_of(spark, (*schema, TABLE))
        kept = {_FORMAT: _CURRENT_FORMAT, **tables.for_properties}.items()
        sql(
            f"CREATE TABLE IF NOT EXISTS {table} (about STRING) USING {tables.name} "
            "COMMENT 'The properties of this table are the views that sqlext keeps.' "
            "TBLPROPERTIES (" + ", ".join(f"'{key}' = '{value}'" for key, value in kept) + ")"
        )
    elif _FORMAT not in properties:
        views = {**_views_in_rows(sql, schema), **views}
        return sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({_settings(views)}, '{_FORMAT}' = '{_CURRENT_FORMAT}')")
    result = sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({_settings(views)})") if any(views.values()) else None
    if removed := ", ".join(f"'{_key(name)}'" for name, view in views.items() if view is None):
        result = sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES IF EXISTS ({removed})")
    return result


def _settings(views: Mapping[str, View | None]) -> str:
    """The properties that store these views; an empty one stands for no view."""
    return ", ".join(f"'{_key(name)}' = '{encoded(json.dumps(asdict(v))) if v else ''}'" for name, v in views.items())


def _key(name: str) -> str:
    return _VIEW + encoded(name)


def _views_in_rows(sql: Callable[..., Any], schema: Parts) -> dict[str, View]:
    """The views of a table of an earlier version, which may lack the column `query_columns`."""
    rows = [row.asDict() for row in sql(f"SELECT * FROM {_table(schema)}").collect()]
    return {row["name"]: _view(row) for row in rows}


def _view(stored: Mapping[str, Any]) -> View:
    fields = {name: value for name, value in stored.items() if name in View.__dataclass_fields__}
    settings = tuple((name, value) for name, value in fields.get("settings", ()))
    return View(
        **{**fields, "columns": tuple(stored["columns"]), "schema": tuple(stored["schema"]), "settings": settings}
    )


def encoded(text: str) -> str:
    """A text in the letters a to p, which mean the same in a literal under every parser setting, and in which Spark
    finds nothing to redact: in other texts it does, for example in one that contains "url".

    >>> encoded("v1"), decoded(encoded("v1"))
    ('hgdb', 'v1')
    """
    return text.encode().hex().translate(str.maketrans(_DIGITS, _LETTERS))


def decoded(letters: str) -> str:
    return bytes.fromhex(letters.translate(str.maketrans(_LETTERS, _DIGITS))).decode()


def string_literal(value: str) -> str:
    """A string as SQL that means the same under every parser setting: escapes, `${…}` substitution, collations.

    >>> string_literal("a'b")
    "decode(unbase64('YSdi'), 'UTF-8')"
    """
    return f"decode(unbase64('{base64.b64encode(value.encode()).decode()}'), 'UTF-8')"
