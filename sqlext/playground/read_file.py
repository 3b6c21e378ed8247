"""Reads the rows of a file without Spark: CSV, JSON or Parquet, which its content decides."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from sqlext.errors import BYTE_ORDER_MARK, DataError, file_fault
from sqlext.playground.arrow_types import arrow_table
from sqlext.playground.read_csv import MOST_BYTES, as_spark_infers, csv_table, whole_lines
from sqlext.playground.table import MOST_ROWS, Table

_DEEPEST = 100
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_OPENING, _CLOSING = list(b"{["), list(b"}]")
_PARQUET = b"PAR1"  # the first bytes of each file
_JSON_HINT = (
    "a file of JSON has an object in each line, or an array of objects; the values of a key have one type, or are null."
)
_PARQUET_HINT = "the file may be cut off, or encrypted."


def read_file(path: Path) -> Table:
    """The first rows of a file, under the name of the file. Raises DataError: CSV_FILE, ROWS_FILE."""
    try:
        with path.open("rb") as file:
            table = _table(file, path.name, str(path))
    except OSError as error:
        raise DataError("ROWS_FILE", f"{path} cannot be read: {file_fault(error)}") from None
    return replace(table, file=str(path.absolute()))


def file_table(content: bytes, file_name: str) -> Table:
    """The rows of the content of a file, or of pasted text.

    >>> table = file_table(b'{"at": "2026-03-02 09:00:00", "v": 1}', "my events.jsonl")
    >>> table.name, table.types
    ('my_events', {'at': 'timestamp', 'v': 'bigint'})

    Raises DataError: CSV_FILE, ROWS_FILE.
    """
    return _table(io.BytesIO(content), file_name, file_name)


def _table(file: BinaryIO, file_name: str, shown: str) -> Table:
    name = re.sub(r"\W+", "_", file_name.rpartition(".")[0] or file_name).strip("_") or "rows"
    begin = file.read(len(_PARQUET))
    file.seek(0)
    if begin == _PARQUET:
        return _parquet_table(file, name, shown)
    content = file.read(MOST_BYTES + 1)
    if content.removeprefix(BYTE_ORDER_MARK.encode()).lstrip()[:1] in (b"{", b"["):
        return _json_table(content, name, shown)
    return csv_table(content, name, shown)


def _parquet_table(file: BinaryIO, name: str, shown: str) -> Table:
    from pyarrow import parquet  # loads slowly, and few files need it

    try:
        opened = parquet.ParquetFile(file)
        batches = list(islice(opened.iter_batches(batch_size=MOST_ROWS), 1))
    except (pa.ArrowException, OSError) as error:
        message = f"{shown} is not Parquet that can be read: {str(error).splitlines()[0]}"
        raise DataError("ROWS_FILE", message, hint=_PARQUET_HINT) from None
    read = pa.Table.from_batches(batches, opened.schema_arrow)
    return replace(_whole(read, name, shown, is_cut=opened.metadata.num_rows > MOST_ROWS), format="parquet")


def _json_table(content: bytes, name: str, shown: str) -> Table:
    from pyarrow import json as arrow_json  # as above

    content, is_cut = whole_lines(content)
    if _depth(content) > _DEEPEST:
        raise DataError("ROWS_FILE", f"{shown} has values within more than {_DEEPEST} others", hint=_JSON_HINT)
    is_array = content.lstrip().startswith(b"[")
    try:
        if is_array:
            content = "\n".join(map(json.dumps, json.loads(content))).encode()
        read = arrow_json.read_json(
            io.BytesIO(content),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=MOST_BYTES + 1),
        )
    except (pa.ArrowException, ValueError) as error:
        raise DataError("ROWS_FILE", f"{shown} is not JSON of rows: {_reason(str(error))}", hint=_JSON_HINT) from None
    is_cut = is_cut or read.num_rows > MOST_ROWS
    table = _whole(as_spark_infers(read.slice(0, MOST_ROWS)), name, shown, is_cut=is_cut)
    return replace(table, format="json", options={"multiLine": True} if is_array else {})


def _depth(content: bytes) -> int:
    """How deep objects and arrays lie in each other: Arrow's reader recurses, and would end the process.

    >>> _depth(b'{"a": [1, {"b": "[["}]} {}'), _depth(b"")
    (3, 0)
    """
    signs = np.frombuffer(_STRING.sub(b"", content), np.uint8)
    steps = np.isin(signs, _OPENING).astype(np.int32) - np.isin(signs, _CLOSING)
    return int(np.cumsum(steps).max(initial=0))


def _reason(message: str) -> str:
    """What Arrow says, without its own words.

    >>> _reason("JSON parse error: Column(/price) changed from number to string in row 1")
    'price is a number, and a string in row 2'
    """
    changed = re.fullmatch(r"JSON parse error: Column\(/(.*)\) changed from (\w+) to (\w+) in row (\d+)", message)
    if changed is None or not changed[1]:
        return message.removeprefix("JSON parse error: ")
    return f"{changed[1]} is a {changed[2]}, and a {changed[3]} in row {int(changed[4]) + 1}"


def _whole(read: pa.Table, name: str, shown: str, *, is_cut: bool) -> Table:
    if not read.num_rows:
        raise DataError("ROWS_FILE", f"{shown} has no rows")
    table = arrow_table(read, name, (f"Only the first {MOST_ROWS:,} rows are here.",) * is_cut)
    if table is None:
        raise DataError("ROWS_FILE", f"no column of {shown} has a type that the playground reads")
    return table
