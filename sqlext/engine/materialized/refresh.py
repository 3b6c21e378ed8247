"""Brings a materialized view up to date: chooses the keys to compute anew, or all rows, and says why.

After a refresh the view has the rows of its query over the versions of its sources that the commit records. If another
refresh was quicker, or another writer wrote into the view meanwhile, the refresh begins again.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sqlext.catalog.conflicts import is_conflict
from sqlext.catalog.materialized_views import Commit, Definition, Refresh, SourceVersion, State, state_of
from sqlext.catalog.views import View
from sqlext.engine.materialized.changed_keys import ChangedKeys
from sqlext.engine.materialized.changes import (
    Changes,
    UnknownChangesError,
    changes_of,
    current_version,
    recent_commits,
    versioned,
)
from sqlext.engine.materialized.key import KeyColumn, is_comparable, key_of, value_of
from sqlext.engine.materialized.write import difference, overwrite, write_changes
from sqlext.engine.queries.session_settings import is_on
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.run_statement import run_query
from sqlext.engine.views.view_columns import view_columns
from sqlext.engine.views.view_settings import with_its_settings
from sqlext.errors import Place, UnsupportedError
from sqlext.rewriter.refresh_keys.columns_read import columns_read, has_own_ties
from sqlext.rewriter.refresh_keys.plain_query import with_sources
from sqlext.rewriter.refresh_keys.separable import NotSeparableError, SourceColumn
from sqlext.rewriter.text.names import Parts, quote, quoted
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.quiet_probes import quiet_probes

_ATTEMPTS = 10  # each failed one means that another writer has succeeded
NOTHING, BY_KEY, FULL = "nothing", "by key", "full"


@dataclass(frozen=True, kw_only=True)
class ViewToRefresh:
    """A materialized view of this name, at `place` in the statement of the call."""

    call: SqlCall
    name: Parts
    place: Place
    definition: Definition

    @cached_property
    def as_view(self) -> View:
        """The query as that of a stored view."""
        d = self.definition
        return View(
            name=self.name[-1],
            text=d.text,
            columns=d.columns,
            comment=None,
            schema=d.schema,
            created_by=d.created_by,
            query_columns=d.query_columns,
            settings=d.settings,
        )

    @property
    def query_schema(self) -> T.StructType:
        """The columns of the query when the view was created."""
        return T.StructType.fromJson(json.loads(self.definition.query_columns))

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the view."""
        return list(self.definition.columns) or self.query_schema.names

    @property
    def sources(self) -> list[Parts]:
        """The names of the sources with their schemas, in the order of the query."""
        schema = self.definition.schema
        return [name if len(name) > 1 else (*schema, *name) for name in self.definition.sources]


@dataclass(frozen=True, kw_only=True)
class RefreshPlan:
    """What a refresh does. `kind`: NOTHING, BY_KEY or FULL; `reason`: why it does nothing or is full, as a sentence
    without its stop; `versions`: those of the sources that the view then has; `changes`: by the numbers of the
    sources."""

    kind: str
    versions: tuple[SourceVersion | None, ...]
    state: State
    reason: str = ""
    key: tuple[KeyColumn, ...] = ()
    changes: dict[int, Changes] = field(default_factory=dict)


def plan_refresh(view: ViewToRefresh, *, is_full: bool = False) -> RefreshPlan:
    """The plan of the next refresh. Nothing is written."""
    sql = view.call.sql
    state = state_of(sql, view.name, view.definition.identifier)
    recent = [recent_commits(sql, name) for name in view.sources]
    versions = tuple(map(current_version, recent))
    plan = RefreshPlan(kind=FULL, versions=versions, state=state)
    reason = "FULL was written" if is_full else _reason_for_full(view, plan)
    if reason:
        return replace(plan, reason=reason)
    last = state.refresh
    assert last is not None
    try:
        with with_its_settings(view.as_view, view.call.spark, view.place):
            changes = dict(_changes(view, last, recent))
            if not changes:
                return replace(plan, kind=NOTHING, reason="no row of a source has changed")
            return replace(plan, kind=BY_KEY, changes=changes, key=tuple(_key(view, versions)))
    except (UnknownChangesError, NotSeparableError) as unknown:
        return replace(plan, reason=str(unknown))


