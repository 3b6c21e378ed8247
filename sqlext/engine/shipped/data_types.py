"""Conversion of Spark's types from and to their names in `DataType.simpleString()`, and to Arrow's types."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import types as T

from sqlext.errors import Place, UnsupportedError
from sqlext.expressions.spark_types import ArrayOf, MapOf, StructOf, decimal_of, nested
from sqlext.spark import versions

# in the metadata of CHAR and VARCHAR columns: Spark pads the values that it compares them with
CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
_ATOMIC: dict[str, T.DataType] = {
    spark_type.simpleString(): spark_type
    for spark_type in (
        T.NullType(),
        T.BooleanType(),
        T.ByteType(),
        T.ShortType(),
        T.IntegerType(),
        T.LongType(),
        T.FloatType(),
        T.DoubleType(),
        T.StringType(),
        T.BinaryType(),
        T.DateType(),
        T.TimestampType(),
        T.TimestampNTZType(),
        *(T.DayTimeIntervalType(first, last) for first in range(4) for last in range(first, 4)),
        *(T.YearMonthIntervalType(first, last) for first in range(2) for last in range(first, 2)),
    )
}


def data_type(name: str) -> T.DataType:
    """The type of a name.

    >>> data_type("array<decimal(10,2)>")
    ArrayType(DecimalType(10,2), True)
    """
    if name in _ATOMIC:
        return _ATOMIC[name]
    if digits := decimal_of(name):
        return T.DecimalType(*digits)
    parts = nested(name)
    if isinstance(parts, ArrayOf):
        return T.ArrayType(data_type(parts.element))
    if isinstance(parts, MapOf):
        return T.MapType(data_type(parts.key), data_type(parts.value))
    if isinstance(parts, StructOf):
        return T.StructType([T.StructField(n, data_type(t)) for n, t in zip(parts.names, parts.types)])
    raise ValueError(f"{name} is not the name of a type")


def char_type(field: T.StructField) -> dict[str, str]:
    """The metadata of a CHAR or VARCHAR column, which columns that workers return have where they are that column."""
    return {name: value for name, value in field.metadata.items() if name == CHAR_TYPE}


def lengths_of_chars(rows: T.StructType) -> dict[str, int]:
    """The lengths of the CHAR columns, without those of VARCHAR, which Spark does not pad.

    >>> fields = [T.StructField(t, T.StringType(), metadata={CHAR_TYPE: t}) for t in ("char(5)", "varchar(5)")]
    >>> lengths_of_chars(T.StructType(fields))
    {'char(5)': 5}
    """
    types = {field.name: str(field.metadata.get(CHAR_TYPE, "")) for field in rows.fields}
    return {name: int(of[5:-1]) for name, of in types.items() if of.startswith("char(")}


def holds_chars(field: T.StructField) -> bool:
    """Whether a column is a CHAR, or contains some.

    >>> fields = [T.StructField(t, T.StringType(), metadata={CHAR_TYPE: t}) for t in ("array<char(5)>", "varchar(5)")]
    >>> [holds_chars(field) for field in fields]
    [True, False]
    """
    return re.search(r"\bchar\(", str(field.metadata.get(CHAR_TYPE, ""))) is not None


def with_char_types(result: T.StructType, rows: T.StructType) -> T.StructType:
    """The columns that workers return, in which each CHAR and VARCHAR column of `rows` is one again."""
    types = {field.name: char_type(field) for field in rows.fields}
    return T.StructType([T.StructField(f.name, f.dataType, metadata=types.get(f.name)) for f in result.fields])


def arrow_schema(fields: Sequence[T.StructField], place_of: Callable[[int], Place | None]) -> pa.Schema:
    """The columns that a stream keeps, or that workers read, as an Arrow schema; times do not depend on the session's
    zone.

    `place_of`: where the user wrote column i. Raises UnsupportedError (TYPE_OF_EXPRESSION) for a type that Spark does
    not send to workers, such as an interval of months.
    """
    columns = []
    for i, field in enumerate(fields):
        try:
            columns.append(versions.arrow_schema(T.StructType([field])).field(0))
        except PySparkTypeError:
            raise UnsupportedError(
                "TYPE_OF_EXPRESSION",
                f"Spark does not pass values of type {field.dataType.simpleString()} to Python",
                place=place_of(i),
                hint="write CAST(… AS STRING), or a number that represents the value.",
            ) from None
    return pa.schema(columns)
