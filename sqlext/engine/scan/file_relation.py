"""The files that a relation reads, and its columns as expressions over theirs.

Spark's analysed plan tells them. There is no public interface for it, nor for a list of files that is made when the
result is computed and not before, so this module, alone in the package, asks Spark's JVM.

The list of files is that of Spark's own index of files, so that the result is that of the snapshot which Spark would
read, also if it is computed later, or once more. Of a Delta table it is made once, because it takes jobs: the lists of
later versions follow from the log, in which workers read what came later still (`operators.scan.delta_log`). Of other
tables, and where partition columns are read, it is a relation of Spark: the index, read by the format that returns the
paths of files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.engine.queries.python_functions import is_built_in
from sqlext.engine.queries.session_settings import is_on
from sqlext.engine.shipped.data_types import CHAR_TYPE
from sqlext.errors import DataError, SqlExtError
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.scalar_tree import Column, Scalar, substituted
from sqlext.operators.scan.delta_log import PATH, files_of_version, local_path
from sqlext.operators.scan.footers import FileSize, OtherFile, names_in_file, open_file, size_of
from sqlext.operators.scan.plan import DeltaLog, FileColumn, KeyValues
from sqlext.rewriter.scalars.expression import called_names, parse
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import lexemes
from sqlext.rewriter.text.names import repeated
from sqlext.rewriter.text.splice import join

MOST_FILES = 4096
_NUL = "\0"  # between the parts of a list that Spark's JVM prints
_DELTA_INDEX = "TahoeLogFileIndex"
_INDEXES = ("InMemoryFileIndex", "CatalogFileIndex", _DELTA_INDEX)
_OPTIONS = {"path", "serialization.format"}
_FEATURES = {  # of readers of a Delta table; the types that some of them bring are found in the files
    *("", "timestampNtz", "vacuumProtocolCheck", "v2Checkpoint", "columnMapping", "deletionVectors"),
    *("typeWidening", "typeWidening-preview", "variantType", "variantType-preview"),
}
_STORED = "delta.columnMapping.physicalName"  # in the metadata of a column
# the columns of the list of files, as the format binaryFile has them
_LISTED = {PATH: "STRING", "modificationTime": "TIMESTAMP_LTZ", "length": "BIGINT", "content": "BINARY"}
_FILES = "org.apache.spark.sql.execution.datasources"
_OFF = (  # settings that change what Spark reads of a file, and are off by default
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.parquet.int96TimestampConversion",
    "spark.sql.caseSensitive",
)
_REBASED = ("spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.parquet.int96RebaseModeInRead")


class NotRead(Exception):
    """A relation that only Spark reads; the message is the reason, which continues a sentence."""


@dataclass(frozen=True, kw_only=True)
class FileRelation:
    """The rows of some files, on which all `filters` are true.

    `columns`: what each column of the relation is, over the columns of the files; `table`: the types of these, by their
    names; `partitions`: those of them that are the same for all rows of a file, which the list of files has.
    `snapshot` identifies what the files hold, if that can never change; `log`: of a Delta table whose newest version is
    read; `stored`: the names of columns in the files, where they are others.
    `list_paths` asks Spark for the paths of the files as they are now, and `list_files` for their list, which Spark
    makes when the result is computed: PATH and all `partitions`. `keys`: only rows with these values are rows of it.
    """

    spark: SparkSession
    list_paths: Callable[[], list[str]]
    list_files: Callable[[], DataFrame]
    columns: dict[str, Scalar]
    filters: tuple[Scalar, ...]
    table: dict[str, str]
    partitions: tuple[str, ...]
    snapshot: Snapshot | None
    log: DeltaLog | None
    stored: Mapping[str, str]
    settings: ExecutionSettings
    keys: tuple[KeyValues, ...] = ()

    @cached_property
    def binder(self) -> StaticBinder:
        """Binds expressions over the columns of the relation."""
        return StaticBinder(columns={name: s.type for name, s in self.columns.items()}, settings=self.settings)

    def files(self, partitions: Sequence[str]) -> DataFrame:
        """The list of files: the columns PATH and `partitions`."""
        if partitions or self.snapshot is None:
            return self.list_files().select(PATH, *partitions)
        written = "//".join(self._paths()).encode().hex()  # few calls of the JVM, and no text that settings escape
        paths = f"filter(split(CAST(unhex('{written}') AS STRING), '//'), path -> path <> '')"
        return self.spark.range(1, numPartitions=1).selectExpr(f"explode({paths}) AS `{PATH}`")

    def size(self, columns: tuple[FileColumn, ...]) -> FileSize:
        """The size of the columns in all files. Raises NotRead if PyArrow does not read them as Spark does."""
        return self._kept(_SIZES, columns, lambda: _total_size(self._paths(), columns))

    def _paths(self) -> list[str]:
        return self._kept(_PATHS, (), lambda: _paths_since(self.snapshot) or self.list_paths())

    def _kept(self, kept: dict[tuple[Snapshot, object], _R], what: object, find: Callable[[], _R]) -> _R:
        """What was found for a snapshot before, or what `find` returns now."""
        if self.snapshot is None:
            return find()
        key = self.snapshot, what
        found = kept.pop(key) if key in kept else find()
        kept[key] = found  # as the last one
        while len(kept) > _KEPT:
            del kept[next(iter(kept))]
        return found


class Snapshot(NamedTuple):
    """A version of a Delta table: `identifier` is that of the table, `folder` that of its log."""

    folder: str
    identifier: str
    version: int


_R = TypeVar("_R")
_SIZES: dict[tuple[Snapshot, object], FileSize] = {}
_PATHS: dict[tuple[Snapshot, object], list[str]] = {}
_KEPT = 256


def _paths_since(snapshot: Snapshot | None) -> list[str] | None:
    """The paths of the files of a snapshot, by those of an earlier one that are kept and the commits since; None if
    none is kept, or these commits have changed more than files."""
    kept = [] if snapshot is None else [s for s, _ in _PATHS if s[:2] == snapshot[:2] and s.version < snapshot.version]
    if not kept or snapshot is None:
        return None
    last = max(kept)
    try:
        return files_of_version(DeltaLog(last.folder, last.version), _PATHS[last, ()], snapshot.version)
    except (DataError, OSError):
        return None


def check_files(paths: Sequence[str], columns: tuple[FileColumn, ...]) -> None:
    """Raise NotRead if PyArrow does not read the columns in these files as Spark does."""
    _total_size([local_path(path) for path in paths], columns)


def _total_size(paths: list[str], columns: tuple[FileColumn, ...]) -> FileSize:
    if len(paths) > MOST_FILES:
        raise NotRead(f"the table has {len(paths):,} files, more than {MOST_FILES:,}")
    sizes = [_size(path, _modified(path), columns) for path in paths]
    return FileSize(sum(size.rows for size in sizes), sum(size.bytes for size in sizes))


def _modified(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError as error:
        raise NotRead(f"the file {path} cannot be read here: {error}") from None


@lru_cache(maxsize=2 * MOST_FILES)
def _size(path: str, modified: int, columns: tuple[FileColumn, ...]) -> FileSize:
    try:
        with open_file(path) as file:
            return size_of(file, names_in_file(file, columns))
    except OtherFile as error:
        raise NotRead(f"the file {path} {error}") from None
    except (OSError, pa.ArrowException) as error:
        raise NotRead(f"the file {path} cannot be read here: {error}") from None


def file_relation(rows: DataFrame, settings: ExecutionSettings) -> FileRelation:
    """The files of a relation. Raises NotRead."""
    from py4j.protocol import Py4JError

    try:
        return _file_relation(rows, settings)
    except (Py4JError, PySparkException) as error:
        raise NotRead(f"this version of Spark does not tell the files: {error}") from None


def _file_relation(rows: DataFrame, settings: ExecutionSettings) -> FileRelation:
    _check_settings(rows)
    execution = rows._jdf.queryExecution()
    if "InMemoryRelation" in _leaves(execution.withCachedData()):
        raise NotRead("Spark has cached the rows")
    node, above = execution.analyzed(), []
    while (base := _base(rows, node, settings)) is None:
        kind = node.getClass().getSimpleName()
        if kind not in ("Project", "Filter", "SubqueryAlias", "View"):
            is_table = "LogicalRelation" in _leaves(node)
            raise NotRead("the input is more than a projection and a filter of a table" if is_table else "")
        above.append((kind, node))
        node = node.child()
    printed = _printed(node.output())
    if len(printed) != len(base.columns):
        raise NotRead("two columns have the same name")
    layer = _Layer(rows.sparkSession, dict(zip(printed, base.columns.values())), base.filters)
    for kind, node in reversed(above):
        layer = layer.under(kind, node, settings)
    if len(layer.columns) != len(rows.schema) or repeated(rows.schema.names):
        raise NotRead("two columns of the input have the same name")
    columns = dict(zip(rows.schema.names, layer.columns.values()))
    return replace(base, columns=columns, filters=layer.filters, settings=settings)


_NAMED: dict[str, FileRelation] = {}


@contextmanager
def named_relation(name: str, relation: FileRelation) -> Iterator[None]:
    """Read a temporary view of this name, which has the rows of a relation, as the relation."""
    _NAMED[name] = relation
    try:
        yield
    finally:
        del _NAMED[name]


def _base(rows: DataFrame, node: Any, settings: ExecutionSettings) -> FileRelation | None:
    """The relation that a node of the plan is, with all of its columns; None if it is none by itself."""
    kind = node.getClass().getSimpleName()
    if kind == "View" and _NAMED:
        return _NAMED.get(node.desc().identifier().table())
    if kind != "LogicalRelation":
        return None
    relation = node.relation()
    delta = _check_relation(rows, relation)
    table = _table(relation)
    return FileRelation(
        spark=rows.sparkSession,
        list_paths=partial(_paths, relation),
        list_files=partial(_list_of_files, rows, relation),
        columns={name: Column(name, kind) for name, kind in table.items()},
        filters=(),
        table=table,
        partitions=_partitions(relation),
        snapshot=delta.snapshot,
        log=delta.log,
        stored=delta.stored,
        settings=settings,
    )


def _leaves(node: Any) -> set[str]:
    """The names of the classes of a plan's leaves."""
    leaves = node.collectLeaves()
    return {leaves.apply(i).getClass().getSimpleName() for i in range(leaves.size())}


