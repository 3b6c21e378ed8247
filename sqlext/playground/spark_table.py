"""Reads the rows of a table through Spark, once."""

from __future__ import annotations

import pyarrow as pa

from sqlext.errors import SqlExtError, UnsupportedError
from sqlext.expressions.values import arrow_type
from sqlext.playground.table import MOST_ROWS, Table
from sqlext.rewriter.text.names import unquoted
from sqlext.sessions.session import session


def spark_table(name: str) -> Table:
    """The first rows of a table, in no order. Columns whose types expressions without Spark do not have are left out.

    Raises SetupError, the error of Spark if there is no such table, and UnsupportedError: PLAYGROUND_TABLE.
    """
    spark = session()
    try:
        frame = spark.table(name)
        types, left_out = {}, []
        for field in frame.schema.fields:
            try:
                arrow_type(field.dataType.simpleString())
                types[field.name] = field.dataType.simpleString()
            except SqlExtError:
                left_out.append(field.name)
        if not types:
            raise UnsupportedError("PLAYGROUND_TABLE", f"no column of {name} has a type that the playground reads")
        read = frame.select(*(f"`{column.replace('`', '``')}`" for column in types)).limit(MOST_ROWS + 1).toArrow()
    finally:
        spark.stop()
    notes = [f"Only {MOST_ROWS:,} rows of the table are here, as Spark returned them."] * (read.num_rows > MOST_ROWS)
    if left_out:
        notes.append(f"Not here, because of their types: {', '.join(left_out)}.")
    first = read.slice(0, MOST_ROWS)
    columns = {column: _array(first.column(column), kind) for column, kind in types.items()}
    return Table(name=unquoted(name.split(".")[-1]), types=types, columns=columns, note=" ".join(notes))


def _array(column: pa.ChunkedArray, spark_type: str) -> pa.Array:
    whole = column.cast(arrow_type(spark_type)).combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
