"""The key of a materialized view: columns of its result, by the values of which rows are computed anew, and the columns
of each source that have these values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from pyspark.sql import types as T

from sqlext.engine.materialized.source_queries import SourceQuery
from sqlext.engine.materialized.table import Table
from sqlext.engine.shipped.data_types import CHAR_TYPE
from sqlext.rewriter.refresh_keys.plain_query import plain_query
from sqlext.rewriter.refresh_keys.separable import (
    Lineage,
    NotSeparableError,
    Rows,
    SeparableColumn,
    SourceColumn,
    separable_columns,
)
from sqlext.rewriter.text.names import quoted

_INCOMPARABLE = (T.MapType, T.VariantType, T.CalendarIntervalType, T.NullType, T.UserDefinedType)
_FEW = 4  # columns are enough for a key


@dataclass(frozen=True)
class KeyColumn:
    """A column of the key; `sources`: the column that has its values, by the number of each source."""

    name: str
    sources: Mapping[int, SourceColumn]

    @property
    def is_window(self) -> bool:
        return any(column.window is not None for column in self.sources.values())


def value_of(column: SourceColumn) -> str:
    """The value of a key in a row of a source, in SQL. A row without a time is in no window, and is dropped.

    >>> from sqlext.rewriter.refresh_keys.separable import Window
    >>> value_of(SourceColumn(0, "ts", Window(60_000_000, 0, "start")))
    "window(`ts`, '60000000 microseconds', '60000000 microseconds', '0 microseconds').start"
    """
    if column.window is None:
        return quoted(column.name)
    size, offset, end = column.window
    lengths = f"'{size} microseconds', '{size} microseconds', '{offset} microseconds'"
    return f"window({quoted(column.name)}, {lengths}).{end}"


def key_of(query: SourceQuery) -> list[KeyColumn]:
    """The key of a query.

    Raises NotSeparableError with the reason if it has none.
    """
    schemas = [table.schema for table in query.tables]
    lineages = [column.lineage for column in _rows_of_query(query, count()).columns]
    _check_all_sources_read(lineages, len(schemas))
    keys = [
        KeyColumn(name, {column.source: column for column in lineage})
        for name, field, lineage in zip(query.names, query.schema.fields, lineages)
        if lineage is not None and _is_of_one_type(field, lineage, schemas)
    ]
    if not keys:
        raise NotSeparableError("the columns that could be its key have other types in a source than in the result")
    plain = [key for key in keys if not key.is_window]
    return plain[:_FEW] or keys[:1]


def _rows_of_query(query: SourceQuery, numbers: Iterator[int]) -> Rows:
    """The columns of a view with this query. `numbers`: those of the tables that it reads begin with the next one."""
    placeholders = [f"__sqlext_source_{i}" for i in range(len(query.inputs))]
    tables = {name: _rows(each, numbers) for name, each in zip(placeholders, query.inputs)}
    columns = separable_columns(plain_query(query.view.text, placeholders), tables)
    by_name = {column.name: column.lineage for column in columns}
    fields = [field.name.lower() for field in query.schema.fields]
    if len(set(fields)) != len(fields) or not set(by_name) - {""} <= set(fields):
        raise NotSeparableError("the columns of the result are not the ones that its text shows")
    return Rows(tuple(SeparableColumn(name.lower(), by_name.get(f)) for name, f in zip(query.names, fields)))


def _rows(source: Table | SourceQuery, numbers: Iterator[int]) -> Rows:
    if isinstance(source, SourceQuery):
        return _rows_of_query(source, numbers)
    number = next(numbers)
    names = [name.lower() for name in source.schema.names]
    return Rows(tuple(SeparableColumn(name, frozenset({SourceColumn(number, name)})) for name in names))


def _check_all_sources_read(lineages: Sequence[Lineage | None], count: int) -> None:
    for lineage in lineages:
        if lineage is not None and {column.source for column in lineage} != set(range(count)):
            raise NotSeparableError("a source is read in a CTE that nothing reads")


def _is_of_one_type(field: T.StructField, lineage: Lineage, schemas: Sequence[T.StructType]) -> bool:
    """Whether a column has the same type in the result and in all sources, one that keys may have."""
    if not is_comparable(field.dataType):
        return False
    for column in lineage:
        (source,) = (f for f in schemas[column.source].fields if f.name.lower() == column.name)
        if source.dataType != field.dataType or CHAR_TYPE in source.metadata:
            return False
    return True


def is_comparable(data_type: T.DataType) -> bool:
    """Whether Spark compares the values of a type by =.

    >>> is_comparable(T.ArrayType(T.DoubleType())), is_comparable(T.ArrayType(T.MapType(T.LongType(), T.LongType())))
    (True, False)
    """
    if isinstance(data_type, T.ArrayType):
        return is_comparable(data_type.elementType)
    if isinstance(data_type, T.StructType):
        return all(is_comparable(field.dataType) for field in data_type.fields)
    return not isinstance(data_type, _INCOMPARABLE) and type(data_type).__module__ == T.__name__


def has_equal_forms(data_type: T.DataType) -> bool:
    """Whether values of a type that are equal may differ, as 0.0 and -0.0, and texts that a collation compares.

    >>> has_equal_forms(T.ArrayType(T.DoubleType())), has_equal_forms(T.StringType())
    (True, False)
    """
    if isinstance(data_type, T.ArrayType):
        return has_equal_forms(data_type.elementType)
    if isinstance(data_type, T.StructType):
        return any(has_equal_forms(field.dataType) for field in data_type.fields)
    is_collated = isinstance(data_type, T.StringType) and data_type.simpleString() != "string"
    return isinstance(data_type, (T.FloatType, T.DoubleType)) or is_collated