def _check_settings(rows: DataFrame) -> None:
    spark = rows.sparkSession
    for name in _OFF:
        if is_on(spark, name, default="false"):
            raise NotRead(f"{name} is {spark.conf.get(name)}")
    for name in _REBASED:
        if spark.conf.get(name, "CORRECTED") != "CORRECTED":
            raise NotRead(f"{name} is {spark.conf.get(name)}")


def _check_relation(rows: DataFrame, relation: Any) -> _DeltaFiles:
    """Raises NotRead if the files hold more, or less, than the rows of the relation."""
    from py4j.java_gateway import is_instance_of

    gateway = rows.sparkSession.sparkContext._gateway
    if not is_instance_of(gateway, relation, f"{_FILES}.HadoopFsRelation"):
        raise NotRead("the input is no table of files")
    reader, index = relation.fileFormat().getClass().getSimpleName(), relation.location()
    if reader not in ("ParquetFileFormat", "DeltaParquetFileFormat"):
        raise NotRead(f"only files of Parquet and Delta are read by a worker, and not by {reader}")
    if (name := index.getClass().getSimpleName()) not in _INDEXES:
        raise NotRead(f"the files are listed by {name}")
    options = set(filter(None, relation.options().keys().mkString(_NUL).split(_NUL)))
    if others := {name.lower() for name in options} - _OPTIONS:
        raise NotRead(f"the table has the option {', '.join(sorted(others))}")
    return _delta_files(index) if reader == "DeltaParquetFileFormat" else _DeltaFiles()


