"""EMIT as the stateful operator of a stream, and over a whole table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from sqlext.operators.emit.panes import pane_schema
from sqlext.operators.emit.plan import EmitOperatorPlan
from sqlext.operators.rows.limits import Limits
from sqlext.operators.rows.worker_memory import memory_errors
from sqlext.operators.stateful.operator import KEYS, ROWS, Clock, State, Step, TimesBy, first_state
from sqlext.pattern.task.event_time import BEGINNING, NEVER

_LIMITS = Limits()
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
        return {ROWS: pa.schema([*self.windows.schema, *((name, pa.string()) for name in self.extra)])}

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
    batches: Iterator[pa.RecordBatch], windows: EmitOperatorPlan, limits: Limits = _LIMITS
) -> Iterator[pa.RecordBatch]:
    """All firings over the rows of whole keys, in any order: one step, whose watermark is past all rows.

    Raises DataError (WORKER_MEMORY) for rows of one key that do not fit in memory.
    """
    from sqlext.operators.rows.spilled_rows import rows_in_memory  # loads what the driver does not need

    operator = EmitOperator(windows=windows)
    with memory_errors(FEWER_ROWS) as held:
        for rows in rows_in_memory(batches, windows.keys, limits, held):
            table = pa.Table.from_batches(rows).cast(windows.schema)
            rows.clear()
            step = operator.advance(first_state(operator.tables, BEGINNING), {ROWS: table}, Clock(NEVER, BEGINNING))
            for _, firings in step.results:
                yield firings
