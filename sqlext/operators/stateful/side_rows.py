"""The rows that were late or failed, and the files of them that the side tables of a stream read."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.operators.rows.arrow import as_arrow, strings
from sqlext.operators.rows.columns import LATE_ROW
from sqlext.operators.stateful.operator import FAILURES

LATE, FAILED = "sqlext.late_rows", "sqlext.failed_rows"  # settings: the names of the tables
_TIMESTAMP = pa.timestamp("us", "UTC")


def late_table(late: pa.Table, time: str, watermark: int) -> pa.Table:
    """The late rows of one step with the columns of their table; `time`: the name of their time."""
    watermarks = pa.array(np.full(late.num_rows, watermark)).cast(_TIMESTAMP)
    return pa.table({"time": late.column(time).cast(_TIMESTAMP), "watermark": watermarks, "row": late.column(LATE_ROW)})


def failure_table(times: Sequence[int] | np.ndarray, errors: Sequence[str], rows: Sequence[str]) -> pa.Table:
    """Failures with the columns FAILURES. `times`: int64 microseconds; `errors`: see `error_text`; `rows`: the rows or
    keys, as JSON."""
    at = as_arrow(np.array(times, np.int64)).cast(FAILURES.field("time").type)
    return pa.table([at, strings(errors), strings(rows)], FAILURES)


def failures_of_keys(times: Sequence[int], errors: Sequence[DataError], keys: Sequence[Sequence[Any]]) -> pa.Table:
    """Errors of expressions over several rows, with the columns FAILURES; `keys`: the values of their keys."""
    return failure_table(times, list(map(error_text, errors)), [json.dumps(list(key), default=str) for key in keys])


def error_text(error: DataError) -> str:
    """The error in the column `error` of FAILURES."""
    return f"{error.error_class}: {error.message}"


def write(rows: pa.Table, folder: str, name: str) -> None:
    """Write the rows of one step; writing them again changes nothing."""
    if not rows.num_rows:
        return
    import pyarrow.parquet as pq  # takes 50 ms, and few workers write such rows

    # Spark does not read files whose names begin with _. Two tasks may write the same rows at once.
    part = os.path.join(folder, f"_{name}.{uuid.uuid4().hex}.part")
    pq.write_table(rows, part)
    os.replace(part, os.path.join(folder, f"{name}.parquet"))
