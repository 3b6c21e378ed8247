"""Writes the results of statements: as a table on a terminal, with tabs in a pipe, or as CSV, JSON or Parquet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import types as T
from rich.console import Console

from sqlext.catalog.streams import root_cause
from sqlext.engine.streams.streaming_tables import check_ends
from sqlext.rewriter.text.names import quoted
from sqlext.sessions.formats import CSV, JSON, PARQUET, TABLE, TERMINAL_LIMIT, csv_line
from sqlext.sessions.text_tables import NULL, Cells, text_lines
from sqlext.spark.java_errors import Py4JError


def write_result(
    result: DataFrame,
    limit: int | None,
    form: str | None,
    file: Path | None,
    null: str | None = None,
    before_rows: Callable[[], None] = lambda: None,
) -> None:
    """Write the rows of a result, at most `limit`, to a file or (None) to standard output.

    `form`: one of FORMATS; None is a table on a terminal and text with tabs elsewhere. `null`: the text for NULL, by
    default empty in CSV and NULL elsewhere. `before_rows` is called when all rows are there, before one
    is written to a screen.

    All rows of a result are written into a pipe one partition after the other, as they are computed. So a reader that
    closes the pipe ends the query, and the rows need not fit into memory. A file or a screen receives the rows that
    `collect` returns, which computes all partitions at once.

    Raises UnsupportedError for a stream.
    """
    check_ends(result)
    if form == PARQUET and file is not None:
        with file.open("wb") as out:  # before the query runs, as for the other formats
            pq.write_table((result if limit is None else result.limit(limit)).toArrow(), out)
    elif file is None:
        write_text(result, limit, form, sys.stdout, null, before_rows)
        sys.stdout.flush()  # the next statement may take a long time
    else:
        with file.open("w", encoding="utf-8", newline="") as texts:
            write_text(result, limit, form or TABLE, texts, null)


def write_text(
    result: DataFrame,
    limit: int | None,
    form: str | None,
    out: TextIO,
    null: str | None = None,
    before_rows: Callable[[], None] = lambda: None,
) -> None:
    """Write the rows of a result, at most `limit`, as text. The other arguments are those of `write_result`."""
    is_streamed = limit is None and _is_pipe(out)
    if form == JSON:
        some = result if limit is None else result.limit(limit)
        lines = some.selectExpr("to_json(struct(*), map('ignoreNullFields', 'false'))")
        texts = _one_by_one(lines) if is_streamed else iter(lines.collect())
        if not is_streamed:
            before_rows()
        for (line,) in texts:
            print(line, file=out)
        return
    is_table = form == TABLE or (form is None and out is sys.stdout and out.isatty())
    if limit is None and is_table and form is None:
        limit = TERMINAL_LIMIT
    rows = map(list, _one_by_one(_as_texts(result))) if is_streamed else iter(read_cells(result, limit))
    if not is_streamed:
        before_rows()
    if is_table:
        _write_table(result, rows, limit, out)
    elif form == CSV:
        out.write(csv_line(result.columns, "") + "\r\n")
        for cells in islice(rows, limit):
            out.write(csv_line(cells, null or "") + "\r\n")
    else:
        print("\t".join(map(_escape, result.columns)), file=out)
        for cells in islice(rows, limit):
            nulls = NULL if null is None else null
            print("\t".join(nulls if cell is None else _escape(cell) for cell in cells), file=out)


def _is_pipe(out: TextIO) -> bool:
    return out is sys.stdout and not out.isatty()


def _one_by_one(rows: DataFrame) -> Iterator[Row]:
    """The rows of a result, with two partitions in memory at a time. Raises PySparkException."""
    try:
        yield from rows.toLocalIterator(prefetchPartitions=True)
    except Py4JError as error:  # PySpark converts only the errors of `collect`
        raise PySparkException(root_cause(str(error))) from None


def _write_table(result: DataFrame, rows: Iterator[Cells], limit: int | None, out: TextIO) -> None:
    console = Console(file=out)
    width = console.width if console.is_terminal else None
    for line in text_lines(result.dtypes, islice(rows, limit), width):
        if width is None:
            print(line.plain, file=out)
        else:
            console.print(line, soft_wrap=True, highlight=False)
    if next(rows, None) is not None and limit is not None:
        console.print(rows_note(limit + 1, limit), style="dim", highlight=False)


def read_cells(result: DataFrame, limit: int | None) -> list[Cells]:
    """The rows as text, with one row more than `limit`, which shows whether there are more."""
    texts = _as_texts(result)
    return [list(row) for row in (texts if limit is None else texts.limit(limit + 1)).collect()]


def _as_texts(result: DataFrame) -> DataFrame:
    """All columns in Spark's text form, except bytes, which are hexadecimal digits."""
    names = [f"c{i}" for i in range(len(result.columns))]  # names may occur twice, or may need quotes
    texts = (f"CAST({_readable(n, f.dataType)} AS STRING)" for n, f in zip(names, result.schema.fields))
    return result.toDF(*names).selectExpr(*texts)


def _readable(value: str, kind: T.DataType, depth: int = 0) -> str:
    """An expression in which all bytes, including nested ones, are hexadecimal digits."""
    if "binary" not in kind.simpleString():
        return value
    if isinstance(kind, T.BinaryType):
        return f"hex({value})"
    each = f"x{depth}"
    if isinstance(kind, T.ArrayType):
        return f"transform({value}, {each} -> {_readable(each, kind.elementType, depth + 1)})"
    if isinstance(kind, T.MapType):
        key = _readable(f"{each}.key", kind.keyType, depth + 1)
        item = _readable(f"{each}.value", kind.valueType, depth + 1)
        return f"map_from_entries(transform(map_entries({value}), {each} -> struct({key}, {item})))"
    if isinstance(kind, T.StructType):
        fields = (_readable(f"{value}.{quoted(f.name)}", f.dataType, depth) for f in kind.fields)
        return f"IF({value} IS NULL, NULL, struct({', '.join(fields)}))"
    return value


def rows_note(count: int, limit: int, option: str = "--limit N") -> str:
    """The line below a table of at most `limit` rows. `option`: how the user gets more of them.

    >>> rows_note(1, 100), rows_note(2, 100), rows_note(101, 100)
    ('1 row', '2 rows', 'the first 100 rows; --limit N shows more')
    """
    if count > limit:
        return f"the first {limit} rows; {option} shows more"
    return "1 row" if count == 1 else f"{count} rows"


def _escape(cell: str) -> str:
    """A cell in which tabs and line ends are escaped as in `mysql --batch` and COPY of PostgreSQL.

    >>> _escape("a\\tb")
    'a\\\\tb'
    """
    return cell.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
