"""Reads the relations of a join in the task that joins them. Loads PyArrow's reader of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import pyarrow as pa

from sqlext.expressions.values import arrow_type
from sqlext.operators.rows.held_rows import joined_columns
from sqlext.operators.rows.limits import Limits
from sqlext.operators.rows.spilled_rows import rows_in_memory
from sqlext.operators.rows.threads import in_threads
from sqlext.operators.rows.worker_memory import Held, memory_errors
from sqlext.operators.scan.plan import ScanPlan
from sqlext.operators.scan.read_files import computed_rows, read_files

LEFT, RIGHT = "left", "right"  # structs in the list of files: a file of either relation, the other one is NULL
_BY_SPARK = "SET sqlext.read = spark, or read fewer columns."
Columns = Mapping[str, pa.Array]


def joined(
    files: Iterable[pa.RecordBatch],
    plans: Mapping[str, ScanPlan],
    join: Callable[[Columns, Columns], Iterator[pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:
    """What `join` returns of all rows of the left and of the right relation. `plans`: those of LEFT and RIGHT.

    Raises DataError (WORKER_MEMORY) if the rows do not fit in memory.
    """
    listed = list(files)
    with memory_errors(_BY_SPARK) as held:
        read = in_threads(lambda side: _columns(listed, side, plans[side], held), [(LEFT,), (RIGHT,)], threads=2)
        yield from join(*read)


def _columns(listed: list[pa.RecordBatch], side: str, plan: ScanPlan, held: Held) -> Columns:
    files = [pa.RecordBatch.from_struct_array(batch[side].drop_null()) for batch in listed]
    rows = next(rows_in_memory(read_files(files, plan), (), Limits(), held), None)
    return joined_columns(rows or [_no_rows(plan)])


def _no_rows(plan: ScanPlan) -> pa.RecordBatch:
    columns = {c.name: pa.nulls(0, arrow_type(c.spark_type)) for c in (*plan.columns, *plan.constants)}
    return computed_rows(columns, 0, plan)
