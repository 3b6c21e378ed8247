"""Which rows of a Delta table have changed from one version to another: by its change data feed, or else by the files
that its log adds and removes. Of a file that is in one version only, all rows count as changed.

A commit that only moves rows, such as OPTIMIZE, says so in the log, and changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.catalog.materialized_views import SourceVersion
from sqlext.engine.materialized.changes import Changes, UnknownChangesError
from sqlext.engine.materialized.delta_table import DeltaTable, TableDetail
from sqlext.engine.scan.file_relation import NotRead
from sqlext.engine.scan.rows_of_keys import values_in_files
from sqlext.formats.delta_history import NEUTRAL
from sqlext.operators.scan.delta_log import actions_of
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import quote, quoted
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.quiet_probes import quiet_probes

_MOST_COMMITS = 1000  # whose files are read one by one
_MOST_FILES = 1000  # that are read by their names
_FILE_ACTION = "STRUCT<path: STRING, dataChange: BOOLEAN, deletionVector: STRUCT<storageType: STRING>>"
_ACTIONS = (
    f"add {_FILE_ACTION}, remove {_FILE_ACTION}, metaData STRUCT<id: STRING>, commitInfo STRUCT<operation: STRING>"
)
_FEED = "delta.enableChangeDataFeed"
_IS_CHANGE = "coalesce(add.dataChange, remove.dataChange, false)"
_FILE = "regexp_extract(coalesce(add.path, remove.path), '[^/]*$', 0)"
_PLAIN_FILE = "^[A-Za-z0-9._=-]+$"  # written in the log as it is
# Commits that may define a table anew, and leave the rows of files that stay as they are, if the columns do.
_KEEPS_ROWS = NEUTRAL | {"ADD COLUMNS", "MERGE", "WRITE", "STREAMING UPDATE", "INSERT", "UPDATE", "RESTORE"}
_RESTORE = "RESTORE"
_COMPACTS = {"OPTIMIZE", "REORG"}
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._=-]+(/[A-Za-z0-9._=-]+)*")


@dataclass(frozen=True, kw_only=True)
class DeltaChanges(Changes):
    """`files` returns the names of the files with changed rows, None if the change data feed has them; `paths`: the
    paths of the files that only the former and only the later version has, if these can be read without the table;
    `partitions`: its partition columns, which are not in the files; `is_local`: the files are on this machine.
    """

    files: Callable[[], DataFrame] | None = None
    paths: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    partitions: tuple[str, ...] = ()
    is_local: bool = False

    @property
    def way(self) -> str:
        return "files that are in one version only" if self.files is not None else "the change data feed"

    def values(self, spark: SparkSession, columns: Sequence[str], cores: int) -> pa.Table:
        if self.paths is None or not self.is_local or set(map(str.lower, columns)) & set(self.partitions):
            raise NotRead("files with the changed rows are not read here")
        items = ", ".join(map(quoted, columns))
        rows = spark.sql(f"SELECT {items} FROM {self.table.at(self.after)}")
        return values_in_files(rows, [path for paths in self.paths for path in paths], cores)

    def rows(self, spark: SparkSession, columns: Sequence[str]) -> DataFrame:
        items = ", ".join(map(quoted, columns))
        if self.files is None:
            table = string_literal(quote(self.table.name))
            return spark.sql(f"SELECT {items} FROM table_changes({table}, {self.before + 1}, {self.after})")
        if self.paths is not None and not set(map(str.lower, columns)) & set(self.partitions):
            now = spark.sql(f"SELECT {items} FROM {self.table.at(self.after)}")
            read = (spark.read.schema(now.schema).parquet(*paths) for paths in self.paths if paths)
            return reduce(DataFrame.unionAll, read, now.limit(0))
        named = (
            spark.sql(f"SELECT {items}, _metadata.file_name AS __sqlext_file FROM {self.table.at(version)}")
            for version in (self.before, self.after)
        )
        first, second = (rows.join(F.broadcast(self.files()), "__sqlext_file", "left_semi") for rows in named)
        return first.unionAll(second).drop("__sqlext_file")


def delta_changes(table: DeltaTable, before: SourceVersion, read: Collection[str] | None) -> Changes:
    """The changes of a table from a version to the last one of its `recent` commits. `read`: names in lower case, among
    them those of all columns that are read; None if all are.

    Raises UnknownChangesError.
    """
    after = table.recent[0]
    title, count = ".".join(table.name), after.version - before.version
    _check_same_table(table, before)
    if count > _MOST_COMMITS:
        raise UnknownChangesError(f"{title} has had more than {_MOST_COMMITS} commits since")
    definition = table.definition
    log = cache(partial(_log, table.spark, definition.location, before.version + 1, after.version))
    commits = _commits(log()) if table.log is None else _commits_in(table.log, before.version + 1, after.version)
    if len(commits) != count:
        raise UnknownChangesError(f"the log of {title} no longer has all commits since version {before.version}")
    operations = {str(c.operation) for c in commits}
    defining = sorted({str(c.operation) for c in commits if c.definitions} | (operations & {_RESTORE}))
    _check_columns(table, (before.version, after.version), defining, read)
    if any(c.odd_files for c in commits):
        raise UnknownChangesError(f"{title} has files with unusual names")
    changed = sum(c.changes for c in commits)
    if changed == 0 or (definition.properties.get(_FEED, "").lower() == "true" and not defining):
        return DeltaChanges(table=table, before=before.version, after=after.version, has_changes=changed > 0)
    is_as_before = changed <= _MOST_FILES and not set(defining) - NEUTRAL
    paths = _paths(commits, definition) if is_as_before else None
    reads_names = paths is None or definition.partitions
    if reads_names and operations & _COMPACTS:  # a changed file may be in neither version
        raise UnknownChangesError(f"the changed files of {title} were compacted")
    return DeltaChanges(
        table=table,
        before=before.version,
        after=after.version,
        has_changes=True,
        files=lambda: log().where(_IS_CHANGE).selectExpr(f"{_FILE} AS __sqlext_file").distinct(),
        paths=paths,
        partitions=definition.partitions,
        is_local=table.log is not None,
    )


@dataclass(frozen=True)
class _Commit:
    """What the actions of a commit say together: `definitions` of the table, `changes` of files, of them those with
    `odd_files` names and with deletion `vectors`; `added` and `removed`: the paths of some of its files."""

    operation: str | None
    definitions: int
    changes: int
    odd_files: int
    vectors: int
    added: Sequence[str]
    removed: Sequence[str]


def _commits(log: DataFrame) -> list[_Commit]:
    """The commits of a log, as Spark reads it; none if one of them is gone."""
    vectors = "coalesce(add.deletionVector, remove.deletionVector) IS NOT NULL"
    try:
        with quiet_probes():
            rows = log.groupBy("commit").agg(
                F.max("commitInfo.operation").alias("operation"),
                F.count("metaData").alias("definitions"),
                F.expr(f"count_if({_IS_CHANGE})").alias("changes"),
                F.expr(f"count_if({_IS_CHANGE} AND NOT ({_FILE} RLIKE '{_PLAIN_FILE}'))").alias("odd_files"),
                F.expr(f"count_if({_IS_CHANGE} AND {vectors})").alias("vectors"),
                F.expr(f"slice(collect_list(IF({_IS_CHANGE}, add.path, NULL)), 1, {_MOST_FILES})").alias("added"),
                F.expr(f"slice(collect_list(IF({_IS_CHANGE}, remove.path, NULL)), 1, {_MOST_FILES})").alias("removed"),
            ).drop("commit").collect()  # fmt: skip
    except (PySparkException, Py4JError):
        return []
    return [_Commit(**row.asDict()) for row in rows]


def _commits_in(log: Path, first: int, last: int) -> list[_Commit]:
    """The commits `first` to `last` in a folder of this machine; none if one of them is gone."""
    try:
        return [_commit(actions_of(log / f"{version:020}.json")) for version in range(first, last + 1)]
    except OSError:
        return []


def _commit(actions: Iterable[Mapping[str, Any]]) -> _Commit:
    """
    >>> files = {"add": {"path": "k=%201/a", "dataChange": True}}, {"remove": {"path": "b", "dataChange": False}}
    >>> _commit([{"commitInfo": {"operation": "WRITE"}}, *files])
    _Commit(operation='WRITE', definitions=0, changes=1, odd_files=0, vectors=0, added=['k=%201/a'], removed=[])
    """
    operation, definitions, added, removed = None, 0, [], []
    for action in actions:
        operation = action.get("commitInfo", {}).get("operation", operation)
        definitions += "metaData" in action
        added += [action["add"]] if "add" in action else []
        removed += [action["remove"]] if "remove" in action else []
    added, removed = ([file for file in files if file.get("dataChange", False)] for files in (added, removed))
    changed = [*added, *removed]
    return _Commit(
        operation=operation,
        definitions=definitions,
        changes=len(changed),
        odd_files=sum(not re.fullmatch(_PLAIN_FILE, file["path"].rpartition("/")[2]) for file in changed),
        vectors=sum(file.get("deletionVector") is not None for file in changed),
        added=[file["path"] for file in added],
        removed=[file["path"] for file in removed],
    )


def _paths(commits: Sequence[_Commit], table: TableDetail) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The paths of the files that only the former and only the later version has; None if a file alone does not tell
    its rows."""
    added, removed = ({path for c in commits for path in getattr(c, which)} for which in ("added", "removed"))
    if (
        not table.has_own_names
        or any(c.vectors for c in commits)
        or not all(map(_PLAIN_PATH.fullmatch, added | removed))
    ):
        return None
    only = (sorted(removed - added), sorted(added - removed))
    before, after = (tuple(f"{table.location}/{path}" for path in paths) for paths in only)
    return before, after


