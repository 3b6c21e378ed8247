"""ORDER BY PROCTIME(): rows are ordered by the time at which they arrive, and matches end by the clock."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from sqlext.engine.stream.stream_plan import StreamPlan
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.match_plan import WITHIN_END

NOW = "current_timestamp()"  # what Spark computes instead: one time for a micro-batch


def is_processing_time(clause: MatchClause) -> bool:
    """Is the first ORDER BY key PROCTIME()?"""
    return (
        bool(clause.order_by)
        and re.fullmatch(r"(?i)\s*PROCTIME\s*\(\s*\)\s*", clause.order_by[0].expression.text) is not None
    )


def stamped(arrived: pa.Table, now: int, plan: StreamPlan) -> pa.Table:
    """The rows with the time `now` (int64 microseconds), later than that of all rows before.

    >>> kind = pa.timestamp("us", "UTC")
    >>> rows = pa.table({"__key": pa.array([5], kind), "__end": pa.array([8], kind)})
    >>> plan = StreamPlan(None, rows.schema, "__key")
    >>> [c.cast(pa.int64()).to_pylist() for c in stamped(rows, 100, plan).columns]
    [[100], [103]]
    """
    before = arrived.column(plan.time).cast(pa.int64()).to_numpy()
    for name in (plan.time, WITHIN_END):
        if name in arrived.column_names:
            at = arrived.schema.get_field_index(name)
            times = arrived.column(name).cast(pa.int64()).to_numpy() - before + np.int64(now)
            arrived = arrived.set_column(
                at, arrived.schema.field(at), pa.array(times).cast(arrived.schema.field(at).type)
            )
    return arrived
