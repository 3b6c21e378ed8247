"""Columns such as `array()` and `map()`, whose elements have no type: Arrow cannot represent them in every form.

They are sent to workers with BOOLEAN in place of VOID, and get their own type back.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t


def typed(rows: DataFrame) -> DataFrame:
    """The rows with BOOLEAN in place of VOID where the type of a column contains VOID."""
    return _with_types(rows, rows.schema, lambda column, kind: column.cast(typed_type(kind)))


def restored(rows: DataFrame, schema: t.StructType) -> DataFrame:
    """The inverse of `typed`, for rows whose types were the types of `schema`."""
    return _with_types(rows, schema, _restored)


def typed_schema(schema: t.StructType) -> t.StructType:
    """The types of the rows that workers return.

    >>> typed_schema(t.StructType().add("a", t.ArrayType(t.NullType())).add("n", t.NullType())).simpleString()
    'struct<a:array<boolean>,n:void>'
    """
    return t.StructType([t.StructField(x.name, typed_type(x.dataType) if _is_odd(x) else x.dataType) for x in schema])


def typed_type(kind: t.DataType) -> t.DataType:
    """The type with BOOLEAN in place of VOID."""
    if isinstance(kind, t.ArrayType):
        return t.ArrayType(typed_type(kind.elementType))
    if isinstance(kind, t.MapType):
        return t.MapType(typed_type(kind.keyType), typed_type(kind.valueType))
    if isinstance(kind, t.StructType):
        return t.StructType([t.StructField(x.name, typed_type(x.dataType)) for x in kind])
    return t.BooleanType() if isinstance(kind, t.NullType) else kind


def _is_odd(field: t.StructField) -> bool:
    """Return True if the type contains VOID. VOID alone needs no conversion."""
    return not isinstance(field.dataType, t.NullType) and has_void(field.dataType)


def has_void(kind: t.DataType) -> bool:
    """Return True if the type is VOID or contains it."""
    if isinstance(kind, t.ArrayType):
        return has_void(kind.elementType)
    if isinstance(kind, t.MapType):
        return has_void(kind.keyType) or has_void(kind.valueType)
    if isinstance(kind, t.StructType):
        return any(has_void(x.dataType) for x in kind)
    return isinstance(kind, t.NullType)


def _with_types(rows: DataFrame, schema: t.StructType, change: Callable[[Column, t.DataType], Column]) -> DataFrame:
    odd = {x.name: change(f.col(f"`{x.name.replace('`', '``')}`"), x.dataType) for x in schema if _is_odd(x)}
    return rows.withColumns(odd) if odd else rows


def _restored(column: Column, kind: t.DataType) -> Column:
    if isinstance(kind, t.NullType):
        return f.lit(None)
    if not has_void(kind):
        return column
    if isinstance(kind, t.ArrayType):
        return f.transform(column, lambda element: _restored(element, kind.elementType))
    if isinstance(kind, t.StructType):
        fields = (_restored(column.getField(x.name), x.dataType).alias(x.name) for x in kind)
        return f.when(column.isNotNull(), f.struct(*fields))
    assert isinstance(kind, t.MapType)
    if has_void(kind.keyType):  # no key is NULL, so the map is empty
        return f.when(column.isNotNull(), f.create_map())
    return f.transform_values(column, lambda _, value: _restored(value, kind.valueType))
