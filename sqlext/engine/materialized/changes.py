"""Which rows of a Delta table have changed from one version to another: by its change data feed, or else by the files
that its log adds and removes. Of a file that is in one version only, all rows count as changed.

A commit that only moves rows, such as OPTIMIZE, says so in the log, and changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import takewhile

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from sqlext.catalog.materialized_views import NEUTRAL, RECENT, Commit, SourceVersion, history
from sqlext.catalog.warehouse import table_detail
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import Parts, quote, quoted
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.quiet_probes import quiet_probes

_MOST_COMMITS = 1000  # whose files are read one by one
_MOST_FILES = 1000  # that are read by their names
_FILE_ACTION = "STRUCT<path: STRING, dataChange: BOOLEAN, deletionVector: STRUCT<storageType: STRING>>"
_ACTIONS = (
    f"add {_FILE_ACTION}, remove {_FILE_ACTION}, metaData STRUCT<id: STRING>, commitInfo STRUCT<operation: STRING>"
)
_FEED, _MAPPING = "delta.enableChangeDataFeed", "delta.columnMapping.mode"
_IS_CHANGE = "coalesce(add.dataChange, remove.dataChange, false)"
_FILE = "regexp_extract(coalesce(add.path, remove.path), '[^/]*$', 0)"
_PLAIN_FILE = "^[A-Za-z0-9._=-]+$"  # written in the log as it is
# Commits that may define a table anew, and leave the rows of files that stay as they are, if the columns do.
_KEEPS_ROWS = NEUTRAL | {"ADD COLUMNS", "MERGE", "WRITE", "STREAMING UPDATE", "INSERT", "UPDATE", "RESTORE"}
_RESTORE = "RESTORE"
_COMPACTS = {"OPTIMIZE", "REORG"}
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._=-]+(/[A-Za-z0-9._=-]+)*")


class UnknownChangesError(Exception):
    """The changes of a source cannot be found; the text is the reason, as a clause of a sentence."""


@dataclass(frozen=True)
class Changes:
    """The changes of a table from version `before` to `after`.

    `has_changes`: there may be some; `files`: the names of the files with changed rows, None if the change data feed
    has them; `paths`: the paths of the files that only the former and only the later version has, if these can be read
    without the table; `partitions`: its partition columns, which are not in the files.
    """

    name: Parts
    before: int
    after: int
    has_changes: bool
    files: DataFrame | None = None
    paths: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    partitions: tuple[str, ...] = ()

    def rows(self, spark: SparkSession, columns: Sequence[str]) -> DataFrame:
        """The values of these columns in all rows that may have changed, before and after the change."""
        items = ", ".join(map(quoted, columns))
        if self.files is None:
            table = string_literal(quote(self.name))
            return spark.sql(f"SELECT {items} FROM table_changes({table}, {self.before + 1}, {self.after})")
        both = [spark.sql(f"SELECT {items} FROM {versioned(self.name, v)}") for v in (self.before, self.after)]
        if self.paths is not None and not set(map(str.lower, columns)) & set(self.partitions):
            read = (spark.read.schema(rows.schema).parquet(*paths) for rows, paths in zip(both, self.paths) if paths)
            return reduce(DataFrame.unionAll, read, both[0].limit(0))
        named = (
            spark.sql(f"SELECT {items}, _metadata.file_name AS __sqlext_file FROM {versioned(self.name, version)}")
            for version in (self.before, self.after)
        )
        first, second = (rows.join(F.broadcast(self.files), "__sqlext_file", "left_semi") for rows in named)
        return first.unionAll(second).drop("__sqlext_file")


def versioned(name: Parts, version: int) -> str:
    """A table at a version, as a relation."""
    return f"{quote(name)} VERSION AS OF {version}"


def recent_commits(sql: Callable[..., DataFrame], name: Parts) -> list[Commit]:
    """The last commits of a table, the last one first; none if it is no Delta table."""
    try:
        with quiet_probes():
            return history(sql, name, RECENT)
    except (PySparkException, Py4JError):
        return []


def current_version(recent: Sequence[Commit]) -> SourceVersion | None:
    """The version of a table with these recent commits; None if it is no Delta table."""
    return SourceVersion(recent[0].version, recent[0].committed) if recent else None


def changes_of(
    spark: SparkSession, name: Parts, before: SourceVersion, recent: Sequence[Commit], read: Collection[str] | None
) -> Changes:
    """The changes of a table from a version to the last one of its `recent` commits. `read`: names in lower case, among
    them those of all columns that are read; None if all are.

    Raises UnknownChangesError.
    """
    after = recent[0]
    title, count = ".".join(name), after.version - before.version
    _check_same_table(spark, name, before, recent)
    if count > _MOST_COMMITS:
        raise UnknownChangesError(f"{title} has had more than {_MOST_COMMITS} commits since")
    table = _described(spark, name)
    log = _log(spark, table.location, before.version + 1, after.version)
    commits = _commits(log)
    if len(commits) != count:
        raise UnknownChangesError(f"the log of {title} no longer has all commits since version {before.version}")
    operations = {str(c.operation) for c in commits}
    defining = sorted({str(c.operation) for c in commits if c.definitions} | (operations & {_RESTORE}))
    _check_columns(spark, name, (before.version, after.version), table, defining, read)
    if any(c.odd_files for c in commits):
        raise UnknownChangesError(f"{title} has files with unusual names")
    changed = sum(c.changes for c in commits)
    if changed == 0 or (table.properties.get(_FEED, "").lower() == "true" and not defining):
        return Changes(name, before.version, after.version, changed > 0)
    is_as_before = changed <= _MOST_FILES and not set(defining) - NEUTRAL
    paths = _paths(commits, table) if is_as_before else None
    reads_names = paths is None or table.partitions
    if reads_names and operations & _COMPACTS:  # a changed file may be in neither version
        raise UnknownChangesError(f"the changed files of {title} were compacted")
    return Changes(
        name,
        before.version,
        after.version,
        has_changes=True,
        files=log.where(_IS_CHANGE).selectExpr(f"{_FILE} AS __sqlext_file").distinct(),
        paths=paths,
        partitions=table.partitions,
    )


def _commits(log: DataFrame) -> list[Row]:
    """What the actions of each commit say together; `added` and `removed`: the paths of some of its files."""
    vectors = "coalesce(add.deletionVector, remove.deletionVector) IS NOT NULL"
    try:
        with quiet_probes():
            return log.groupBy("commit").agg(
                F.max("commitInfo.operation").alias("operation"),
                F.count("metaData").alias("definitions"),
                F.expr(f"count_if({_IS_CHANGE})").alias("changes"),
                F.expr(f"count_if({_IS_CHANGE} AND NOT ({_FILE} RLIKE '{_PLAIN_FILE}'))").alias("odd_files"),
                F.expr(f"count_if({_IS_CHANGE} AND {vectors})").alias("vectors"),
                F.expr(f"slice(collect_list(IF({_IS_CHANGE}, add.path, NULL)), 1, {_MOST_FILES})").alias("added"),
                F.expr(f"slice(collect_list(IF({_IS_CHANGE}, remove.path, NULL)), 1, {_MOST_FILES})").alias("removed"),
            ).collect()  # fmt: skip
    except (PySparkException, Py4JError):
        return []


@dataclass(frozen=True)
class _Table:
    location: str
    properties: Mapping[str, str]
    partitions: tuple[str, ...]

    @property
    def has_own_names(self) -> bool:
        """Whether its files have the columns under their names in the table."""
        return self.properties.get(_MAPPING, "none").lower() == "none"


def _described(spark: SparkSession, name: Parts) -> _Table:
    """What DESCRIBE DETAIL says of a table, which also counts its files and takes long."""
    properties = {row[0]: row[1] for row in spark.sql(f"SHOW TBLPROPERTIES {quote(name)}").collect()}
    if "/" in name[-1]:  # delta.`/a/path`
        detail = table_detail(spark, name)
        return _Table(detail.location, properties, tuple(map(str.lower, detail.partitionColumns)))
    rows = [(row[0], row[1]) for row in spark.sql(f"DESCRIBE TABLE EXTENDED {quote(name)}").collect()]
    location = next(value for title, value in rows if title == "Location")
    titles = [title for title, _ in rows]
    first = titles.index("# Partition Information") + 2 if "# Partition Information" in titles else len(titles)
    partitions = takewhile(lambda title: title and not title.startswith("#"), titles[first:])
    return _Table(location, properties, tuple(map(str.lower, partitions)))


def _paths(commits: Sequence[Row], table: _Table) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
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


def _check_same_table(spark: SparkSession, name: Parts, before: SourceVersion, recent: Sequence[Commit]) -> None:
    title, count = ".".join(name), recent[0].version - before.version
    known = recent if count < len(recent) else history(spark.sql, name, count + 1)
    committed = {commit.version: commit.committed for commit in known}
    if before.version not in committed:
        raise UnknownChangesError(f"{title} has no version {before.version} any more")
    if committed[before.version] != before.committed:
        raise UnknownChangesError(f"{title} is another table than at the last refresh")


def _check_columns(
    spark: SparkSession,
    name: Parts,
    versions: tuple[int, int],
    table: _Table,
    defining: Sequence[str],
    read: Collection[str] | None,
) -> None:
    """Raise UnknownChangesError if a column that is read is another one in one of two versions. `defining`: the
    operations of the commits that have written the definition of the table."""
    title = ".".join(name)
    # a file may have a column under a name by which a column was dropped and added again
    keeps = _KEEPS_ROWS if table.has_own_names else _KEEPS_ROWS - {_RESTORE}
    others = [operation for operation in defining if operation not in keeps]
    if others:
        raise UnknownChangesError(f"{title} was changed by {others[0]}")
    if not defining:
        return
    before, after = ([c for c in _columns(spark, name, v) if read is None or c[0] in read] for v in versions)
    if before != after:
        raise UnknownChangesError(f"{title} has other columns than at the last refresh, which the query may read")


def _columns(spark: SparkSession, name: Parts, version: int) -> list[tuple[str, str]]:
    try:
        with quiet_probes():
            fields = spark.sql(f"SELECT * FROM {versioned(name, version)}").schema.fields
    except (PySparkException, Py4JError):
        raise UnknownChangesError(f"version {version} of {'.'.join(name)} can no longer be read") from None
    return [(field.name.lower(), field.dataType.simpleString()) for field in fields]


def _log(spark: SparkSession, location: str, first: int, last: int) -> DataFrame:
    """The actions of the commits `first` to `last`, with the name of the file of each commit."""
    paths = [f"{location}/_delta_log/{version:020}.json" for version in range(first, last + 1)]
    try:
        with quiet_probes():
            return spark.read.schema(_ACTIONS).json(paths).select("*", F.col("_metadata.file_name").alias("commit"))
    except (PySparkException, Py4JError):
        raise UnknownChangesError("its log no longer has all commits since the last refresh") from None
