"""EMIT as the stateful operator of a stream, and over a whole table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from sqlext.operators.emit.panes import pane_schema
from sqlext.operators.emit.parts import CUMULATE, START, TUMBLE
from sqlext.operators.emit.plan import EmitOperatorPlan
from sqlext.operators.rows.blocks import Block
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rows.limits import Limits
from sqlext.operators.rows.worker_memory import memory_errors
from sqlext.operators.stateful.operator import KEYS, ROWS, Clock, State, Step, TimesBy, arriving_rows, first_state
from sqlext.pattern.task.event_time import BEGINNING, NEVER

LIMITS = Limits(rows=1 << 18)  # a step has a cost of its own, and many rows at once do not fit in a cache
FEWER_ROWS = (
    "GROUP BY further columns, read fewer columns, or give workers more memory (spark.executor.memoryOverhead)."
)


@dataclass(frozen=True, kw_only=True)
class EmitOperator:
    """Triggers on the clock fire in the first micro-batch after their time.

    `extra`: further columns of the rows that arrive: LATE_ROW and FAILURE, if they are needed.
    """

    windows: EmitOperatorPlan
    extra: tuple[str, ...] = ()
    times_by: TimesBy = TimesBy.EVENTS

    @property
    def inputs(self) -> Mapping[str, pa.Schema]:
        return arriving_rows(self.windows.schema, self.extra)

    @cached_property
    def tables(self) -> Mapping[str, pa.Schema]:
        return {ROWS: self.windows.row_schema, KEYS: pane_schema(self.windows)}

    @property
    def time(self) -> str:
        return self.windows.time

    def advance(self, state: State, arrived: Mapping[str, pa.Table], clock: Clock) -> Step:
        from sqlext.operators.emit.step import advance  # loads the matchers, which the driver does not need

        return advance(state, arrived[ROWS], clock.watermark, self.windows, clock.now)


def fire_batch(
    batches: Iterator[pa.RecordBatch], windows: EmitOperatorPlan, limits: Limits = LIMITS
) -> Iterator[pa.RecordBatch]:
    """All firings over the rows of whole keys, in any order: a step whose watermark is past all rows, for some keys
    after the other, so that threads run such steps at once. Without keys these are the windows, if they do not overlap.

    Raises DataError (WORKER_MEMORY) for rows of one key that do not fit in memory.
    """
    yield from fire_blocks([Block(batches)], windows, limits)


def fire_blocks(blocks: Iterable[Block], windows: EmitOperatorPlan, limits: Limits) -> Iterator[pa.RecordBatch]:
    """As `fire_batch`, of rows in blocks. Without keys there is one block, which may come in the order of the time."""
    from sqlext.operators.rows.ordered_chunks import ordered_chunks  # loads what the driver does not need
    from sqlext.operators.rows.spilled_rows import block_in_memory
    from sqlext.operators.rows.threads import one_after_another

    sort, keys = (SortKey(windows.time),), windows.keys  # a step itself orders the rows of one time
    if not keys and windows.assigner.kind in (TUMBLE, CUMULATE):
        keys = (START,)
        blocks = (block._replace(batches=(_with_starts(b, windows) for b in block.batches)) for block in blocks)
    with memory_errors(FEWER_ROWS) as held:
        parts = (rows for block in blocks for rows in block_in_memory(block, keys, limits, held))
        firings = (_fire(chunk, windows) for rows in parts for chunk in ordered_chunks(rows, keys, sort, limits))
        yield from one_after_another(firings, limits.threads)


def _with_starts(batch: pa.RecordBatch, windows: EmitOperatorPlan) -> pa.RecordBatch:
    from sqlext.operators.emit.assigners import aligned_starts  # loads what the driver does not need
    from sqlext.operators.rows.arrow import as_arrow, as_numpy

    time = as_numpy(batch.column(windows.time).view(pa.int64()))
    return batch.append_column(START, as_arrow(aligned_starts(windows.assigner, time)))


def _fire(chunk: Callable[[], dict[str, pa.Array]], windows: EmitOperatorPlan) -> Iterator[pa.RecordBatch]:
    """All firings over the rows of a chunk, which has whole keys."""
    columns, operator = chunk(), EmitOperator(windows=windows)
    table = pa.table({name: columns[name] for name in windows.schema.names}).cast(windows.schema)
    columns.clear()
    step = operator.advance(first_state(operator.tables, BEGINNING), {ROWS: table}, Clock(NEVER, BEGINNING))
    for _, firings in step.results:
        yield firings
