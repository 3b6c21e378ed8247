"""Runs CREATE MATERIALIZED VIEW, and REFRESH, EXPLAIN REFRESH, DESCRIBE, DROP and SHOW of materialized views."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sqlext.catalog import views, warehouse
from sqlext.catalog.materialized_views import Refresh, State, definition_of
from sqlext.engine.materialized.create import create
from sqlext.engine.materialized.refresh import (
    BY_KEY,
    FULL,
    NOTHING,
    RefreshPlan,
    ViewToRefresh,
    key_or_reason,
    plan_refresh,
    refresh,
)
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.runners import as_result
from sqlext.engine.streams.stream_commands import shown_time
from sqlext.errors import BindError
from sqlext.formats.catalogs import current_schema, whole_name
from sqlext.rewriter.heads import materialized_views as heads
from sqlext.rewriter.heads.materialized_views import CreateMaterializedView, MaterializedViewCommand
from sqlext.rewriter.heads.view_statements import fits
from sqlext.rewriter.refresh_keys.separable import SourceColumn
from sqlext.rewriter.text.names import Parts, quote
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.quiet_probes import quiet_probes
from sqlext.spark.user_warnings import warn

_LISTED = "namespace STRING, name STRING, last_refresh TIMESTAMP, kind STRING"


def create_view(call: SqlCall, statement: CreateMaterializedView) -> DataFrame:
    """The empty result of CREATE MATERIALIZED VIEW. Raises the errors of `create`."""
    create(call, statement)
    return _nothing(call)


def run_command(call: SqlCall, command: MaterializedViewCommand) -> DataFrame:
    """The result of a command. Raises BindError NOT_A_MATERIALIZED_VIEW."""
    if command.verb == heads.SHOW:
        return call.spark.createDataFrame(list(_listed(call, command)), _LISTED)
    view = _view(call, command)
    if view is None:
        return _nothing(call)
    if command.verb == heads.DROP:
        drop = f"DROP TABLE {quote(view.name)}"
        return warehouse.run_drop(call.spark, call.sql, lambda: call.sql(drop), command.name)
    if command.verb == heads.EXPLAIN:
        return as_result(call, _explained(view, plan_refresh(view)))
    if command.verb == heads.DESCRIBE:
        rows = [(name, None if value is None else str(value)) for name, value in _described(view, command)]
        return call.spark.createDataFrame(rows, "property STRING, value STRING")
    done = refresh(view, is_full=command.is_full)
    if done is not None and done.is_full and not command.is_full:
        warn([f"the refresh of {'.'.join(view.name[-2:])} computed all rows anew: {done.reason}."])
    return _nothing(call)


def _nothing(call: SqlCall) -> DataFrame:
    return call.spark.createDataFrame([], T.StructType([]))


def _view(call: SqlCall, command: MaterializedViewCommand) -> ViewToRefresh | None:
    """The view of a command; None for DROP IF EXISTS of a name that nothing has."""
    name = whole_name(call.spark, command.name)
    is_known = views.is_known(call.spark, name)
    definition = _definition(call, name) if is_known else None
    if definition is None:
        if command.if_exists and not is_known:
            return None
        raise BindError(
            "NOT_A_MATERIALIZED_VIEW",
            f"there is no materialized view {'.'.join(command.name)}",
            place=command.place,
            hint="SHOW MATERIALIZED VIEWS lists them.",
        )
    return ViewToRefresh(call=call, name=name, place=command.place, definition=definition)


def _definition(call: SqlCall, name: Parts) -> Any:
    try:
        with quiet_probes():
            return definition_of(call.sql, name)
    except (PySparkException, Py4JError):  # a view, for example
        return None


def _state(view: ViewToRefresh) -> State:
    return view.table.state(view.definition.identifier)


# answers


def _explained(view: ViewToRefresh, plan: RefreshPlan) -> str:
    """The text of EXPLAIN REFRESH."""
    title = ".".join(view.name[-2:])
    if plan.kind == NOTHING:
        return f"REFRESH does nothing: {plan.reason}."
    if plan.kind == FULL:
        return f"REFRESH computes all rows of {title} anew: {plan.reason}."
    lines = [f"REFRESH computes the rows of the changed keys of {title} anew, and replaces those that differ.",
             f"Key: {', '.join(column.name for column in plan.key)}"]  # fmt: skip
    for number, changes in plan.changes.items():
        columns = ", ".join(_shown(column.sources[number]) for column in plan.key)
        lines.append(
            f"{'.'.join(changes.table.name)}: changed from version {changes.before} to {changes.after}; {columns} of "
            f"its changed rows, by {changes.way}"
        )
    return "\n".join(lines)


def _shown(column: SourceColumn) -> str:
    return column.name if column.window is None else f"the windows by {column.name}"


def _described(view: ViewToRefresh, command: MaterializedViewCommand) -> Iterator[tuple[str, Any]]:
    state = _state(view)
    last, commit = state.refresh, state.commit
    yield "name", ".".join(view.name)
    yield "query", view.definition.text
    key, reason = key_or_reason(view)
    yield "refreshed", f"by key: {', '.join(key)}" if key else f"in full: {reason}"
    for table, version in zip(view.query.tables, last.versions if last is not None else ()):
        yield (
            "source",
            f"{'.'.join(table.name)}, {table.why_unknown if version is None else f'version {version.version}'}",
        )
    if last is not None and commit is not None:
        yield "last_refresh", shown_time(view.call.spark, commit.committed)
        yield "kind", _kind(last)
        yield "reason", last.reason or None
        yield "changed_keys", last.keys
        yield "rows_deleted", last.deleted
        yield "rows_inserted", commit.rows_inserted if last.is_full else last.inserted
        yield "files_rewritten", commit.files_removed
        yield "seconds", round((commit.committed - last.started) / 1e6, 3)
    if state.other_writer is not None:
        yield "other_writer", f"{state.other_writer.operation} at version {state.other_writer.version}"
    if command.is_extended:
        yield "version", state.version
        yield "columns", ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in view.query.schema.fields)
        yield "settings", ", ".join(f"{name} = {value}" for name, value in view.definition.settings)
        yield "schema", ".".join(view.definition.schema)
        yield "created_by", f"sqlext {view.definition.created_by}"


def _kind(last: Refresh) -> str:
    return FULL if last.is_full else BY_KEY


def _time(time_us: int) -> datetime:
    return datetime.fromtimestamp(time_us / 1e6, timezone.utc)


def _listed(call: SqlCall, command: MaterializedViewCommand) -> Iterator[tuple[Any, ...]]:
    schema = command.name or current_schema(call.spark)[1:]
    for row in call.sql(f"SHOW TABLES IN {quote(schema)}").collect():
        name = whole_name(call.spark, (*schema, row.tableName))
        if row.isTemporary or not fits(row.tableName, command.pattern):
            continue
        definition = _definition(call, name)
        if definition is not None:
            state = _state(ViewToRefresh(call=call, name=name, place=command.place, definition=definition))
            committed = None if state.commit is None else _time(state.commit.committed)
            kind = None if state.refresh is None else _kind(state.refresh)
            yield ".".join(schema), row.tableName, committed, kind
