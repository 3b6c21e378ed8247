"""What runs in a Python worker: sorted Arrow batches in, matches out (`output`). No pyspark, no SQL.

The rows of a partition may come in many batches, a batch may hold many partitions; the column PARTITION_START marks
their first rows, else a change of the keys does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pyarrow as pa

from sqlext.engine.worker.arrow import as_arrow, as_numpy, differs, mask_bytes, ranks, strings, to_values
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.columnar import truth
from sqlext.pattern.strategy import match
from sqlext.pattern.task import Condition, Rows, Task, Values
from sqlext.rewriter.match.match_plan import PARTITION_START, Bound, Slot
from sqlext.rewriter.spark_types import kind_of

CHUNK_ROWS = 1 << 16  # partitions are collected until there are so many rows to match at once


@dataclass(frozen=True)
class WorkerPlan:
    """The part of a MatchPlan that workers need; `masks` name the integer columns that hold the bits, 64 in each;
    `neighbours` are (bit, what must hold besides)."""

    task: Task
    masks: tuple[str, ...]
    neighbours: tuple[tuple[int, Condition], ...]
    operands: tuple[tuple[str, str], ...]
    carried: tuple[str, ...]
    partition_by: tuple[str, ...]
    slots: tuple[Slot, ...]
    bounds: tuple[Bound, ...]
    is_ansi: bool


def match_batches(batches: Iterator[pa.RecordBatch], plan: WorkerPlan) -> Iterator[pa.RecordBatch]:
    """The result rows of all partitions in a sorted stream of batches.

    Raises DataError for what only the rows can show.
    """
    for chunk in whole_partitions(marked(batches, plan.partition_by)):
        yield from match_chunk(chunk, plan)


def marked(batches: Iterator[pa.RecordBatch], keys: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The batches with PARTITION_START, from where the keys change if Spark did not say."""
    before: pa.RecordBatch | None = None
    for batch in batches:
        if PARTITION_START in batch.schema.names or not batch.num_rows:
            yield batch
            continue
        starts = np.zeros(batch.num_rows, np.bool_)
        starts[0] = before is None or any(differs(batch[k].slice(0, 1), before[k])[0] for k in keys)
        for key in keys:
            starts[1:] |= differs(batch[key].slice(1), batch[key].slice(0, batch.num_rows - 1))
        before = batch.slice(batch.num_rows - 1)
        yield batch.append_column(PARTITION_START, as_arrow(starts))


def whole_partitions(batches: Iterator[pa.RecordBatch], chunk_rows: int = CHUNK_ROWS) -> Iterator[pa.Table]:
    """Tables that begin and end with a partition."""
    buffer = PartitionBuffer(chunk_rows)
    for batch in batches:
        yield from buffer.push(batch)
    yield from buffer.rest()


class PartitionBuffer:
    """Collects sorted batches until whole partitions of at least `chunk_rows` rows are there."""

    def __init__(self, chunk_rows: int = CHUNK_ROWS):
        self.chunk_rows = chunk_rows
        self.pending: list[pa.RecordBatch] = []
        self.rows = 0

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        cut = _last_start(batch) if self.rows + batch.num_rows >= self.chunk_rows else -1
        if cut >= 0:
            self._add(batch.slice(0, cut))
            yield from self.rest()
            batch = batch.slice(cut)
        self._add(batch)

    def rest(self) -> Iterator[pa.Table]:
        """What is there, if anything, taken to be whole."""
        if self.rows:
            pending, self.pending, self.rows = self.pending, [], 0
            yield pa.Table.from_batches(pending)

    def _add(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self.pending.append(batch)
            self.rows += batch.num_rows


def _last_start(batch: pa.RecordBatch) -> int:
    """The index of the last row that begins a partition, -1 without one."""
    starts = np.flatnonzero(as_numpy(batch.column(PARTITION_START)))
    return int(starts[-1]) if len(starts) else -1


def match_chunk(chunk: pa.Table, plan: WorkerPlan) -> Iterator[pa.RecordBatch]:
    """The result rows of whole partitions."""
    columns = {name: one_chunk(chunk.column(name)) for name in chunk.column_names}
    rows = read_rows(columns, chunk.num_rows, plan)
    from sqlext.engine.worker.output import results  # with Numba, which the driver does not need

    times = None
    if any(slot.kind == "rowtime" for slot in plan.slots):
        from sqlext.engine.worker.row_times import chunk_times

        times = chunk_times(columns, rows, plan)
    for spans in match(plan.task, rows):
        yield from results(columns, rows, times.of(spans, rows.bounds) if times else spans, plan)


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def read_rows(columns: dict[str, pa.Array], n: int, plan: WorkerPlan) -> Rows:
    """What the matcher reads of the columns."""
    starts = np.flatnonzero(as_numpy(columns[PARTITION_START]))
    bounds = np.append(starts, n).astype(np.int64)
    limit = _limit(columns, bounds, plan)
    operands, classifiers = _operands(columns, plan)
    rows = Rows(bounds, mask_of(columns, n, plan), limit, operands, classifiers)
    if plan.neighbours:
        rows = replace(rows, mask=_with_neighbours(rows, plan))
    if isinstance(plan.task, CepTask) and plan.bounds:
        rows = replace(rows, key=_in_order(columns, plan.bounds[0].key), end=_in_order(columns, plan.bounds[0].end))
    rows.mask.flags.writeable = False  # as Arrow's arrays are: kernels are compiled, and loaded, for each type of array
    return rows


def mask_of(columns: dict[str, pa.Array], n: int, plan: WorkerPlan) -> np.ndarray:
    """Rows.mask from its columns, all bits set where there are none, before neighbours are looked at."""
    if plan.masks:
        return mask_bytes([columns[name] for name in plan.masks], n)
    bits = max((bit for bit in plan.task.bits if bit is not None), default=0) + 1
    return np.full((n, -(-bits // 8)), 255, np.uint8)


def _limit(columns: dict[str, pa.Array], bounds: np.ndarray, plan: WorkerPlan) -> np.ndarray | None:
    """Rows.limit: the nearest of the plan's bounds."""
    if not plan.bounds:
        return None
    from sqlext.pattern.within import limits

    found = [
        limits(bounds, to_values(columns[b.key]), to_values(columns[b.end]), b.is_inclusive, b.admits_start)
        for b in plan.bounds
    ]
    return reduce(np.minimum, found)


def _in_order(columns: dict[str, pa.Array], name: str) -> np.ndarray:
    from sqlext.pattern.within import in_order

    return in_order(to_values(columns[name]).values)


def _with_neighbours(rows: Rows, plan: WorkerPlan) -> np.ndarray:
    """The mask without the bits that a row loses because of its neighbours."""
    mask = rows.mask.copy()
    for bit, condition in plan.neighbours:
        mask[:, bit // 8] &= np.where(truth(condition, rows), np.uint8(255), np.uint8(255 - (1 << bit % 8)))
    return mask


def _operands(columns: dict[str, pa.Array], plan: WorkerPlan) -> tuple[tuple[Values, ...], np.ndarray | None]:
    """Columns that conditions read, strings as ranks in the order of all strings at hand, labels' names among them."""
    if not plan.operands:
        return (), None
    names = strings(plan.task.program.labels)
    texts = [columns[name] for name, spark_type in plan.operands if kind_of(spark_type) == "rank"]
    ranked = iter(ranks([names, *texts]))
    classifiers = next(ranked).values
    values = tuple(
        next(ranked) if kind_of(spark_type) == "rank" else to_values(columns[name])
        for name, spark_type in plan.operands
    )
    return values, classifiers
