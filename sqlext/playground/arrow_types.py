"""The Spark types of Arrow columns, for files that are read without Spark."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from sqlext.expressions.values import arrow_type
from sqlext.operators.rows.arrow import one_chunk
from sqlext.playground.table import Table

_SAME = {
    pa.bool_(): "boolean", pa.int8(): "tinyint", pa.int16(): "smallint", pa.int32(): "int", pa.int64(): "bigint",
    pa.uint8(): "smallint", pa.uint16(): "int", pa.uint32(): "bigint", pa.uint64(): "decimal(20,0)",
    pa.float16(): "float", pa.float32(): "float", pa.float64(): "double", pa.date32(): "date", pa.date64(): "date",
    pa.string(): "string", pa.large_string(): "string",
    pa.binary(): "binary", pa.large_binary(): "binary",
}  # fmt: skip

_PLAIN = re.compile(r"[^\W\d]\w*")  # names of fields that the text of a type holds as they are


def arrow_table(read: pa.Table, name: str, notes: tuple[str, ...] = ()) -> Table | None:
    """The table of Arrow columns. Columns of types that Spark does not read are left out, which its note says; None if
    there is no other column.

    >>> read = pa.table({"a": pa.array([1], pa.int32()), "t": pa.array([1], pa.time32("s"))})
    >>> table = arrow_table(read, "r")
    >>> table.types, table.note
    ({'a': 'int'}, 'Not here, because of their types: t.')
    """
    kinds = {column: spark_type(read.schema.field(column).type) for column in read.column_names}
    types = {column: kind for column, kind in kinds.items() if kind is not None}
    left_out = [column for column in kinds if column not in types]
    if left_out:
        notes = (*notes, f"Not here, because of their types: {', '.join(left_out)}.")
    casts = {column: read.column(column).cast(arrow_type(kind), safe=False) for column, kind in types.items()}
    columns = {column: one_chunk(values) for column, values in casts.items()}
    return Table(name=name, types=types, columns=columns, note=" ".join(notes)) if types else None


def spark_type(kind: pa.DataType) -> str | None:
    """The Spark type in which Spark reads an Arrow type of a file; None if there is none.

    >>> spark_type(pa.timestamp("ns")), spark_type(pa.list_(pa.decimal128(9, 2))), spark_type(pa.time64("us"))
    ('timestamp_ntz', 'array<decimal(9,2)>', None)
    >>> spark_type(pa.struct([("id", pa.int64()), ("of", pa.map_(pa.string(), pa.bool_()))]))
    'struct<id:bigint,of:map<string,boolean>>'
    """
    if kind in _SAME:
        return _SAME[kind]
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if pa.types.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= 38:
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _nested("array", [spark_type(kind.value_type)])
    if pa.types.is_map(kind):
        return _nested("map", [spark_type(kind.key_type), spark_type(kind.item_type)])
    if pa.types.is_struct(kind) and kind.num_fields and all(_PLAIN.fullmatch(field.name) for field in kind):
        kinds = [spark_type(field.type) for field in kind]
        return _nested("struct", [read and f"{field.name}:{read}" for field, read in zip(kind, kinds)])
    return None


def _nested(word: str, parts: Sequence[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    return f"{word}<{','.join(known)}>" if len(known) == len(parts) else None
