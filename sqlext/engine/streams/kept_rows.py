"""How DESCRIBE STREAMING TABLE … FOR KEY shows the rows that a clause keeps, and the rows of its result that come."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.engine.queries.queries import Queries
from sqlext.engine.reports.row_json import row_json, row_texts
from sqlext.operators.stateful.fact import RowTexts
from sqlext.operators.stateful.key_state import Coming
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import names_in
from sqlext.rewriter.text.names import column_name
from sqlext.rewriter.text.splice import Text, join

NUMBER = "__coming"  # the number of a row among the rows that come


def shown_columns(
    columns: Iterable[tuple[str, str]], inputs: Iterable[tuple[str, str]], always: Container[str] = ()
) -> dict[str, str]:
    """The columns of a kept row that are shown, each once, with the user's names.

    `columns`: the names in the state, each with the expression of the column; `inputs`: the columns of the rows that
    arrive, and their types. An expression is shown only if it reads a column that is not kept itself, or if its name is
    in `always`.

    >>> inputs = [("v", "INT"), ("c", "STRING"), ("s", "STRUCT<v: INT>")]
    >>> shown_columns([("a0", "e.v"), ("a1", "v"), ("a2", "v * 2"), ("a3", "upper(c)"), ("a4", "s.v")], inputs)
    {'a0': 'v', 'a3': 'upper(c)', 'a4': 's.v'}
    """
    names = {name.lower() for name, _ in inputs}
    reads: dict[str, set[str]] = {}
    shown: dict[str, str] = {}
    for column, text in columns:
        read, name = names_in(Fragment(text, 0, len(text))) & names, column_name(text)
        written = name if read == {name.lower()} else text
        if written not in shown.values():
            shown[column], reads[column] = written, read
    kept = {text.lower() for text in shown.values()} & names
    return {
        column: text
        for column, text in shown.items()
        if column in always or text.lower() in kept or not reads[column] or reads[column] - kept
    }


def texts_of_rows(spark: SparkSession, names: Mapping[str, str]) -> RowTexts:
    """How kept rows are written: as JSON with these names of their columns, or, without any, in words. The key and the
    time of a row are shown beside its text."""
    if not names:
        return lambda rows: ["a row of which the query reads no other column"] * rows.num_rows
    return partial(row_texts, spark, names)


def coming_rows(spark: SparkSession, coming: Sequence[Coming], times: Sequence[str], schema: T.StructType) -> DataFrame:
    """The rows that come as a DataFrame, with the times in the columns `times` and their numbers in NUMBER; `schema`:
    the columns that the operator returns."""
    rows = pa.concat_tables([pa.Table.from_batches([row.rows.slice(row.row, 1)]) for row in coming])
    rows = rows.select([field.name for field in schema.fields if field.name in rows.column_names])
    at = pa.array([row.time for row in coming], pa.int64()).cast(pa.timestamp("us", "UTC"))
    names = [*times, *rows.column_names, NUMBER]
    table = pa.table([*(at for _ in times), *rows.columns, pa.array(range(len(coming)), pa.int64())], names=names)
    fields = [T.StructField(name, T.TimestampType()) for name in times]
    return spark.createDataFrame(table, T.StructType([*fields, *schema.fields, T.StructField(NUMBER, T.LongType())]))


def as_json(queries: Queries, result: Text, count: int) -> list[str | None]:
    """The rows of a query as JSON, by the numbers in its column NUMBER, which is left out."""
    rows = join(f"SELECT {NUMBER}, ", row_json(f"struct(* EXCEPT ({NUMBER}))"), " FROM (", result, ")")
    texts = {int(row[0]): str(row[1]) for row in queries.run(rows).collect()}
    return [texts.get(number) for number in range(count)]
