"""Writes the results of statements: as a table on a terminal, with tabs in a pipe, or as CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sqlext.engine.stream.endless import check_ends
from sqlext.result_formats import CSV, JSON, PARQUET, TABLE, TERMINAL_LIMIT

_NUMERIC = {"tinyint", "smallint", "int", "bigint", "float", "double", "decimal"}

NULL = "NULL"
Cells = list[str | None]  # None: NULL


def write_result(
    result: DataFrame, limit: int | None, form: str | None, file: Path | None,
    before: Callable[[], object] = lambda: None,
) -> None:  # fmt: skip
    """Write the rows of a result, at most `limit`, to a file or (None) to standard output.

    `form`: one of FORMATS; None is a table on a terminal and text with tabs elsewhere. `before` is called when the rows
    are computed. Raises UnsupportedError for a stream.
    """
    check_ends(result)
    if form == PARQUET and file is not None:
        pq.write_table((result if limit is None else result.limit(limit)).toArrow(), file)
    elif file is None:
        _write_text(result, limit, form, sys.stdout, before)
        sys.stdout.flush()  # the next statement may take long
    else:
        with file.open("w", encoding="utf-8", newline="") as out:
            _write_text(result, limit, form or TABLE, out, before)


def _write_text(
    result: DataFrame, limit: int | None, form: str | None, out: TextIO, before: Callable[[], object]
) -> None:
    if form == JSON:
        first = result if limit is None else result.limit(limit)
        for (line,) in first.selectExpr("to_json(struct(*), map('ignoreNullFields', 'false'))").collect():
            print(line, file=out)
        return
    is_terminal = out is sys.stdout and sys.stdout.isatty()
    if limit is None and is_terminal and form is None:
        limit = TERMINAL_LIMIT
    rows = read_cells(result, limit)
    before()
    if form == TABLE or is_terminal:
        console = Console(file=out)
        console.print(text_table(result, rows[:limit]))
        if limit is not None and len(rows) > limit:
            console.print(more_rows(limit), style="dim", highlight=False)
        return
    lines = chain([result.columns], (_with_nulls(row) for row in islice(rows, limit)))
    if form == CSV:
        csv.writer(out).writerows(lines)
    else:
        for cells in lines:
            print("\t".join(map(_escape, cells)), file=out)


def read_cells(result: DataFrame, limit: int | None) -> list[Cells]:
    """The rows as Spark writes them; one more than `limit`, which shows whether there are more."""
    names = [f"c{i}" for i in range(len(result.columns))]  # names may occur twice, or need quotes
    texts = result.toDF(*names).selectExpr(*(f"CAST({name} AS STRING)" for name in names))
    return [list(row) for row in (texts if limit is None else texts.limit(limit + 1)).collect()]


def _with_nulls(cells: Cells) -> list[str]:
    return [NULL if cell is None else cell for cell in cells]


def more_rows(limit: int) -> str:
    """What is written below a table of the first rows."""
    return f"the first {limit} rows; --limit N shows more"


def is_numeric(kind: str) -> bool:
    """Is this type, as in `dtypes`, one of numbers, which stand at the right of a column?"""
    return kind.split("(")[0] in _NUMERIC


def _escape(cell: str) -> str:
    """A cell without tabs and line ends, escaped as `mysql --batch` and COPY of PostgreSQL do.

    >>> _escape("a\\tb")
    'a\\\\tb'
    """
    return cell.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def text_table(result: DataFrame, rows: list[Cells]) -> Table:
    """A table of rows for a terminal."""
    table = Table()
    for name, kind in result.dtypes:
        table.add_column(Text(name), justify="right" if is_numeric(kind) else "left")
    for cells in rows:
        table.add_row(*(Text(NULL, style="dim") if cell is None else Text(cell) for cell in cells))
    return table
