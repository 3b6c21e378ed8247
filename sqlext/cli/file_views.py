"""Files of the shell's command line as temporary views: CSV, JSON lines and Parquet, named by the files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.errors import UnsupportedError
from sqlext.rewriter.text.names import quoted, quoted_if_needed
from sqlext.sessions.formats import CSV, JSON, PARQUET, format_of

_MISSING = "NA"  # how R, and pandas for R, write a value that is missing


def create_file_views(spark: SparkSession, files: Sequence[Path]) -> list[str]:
    """Create a view of each file, and return a sentence about each.

    Raises UnsupportedError (FILE_FORMAT) for other endings, OSError for a file that is not there, and Spark's errors.
    """
    return [_create_view(spark, file) for file in files]


def view_name(file: Path) -> str:
    """
    >>> view_name(Path("/data/2013 flights.csv")), view_name(Path("a-b.parquet"))
    ('2013_flights', 'a_b')
    """
    return re.sub(r"\W+", "_", file.stem).strip("_") or "rows"


def _create_view(spark: SparkSession, file: Path) -> str:
    form = format_of(file)
    if form not in (CSV, JSON, PARQUET):
        hint = "the endings are .csv, .json, .jsonl and .parquet."
        raise UnsupportedError("FILE_FORMAT", f"the ending of {file} names no format of rows", hint=hint)
    if not file.is_dir():
        file.open("rb").close()  # Spark's error would name a URI
    path, note = str(file.absolute()), ""
    if form == CSV:
        rows, note = _csv(spark, path)
    else:
        rows = spark.read.format(form).load(path)
    name = view_name(file)
    rows.createOrReplaceTempView(quoted(name))
    count = len(rows.columns)
    return f"{quoted_if_needed(name)}: {count} column{'s' * (count != 1)} of {file}{note}"


def _csv(spark: SparkSession, path: str) -> tuple[DataFrame, str]:
    """The rows of a CSV with a header, and what to say about them: in columns that are text only because of NA it is
    NULL, and in texts it stays what it is, such as the country Namibia."""
    reader = spark.read.option("header", "true").option("inferSchema", "true")
    rows = reader.csv(path)
    texts = [name for name, kind in rows.dtypes if kind == "string"]
    if not texts:
        return rows, ""
    others = reader.option("nullValue", _MISSING).csv(path)
    typed = {name: kind for name, kind in others.dtypes if name in texts and kind != "string"}
    if not typed:
        return rows, ""
    values = {name: F.expr(f"CAST(nullif({quoted(name)}, '{_MISSING}') AS {kind})") for name, kind in typed.items()}
    return rows.withColumns(values), f"; {_MISSING} is NULL, in {', '.join(typed)}"
