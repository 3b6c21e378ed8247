"""Whether PyArrow reads a column of a Parquet file as Spark reads it.

PyArrow reads some columns otherwise than Spark, or reads what Spark refuses: unsigned integers, times in nanoseconds,
durations, halves of floats, and times of Spark 2 before 1582. So each type of Spark has here the types of files that
both read alike, and a file with another type goes the old way (docs/speed.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from sqlext.errors import DataError
from sqlext.expressions.spark_types import TIME_TYPES
from sqlext.expressions.values import arrow_type
from sqlext.operators.scan.plan import FileColumn

_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_WRITER = b"org.apache.spark.version"
_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4", "LZ4_RAW")
_READ = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double"),
    *("string", "binary", "date", "timestamp", "timestamp_ntz"),
)


class OtherFile(Exception):
    """A file that only Spark reads as Spark does; the message is the reason, without a subject."""


def changed(what: str) -> DataError:
    """The error for a table that is no longer as it was when the statement was planned."""
    return DataError(
        "TABLE_CHANGED",
        f"{what}, which it did not when the statement was planned",
        hint="run the statement again, or SET sqlext.read = spark.",
    )


@dataclass(frozen=True)
class FileSize:
    """`rows` of a file, and the `bytes` of those of its columns that are read."""

    rows: int
    bytes: int


def is_type_read(spark_type: str) -> bool:
    """Whether columns of a type are read at all.

    >>> is_type_read("decimal(10,2)"), is_type_read("array<int>"), is_type_read("string collate UNICODE")
    (True, False, False)
    """
    return spark_type in _READ or spark_type.startswith("decimal(")


def open_file(path: str, coded: Sequence[str] = ()) -> pq.ParquetFile:
    """A file, whose text columns `coded` are read as dictionaries."""
    return pq.ParquetFile(path, read_dictionary=list(coded), coerce_int96_timestamp_unit="us")


def names_in_file(file: pq.ParquetFile, columns: Sequence[FileColumn]) -> list[str | None]:
    """The name in the file of each column, as Spark finds it without regard to case; None if the file lacks it.

    Raises OtherFile if PyArrow does not read a column as Spark does.
    """
    facts = file.metadata.metadata or {}
    if any(c.spark_type in TIME_TYPES for c in columns):
        writer = facts.get(_WRITER, b"3")
        if any(key in facts for key in _OLD_CALENDAR) or writer[:2] in (b"1.", b"2."):
            raise OtherFile("has times of the calendar before 1582 in the way of Spark 2")
    schema = file.schema_arrow
    names = [_name_in(schema, column) for column in columns]
    for name, column in zip(names, columns):
        if name is not None:
            _check_column(file, schema.field(name).type, name, column)
    return names


def _name_in(schema: pa.Schema, column: FileColumn) -> str | None:
    if column.stored:
        return column.stored if column.stored in schema.names else None
    found = [name for name in schema.names if name.lower() == column.name.lower()]
    if len(found) > 1:
        raise OtherFile(f"has the columns {' and '.join(found)}")
    return found[0] if found else None


def _check_column(file: pq.ParquetFile, stored: pa.DataType, name: str, column: FileColumn) -> None:
    place = next((i for i in range(len(file.schema)) if file.schema.column(i).path == name), None)
    physical = None if place is None else file.schema.column(place).physical_type
    if physical is None or not _is_read_alike(column.spark_type, stored, physical):
        raise OtherFile(f"stores {column.name}, {column.spark_type} in the table, as {stored}")
    groups = range(file.metadata.num_row_groups)
    codecs = {file.metadata.row_group(i).column(place).compression for i in groups}
    if not codecs <= set(_CODECS):
        raise OtherFile(f"is compressed by {', '.join(sorted(codecs - set(_CODECS)))}")


def _is_read_alike(spark_type: str, stored: pa.DataType, physical: str) -> bool:
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if spark_type == "timestamp":
        is_instant = pa.types.is_timestamp(stored) and stored.tz is not None and stored.unit in ("ms", "us")
        return physical == "INT96" or (is_instant and physical == "INT64")
    if spark_type == "timestamp_ntz":
        is_local = pa.types.is_timestamp(stored) and stored.tz is None and stored.unit in ("ms", "us")
        return is_local and physical == "INT64"
    if spark_type == "string":
        return pa.types.is_string(stored) or pa.types.is_large_string(stored)
    if spark_type == "binary":
        return pa.types.is_binary(stored) or pa.types.is_large_binary(stored)
    return stored == arrow_type(spark_type)


def size_of(file: pq.ParquetFile, names: Sequence[str | None]) -> FileSize:
    """The size of the columns `names`, uncompressed."""
    read, facts = {name for name in names if name is not None}, file.metadata
    places = [i for i in range(len(file.schema)) if file.schema.column(i).path in read]
    groups = [facts.row_group(i) for i in range(facts.num_row_groups)]
    return FileSize(facts.num_rows, sum(g.column(i).total_uncompressed_size for g in groups for i in places))
