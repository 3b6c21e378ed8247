"""The table that a stream is written into: whether it can be one, how it is created, and where its checkpoint is."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.catalog.checkpoint import Checkpoint, stored_query
from sqlext.catalog.warehouse import CHECKPOINTS, remove_unfinished, table_folder
from sqlext.engine.queries.spark_errors import user_error
from sqlext.engine.streams.checkpoint_folders import folders_of
from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.expressions.spark_types import in_sql, times_in
from sqlext.formats.known_formats import format_of
from sqlext.rewriter.emit.upserted import HIDDEN
from sqlext.rewriter.heads.stream_target import NamedColumn, StreamTarget
from sqlext.rewriter.heads.table_columns import TableColumn
from sqlext.rewriter.text.names import Parts, quote, quoted
from sqlext.rewriter.text.splice import Piece, Source, Text, join
from sqlext.spark.locations import path_here
from sqlext.spark.quiet_probes import quiet_probes
from sqlext.spark.void_columns import has_void

_NAME = re.compile(r"\w+", re.ASCII)  # what Spark's catalog takes; Delta creates the folder of another one first
_REHEARSAL = "_sqlext_rehearsal"  # ends the name of the table that shows whether another one can be replaced


def check_target(spark: SparkSession, target: StreamTarget) -> None:
    """Raise BindError unless the target is a table, or can become one. Nothing is created."""
    name, shown = quote(target.name), ".".join(target.name)
    tables, using = format_of(spark, target.name), target.definition.using
    if using is not None and using.name.lower() != tables.name:
        raise UnsupportedError(
            "STREAM_OPTION",
            f"a streaming table of this catalog is a table of {tables.title}",
            place=using.place,
            hint="leave USING out.",
        )
    if "/" in target.name[-1] and len(target.name) > 1:
        return  # delta.`/a/path`
    if not _NAME.fullmatch(target.name[-1]) and len(target.name) < 3:
        raise BindError(
            "TABLE_NAME",
            f"{target.name[-1]} cannot be the name of a table",
            place=target.place,
            hint="names of tables have letters from a to z, digits and underscores.",
        )
    if spark.catalog.tableExists(name):
        kind = spark.catalog.getTable(name)
        if kind.isTemporary or kind.tableType == "VIEW":
            raise BindError(
                "TABLE_IS_VIEW",
                f"{shown} is a view, and a stream is written into a table",
                place=target.place,
                hint=f"take another name, or drop it first: DROP VIEW {shown}.",
            )
        return
    with _errors_at(target, Text()), quiet_probes():
        if target.is_insert:
            _ = spark.table(name).schema  # raises Spark's error: there is no such table
        else:
            _folder(spark, target)


def renamed(frame: DataFrame, target: StreamTarget) -> DataFrame:
    """The query with the names of the column list, if there is one."""
    columns = target.definition.columns
    if not columns:
        return frame
    own = [name for name in frame.columns if name not in HIDDEN]
    _check_count(columns, own)
    _check_types(frame.select(*map(F.col, map(quoted, own))), target)
    names = iter(column.name for column in columns)
    return frame.toDF(*(name if name in HIDDEN else next(names) for name in frame.columns))


def _check_count(listed: Sequence[NamedColumn | TableColumn], returned: Sequence[str]) -> None:
    """Raise BindError unless a list of columns has one for each column that the query returns."""
    if len(listed) != len(returned):
        raise BindError(
            "COLUMN_COUNT",
            f"the list has {len(listed)} columns, the query returns {len(returned)}",
            place=listed[min(len(listed), len(returned) + 1) - 1].place,
            hint=f"the query returns {', '.join(returned)}.",
        )


def _check_types(frame: DataFrame, target: StreamTarget) -> None:
    """Raise BindError, with the place of the type, if a column of the query cannot be cast to the type in the list."""
    source = Source(target.text)
    for name, column in zip(frame.columns, target.definition.columns):
        if column.type is not None:
            cast = join(f"CAST({quoted(name)} AS ", source.of(column.type), ")")
            with _errors_at(target, cast, column.type.place), quiet_probes():
                _ = frame.select(F.expr(str(cast))).schema  # over Connect only this asks the server


def prepare(spark: SparkSession, frame: DataFrame, target: StreamTarget) -> bool:
    """Create the table, unless a query has written into it before. Return True if the table is new."""
    name = quote(target.name)
    exists = spark.catalog.tableExists(name)
    is_new = target.or_replace or not exists
    if is_new:
        _check_columns(frame.schema, target)
    if target.or_replace:
        if exists:
            _rehearse(spark, frame, target)
        spark.sql(f"DROP TABLE IF EXISTS {name}").collect()
        _remove_leftovers(_folder(spark, target), is_named=target.definition.location is not None)
    if is_new:
        folder = _folder(spark, target)
        _check_leftovers(spark, folder, target)
        using = format_of(spark, target.name).name
        _create(spark, table_statement(target.name, frame.schema, target, using), folder, target)
        return True
    if stored_query(folders_of(spark, target).current(spark)) is None and not spark.table(name).isEmpty():
        raise BindError(
            "TABLE_EXISTS",
            f"{name} has rows that no streaming table has written",
            place=target.place,
            hint="INSERT INTO writes a stream into it; CREATE OR REPLACE STREAMING TABLE drops it first. If its "
            "checkpoint was deleted, put it back.",
        )
    return False


def _check_columns(schema: T.StructType, target: StreamTarget) -> None:
    """Raise BindError for a column without a type, such as NULL, which Delta refuses only when the query writes it."""
    types = [column.type for column in target.definition.columns] or [None] * len(schema.fields)
    for column, written in zip(schema.fields, types):
        if written is None and has_void(column.dataType):
            raise BindError(
                "VOID_COLUMN",
                f"the column {column.name} of the query is {column.dataType.simpleString()}, and a table needs a type",
                place=target.place,
                hint=f"write CAST(… AS STRING) AS {column.name}, or another type; a MATCH_RECOGNIZE that returns no "
                "columns needs MEASURES.",
            )


def as_table(frame: DataFrame, fields: Sequence[T.StructField], target: StreamTarget) -> DataFrame:
    """The query with the names and types of `fields`, the columns of the table that it is written into.

    A stream is written into Delta by the names of columns. What an INSERT does not name Delta computes: a generated or
    identity column, a default, or NULL. Without a column list the table has the columns of the query.
    Raises BindError for a value that cannot be cast.
    """
    if not _has_own_types(target):
        return frame
    pairs = zip(frame.schema.fields, fields)
    columns = (
        (c if old.dataType == new.dataType else c.cast(new.dataType)).alias(new.name)
        for old, new in pairs
        for c in [F.col(quoted(old.name))]
    )
    with _errors_at(target, Text()), quiet_probes():
        written = frame.select(*columns)
        written.schema  # noqa: B018  (on Connect only this asks Spark)
    return written


def casts_times(frame: DataFrame, fields: Sequence[T.StructField], target: StreamTarget) -> bool:
    """Return True if the table has a TIMESTAMP where the query has another type, or the reverse: Spark casts it in the
    time zone."""
    if not _has_own_types(target):
        return False
    types = ((times_in(c.dataType.simpleString()) for c in pair) for pair in zip(frame.schema.fields, fields))
    return any("timestamp" in query ^ table for query, table in types)


def written_fields(fields: Sequence[T.StructField], frame: DataFrame, target: StreamTarget) -> Sequence[T.StructField]:
    """Those of the table's columns, `fields`, that the columns of the query are written into. Raises BindError if there
    are others."""
    into = [NamedColumn(name, target.place) for name in frame.columns] if target.by_name else target.into
    if not into:
        if len(fields) != len(frame.columns):
            raise BindError(
                "COLUMN_COUNT",
                f"{quote(target.name)} has {len(fields)} columns, the query returns {len(frame.columns)}",
                place=target.place,
                hint=f"the table's columns are {', '.join(f.name for f in fields)}; INSERT INTO table (column, …) "
                "SELECT … writes some of them.",
            )
        return fields
    _check_count(into, frame.columns)
    return [_field(column, fields, target) for column in into]


def _field(column: NamedColumn, fields: Sequence[T.StructField], target: StreamTarget) -> T.StructField:
    field = next((f for f in fields if f.name.lower() == column.name.lower()), None)
    if field is None:
        raise BindError(
            "UNKNOWN_COLUMN",
            f"the table {target.name[-1]} has no column {column.name}",
            place=column.place,
            hint=f"its columns are {', '.join(f.name for f in fields)}.",
        )
    return field


def check_left_out(
    spark: SparkSession, fields: Sequence[T.StructField], named: Sequence[T.StructField], target: StreamTarget
) -> None:
    """Raise BindError if a column of a table of Delta, `fields`, that is not `named` needs a value. Only Spark's plan
    tells whether Delta computes it."""
    needed = next((field.name for field in fields if field not in named and not field.nullable), None)
    if needed is None:
        return
    names = ", ".join(quoted(field.name) for field in named)
    values = ", ".join(f"CAST(NULL AS {type_text(field.dataType)})" for field in named)
    with quiet_probes():
        plan = spark.sql(f"EXPLAIN INSERT INTO {quote(target.name)} ({names}) SELECT {values}").collect()[0][0]
    if not plan.startswith("=="):
        raise BindError(
            "COLUMN_COUNT",
            f"the column {needed} of {target.name[-1]} is NOT NULL, and the INSERT leaves it out",
            place=target.place,
            hint="only generated, identity and default columns, and those that may be NULL, can be left out.",
        )


def _has_own_types(target: StreamTarget) -> bool:
    """Return False for a table whose columns are those of the query."""
    return target.is_insert or bool(target.definition.columns)


# creating the table


def table_statement(
    name: Parts, schema: T.StructType, target: StreamTarget, using: str, *, with_location: bool = True
) -> Text:
    """The CREATE TABLE of the target under a name, with the columns and types of the query. `using`: the format.

    >>> from sqlext.rewriter.heads.stream_target import parse_target
    >>> target = parse_target("CREATE STREAMING TABLE t (k NOT NULL, v DOUBLE COMMENT 'x') CLUSTER BY (k) AS SELECT 1")
    >>> columns = T.StructType().add("k", T.IntegerType()).add("v", T.IntegerType())
    >>> str(table_statement(("t",), columns, target, "delta"))
    "CREATE TABLE `t` (`k` int NOT NULL, `v` DOUBLE COMMENT 'x') USING delta CLUSTER BY (k)"
    """
    source, definition = Source(target.text), target.definition
    columns = []
    for i, column in enumerate(schema.fields):
        written = definition.columns[i] if definition.columns else None
        kind = "" if written is not None and written.type is not None else f" {type_text(column.dataType)}"
        item = Text((Piece(f"{quoted(column.name)}{kind}"),))
        if written is not None and written.rest is not None:
            item = join(item, " ", source.of(written.rest))
        columns.append(item)
    clauses = [c for c in definition.clauses if with_location or not c.text.upper().startswith("LOCATION")]
    return join(
        f"CREATE TABLE {quote(name)} (",
        join(*columns, separator=", "),
        f") USING {using}",
        *(join(" ", source.of(clause)) for clause in clauses),
    )


def type_text(kind: T.DataType) -> str:
    """A type as CREATE TABLE takes it, with the names of fields in backticks.

    >>> type_text(T.StructType().add("a b", T.ArrayType(T.IntegerType())))
    'struct<`a b`: array<int>>'
    """
    if isinstance(kind, T.ArrayType):
        return f"array<{type_text(kind.elementType)}>"
    if isinstance(kind, T.MapType):
        return f"map<{type_text(kind.keyType)}, {type_text(kind.valueType)}>"
    if isinstance(kind, T.StructType):
        return f"struct<{', '.join(f'{quoted(f.name)}: {type_text(f.dataType)}' for f in kind.fields)}>"
    return in_sql(kind.simpleString())


def _create(spark: SparkSession, statement: Text, folder: Path | None, target: StreamTarget) -> None:
    """Create the table. If that fails, its folder is removed, unless it has a commit of another session."""
    try:
        with _errors_at(target, statement), quiet_probes():
            spark.sql(str(statement)).collect()
    except Exception:
        remove_unfinished(folder)
        raise


def _rehearse(spark: SparkSession, frame: DataFrame, target: StreamTarget) -> None:
    """Create and drop an empty table like the one that is to replace another, whose rows an error would else cost."""
    name = (*target.name[:-1], f"{target.name[-1]}{_REHEARSAL}")
    spark.sql(f"DROP TABLE IF EXISTS {quote(name)}").collect()
    folder = table_folder(spark, spark.sql, name) if format_of(spark, name).needs_empty_folder else None
    remove_unfinished(folder)
    using = format_of(spark, name).name
    _create(spark, table_statement(name, frame.schema, target, using, with_location=False), folder, target)
    spark.sql(f"DROP TABLE {quote(name)}").collect()


@contextmanager
def _errors_at(target: StreamTarget, text: Text, place: Place | None = None) -> Iterator[None]:
    """Errors of Spark about `text` get their place in the statement, or `place`, or that of the table's name."""
    try:
        yield
    except PySparkException as e:
        error = user_error(e, text, target.text)
        raise error.placed(place or target.place) from None


