"""When the rows of a result are decided: from Arrow columns to `pattern.stream.rowtime` and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sqlext.engine.worker.arrow import to_arrow, to_values
from sqlext.engine.worker.match_rows import WorkerPlan, mask_of
from sqlext.pattern.conditions import rows_ahead
from sqlext.pattern.event_time import NEVER
from sqlext.pattern.measures.navigation import OutputRows
from sqlext.pattern.stream.decisions import decide
from sqlext.pattern.stream.rowtime import Times, batch_times, result_times
from sqlext.pattern.task import Rows, Spans, Values
from sqlext.pattern.within import floats_in_order, in_order
from sqlext.rewriter.match.match_plan import ROW_TIME, WITHIN_END, WITHIN_KEY


def chunk_times(columns: dict[str, pa.Array], rows: Rows, plan: WorkerPlan) -> Times:
    """The times of all results in whole partitions."""
    key, end = time_columns(columns)
    return batch_times(decide, plan.task, rows, key, end, rows_needed(columns, len(rows.mask), plan))


def time_columns(columns: dict[str, pa.Array]) -> tuple[Values, Values | None]:
    """The times of the rows, and where WITHIN ends for them, as int64 in their order."""
    if WITHIN_END in columns:
        return _ordered(columns[WITHIN_KEY]), _ordered(columns[WITHIN_END])
    return _ordered(columns[ROW_TIME]), None


def _ordered(column: pa.Array) -> Values:
    values = to_values(column)
    return Values(in_order(values.values), values.valid)


def rows_needed(columns: dict[str, pa.Array], n: int, plan: WorkerPlan) -> np.ndarray | None:
    """EventTimes.need: a condition with NEXT is known when the rows that it reads are there, or before if what Spark
    computes of it on the row alone is false."""
    task = plan.task
    ahead = [rows_ahead(condition) for condition in task.conditions]
    for bit, condition in plan.neighbours:
        ahead = [max(a, rows_ahead(condition)) if bit == task.bits[v] else a for v, a in enumerate(ahead)]
    if not any(ahead):
        return None
    mask = mask_of(columns, n, plan)
    need = np.tile(np.arange(n), (len(ahead), 1))
    for label, (distance, own) in enumerate(zip(ahead, task.bits)):
        need[label] += distance if own is None else distance * (mask[:, own // 8] >> (own % 8) & 1).astype(np.int64)
    return need


def times_of(columns: dict[str, pa.Array], rows: Rows, spans: Spans, out: OutputRows, plan: WorkerPlan) -> np.ndarray:
    """`int64[o]`: when each result row is decided, as int64 in the order of the keys; NEVER: by the end of input."""
    reads = [slot.navigation for slot in plan.slots if slot.kind == "value"]
    return result_times(spans, out, reads, rows.bounds, time_columns(columns)[0])


def as_times(time: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Such times as a column of the type of the key, NULL for NEVER.

    >>> as_times(np.array([5, NEVER]), pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    [5, None]
    """
    valid = time != NEVER
    held = np.where(valid, time, 0)
    return to_arrow(Values(floats_in_order(held) if pa.types.is_floating(kind) else held, valid), kind)
