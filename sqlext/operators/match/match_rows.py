"""Match in a Python worker: Arrow batches in, result rows out. Loads Numba.

The rows of a partition may come in many batches, and a batch may hold many partitions. If the rows are sorted, the
column PARTITION_START marks the first row of each partition; without it a partition begins where the keys change. If
they are not (`MatchOperatorPlan.sort`), all of them are read and ordered first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from sqlext.operators.match.output import result_batches
from sqlext.operators.match.plan import MatchOperatorPlan
from sqlext.operators.match.read_rows import read_rows, rows_needed, time_columns
from sqlext.operators.match.window_output import window_batches
from sqlext.operators.rows.arrow import as_arrow, as_numpy, differs
from sqlext.operators.rows.blocks import Block
from sqlext.operators.rows.columns import PARTITION_START
from sqlext.operators.rows.held_rows import HeldRows, joined_columns
from sqlext.operators.rows.limits import Limits
from sqlext.operators.rows.ordered_chunks import Chunk, ordered_chunks
from sqlext.operators.rows.spilled_rows import block_in_memory
from sqlext.operators.rows.threads import one_after_another
from sqlext.operators.rows.worker_memory import Held, memory_errors
from sqlext.pattern.strategy import decide, match
from sqlext.pattern.stream.rowtime import Times, batch_times
from sqlext.pattern.task.task import Rows


def match_batches(batches: Iterator[pa.RecordBatch], plan: MatchOperatorPlan) -> Iterator[pa.RecordBatch]:
    """The result rows of all partitions in a stream of batches.

    Raises DataError for errors that can only be found in the rows, and for a partition that does not fit in memory.
    """
    yield from match_blocks([Block(batches)], plan)


def match_blocks(blocks: Iterable[Block], plan: MatchOperatorPlan) -> Iterator[pa.RecordBatch]:
    """As `match_batches`, of rows in blocks."""
    with memory_errors() as held:
        results = (_match_chunk(chunk, plan) for block in blocks for chunk in _chunks(block, plan, held))
        yield from one_after_another(results, plan.limits.threads)


def _match_chunk(chunk: Chunk, plan: MatchOperatorPlan) -> Iterator[pa.RecordBatch]:
    yield from match_partitions(chunk(), plan)


def _chunks(block: Block, plan: MatchOperatorPlan, held: Held) -> Iterator[Chunk]:
    """Whole partitions, in order, from rows that come sorted or, if the plan has a `sort`, in any order. `held` is kept
    up to date, for messages."""
    if plan.sort:
        for rows in block_in_memory(block, plan.partition_by, plan.limits, held):
            yield from ordered_chunks(rows, plan.partition_by, plan.sort, plan.limits)
        return
    sorted_batches = with_partition_starts(block.batches, plan.partition_by)
    for columns in whole_partitions(sorted_batches, plan.limits, plan.partition_by, held):
        yield partial(dict, columns)


def partitions(
    batches: Iterator[pa.RecordBatch], plan: MatchOperatorPlan, held: Held | None = None
) -> Iterator[dict[str, pa.Array]]:
    """The columns of whole partitions, which matchers read; otherwise as `_chunks`."""
    return (chunk() for chunk in _chunks(Block(batches), plan, held or Held()))


def with_partition_starts(batches: Iterator[pa.RecordBatch], keys: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The batches with the column PARTITION_START, computed from the keys where Spark did not compute it."""
    before: pa.RecordBatch | None = None
    for batch in batches:
        if PARTITION_START in batch.schema.names:
            yield batch
            continue
        if not batch.num_rows:
            yield batch.append_column(PARTITION_START, as_arrow(np.zeros(0, np.bool_)))
            continue
        starts = np.zeros(batch.num_rows, np.bool_)
        starts[0] = before is None or any(differs(batch[k].slice(0, 1), before[k])[0] for k in keys)
        for key in keys:
            starts[1:] |= differs(batch[key].slice(1), batch[key].slice(0, batch.num_rows - 1))
        before = batch.slice(batch.num_rows - 1)
        yield batch.append_column(PARTITION_START, as_arrow(starts))


def whole_partitions(
    batches: Iterator[pa.RecordBatch], limits: Limits, keys: tuple[str, ...] = (), held: Held | None = None
) -> Iterator[dict[str, pa.Array]]:
    """The columns of whole partitions, about as many rows or bytes at once as `limits` allows, or one longer
    partition. `keys`: the columns that an error names a partition by."""
    buffer = PartitionBuffer(limits, keys, held)
    for batch in batches:
        yield from buffer.push(batch)
    yield from buffer.rest()


class PartitionBuffer:
    """Collects sorted batches, and returns the columns of whole partitions as soon as they have about as many rows or
    bytes as `limits` allows."""

    def __init__(self, limits: Limits, keys: tuple[str, ...] = (), held: Held | None = None):
        self.limits, self.held = limits, HeldRows(limits, keys, held)

    def push(self, batch: pa.RecordBatch) -> Iterator[dict[str, pa.Array]]:
        rows, size = self.held.rows + batch.num_rows, self.held.bytes + batch.nbytes
        is_full = rows >= self.limits.rows or size >= self.limits.bytes
        cut = _last_start(batch) if is_full else -1
        if cut >= 0:
            self.held.add(batch.slice(0, cut))
            yield from self.rest()
            batch = batch.slice(cut)
        self.held.add(batch)

    def rest(self) -> Iterator[dict[str, pa.Array]]:
        """The columns of the collected rows, which end with a partition; nothing if there are no rows."""
        if self.held.rows:
            yield joined_columns(self.held.take())


def _last_start(batch: pa.RecordBatch) -> int:
    """The index of the last row that begins a partition, or -1 if there is none."""
    starts = np.flatnonzero(as_numpy(batch.column(PARTITION_START)))
    return int(starts[-1]) if len(starts) else -1


def match_partitions(columns: dict[str, pa.Array], plan: MatchOperatorPlan) -> Iterator[pa.RecordBatch]:
    """The result rows of whole partitions."""
    rows = read_rows(columns, plan)
    if plan.task.output.is_window:
        yield from window_batches(columns, rows, match(plan.task, rows), plan)
        return
    times = _times(columns, rows, plan) if any(slot.kind == "rowtime" for slot in plan.slots) else None
    for spans in match(plan.task, rows):
        yield from result_batches(columns, rows, times.of(spans, rows.bounds) if times else spans, plan)


def _times(columns: dict[str, pa.Array], rows: Rows, plan: MatchOperatorPlan) -> Times:
    """When each match and each unmatched row is decided, for MATCH_ROWTIME()."""
    key, end = time_columns(columns)
    return batch_times(decide, plan.task, rows, key, end, rows_needed(columns, plan))
