"""What a materialized view reads: tables, and stored views, which are queries of tables and other views themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.catalog import views
from sqlext.catalog.materialized_views import SourceVersion
from sqlext.catalog.views import View
from sqlext.engine.materialized.table import Table
from sqlext.engine.materialized.tables import table_of
from sqlext.engine.queries.queries import user_functions
from sqlext.engine.views.view_settings import other_settings
from sqlext.rewriter.refresh_keys.unstable import unstable_part
from sqlext.rewriter.text.names import Parts
from sqlext.rewriter.tree.sources import relations


@dataclass(frozen=True, kw_only=True)
class SourceQuery:
    """A query, and its `inputs` in the order of its text."""

    view: View
    inputs: tuple[Table | SourceQuery, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables that it reads, also in views: a table that is read twice is there twice."""
        parts = ((each,) if isinstance(each, Table) else each.tables for each in self.inputs)
        return tuple(table for tables in parts for table in tables)

    @property
    def versions(self) -> tuple[SourceVersion | None, ...]:
        """The versions of the tables, None for those whose changes are not known."""
        return tuple(table.version for table in self.tables)

    @property
    def views(self) -> tuple[View, ...]:
        """All stored views that it reads."""
        queries = (each for each in self.inputs if isinstance(each, SourceQuery))
        return tuple(view for query in queries for view in (query.view, *query.views))

    @property
    def digest(self) -> str:
        """Identifies the queries of the stored views; "" if there are none."""
        written = json.dumps([{**asdict(view), "comment": None, "created_by": None} for view in self.views])
        return sha256(written.encode()).hexdigest() if self.views else ""

    @property
    def schema(self) -> T.StructType:
        """The columns that the query had when the view was created."""
        return T.StructType.fromJson(json.loads(self.view.query_columns or ""))

    @property
    def names(self) -> list[str]:
        """The names of the columns of the view."""
        return list(self.view.columns) or self.schema.names

    def unstable(self, sql: Callable[..., DataFrame]) -> str:
        """What in a stored view gives other rows each time, as a clause of a sentence; "" if nothing does."""
        for each in self.inputs:
            if isinstance(each, SourceQuery):
                part = unstable_part(each.view.text, each._columns_read, user_functions(sql))
                found = f"{part} in the view {each.view.name}" if part else each.unstable(sql)
                if found:
                    return found
        return ""

    @property
    def _columns_read(self) -> set[str]:
        of_inputs = (each.columns if isinstance(each, Table) else each.names for each in self.inputs)
        return {name.lower() for names in of_inputs for name in names}


def query_of(spark: SparkSession, sql: Callable[..., DataFrame], view: View, names: Sequence[Parts]) -> SourceQuery:
    """The query of a view that reads relations of these names, with their schemas. The session has its settings."""
    known: dict[Parts, Table | SourceQuery] = {}

    def resolved(view: View, names: Sequence[Parts], around: tuple[Parts, ...]) -> SourceQuery:
        for name in names:
            if name not in known:
                known[name] = _source(name, around)
        return SourceQuery(view=view, inputs=tuple(known[name] for name in names))

    def _source(name: Parts, around: tuple[Parts, ...]) -> Table | SourceQuery:
        table = table_of(spark, sql, name)
        stored = None if table.recent or name in around else _stored_view(spark, sql, name)
        if stored is None:
            return table
        read = [parts if len(parts) > 1 else (*stored.schema, *parts) for parts in _relations(stored)]
        return resolved(stored, read, (*around, name))

    return resolved(view, names, ())


def _relations(view: View) -> list[Parts]:
    return [name.parts for name in relations(view.text)]


def _stored_view(spark: SparkSession, sql: Callable[..., DataFrame], name: Parts) -> View | None:
    """The stored view of a name that Spark does not know; None if it must be read by itself: it is a table of Kafka,
    its query has settings of its own, or an earlier version stored it without its columns."""
    if views.is_known(spark, name):
        return None
    view = views.lookup(spark, sql, name)
    if view is None or view.is_table or view.query_columns is None or other_settings(view, spark):
        return None
    return view
