"""Reads the rows of a table through Spark, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlext.engine.queries.queries import Queries
from sqlext.errors import SqlExtError, UnsupportedError
from sqlext.expressions.spark_types import is_sent
from sqlext.expressions.values import arrow_type
from sqlext.operators.rows.arrow import one_chunk
from sqlext.playground.table import MOST_ROWS, Table
from sqlext.rewriter.text.names import quoted, unquoted
from sqlext.rewriter.text.splice import Source
from sqlext.sessions.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def spark_table(name: str) -> Table:
    """The rows of a table that a new session of Spark reads, as by `read_table`. Raises SetupError too."""
    spark = session()
    try:
        return read_table(spark, name)
    finally:
        spark.stop()


def read_table(spark: SparkSession, name: str) -> Table:
    """The first rows of a table, in no order. Columns whose types expressions without Spark do not have are left out.

    Raises BindError for a name that Spark does not find, and UnsupportedError: PLAYGROUND_TABLE.
    """
    query = f"SELECT * FROM {name}"
    frame = Queries(spark.sql, {}, query).run(Source(query).slice(0, len(query)))
    types, left_out = {}, []
    for field in frame.schema.fields:
        kind = field.dataType.simpleString()
        if is_sent(kind) and _is_read(kind):
            types[field.name] = kind
        else:
            left_out.append(field.name)
    if not types:
        raise UnsupportedError("PLAYGROUND_TABLE", f"no column of {name} has a type that the playground reads")
    read = frame.select(*map(quoted, types)).limit(MOST_ROWS + 1).toArrow()
    notes = [f"Only {MOST_ROWS:,} rows of the table are here, as Spark returned them."] * (read.num_rows > MOST_ROWS)
    if left_out:
        notes.append(f"Not here, because of their types: {', '.join(left_out)}.")
    first = read.slice(0, MOST_ROWS)
    columns = {column: one_chunk(first.column(column).cast(arrow_type(kind))) for column, kind in types.items()}
    return Table(name=unquoted(name.split(".")[-1]), types=types, columns=columns, note=" ".join(notes), is_sparks=True)


def _is_read(spark_type: str) -> bool:
    try:
        arrow_type(spark_type)
    except SqlExtError:
        return False
    return True