def _check_same_table(table: DeltaTable, before: SourceVersion) -> None:
    title, recent = ".".join(table.name), table.recent
    count = recent[0].version - before.version
    known = recent if count < len(recent) else table.history(count + 1)
    committed = {commit.version: commit.committed for commit in known}
    if before.version not in committed:
        raise UnknownChangesError(f"{title} has no version {before.version} any more")
    if committed[before.version] != before.committed:
        raise UnknownChangesError(f"{title} is another table than at the last refresh")


def _check_columns(
    table: DeltaTable, versions: tuple[int, int], defining: Sequence[str], read: Collection[str] | None
) -> None:
    """Raise UnknownChangesError if a column that is read is another one in one of two versions. `defining`: the
    operations of the commits that have written the definition of the table."""
    title = ".".join(table.name)
    # a file may have a column under a name by which a column was dropped and added again
    keeps = _KEEPS_ROWS if table.definition.has_own_names else _KEEPS_ROWS - {_RESTORE}
    others = [operation for operation in defining if operation not in keeps]
    if others:
        raise UnknownChangesError(f"{title} was changed by {others[0]}")
    if not defining:
        return
    columns = (_columns(table, version) for version in versions)
    before, after = ([column for column in each if read is None or column[0] in read] for each in columns)
    if before != after:
        raise UnknownChangesError(f"{title} has other columns than at the last refresh, which the query may read")


def _columns(table: DeltaTable, version: int) -> list[tuple[str, str]]:
    try:
        with quiet_probes():
            fields = table.spark.sql(f"SELECT * FROM {table.at(version)}").schema.fields
    except (PySparkException, Py4JError):
        raise UnknownChangesError(f"version {version} of {'.'.join(table.name)} can no longer be read") from None
    return [(field.name.lower(), field.dataType.simpleString()) for field in fields]


def _log(spark: SparkSession, location: str, first: int, last: int) -> DataFrame:
    """The actions of the commits `first` to `last`, with the name of the file of each commit."""
    paths = [f"{location}/_delta_log/{version:020}.json" for version in range(first, last + 1)]
    try:
        with quiet_probes():
            return spark.read.schema(_ACTIONS).json(paths).select("*", F.col("_metadata.file_name").alias("commit"))
    except (PySparkException, Py4JError):
        raise UnknownChangesError("its log no longer has all commits since the last refresh") from None