def _folder(spark: SparkSession, target: StreamTarget) -> Path | None:
    """The folder where Spark will create the table; None if it is not on this machine, or need not be empty."""
    if not format_of(spark, target.name).needs_empty_folder:
        return None
    location = target.definition.location
    if location is None:
        return table_folder(spark, spark.sql, target.name)
    folder = path_here(spark, location)
    return folder if folder is not None and folder.is_absolute() else None


def _check_leftovers(spark: SparkSession, folder: Path | None, target: StreamTarget) -> None:
    """Raise BindError if the folder of a table that is to be created has files, or another query has its checkpoint."""
    for _ in range(3):  # a query that has ended may write meanwhile
        remove_unfinished(folder)
    files = sorted(path.name for path in folder.iterdir()) if folder is not None and folder.is_dir() else []
    if files:
        what = "a checkpoint" if files == [CHECKPOINTS] else "a Delta table" if "_delta_log" in files else "files"
        raise BindError(
            "LEFTOVERS",
            f"there is no such table, but {folder} holds {what}: {', '.join(files[:5])}",
            place=target.place,
            hint="CREATE OR REPLACE STREAMING TABLE removes a table and its checkpoint there; or remove the folder.",
        )
    if target.checkpoint and not target.or_replace and Checkpoint(spark, target.checkpoint).query_id is not None:
        raise BindError(
            "LEFTOVERS",
            f"there is no such table, but {target.checkpoint} holds a checkpoint, from which a query would go on that "
            "has written into another table",
            place=target.place,
            hint="CREATE OR REPLACE STREAMING TABLE begins anew; or name another checkpointLocation.",
        )


def _remove_leftovers(folder: Path | None, *, is_named: bool) -> None:
    """Remove what a streaming table left in its folder; a folder with anything else is left as it is.

    `is_named`: LOCATION names the folder, so a Delta table without a checkpoint there is somebody else's.
    """
    if folder is None:
        return
    if (folder / CHECKPOINTS).is_dir() or (not is_named and (folder / "_delta_log").is_dir()):
        shutil.rmtree(folder, ignore_errors=True)  # a query that has ended may write meanwhile
