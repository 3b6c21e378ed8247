"""Reads the rows of a CSV file, with types that its values decide."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from sqlext.errors import BYTE_ORDER_MARK, DataError, file_fault
from sqlext.operators.rows.arrow import one_chunk
from sqlext.playground.table import MOST_ROWS, Table

_MOST_BYTES = 1 << 24  # are read; 10,000 rows need less unless their texts are long
_HINT = "the first line has the names of the columns; each other line has as many values, with commas between them."


def read_csv(path: Path) -> Table:
    """The first rows of a file, under the name of the file. Raises DataError: CSV_FILE."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise DataError("CSV_FILE", f"{path} cannot be read: {file_fault(error)}") from None
    table = csv_table(content, re.sub(r"\W+", "_", path.stem).strip("_") or "rows", str(path))
    return replace(table, file=str(path.absolute()))


def csv_table(content: bytes, name: str, file: str = "the text") -> Table:
    """The rows of the text of a file.

    >>> table = csv_table(b"day,price\\n2026-03-02,10\\n2026-03-03,\\n", "t")
    >>> table.types, table.columns["price"].to_pylist()
    ({'day': 'date', 'price': 'bigint'}, [10, None])
    """
    content, is_cut = _whole_lines(content)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"{file} is not UTF-8: byte {error.start + 1} in line {line}"
        raise DataError("CSV_FILE", message, hint="save it as CSV UTF-8.") from None
    content = content.removeprefix(BYTE_ORDER_MARK.encode())
    options = csv.ConvertOptions(null_values=["", "NULL", "null"], strings_can_be_null=True)
    options.quoted_strings_can_be_null = False
    try:
        read = csv.read_csv(
            io.BytesIO(content),
            convert_options=options,
            parse_options=csv.ParseOptions(newlines_in_values=True),
            read_options=csv.ReadOptions(use_threads=False, block_size=_MOST_BYTES + 1),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise DataError("CSV_FILE", f"{file} is not CSV: {_reason(str(error))}", hint=_HINT) from None
    _check_names(read.column_names, file)
    note = f"Only the first {MOST_ROWS:,} rows are here." if is_cut or read.num_rows > MOST_ROWS else ""
    if not read.num_rows:
        raise DataError("CSV_FILE", f"{file} has no rows", hint=_HINT)
    return arrow_table(read.slice(0, MOST_ROWS), name, note)


def _whole_lines(content: bytes) -> tuple[bytes, bool]:
    """The whole lines of what was read of a file, and whether lines are missing."""
    if len(content) <= _MOST_BYTES:
        return content, False
    return content[: content.rfind(b"\n", 0, _MOST_BYTES) + 1], True


def arrow_table(read: pa.Table, name: str, note: str = "") -> Table:
    """The table of Arrow columns, as the nearest types of Spark."""
    types: dict[str, str] = {}
    columns: dict[str, pa.Array] = {}
    for column in read.column_names:
        types[column], kind = _spark_type(read.schema.field(column).type)
        columns[column] = one_chunk(read.column(column).cast(kind))
    return Table(name=name, types=types, columns=columns, note=note)


def _spark_type(kind: pa.DataType) -> tuple[str, pa.DataType]:
    if pa.types.is_integer(kind):
        return "bigint", pa.int64()
    if pa.types.is_floating(kind):
        return "double", pa.float64()
    if pa.types.is_boolean(kind):
        return "boolean", pa.bool_()
    if pa.types.is_date(kind):
        return "date", pa.date32()
    if pa.types.is_timestamp(kind):
        return "timestamp", pa.timestamp("us", "UTC")
    return "string", pa.string()


def _check_names(names: list[str], file: str) -> None:
    lowered = [name.lower() for name in names]
    for number, name in enumerate(lowered, 1):
        if not name.strip():
            raise DataError("CSV_FILE", f"column {number} of {file} has no name", hint=_HINT)
        if name in lowered[: number - 1]:
            raise DataError("CSV_FILE", f'two columns of {file} are called "{name}"', hint="rename one of them.")


def _reason(message: str) -> str:
    """What Arrow says, without its own words: the line and the number of its values.

    >>> _reason("CSV parse error: Expected 2 columns, got 3: 1,2,3")
    'a line has 3 values in place of 2: 1,2,3'
    """
    wrong = re.match(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)(.*)", message, re.DOTALL)
    if wrong is None:
        return message.removeprefix("CSV parse error: ").strip() if message.strip() else "it is empty"
    line = f"line {wrong[1]}" if wrong[1] else "a line"
    return f"{line} has {wrong[3]} values in place of {wrong[2]}{wrong[4][:80]}"