def _delta_files(index: Any) -> _DeltaFiles:
    """Raises NotRead if the files of the snapshot hold more than its rows."""
    snapshot = index.getSnapshot()
    features = set(snapshot.protocol().readerFeatureNames().mkString(_NUL).split(_NUL))
    if others := features - _FEATURES:
        raise NotRead(f"the table has the Delta feature {', '.join(sorted(others))}")
    if "deletionVectors" in features and snapshot.numDeletionVectorsOpt().toString() != "Some(0)":
        raise NotRead("rows of its files are marked as deleted")
    mode = snapshot.metadata().configuration().get("delta.columnMapping.mode")
    schema = _schema(snapshot.metadata().schema())
    if mode.isDefined() and mode.get() not in ("none", "name"):
        raise NotRead("columns are found in files by their numbers")
    log = DeltaLog(local_path(snapshot.deltaLog().logPath().toString()), snapshot.version())
    return _DeltaFiles(
        snapshot=Snapshot(log.folder, snapshot.metadata().id(), log.version),
        log=None if index.isTimeTravelQuery() else log,
        stored={f.name: f.metadata[_STORED] for f in schema.fields if _STORED in f.metadata},
    )


@dataclass(frozen=True)
class _DeltaFiles:
    """See FileRelation. Empty for files of Parquet."""

    snapshot: Snapshot | None = None
    log: DeltaLog | None = None
    stored: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DeltaTable:
    """A Delta table on this machine: the folder of its `log`, and its partition columns, in lower case."""

    log: Path
    properties: Mapping[str, str]
    partitions: tuple[str, ...]