def key_or_reason(view: ViewToRefresh) -> tuple[tuple[str, ...], str]:
    """The columns of the key of a view, or the reason why all of its rows are always computed anew."""
    versions = tuple(current_version(recent_commits(view.call.sql, name)) for name in view.sources)
    reason = _reason_in_query(view, versions)
    try:
        with with_its_settings(view.as_view, view.call.spark, view.place):
            key = () if reason else tuple(column.name for column in _key(view, versions))
    except NotSeparableError as unknown:
        return (), str(unknown)
    return key, reason


def _reason_in_query(view: ViewToRefresh, versions: Sequence[SourceVersion | None]) -> str:
    """Why a view is never refreshed by key; "" if its columns may tell one."""
    if view.definition.unstable:
        return f"{view.definition.unstable} gives other rows each time"
    unknown = [".".join(name) for name, version in zip(view.sources, versions) if version is None]
    return f"{unknown[0]} is not a Delta table, so its changes are not known" if unknown else ""


def _reason_for_full(view: ViewToRefresh, plan: RefreshPlan) -> str:
    """Why a view cannot be refreshed by key, whatever has changed; "" if it perhaps can."""
    last, other = plan.state.refresh, plan.state.other_writer
    if last is None:
        return "the history of the view no longer has its last refresh"
    if other is not None:
        return f"another writer changed the rows of the view by {other.operation} at its version {other.version}"
    if reason := _reason_in_query(view, plan.versions):
        return reason
    if None in last.versions:
        return "the last refresh did not know the versions of all sources"
    for setting in ("spark.sql.files.ignoreMissingFiles", "spark.sql.caseSensitive"):
        if is_on(view.call.spark, setting, default="false"):
            return f"{setting} is on"
    return ""


def _changes(view: ViewToRefresh, last: Refresh, recent: Sequence[Sequence[Commit]]) -> Iterator[tuple[int, Changes]]:
    """The changes of the sources that have some, by their numbers. `recent`: the last commits of each source."""
    known: dict[Parts, Changes] = {}
    for number, (name, before, commits) in enumerate(zip(view.sources, last.versions, recent)):
        assert before is not None
        if before != current_version(commits):
            if name not in known:
                known[name] = changes_of(view.call.spark, name, before, commits, columns_read(view.definition.text))
            if known[name].has_changes:
                yield number, known[name]


def _key(view: ViewToRefresh, versions: Sequence[SourceVersion | None]) -> list[KeyColumn]:
    spark = view.call.spark
    schemas = [
        spark.sql(f"SELECT * FROM {versioned(name, version.version)}").schema
        for name, version in zip(view.sources, versions)
        if version is not None
    ]
    for column in view.query_schema.fields:
        if not is_comparable(column.dataType):
            kind = column.dataType.simpleString()
            raise NotSeparableError(f"rows cannot be compared by the column {column.name}, a {kind}")
    return key_of(view.as_view.text, schemas, view.query_schema, view.columns)


def refresh(view: ViewToRefresh, *, is_full: bool = False) -> Refresh | None:
    """Bring a view up to date, and return the refresh that was committed, None if there was nothing to do. Raises the
    errors of its query, and UnsupportedError if other writers are always quicker."""
    for _ in range(_ATTEMPTS):
        plan = plan_refresh(view, is_full=is_full)
        if plan.kind == NOTHING:
            return None
        new = _new_refresh(view, plan)
        try:
            _carry_out(view, plan, new)
        except Exception as error:
            if not is_conflict(error):
                raise
            continue
        state = state_of(view.call.sql, view.name, view.definition.identifier)
        if state.refresh is not None and state.refresh.identifier == new.identifier and not state.other_writer:
            return state.refresh
    raise UnsupportedError(
        "MATERIALIZED_VIEW_BUSY",
        f"other writers changed {'.'.join(view.name)} again and again while it was refreshed",
        place=view.place,
        hint="only REFRESH should write a materialized view; end the other writers and repeat it.",
    )


