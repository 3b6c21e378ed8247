"""The files of rows that were late or failed, which the side tables of a stream read."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa

from sqlext.operators.rows.columns import LATE_ROW

LATE, FAILED = "sqlext.late_rows", "sqlext.failed_rows"  # settings: the names of the tables
_TIMESTAMP = pa.timestamp("us", "UTC")


def late_table(late: pa.Table, time: str, watermark: int) -> pa.Table:
    """The late rows of one step with the columns of their table; `time`: the name of their time."""
    watermarks = pa.array(np.full(late.num_rows, watermark)).cast(_TIMESTAMP)
    return pa.table({"time": late.column(time).cast(_TIMESTAMP), "watermark": watermarks, "row": late.column(LATE_ROW)})


def write(rows: pa.Table, folder: str, name: str) -> None:
    """Write the rows of one step; writing them again changes nothing."""
    if not rows.num_rows:
        return
    import pyarrow.parquet as pq  # takes 50 ms, and few workers write such rows

    part = os.path.join(folder, f"_{name}.part")  # Spark does not read files whose names begin with _
    pq.write_table(rows, part)
    os.replace(part, os.path.join(folder, f"{name}.parquet"))
