"""What is asked of the format of tables. A format is a file beside this one, which answers what its tables can do.

All methods that ask Spark take the session, or its own, unhooked `sql(text)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn

from sqlext.errors import Place, UnsupportedError
from sqlext.rewriter.text.names import Parts

Sql = Callable[..., Any]


@dataclass(frozen=True)
class StreamTable:
    """A table that a stream is written into. `identifier`: what no other table has had, also none of its name;
    `forgets`: it may have forgotten micro-batches of a query that it has; `computes`: it may compute columns of the
    rows that are written into it."""

    location: str
    identifier: str
    forgets: bool
    computes: bool


@dataclass(frozen=True)
class WrittenBatches:
    """What a table has of a query: the `last` micro-batch, None if it has none; and, if the table was taken back to a
    version without rows of the query, the statement that brings them back."""

    last: int | None
    bring_back: str | None = None


@dataclass(frozen=True)
class Commit:
    """A commit of a table. `version`: as after VERSION AS OF; `committed`: the time in microseconds; `metadata`: the
    record that it has beside its rows; `is_neutral`: it changes no row; `rows_inserted`, `files_removed`: how many."""

    version: int
    committed: int
    operation: str
    metadata: str = ""
    is_neutral: bool = False
    rows_inserted: str | None = None
    files_removed: str = "0"


class Format:
    """A format of tables. What a subclass does not override, its tables lack.

    `name`: as after USING; `title`: in messages; `catalogs`: how the names of the classes of its catalogs begin, "" if
    it has none of its own; `jar`: a part of the name of its jar; `needed`: settings of a session that has it;
    `conflict`: a regular expression in the errors of a write that came second; `append_only`, `for_properties`:
    properties of a table to which rows are only appended, and of one that is written for its properties;
    `never_matched`: a clause of a MERGE that only inserts, `old` and `new` rows of one name, without which a second
    one of the same time would not be refused; `write_options`: of its sink of streams; `needs_empty_folder`: a table is
    only created in a folder without files; `is_listed`: streaming tables are found in the catalog also where no folder
    has them all; `has_materialized_views`: a commit can hold a record beside its rows, and what has changed between
    two commits can be found; `appends_by_overwrite`: an append is checked against other writers only as an overwrite of
    no rows.
    """

    name: str
    title: str
    catalogs = ""
    jar = ""
    needed: Mapping[str, str] = MappingProxyType({})
    conflict = ""
    append_only: Mapping[str, str] = MappingProxyType({})
    for_properties: Mapping[str, str] = MappingProxyType({})
    never_matched = ""
    write_options: Mapping[str, str] = MappingProxyType({})
    needs_empty_folder = False
    is_listed = False
    has_materialized_views = False
    appends_by_overwrite = False

    # a session

    def package(self, spark_version: str) -> str:
        """The Maven coordinates of its jar for a version of Spark, "" if Spark has it. Raises SetupError."""
        return ""

    def settings(self, warehouse: str) -> dict[str, str]:
        """The settings of a session whose tables are of this format and in this folder."""
        return {}

    def begin(self, sql: Sql) -> None:
        """Create what such a session needs when it has started."""

    # tables that others write at the same time

    def merged(self, spark: Any, sql: Sql, table: Parts, statement: str) -> int:
        """Run a MERGE that only inserts, and return how many rows it has inserted."""
        self.lacks("MERGE")

    # streams

    def location(self, spark: Any, name: Parts) -> str:
        """The location of a table. Raises Spark's error if there is none of that name."""
        self.lacks("commits of streams")

    def stream_table(self, spark: Any, name: Parts) -> StreamTable:
        """The table of a name. Raises Spark's error if there is none."""
        self.lacks("commits of streams")

    def tables(self, spark: Any) -> Iterator[tuple[Parts, str]]:
        """The names and locations of the tables in the catalog of a session."""
        return iter(())

    def written_batches(self, spark: Any, name: Parts, location: str, query: str) -> WrittenBatches:
        """What the table has of the query of an identifier."""
        self.lacks("commits of streams")

    def has_begun(self, spark: Any, name: Parts, location: str, mark: str) -> bool:
        """Whether the table has this mark of a query that has begun to write into it."""
        self.lacks("commits of streams")

    def mark_begun(self, spark: Any, name: Parts, location: str, mark: str, schema: Any) -> None:
        """Commit the mark. `schema`: of the rows that will be written."""
        self.lacks("commits of streams")

    def arranged(self, rows: Any, schema: Any) -> Any:
        """The rows of a stream, a DataFrame, as the sink of the format takes them. `schema`: of the table."""
        return rows

    def settings_of_batch(self, query: str, batch: int) -> dict[str, str]:
        """The settings of a session with which a MERGE commits the micro-batch beside its rows."""
        self.lacks("commits of streams")

    def repeats_merge(self, spark: Any, name: Parts, query: str, batch: int) -> bool:
        """Whether the table has the micro-batch, and does not refuse it by itself."""
        return False

    # materialized views

    def options_of_refresh(self, record: str, view: str, base: int) -> dict[str, str]:
        """The options of a write of rows that commits the `record` of a refresh, unless another refresh of the view
        with this identifier has been committed since its version `base`."""
        self.lacks("materialized views")

    def settings_of_refresh(self, record: str, view: str, base: int | None) -> dict[str, str]:
        """The settings of a session in which a statement commits as with `options_of_refresh`. `base`: None in a
        statement that creates the view."""
        self.lacks("materialized views")

    def is_written_anew(self, spark: Any, name: Parts) -> bool:
        """Whether to write all rows of a view is better than to merge those that change."""
        return True

    def lacks(self, what: str, place: Place | None = None, hint: str | None = None) -> NoReturn:
        """Raise UnsupportedError: its tables have no such thing."""
        raise UnsupportedError("FORMAT_LACKS", f"tables of {self.title} have no {what}", place=place, hint=hint)
