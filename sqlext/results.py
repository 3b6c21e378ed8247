"""Writes the results of statements: as a table on a terminal, with tabs in a pipe, or as CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import sys
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sqlext.engine.stream.endless import check_ends

TABLE, CSV, JSON, PARQUET = "table", "csv", "json", "parquet"
FORMATS = (TABLE, CSV, JSON, PARQUET)
TERMINAL_LIMIT = 100
_NUMERIC = {"tinyint", "smallint", "int", "bigint", "float", "double", "decimal"}

Cells = list[str]


def format_of(file: Path) -> str | None:
    """The format that a file's ending names.

    >>> [format_of(Path(name)) for name in ("a.csv", "b.jsonl", "c.parquet", "d")]
    ['csv', 'json', 'parquet', None]
    """
    return {".csv": CSV, ".json": JSON, ".jsonl": JSON, ".parquet": PARQUET, ".txt": TABLE}.get(file.suffix.lower())


def write_result(result: DataFrame, limit: int | None, form: str | None, file: Path | None) -> None:
    """Write the rows of a result, at most `limit`, to a file or (None) to standard output.

    `form`: one of FORMATS; None is a table on a terminal and text with tabs elsewhere. Raises UnsupportedError for a
    stream.
    """
    check_ends(result)
    if form == PARQUET and file is not None:
        pq.write_table((result if limit is None else result.limit(limit)).toArrow(), file)
    elif file is None:
        _write_text(result, limit, form, sys.stdout)
        sys.stdout.flush()  # the next statement may take long
    else:
        with file.open("w", encoding="utf-8", newline="") as out:
            _write_text(result, limit, form or TABLE, out)


def _write_text(result: DataFrame, limit: int | None, form: str | None, out: TextIO) -> None:
    if form == JSON:
        first = result if limit is None else result.limit(limit)
        for (line,) in first.selectExpr("to_json(struct(*), map('ignoreNullFields', 'false'))").collect():
            print(line, file=out)
        return
    is_terminal = out is sys.stdout and sys.stdout.isatty()
    if limit is None and is_terminal and form is None:
        limit = TERMINAL_LIMIT
    rows = _cells(result, limit)
    if form == CSV:
        csv.writer(out).writerows(chain([result.columns], islice(rows, limit)))
    elif form == TABLE or is_terminal:
        _print_table(result, rows, limit, out)
    else:
        for cells in chain([result.columns], islice(rows, limit)):
            print("\t".join(map(_escape, cells)), file=out)


def _cells(result: DataFrame, limit: int | None) -> list[Cells]:
    """The rows as Spark writes them; one more than `limit`, which shows whether there are more."""
    names = [f"c{i}" for i in range(len(result.columns))]  # names may occur twice, or need quotes
    texts = result.toDF(*names).selectExpr(*(f"coalesce(CAST({name} AS STRING), 'NULL')" for name in names))
    return [[str(cell) for cell in row] for row in (texts if limit is None else texts.limit(limit + 1)).collect()]


def _escape(cell: str) -> str:
    """A cell without tabs and line ends, escaped as `mysql --batch` and COPY of PostgreSQL do.

    >>> _escape("a\\tb")
    'a\\\\tb'
    """
    return cell.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _print_table(result: DataFrame, rows: list[Cells], limit: int | None, out: TextIO) -> None:
    table = Table()
    for name, kind in result.dtypes:
        table.add_column(Text(name), justify="right" if kind.split("(")[0] in _NUMERIC else "left")
    for cells in rows[:limit]:
        table.add_row(*(Text(cell, style="dim" if cell == "NULL" else "") for cell in cells))
    console = Console(file=out)
    console.print(table)
    if limit is not None and len(rows) > limit:
        console.print(f"the first {limit} rows; --limit N shows more", style="dim", highlight=False)
