"""The Python value of each Spark type, its order and its form in Arrow.

| Spark | Python |
|---|---|
| boolean | bool |
| tinyint, smallint, int, bigint | int |
| float, double | float; a float is always rounded to 32 bits |
| decimal(p,s) | decimal.Decimal with exactly s digits after the point |
| string, binary | str, bytes |
| date | int, days since 1970-01-01 |
| timestamp, timestamp_ntz | int, microseconds since 1970-01-01 00:00:00, of UTC or of no zone |
| interval of days to seconds, of years to months | int, microseconds or months |
| array, struct, map | list, tuple, dict; a key that Python cannot hash has the form that `hashable` gives it |
| NULL | None |
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

import pyarrow as pa

from sqlext.errors import DataError, UnsupportedError
from sqlext.expressions.faults import value_of_type
from sqlext.expressions.spark_types import (
    FLOATS,
    TIMESTAMPS,
    ArrayOf,
    MapOf,
    StructOf,
    decimal_of,
    is_day_time,
    is_year_month,
    nested,
)

_ARROW = {
    "void": pa.null(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_type(spark_type: str) -> pa.DataType:
    """The Arrow type in which Spark sends and receives a type. Raises UnsupportedError TYPE_OF_EXPRESSION.

    >>> str(arrow_type("array<decimal(10,2)>"))
    'list<element: decimal128(10, 2)>'
    """
    if spark_type in _ARROW:
        return _ARROW[spark_type]
    if digits := decimal_of(spark_type):
        return pa.decimal128(*digits)
    if is_day_time(spark_type):
        return pa.duration("us")
    if is_year_month(spark_type):
        return pa.int32()
    parts = nested(spark_type)
    if isinstance(parts, ArrayOf):
        return pa.list_(pa.field("element", arrow_type(parts.element)))
    if isinstance(parts, MapOf):
        return pa.map_(arrow_type(parts.key), arrow_type(parts.value))
    if isinstance(parts, StructOf):
        return pa.struct([pa.field(n, arrow_type(t)) for n, t in zip(parts.names, parts.types)])
    raise UnsupportedError(
        "TYPE_OF_EXPRESSION",
        f"an expression over several rows cannot use {spark_type}",
        hint="it can use numbers, decimals, booleans, strings, binary, dates, timestamps, intervals, arrays, structs "
        "and maps of these.",
    )


def from_arrow(array: pa.Array, spark_type: str) -> list[Any]:
    """The Python values of an Arrow array.

    >>> from_arrow(pa.array([0, 86_400_000_000], pa.timestamp("us")), "timestamp_ntz")
    [0, 86400000000]
    """
    parts = nested(spark_type)
    if parts is not None:
        return _from_nested(array, parts)
    if spark_type == "date":
        array = array.cast(pa.date32()).view(pa.int32())
    elif spark_type in TIMESTAMPS:
        array = array.cast(pa.timestamp("us", tz=array.type.tz)).view(pa.int64())
    elif is_day_time(spark_type):
        array = array.cast(pa.duration("us")).view(pa.int64()) if pa.types.is_duration(array.type) else array
    return array.to_pylist()


def _from_nested(array: pa.Array, parts: ArrayOf | MapOf | StructOf) -> list[Any]:
    valid = array.is_valid().to_pylist()
    if isinstance(parts, StructOf):
        columns = [from_arrow(array.field(i), t) for i, t in enumerate(parts.types)]
        rows = zip(*columns) if columns else [()] * len(array)
        return [row if is_valid else None for row, is_valid in zip(rows, valid)]
    offsets = array.offsets.to_pylist()
    bounds = list(pairwise(offsets))
    if isinstance(parts, ArrayOf):
        elements = from_arrow(array.values, parts.element)
        return [elements[lo:hi] if is_valid else None for (lo, hi), is_valid in zip(bounds, valid)]
    keys = [hashable(key, parts.key) for key in from_arrow(array.keys, parts.key)]
    values = from_arrow(array.items, parts.value)
    return [dict(zip(keys[lo:hi], values[lo:hi])) if is_valid else None for (lo, hi), is_valid in zip(bounds, valid)]


def to_arrow(values: Sequence[Any], spark_type: str) -> pa.Array:
    """The inverse of from_arrow.

    Raises DataError VALUE_OF_TYPE if a value does not fit the type: an integer of too many bits, or a text with half of
    a surrogate pair.

    >>> to_arrow([(1, "a"), None], "struct<x:int,y:string>").to_pylist()
    [{'x': 1, 'y': 'a'}, None]
    """
    try:
        return _to_arrow(values, spark_type)
    except (pa.ArrowException, OverflowError, ValueError, TypeError, MemoryError) as error:
        raise value_of_type(spark_type, error) from error


def computable(values: Sequence[Any], spark_type: str) -> tuple[list[Any], dict[int, DataError]]:
    """The values, with NULL for each value that `to_arrow` refuses, and the errors by place.

    >>> kept, errors = computable([1, 1 << 40], "int")
    >>> kept, errors[1].error_class
    ([1, None], 'SQLEXT_VALUE_OF_TYPE')
    """
    kept, errors = list(values), {}
    for i, value in enumerate(values):
        try:
            to_arrow([value], spark_type)
        except DataError as error:
            kept[i], errors[i] = None, error
    return kept, errors


def _to_arrow(values: Sequence[Any], spark_type: str) -> pa.Array:
    parts = nested(spark_type)
    if parts is None:
        stored = arrow_type(spark_type)
        if pa.types.is_date32(stored):
            return pa.array(values, pa.int32()).view(stored)
        if pa.types.is_timestamp(stored) or pa.types.is_duration(stored):
            return pa.array(values, pa.int64()).view(stored)
        return pa.array(values, stored)
    mask = pa.array([value is None for value in values], pa.bool_())
    if isinstance(parts, StructOf):
        columns = [[None if v is None else v[i] for v in values] for i in range(len(parts.types))]
        arrays = [_to_arrow(column, t) for column, t in zip(columns, parts.types)]
        return pa.StructArray.from_arrays(arrays, fields=list(arrow_type(spark_type)), mask=mask)
    offsets = [0]
    for value in values:
        offsets.append(offsets[-1] + len(value or ()))
    ends = pa.array([None if v is None else at for v, at in zip(values, offsets)] + offsets[-1:], pa.int32())
    if isinstance(parts, ArrayOf):
        elements = _to_arrow([x for value in values for x in value or ()], parts.element)
        return pa.ListArray.from_arrays(ends, elements, type=arrow_type(spark_type))
    keys = _to_arrow([x for value in values for x in value or ()], parts.key)
    items = _to_arrow([x for value in values for x in (value or {}).values()], parts.value)
    return pa.MapArray.from_arrays(ends, keys, items, type=arrow_type(spark_type))


def hashable(value: Any, spark_type: str) -> Any:
    """A value that Python can hash, equal for equal values: the key in a map, a set or a DISTINCT aggregate.

    >>> {hashable(float("nan"), "double")} == {hashable(-float("nan"), "double")}, hashable([1, None], "array<int>")
    (True, (1, None))
    """
    if value is None:
        return None
    parts = nested(spark_type)
    if isinstance(parts, ArrayOf):
        return tuple(hashable(element, parts.element) for element in value)
    if isinstance(parts, StructOf):
        return tuple(hashable(element, t) for element, t in zip(value, parts.types))
    if isinstance(parts, MapOf):
        return frozenset((key, hashable(element, parts.value)) for key, element in value.items())
    if spark_type in FLOATS:
        return math.nan if value != value else value + 0.0  # math.nan is one object, which equals itself in a container
    return value


def distinct(values: Iterable[Any], spark_type: str) -> list[Any]:
    """The values without repetitions, each where it occurs first.

    >>> distinct([0.0, None, -0.0, None, 2.0], "double")
    [0.0, None, 2.0]
    """
    first: dict[Any, Any] = {}
    for value in values:
        first.setdefault(hashable(value, spark_type), value)
    return list(first.values())


def compare(left: Any, right: Any, spark_type: str) -> int:
    """-1, 0 or 1: the order of two values, as ORDER BY … NULLS FIRST sorts them.

    NaN equals NaN and is the largest, -0.0 equals 0.0, arrays and structs are compared element by element, and NULL is
    smaller than all values. A comparison operator whose operand itself is NULL does not call this.

    >>> numbers = "array<int>"
    >>> compare(math.nan, math.inf, "double"), compare([1, None], [1, 0], numbers), compare([1], [1, 0], numbers)
    (1, -1, -1)
    """
    if left is None or right is None:
        return (left is not None) - (right is not None)
    parts = nested(spark_type)
    if isinstance(parts, ArrayOf):
        for a, b in zip(left, right):
            if order := compare(a, b, parts.element):
                return order
        return (len(left) > len(right)) - (len(left) < len(right))
    if isinstance(parts, StructOf):
        for a, b, t in zip(left, right, parts.types):
            if order := compare(a, b, t):
                return order
        return 0
    if spark_type in FLOATS and (left != left or right != right):
        return bool(left != left) - bool(right != right)
    return (left > right) - (left < right)


def order_key(value: Any, spark_type: str) -> Any:
    """A key for `sorted`, `min` and `max` in the order of `compare`.

    >>> sorted([math.nan, None, 1.0, -math.inf], key=lambda v: order_key(v, "double"))
    [None, -inf, 1.0, nan]
    """
    return cmp_to_key(lambda a, b: compare(a, b, spark_type))(value)
