"""Which rows of an Iceberg table have changed from one snapshot to another: by its changelog, or else by their places.

The changelog lists the rows of the files that each snapshot adds and removes, and passes over those that only write the
same rows into other files (`rewrite_data_files`). A row that is removed and added again has not changed.

There is no changelog of rows that are deleted by delete files (merge-on-read), nor from a snapshot that the current one
does not come from (after a rollback). But a row stays in its file at its position, so the rows that have changed are
those whose place only one of two snapshots has.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.catalog.materialized_views import NO_VERSION, SourceVersion
from sqlext.engine.materialized.changes import Changes, UnknownChangesError
from sqlext.engine.materialized.iceberg_table import IcebergTable
from sqlext.engine.materialized.key import has_equal_forms, is_comparable
from sqlext.engine.materialized.write import exact_text
from sqlext.formats.catalogs import whole_name
from sqlext.formats.iceberg_metadata import Snapshot
from sqlext.rewriter.text.names import quote, quoted

_FILE, _POSITION, _SIGN, _SUM, _EXACT = (f"__sqlext_{name}" for name in ("file", "position", "sign", "sum", "exact"))
_OF_CHANGELOG = {"_change_type", "_change_ordinal", "_commit_snapshot_id"}


@dataclass(frozen=True, kw_only=True)
class IcebergChanges(Changes):
    """`is_logged`: there is a changelog of them; `read`: names in lower case, among them those of all columns that the
    query reads; None if it may read all."""

    is_logged: bool
    read: frozenset[str] | None

    @property
    def way(self) -> str:
        return "Iceberg's changelog" if self.is_logged else "the places of its rows in files"

    def rows(self, spark: SparkSession, columns: Sequence[str]) -> DataFrame:
        if self.is_logged:
            return self._in_changelog(spark, columns)
        known = [version for version in (self.before, self.after) if version != NO_VERSION]
        if len(known) == 2:
            return self._at_other_places(spark, columns)
        return spark.sql(f"SELECT {_listed(columns)} FROM {self.table.at(known[0])}")

    def _in_changelog(self, spark: SparkSession, columns: Sequence[str]) -> DataFrame:
        reader = spark.read.option("end-snapshot-id", str(self.after))
        if self.before != NO_VERSION:
            reader = reader.option("start-snapshot-id", str(self.before))
        changelog = reader.table(self._metadata("changes"))
        needed = None if self.read is None else {*self.read, *(name.lower() for name in columns)}
        fields = [
            field
            for field in changelog.schema.fields
            if field.name not in _OF_CHANGELOG and (needed is None or field.name.lower() in needed)
        ]
        if not all(is_comparable(field.dataType) for field in fields):
            return changelog.selectExpr(*map(quoted, columns))
        sign = "IF(_change_type = 'INSERT', 1, -1)"
        rows = changelog.selectExpr(*(quoted(field.name) for field in fields), f"{sign} AS {_SIGN}")
        groups = [F.col(quoted(field.name)) for field in fields]
        if any(has_equal_forms(field.dataType) for field in fields):
            groups.append(F.expr(exact_text(rows)).alias(_EXACT))
        changed = rows.groupBy(*groups).agg(F.sum(_SIGN).alias(_SUM)).where(f"{_SUM} <> 0")
        return changed.selectExpr(*map(quoted, columns))

    def _at_other_places(self, spark: SparkSession, columns: Sequence[str]) -> DataFrame:
        place = f"_file AS {_FILE}, _pos AS {_POSITION}"
        versions = [
            spark.sql(f"SELECT {_listed(columns)}, {place} FROM {self.table.at(version)}")
            for version in (self.before, self.after)
        ]
        files = self._changed_files(spark)
        if files is not None:
            versions = [rows.join(F.broadcast(files), _FILE, "left_semi") for rows in versions]
        first, second = versions
        only_first, only_second = (
            rows.join(other.select(_FILE, _POSITION), [_FILE, _POSITION], "left_anti").selectExpr(*map(quoted, columns))
            for rows, other in ((first, second), (second, first))
        )
        return only_first.unionAll(only_second)

    def _changed_files(self, spark: SparkSession) -> DataFrame | None:
        """The files that one snapshot has, or of which rows are deleted in one only; None if these are not known."""
        equalities = self._in_one_only("file_path", "delete_files", "WHERE content = 2")
        if spark.sql(f"{equalities} LIMIT 1").collect():  # their rows are deleted wherever they are
            return None
        files = self._in_one_only("file_path", "data_files")
        deleted = self._in_one_only("file_path, pos", "position_deletes")
        return spark.sql(f"SELECT file_path AS {_FILE} FROM ({files}) UNION SELECT file_path FROM ({deleted})")

    def _in_one_only(self, items: str, table: str, condition: str = "") -> str:
        """What a table of metadata has of one snapshot and not of the other, as a query."""
        first, second = (
            f"SELECT {items} FROM {self._metadata(table)} VERSION AS OF {version} {condition}"
            for version in (self.before, self.after)
        )
        return f"SELECT * FROM (({first} EXCEPT {second}) UNION ALL ({second} EXCEPT {first}))"

    def _metadata(self, table: str) -> str:
        return quote((*whole_name(self.table.spark, self.table.name), table))


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(map(quoted, columns))


def iceberg_changes(table: IcebergTable, before: SourceVersion, read: Collection[str] | None) -> Changes:
    """The changes of a table from a version to its current one. `read`: names in lower case, among them those of all
    columns that are read; None if all are.

    Raises UnknownChangesError.
    """
    title, metadata, after = ".".join(table.name), table.metadata, table.version
    assert metadata is not None and after is not None
    first = metadata.snapshot(before.version)
    if first is None and before.version != NO_VERSION:
        raise UnknownChangesError(
            f"{title} no longer has its snapshot {before.version}, which was expired, or of another table of the name"
        )
    if first is not None and metadata.current is not None:
        _check_columns(table, (first, metadata.current), read)
    since = metadata.since(None if first is None else first.identifier)
    changed = None if since is None else [snapshot for snapshot in since if snapshot.changes_rows]
    return IcebergChanges(
        table=table,
        before=before.version,
        after=after.version,
        has_changes=changed is None or bool(changed),
        is_logged=since is not None and not any(snapshot.has_delete_files for snapshot in since),
        read=None if read is None else frozenset(read),
    )


def _check_columns(table: IcebergTable, snapshots: tuple[Snapshot, Snapshot], read: Collection[str] | None) -> None:
    """Raise UnknownChangesError if a column that is read is another one in one of two snapshots."""
    assert table.metadata is not None
    known = [table.metadata.columns(snapshot) for snapshot in snapshots]
    before, after = ([c for c in columns or () if read is None or c.name in read] for columns in known)
    if None in known or before != after:
        raise UnknownChangesError(
            f"{'.'.join(table.name)} has other columns than at the last refresh, which the query may read"
        )