def delta_table(rows: DataFrame) -> DeltaTable | None:
    """The table of which these are all rows; None if it is no Delta table, or its log is not on this machine."""
    from py4j.protocol import Py4JError

    try:
        return _delta_table(rows._jdf.queryExecution().analyzed())
    except (Py4JError, PySparkException):
        return None


def _delta_table(node: Any) -> DeltaTable | None:
    while node.getClass().getSimpleName() in ("Project", "SubqueryAlias"):
        node = node.child()
    if node.getClass().getSimpleName() != "LogicalRelation":
        return None
    index = node.relation().location()
    if index.getClass().getSimpleName() != _DELTA_INDEX:
        return None
    snapshot = index.getSnapshot()
    log = snapshot.deltaLog().logPath().toString()
    if urlsplit(log).scheme != "file":
        return None
    metadata = snapshot.metadata()
    properties = metadata.configuration()
    names = properties.keys().mkString(_NUL).split(_NUL) if properties.nonEmpty() else []
    partitions = tuple(_schema(metadata.partitionSchema()).names)
    values = {name: properties.apply(name) for name in names}
    return DeltaTable(Path(local_path(log)), values, tuple(map(str.lower, partitions)))


def check_functions(spark: SparkSession, text: str) -> None:
    """Raise NotRead if an expression calls a function of the session, which may have the name of one of Spark's."""
    items = lexemes(Fragment(text, 0, len(text)))
    for name in called_names(parse(items, 0, len(items))):
        if not is_built_in(spark, name):
            raise NotRead(f"{name} is a function of the session")


def _table(relation: Any) -> dict[str, str]:
    """The types of the columns of a table, by their names."""
    schema = _schema(relation.schema())
    if repeated(schema.names):
        raise NotRead("two columns have the same name")
    for f in schema.fields:
        if "EXISTS_DEFAULT" in f.metadata:
            raise NotRead(f"the column {f.name} was added with a default")
        if "parquet.field.id" in f.metadata:
            raise NotRead("columns are found in files by their numbers")
    return {f.name: "char" if _is_char(f) else f.dataType.simpleString() for f in schema.fields}


def _is_char(column: T.StructField) -> bool:
    return str(column.metadata.get(CHAR_TYPE, "")).startswith("char")


def _schema(schema: Any) -> T.StructType:
    return T.StructType.fromJson(json.loads(schema.json()))


def _printed(expressions: Any) -> list[str]:
    """The expressions of a list, as Spark prints them: an attribute is its name, # and its number. All is in lower
    case, because a query may write a name in another case."""
    return expressions.mkString(_NUL).lower().split(_NUL) if expressions.nonEmpty() else []


