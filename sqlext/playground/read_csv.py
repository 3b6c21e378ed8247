"""Reads the rows of CSV, with types that its values decide."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from sqlext.errors import BYTE_ORDER_MARK, DataError
from sqlext.playground.arrow_types import arrow_table
from sqlext.playground.table import MOST_ROWS, Table
from sqlext.rewriter.text.names import quoted_if_needed

MOST_BYTES = 1 << 24  # are read; 10,000 rows need less unless their texts are long
MISSING = "NA"  # how R, and pandas for R, write a value that is missing
_DELIMITERS = ",;\t"  # also those of spreadsheets: in some languages `;`, and tabs in what is copied
_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
_TIME = r"^\s*\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?\s*$"
_HINT = "the first line has the names of the columns; each other line has as many values, with commas between them."


def csv_table(content: bytes, name: str, file: str = "the text") -> Table:
    """The rows of the text of a file.

    >>> table = csv_table(b"day;price\\n2026-03-02;10\\n2026-03-03;\\n", "t")
    >>> table.types, table.columns["price"].to_pylist()
    ({'day': 'date', 'price': 'bigint'}, [10, None])

    Raises DataError: CSV_FILE.
    """
    content, is_cut = whole_lines(content)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"{file} is not UTF-8: byte {error.start + 1} in line {line}"
        raise DataError("CSV_FILE", message, hint="save it as CSV UTF-8.") from None
    content = content.removeprefix(BYTE_ORDER_MARK.encode())
    delimiter = _delimiter(content.partition(b"\n")[0].decode())
    try:
        read = _read(content, delimiter)
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise DataError("CSV_FILE", f"{file} is not CSV: {_reason(str(error))}", hint=_HINT) from None
    _check_names(read.column_names, file)
    if not read.num_rows:
        raise DataError("CSV_FILE", f"{file} has no rows", hint=_HINT)
    notes = [f"Only the first {MOST_ROWS:,} rows are here."] if is_cut or read.num_rows > MOST_ROWS else []
    read, about = _without_missing(read, content, delimiter)
    table = arrow_table(as_spark_infers(read.slice(0, MOST_ROWS)), name, (*notes, *about))
    assert table is not None  # a type that Spark does not have is text
    return replace(table, options={"header": True, "multiLine": True, "escape": '"', "sep": delimiter})


def whole_lines(content: bytes) -> tuple[bytes, bool]:
    """The whole lines of what was read of a file, and whether lines are missing."""
    if len(content) <= MOST_BYTES:
        return content, False
    return content[: content.rfind(b"\n", 0, MOST_BYTES) + 1], True


def as_spark_infers(read: pa.Table) -> pa.Table:
    """The columns in types that Spark infers from text: a time without a zone is one of the session's, which is UTC."""

    def inferred(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_timestamp(kind):
            return pa.timestamp("us", "UTC")
        if pa.types.is_struct(kind):
            return pa.struct([(field.name, inferred(field.type)) for field in kind])
        if pa.types.is_list(kind):
            return pa.list_(inferred(kind.value_type))
        return pa.string() if pa.types.is_time(kind) or pa.types.is_null(kind) else kind

    return read.cast(pa.schema([(field.name, inferred(field.type)) for field in read.schema]))


def _delimiter(first_line: str) -> str:
    """
    >>> _delimiter("a;b, c;d"), _delimiter("a")
    (';', ',')
    """
    return max(_DELIMITERS, key=first_line.count)


def _read(content: bytes, delimiter: str, *missing: str) -> pa.Table:
    options = csv.ConvertOptions(null_values=["", "NULL", "null", *missing], strings_can_be_null=True)
    options.quoted_strings_can_be_null = False
    return csv.read_csv(
        io.BytesIO(content),
        convert_options=options,
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        read_options=csv.ReadOptions(use_threads=False, block_size=MOST_BYTES + 1),
    )


def _without_missing(read: pa.Table, content: bytes, delimiter: str) -> tuple[pa.Table, list[str]]:
    """The columns, those that are text only because of MISSING with NULL in its place, and sentences about them and
    about columns that are text because of another value."""
    texts = [field.name for field in read.schema if pa.types.is_string(field.type)]
    counts = {column: pc.sum(pc.equal(read.column(column), MISSING)).as_py() or 0 for column in texts}
    others = _read(content, delimiter, MISSING) if any(counts.values()) else read
    notes = []
    for place, field in enumerate(read.schema):
        column, shown = field.name, quoted_if_needed(field.name)
        if column not in texts:
            continue
        if counts[column] and not pa.types.is_string(kind := others.schema.field(column).type):
            if not pa.types.is_null(kind):
                read = read.set_column(place, column, others.column(column))
                notes.append(
                    f"{shown}: {_values(counts[column])} {MISSING}, which is NULL here; in Spark write WITH (header = "
                    f"true, inferSchema = true, nullValue = '{MISSING}') after the name of the file."
                )
        elif culprit := _culprit(read.column(column)):
            value, count, kind = culprit
            written = "'" + value.replace("'", "\\'") + "'"
            notes.append(
                f"{shown} is text, because of {_values(count)} {written}; for the others write "
                f"CAST(nullif({shown}, {written}) AS {kind})."
            )
    return read, notes


def _values(count: int) -> str:
    return f"{count:,} {'value' if count == 1 else 'values'}"


def _culprit(column: pa.ChunkedArray) -> tuple[str, int, str] | None:
    """The one value that makes a column of numbers or times a column of texts, how often it occurs, and the type of the
    others; None if there is no such value.

    >>> _culprit(pa.chunked_array([["1", "n/a", "2.5", "n/a", None, "3"]]))
    ('n/a', 2, 'DOUBLE')
    >>> _culprit(pa.chunked_array([["1", "a", "b"]]))
    """
    for pattern, kind in ((_NUMBER, "DOUBLE"), (_TIME, "TIMESTAMP")):
        matched = pc.fill_null(pc.match_substring_regex(column, pattern), fill_value=True)
        rest = Counter(column.filter(pc.invert(matched)).to_pylist())
        if len(rest) == 1 and rest.total() < len(column) - column.null_count - rest.total():
            ((value, count),) = rest.items()
            return value, count, kind
    return None


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