def _new_refresh(view: ViewToRefresh, plan: RefreshPlan) -> Refresh:
    return Refresh(
        identifier=uuid.uuid4().hex,
        view=view.definition.identifier,
        versions=plan.versions,
        base=plan.state.version,
        started=time.time_ns() // 1000,
        reason=plan.reason,
    )


def _carry_out(view: ViewToRefresh, plan: RefreshPlan, new: Refresh) -> None:
    with with_its_settings(view.as_view, view.call.spark, view.place):
        if plan.kind == BY_KEY:
            try:
                with quiet_probes():
                    keys = _changed_keys(view, plan)
            except (PySparkException, Py4JError):
                reason = "the rows of a former version of a source can no longer be read"
                _carry_out(view, replace(plan, kind=FULL), replace(new, reason=reason))
                return
            try:
                names = tuple(column.name for column in plan.key)
                _replace_keys(view, plan, keys, replace(new, key=names, keys=keys.count))
            finally:
                keys.release()
            return
        with source_views(view, plan.versions) as text:
            overwrite(view.name, query_rows(view, text), new)


def _changed_keys(view: ViewToRefresh, plan: RefreshPlan) -> ChangedKeys:
    rows = []
    for number, changes in plan.changes.items():
        columns = _columns(plan.key, number)
        changed = changes.rows(view.call.spark, list(dict.fromkeys(column.name for column in columns)))
        rows.append(changed.selectExpr(*map(value_of, columns)))
    return ChangedKeys.of(view.call, rows)


def _columns(key: Sequence[KeyColumn], number: int) -> list[SourceColumn]:
    """The columns of a source that have the values of a key."""
    return [column.sources[number] for column in key]


def _replace_keys(view: ViewToRefresh, plan: RefreshPlan, keys: ChangedKeys, new: Refresh) -> None:
    table = versioned(view.name, new.base)
    old = keys.rows_of(table, [SourceColumn(0, column.name) for column in plan.key])
    with source_views(view, plan.versions, plan.key, keys) as text:
        changes = difference(old, query_rows(view, text).select(*map(quoted, old.columns)))
    write_changes(view.call.sql(f"SELECT * FROM {table}"), view.name, changes, new)


def query_rows(view: ViewToRefresh, text: str) -> DataFrame:
    """The rows of the query as `text`, in the columns of the view."""
    return view_columns(run_query(_call(view, text)), view.as_view, view.place)


def _call(view: ViewToRefresh, text: str) -> SqlCall:
    return replace(view.call, text=text, args=None, frames={}, views={})


@contextmanager
def source_views(
    view: ViewToRefresh,
    versions: Sequence[SourceVersion | None],
    key: Sequence[KeyColumn] = (),
    keys: ChangedKeys | None = None,
) -> Iterator[str]:
    """The text of the query over temporary views of its sources at these versions, of the rows of the `keys` alone if
    there are some. The views are there until the end."""
    catalog = view.call.spark.catalog
    read = columns_read(view.definition.text) if has_own_ties(view.definition.text) else None
    with ExitStack() as stack:
        names = []
        for number, (source, version) in enumerate(zip(view.sources, versions)):
            if version is None:  # Spark may not know it: a stored view, for example
                names.append(quote(source))
                continue
            relation = versioned(source, version.version)
            name = f"__sqlext_source_{uuid.uuid4().hex}"
            if keys is None:
                rows = view.call.sql(f"SELECT * FROM {relation}")
            else:
                rows = keys.rows_of(relation, _columns(key, number), read)
            rows.createOrReplaceTempView(name)
            stack.callback(catalog.dropTempView, name)
            names.append(name)
        yield with_sources(view.definition.text, names)
