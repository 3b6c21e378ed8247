"""Brings a materialized view up to date: chooses the keys to compute anew, or all rows, and says why.

After a refresh the view has the rows of its query over the versions of its sources that the commit records. If another
refresh was quicker, or another writer wrote into the view meanwhile, the refresh begins again.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from sqlext.catalog.materialized_views import Definition, Refresh, SourceVersion, State
from sqlext.catalog.views import View
from sqlext.engine.materialized.changed_keys import ChangedKeys
from sqlext.engine.materialized.changes import Changes, UnknownChangesError
from sqlext.engine.materialized.delta_changes import delta_changes
from sqlext.engine.materialized.delta_table import DeltaTable
from sqlext.engine.materialized.iceberg_changes import iceberg_changes
from sqlext.engine.materialized.iceberg_table import IcebergTable
from sqlext.engine.materialized.key import KeyColumn, is_comparable, key_of
from sqlext.engine.materialized.source_queries import SourceQuery, query_of
from sqlext.engine.materialized.table import Table
from sqlext.engine.materialized.tables import table_of
from sqlext.engine.materialized.write import difference, overwrite, write_changes
from sqlext.engine.queries.session_settings import is_on
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.run_statement import run_query
from sqlext.engine.views.view_columns import view_columns
from sqlext.engine.views.view_settings import with_its_settings
from sqlext.errors import Place, UnsupportedError
from sqlext.formats.format import Format
from sqlext.formats.known_formats import format_of, is_conflict
from sqlext.rewriter.refresh_keys.columns_read import columns_read, has_own_ties
from sqlext.rewriter.refresh_keys.plain_query import with_sources
from sqlext.rewriter.refresh_keys.separable import NotSeparableError, SourceColumn
from sqlext.rewriter.text.names import Parts, quote, quoted
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.quiet_probes import quiet_probes
from sqlext.spark.running_jobs import as_this_thread

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
    def query(self) -> SourceQuery:
        """The query with its sources as they are now."""
        schema = self.definition.schema
        names = [name if len(name) > 1 else (*schema, *name) for name in self.definition.sources]
        with with_its_settings(self.as_view, self.call.spark, self.place):
            return query_of(self.call.spark, self.call.sql, self.as_view, names)

    @property
    def format(self) -> Format:
        """The format of its table."""
        return format_of(self.call.spark, self.name)

    @property
    def table(self) -> Table:
        """The view as it is now."""
        return table_of(self.call.spark, self.call.sql, self.name)


@dataclass(frozen=True, kw_only=True)
class RefreshPlan:
    """What a refresh does. `kind`: NOTHING, BY_KEY or FULL; `reason`: why it does nothing or is full, as a sentence
    without its stop; `query`: with its sources; `view`: the view as a table; `changes`: by the numbers of the
    tables."""

    kind: str
    query: SourceQuery
    view: Table
    state: State
    reason: str = ""
    key: tuple[KeyColumn, ...] = ()
    changes: dict[int, Changes] = field(default_factory=dict)


def plan_refresh(view: ViewToRefresh, *, is_full: bool = False) -> RefreshPlan:
    """The plan of the next refresh. Nothing is written."""
    table = view.table
    plan = RefreshPlan(kind=FULL, query=view.query, view=table, state=table.state(view.definition.identifier))
    reason = "FULL was written" if is_full else _reason_for_full(view, plan)
    if reason:
        return replace(plan, reason=reason)
    last = plan.state.refresh
    assert last is not None
    try:
        with with_its_settings(view.as_view, view.call.spark, view.place):
            changes = dict(_changes(plan.query, last))
            if not changes:
                return replace(plan, kind=NOTHING, reason="no row of a source has changed")
            return replace(plan, kind=BY_KEY, changes=changes, key=tuple(_key(plan.query)))
    except (UnknownChangesError, NotSeparableError) as unknown:
        return replace(plan, reason=str(unknown))


def key_or_reason(view: ViewToRefresh) -> tuple[tuple[str, ...], str]:
    """The columns of the key of a view, or the reason why all of its rows are always computed anew."""
    query = view.query
    reason = _reason_in_query(view, query)
    try:
        with with_its_settings(view.as_view, view.call.spark, view.place):
            key = () if reason else tuple(column.name for column in _key(query))
    except NotSeparableError as unknown:
        return (), str(unknown)
    return key, reason


def _reason_in_query(view: ViewToRefresh, query: SourceQuery) -> str:
    """Why a view is never refreshed by key; "" if its columns may tell one."""
    if unstable := view.definition.unstable or query.unstable(view.call.sql):
        return f"{unstable} gives other rows each time"
    unknown = next((table for table in query.tables if table.version is None), None)
    return f"{'.'.join(unknown.name)} is {unknown.why_unknown}, so its changes are not known" if unknown else ""


def _reason_for_full(view: ViewToRefresh, plan: RefreshPlan) -> str:
    """Why a view cannot be refreshed by key, whatever has changed; "" if it perhaps can."""
    last, other = plan.state.refresh, plan.state.other_writer
    if last is None:
        return "the history of the view no longer has its last refresh"
    if other is not None:
        return f"another writer changed the rows of the view by {other.operation} at its version {other.version}"
    if reason := _reason_in_query(view, plan.query):
        return reason
    if last.queries != plan.query.digest or len(last.versions) != len(plan.query.tables):
        return "the query of a view that it reads was changed"
    if None in last.versions:
        return "the last refresh did not know the versions of all sources"
    for setting in ("spark.sql.files.ignoreMissingFiles", "spark.sql.caseSensitive"):
        if is_on(view.call.spark, setting, default="false"):
            return f"{setting} is on"
    return ""


def _changes(query: SourceQuery, last: Refresh) -> Iterator[tuple[int, Changes]]:
    """The changes of the tables that have some, by their numbers."""
    known: dict[tuple[Parts, frozenset[str] | None], Changes] = {}
    for number, ((table, read), before) in enumerate(zip(_tables(query), last.versions)):
        assert before is not None
        if before != table.version:
            if (table.name, read) not in known:
                known[table.name, read] = _changes_of(table, before, read)
            if known[table.name, read].has_changes:
                yield number, known[table.name, read]


def _changes_of(table: Table, before: SourceVersion, read: frozenset[str] | None) -> Changes:
    if isinstance(table, IcebergTable):
        return iceberg_changes(table, before, read)
    assert isinstance(table, DeltaTable)
    return delta_changes(table, before, read)


def _tables(query: SourceQuery) -> Iterator[tuple[Table, frozenset[str] | None]]:
    """All tables, each with the names in the query that reads it, None if that may read other columns."""
    read = columns_read(query.view.text)
    for each in query.inputs:
        yield from ((each, read),) if isinstance(each, Table) else _tables(each)


def _key(query: SourceQuery) -> list[KeyColumn]:
    for column in query.schema.fields:
        if not is_comparable(column.dataType):
            kind = column.dataType.simpleString()
            raise NotSeparableError(f"rows cannot be compared by the column {column.name}, a {kind}")
    return key_of(query)


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
        state = plan.view.state(view.definition.identifier)
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
        versions=plan.query.versions,
        queries=plan.query.digest,
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
        with source_views(view, plan.query) as text:
            overwrite(view.format, view.name, query_rows(view, text), new)


def _changed_keys(view: ViewToRefresh, plan: RefreshPlan) -> ChangedKeys:
    changed = [(changes, _columns(plan.key, number)) for number, changes in plan.changes.items()]
    return ChangedKeys.of(view.call, changed)


def _columns(key: Sequence[KeyColumn], number: int) -> list[SourceColumn]:
    """The columns of a source that have the values of a key."""
    return [column.sources[number] for column in key]


def _replace_keys(view: ViewToRefresh, plan: RefreshPlan, keys: ChangedKeys, new: Refresh) -> None:
    table, call = plan.view.at(new.base), view.call
    with ThreadPoolExecutor(1) as meanwhile:
        # Delta computes the list of the view's files, which it needs to write
        anew = meanwhile.submit(as_this_thread(call.spark, view.format.is_written_anew), call.spark, view.name)
        old = keys.rows_of(table, [SourceColumn(0, column.name.lower()) for column in plan.key])
        with source_views(view, plan.query, plan.key, keys) as text:
            changes = difference(old, query_rows(view, text).select(*map(quoted, old.columns)))
        write_changes(call.sql(f"SELECT * FROM {table}"), view.name, view.format, changes, new, anew.result)


def query_rows(view: ViewToRefresh, text: str) -> DataFrame:
    """The rows of the query as `text`, in the columns of the view."""
    return _rows_of(view.call, view.as_view, text, view.place)


def _rows_of(call: SqlCall, view: View, text: str, place: Place) -> DataFrame:
    return view_columns(run_query(replace(call, text=text, args=None, frames={}, views={})), view, place)


@contextmanager
def source_views(
    view: ViewToRefresh, query: SourceQuery, key: Sequence[KeyColumn] = (), keys: ChangedKeys | None = None
) -> Iterator[str]:
    """The text of the query over temporary views of its tables at their versions, of the rows of the `keys` alone if
    there are some. The views are there until the end."""
    with ExitStack() as stack:
        numbers = count()

        def text_of(query: SourceQuery) -> str:
            """The text of a query over names of temporary views."""
            read = columns_read(query.view.text) if has_own_ties(query.view.text) else None
            return with_sources(query.view.text, [source_of(each, read) for each in query.inputs])

        def source_of(source: Table | SourceQuery, read: frozenset[str] | None) -> str:
            if isinstance(source, SourceQuery):
                return stack.enter_context(_named(_rows_of(view.call, source.view, text_of(source), view.place)))
            number = next(numbers)
            if source.version is None:  # Spark may not know it: a stored view with settings of its own, for example
                return quote(source.name)
            relation = source.relation
            if keys is not None:
                return stack.enter_context(keys.view_of(relation, _columns(key, number), read))
            return stack.enter_context(_named(view.call.sql(f"SELECT * FROM {relation}")))

        yield text_of(query)


@contextmanager
def _named(rows: DataFrame) -> Iterator[str]:
    """The name of a temporary view of these rows."""
    name = f"__sqlext_source_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        rows.sparkSession.catalog.dropTempView(name)
