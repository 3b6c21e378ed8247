"""The firings of a whole table, in a Python worker: one step, whose watermark is past all rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from sqlext.engine.emit.window_plan import WindowPlan
from sqlext.engine.emit.window_step import advance, first_state
from sqlext.pattern.event_time import NEVER


def fire_batch(batches: Iterator[pa.RecordBatch], plan: WindowPlan) -> Iterator[pa.RecordBatch]:
    """All firings over the rows of whole keys, in any order."""
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    if not tables:
        return
    rows = pa.concat_tables(tables).cast(plan.schema)
    for _, firings in advance(first_state(plan), rows, NEVER, plan).results:
        yield firings