@dataclass(frozen=True)
class _Layer:
    """The columns of a node of the plan, by the attributes as Spark prints them, over the columns of the files."""

    spark: SparkSession
    columns: dict[str, Scalar]
    filters: tuple[Scalar, ...] = ()

    def under(self, kind: str, node: Any, settings: ExecutionSettings) -> _Layer:
        """The layer of a node above this one."""
        if kind == "Filter":
            return replace(self, filters=(*self.filters, self._expression(node.condition(), settings)))
        if kind == "Project":
            return replace(self, columns=self._projected(node.projectList(), settings))
        output = _printed(node.output())
        if kind == "View" and not node.isTempViewStoringAnalyzedPlan() and not self._only_renames():
            raise NotRead("a view computes a column or filters the rows")
        if len(output) != len(self.columns):
            raise NotRead("the input is more than a projection and a filter of a table")
        return replace(self, columns=dict(zip(output, self.columns.values())))

    def _only_renames(self) -> bool:
        return not self.filters and all(isinstance(scalar, Column) for scalar in self.columns.values())

    def _projected(self, items: Any, settings: ExecutionSettings) -> dict[str, Scalar]:
        columns: dict[str, Scalar] = {}
        for i, text in enumerate(_printed(items)):
            if text in self.columns:
                columns[text] = self.columns[text]
                continue
            source = next((known for known in self.columns if text.startswith(f"{known} as ")), None)
            if source is not None:
                columns[text[len(source) + 4 :]] = self.columns[source]
                continue
            item = items.apply(i)
            columns[item.toAttribute().toString().lower()] = self._expression(item.child(), settings)
        return columns

    def _expression(self, expression: Any, settings: ExecutionSettings) -> Scalar:
        """An expression of Spark, by its text in SQL, in which columns have generated names."""
        read = expression.references().toSeq()
        names: dict[str, tuple[str, Scalar]] = {}
        for i in range(read.size()):
            attribute = read.apply(i)
            names[attribute.sql()] = f"__c{i}", self.columns[attribute.toString().lower()]
        if len(names) < read.size():
            raise NotRead("two columns of the input have the same name")
        text = _with_names(expression.sql(), {sql: name for sql, (name, _) in names.items()})
        check_functions(self.spark, text)
        binder = StaticBinder(columns={name: scalar.type for name, scalar in names.values()}, settings=settings)
        try:
            tree = binder.tree(join(text))
        except SqlExtError as error:
            raise NotRead(f"{expression.sql()} is computed by Spark: {error.message}") from None
        return substituted(tree, {name: scalar for name, scalar in names.values()})


def _with_names(text: str, names: dict[str, str]) -> str:
    """The text, with other names in place of qualified ones.

    >>> _with_names("(spark_catalog.d.t.a > t.a.b)", {"spark_catalog.d.t.a": "__c0", "t.a": "__c1"})
    '( __c0 > __c1 . b )'
    """
    words = [item.raw for item in lexemes(Fragment(text, 0, len(text)))]
    searched = [([item.raw for item in lexemes(Fragment(sql, 0, len(sql)))], name) for sql, name in names.items()]
    searched.sort(key=lambda pair: -len(pair[0]))
    result: list[str] = []
    at = 0
    while at < len(words):
        found = next(((len(sql), name) for sql, name in searched if words[at : at + len(sql)] == sql), None)
        result.append(words[at] if found is None else found[1])
        at += 1 if found is None else found[0]
    return " ".join(result)


def _partitions(relation: Any) -> tuple[str, ...]:
    names = tuple(_schema(relation.partitionSchema()).names)
    if {name.lower() for name in names} & {name.lower() for name in _LISTED}:
        raise NotRead(f"a partition column has one of the names {', '.join(_LISTED).lower()}")
    return names


def _list_of_files(rows: DataFrame, relation: Any) -> DataFrame:
    spark = rows.sparkSession
    jvm = spark._jvm
    assert jvm is not None
    schema = jvm.org.apache.spark.sql.types.StructType.fromDDL(", ".join(map(" ".join, _LISTED.items())))
    listed = jvm.org.apache.spark.sql.execution.datasources.HadoopFsRelation(
        relation.location(),
        relation.partitionSchema(),
        schema,
        jvm.scala.Option.empty(),
        jvm.org.apache.spark.sql.execution.datasources.binaryfile.BinaryFileFormat(),
        jvm.scala.collection.immutable.HashMap(),
        spark._jsparkSession,
    )
    return DataFrame(spark._jsparkSession.baseRelationToDataFrame(listed), spark)


def _paths(relation: Any) -> list[str]:
    """The paths of the files, which the index of a Delta table returns as they are, and others encoded as in URLs."""
    found = list(relation.location().inputFiles())
    if others := {urlsplit(path).scheme for path in found} - {"file", ""}:
        raise NotRead(f"the files are not on this machine, but at {others.pop()}:")
    is_encoded = relation.location().getClass().getSimpleName() != _DELTA_INDEX
    return [local_path(unquote(path) if is_encoded else path) for path in found]
