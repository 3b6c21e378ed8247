"""Rows as JSON, as reports show them: with their columns that are NULL, and with all digits of times and decimals."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import SparkSession

from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Text, TextLike, join
from sqlext.spark.versions import spark_schema

# Spark writes a fraction of a second with always as many digits. These two signs, of which no text of a user is full,
# are around the time of day, from which the zeros after milliseconds are then left out.
_BEGIN, _END = "\ue001", "\ue000"
_TIME = f"yyyy-MM-dd{_BEGIN}HH:mm:ss.SSSSSS{_END}"
_OPTIONS = f"'timestampFormat', '{_TIME}XXX', 'timestampNTZFormat', '{_TIME}'"
_DIGITS = f"{_BEGIN}([0-9:]+[.][0-9]{{3}}(?:[0-9]{{3}})??)(?:000)?{_END}"  # lazy: six digits only if they are needed


def row_json(row: TextLike, *, has_nulls: bool = True) -> Text:
    """SQL for a struct as JSON. `to_json` alone leaves out what is NULL, and ends times after milliseconds.

    `has_nulls`: the JSON has the fields that are NULL.

    >>> str(row_json("struct(a.*)")).partition(", map")[0]
    'regexp_replace(to_json(struct(a.*)'
    """
    options = f"map('ignoreNullFields', '{str(not has_nulls).lower()}', {_OPTIONS})"
    return join("regexp_replace(to_json(", row, f", {options}), '{_DIGITS}', 'T$1')")


def row_texts(spark: SparkSession, names: Mapping[str, str], rows: pa.Table, *, has_nulls: bool = True) -> list[str]:
    """Each row of a table as JSON, with these names of its columns; columns without a name are left out. `has_nulls`:
    see `row_json`."""
    if not (names and rows.num_rows):
        return ["{}"] * rows.num_rows
    numbered = [f"c{i}" for i in range(len(names))]
    fields = (f"{column} AS {quoted(name)}" for column, name in zip(numbered, names.values()))
    table = rows.select(list(names)).rename_columns(numbered)
    frame = spark.createDataFrame(table, spark_schema(table.schema))
    texts = frame.selectExpr(str(row_json(f"struct({', '.join(fields)})", has_nulls=has_nulls)))
    return [text for (text,) in texts.collect()]
