"""Stored views in `spark.table`, `spark.read.table` and `spark.catalog` of an extended session.

Spark's own method is always called first, so its tables and views have precedence and plain calls cost nothing more.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark import StorageLevel
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.catalog import Catalog, Column, Table

from sqlext.catalog import views
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.views import cached_views
from sqlext.engine.views.refreshed_views import refresh_views
from sqlext.rewriter.heads.view_statements import fits
from sqlext.rewriter.text.names import Parts, split_name
from sqlext.spark.quiet_probes import quiet_probes


def table(call: SqlCall, read: Callable[[str], DataFrame], name: str) -> DataFrame:
    """The result of `spark.table(name)`: Spark's own table or view, or a stored view."""
    refresh_views(call, name)

    def analysed(name: str) -> DataFrame:
        frame = read(name)
        frame.schema  # noqa: B018  (a Connect session looks the name up only now)
        return frame

    return _or_view(call, analysed, name, partial(_stored_view, call))


def _stored_view(call: SqlCall, name: Parts) -> DataFrame:
    from sqlext.engine.statements import stored_views  # loads the planner, for which plain tables do not wait

    return stored_views.frame(call, name)


def _or_view(call: SqlCall, own: Callable[[str], Any], name: str, of_view: Callable[[Parts], Any]) -> Any:
    """The result of Spark's own method for a name, or of `of_view` for a stored view that Spark does not know."""
    try:
        with quiet_probes() as records:
            return own(name)
    except AnalysisException:
        if views.lookup(call.spark, call.sql, name) is None:
            records.release()
            raise
    return of_view(split_name(name))


def with_stored_views(call: SqlCall, reader: Any) -> Any:
    """The object `spark.read`, whose method `table` also reads stored views."""
    own = reader.table
    reader.table = lambda tableName: table(call, own, tableName)
    return reader


def with_views_listed(call: SqlCall, catalog: Catalog) -> Catalog:
    """The object `spark.catalog`, whose methods also know stored views."""
    extended: Any = copy.copy(catalog)  # Spark keeps one object for a session, which restore() must find unchanged
    methods = _Methods(call, catalog)
    for name in _METHODS:
        setattr(extended, name, getattr(methods, name))
    return extended


_METHODS = ("tableExists", "listTables", "getTable", "listColumns", "cacheTable", "uncacheTable", "isCached")


class _Methods:
    """Methods of `Catalog` with the same parameters; `own` has Spark's methods."""

    def __init__(self, call: SqlCall, own: Catalog):
        self.call, self.own = call, own

    def tableExists(self, tableName: str, dbName: str | None = None) -> bool:
        name = (*_parts(dbName), *split_name(tableName))
        is_known = self.own.tableExists(tableName, dbName)
        return is_known or views.lookup(self.call.spark, self.call.sql, name) is not None

    def listTables(self, dbName: str | None = None, pattern: str | None = None) -> list[Table]:
        tables = self.own.listTables(dbName, pattern)
        found = views.stored(self.call.spark, self.call.sql, _parts(dbName))
        stored = [self._table((*_parts(dbName), view.name)) for view in found if fits(view.name, pattern or "*")]
        return sorted([*tables, *stored], key=lambda t: (t.isTemporary, t.name)) if stored else tables

    def getTable(self, tableName: str) -> Table:
        return _or_view(self.call, self.own.getTable, tableName, self._table)

    def listColumns(self, tableName: str, dbName: str | None = None) -> list[Column]:
        name = tableName if dbName is None else f"{dbName}.{tableName}"
        return _or_view(self.call, self.own.listColumns, name, self._columns)

    def cacheTable(self, tableName: str, storageLevel: StorageLevel | None = None) -> None:
        def own(name: str) -> None:
            self.own.cacheTable(name, *([] if storageLevel is None else [storageLevel]))

        def of_view(name: Parts) -> None:
            cached_views.cache(self.call.spark, name, _stored_view(self.call, name), is_lazy=True)

        _or_view(self.call, own, tableName, of_view)

    def uncacheTable(self, tableName: str) -> None:
        _or_view(self.call, self.own.uncacheTable, tableName, partial(cached_views.uncache, self.call.spark))

    def isCached(self, tableName: str) -> bool:
        def of_view(name: Parts) -> bool:
            return cached_views.cached(self.call.spark, name) is not None

        return _or_view(self.call, self.own.isCached, tableName, of_view)

    def _table(self, name: Parts) -> Table:
        view = views.lookup(self.call.spark, self.call.sql, name)
        catalog = name[-3] if len(name) > 2 else self.own.currentCatalog()
        schema = name[-2] if len(name) > 1 else self.own.currentDatabase()
        comment, kind = (view.comment, "KAFKA" if view.is_table else "VIEW") if view else (None, "VIEW")
        return Table(name[-1].lower(), catalog, [schema], comment, kind, isTemporary=False)

    def _columns(self, name: Parts) -> list[Column]:
        fields = _stored_view(self.call, name).schema.fields
        others = {"isPartition": False, "isBucket": False, "isCluster": False}
        return [Column(f.name, None, f.dataType.simpleString(), f.nullable, **others) for f in fields]


def _parts(schema: str | None) -> Parts:
    return split_name(schema) if schema else ()
