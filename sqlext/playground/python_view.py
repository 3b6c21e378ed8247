"""The Python with which a session of Spark gets the rows of the playground, so that a copied statement runs."""

from __future__ import annotations

from sqlext.expressions.spark_types import nested
from sqlext.playground.table import Table
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import quoted


def python_view(table: Table) -> str:
    """A statement of Python that makes a view of the table's name; "" if Spark has the table.

    >>> import pyarrow as pa
    >>> print(python_view(Table(name="t", types={"v": "int"}, columns={"v": pa.array([7, None], pa.int32())})), end="")
    spark.createDataFrame([
        ('7',),
        (None,),
    ], '`v` STRING').selectExpr(
        'CAST(`v` AS int) AS `v`',
    ).createOrReplaceTempView('t')
    """
    if table.is_sparks:
        return ""
    if table.file:
        return f"{_of_file(table)}.createOrReplaceTempView({table.name!r})\n"
    rows = zip(*(column["cells"] for column in table.as_json()["columns"]))
    texts = ", ".join(f"{quoted(name)} STRING" for name in table.types)
    casts = (f"{_from_text(quoted(name), kind)} AS {quoted(name)}" for name, kind in table.types.items())
    lines = [
        "spark.createDataFrame([",
        *(f"    {row!r}," for row in rows),
        f"], {texts!r}).selectExpr(",
        *(f"    {cast!r}," for cast in casts),
        f").createOrReplaceTempView({table.name!r})",
    ]
    return "\n".join(lines) + "\n"


def _from_text(name: str, kind: str) -> str:
    return f"CAST({name} AS {kind})" if nested(kind) is None else f"from_json({name}, {string_literal(kind)})"


def _of_file(table: Table) -> str:
    """What reads the file of a table in the table's types: a value of CSV that is none of its type is NULL."""
    if table.format == "parquet":
        return f"spark.read.parquet({table.file!r}).select({', '.join(repr(quoted(name)) for name in table.types)})"
    schema = ", ".join(f"{quoted(name)} {kind}" for name, kind in table.types.items())
    arguments = [repr(table.file), repr(schema), *(f"{name}={value!r}" for name, value in table.options.items())]
    return f"spark.read.{table.format}({', '.join(arguments)})"
