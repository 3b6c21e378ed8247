"""What a step of EMIT needs to know: the windows of rows, and the parts of EMIT. Light: the driver imports it too.

All times and durations are int64 microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from sqlext.operators.emit.parts import (
    AGGREGATE,
    END,
    FIRING,
    ROWTIME,
    SESSION,
    START,
    TIMING,
    Emit,
    FiringAggregate,
)
from sqlext.operators.rows.columns import SortKey


@dataclass(frozen=True, kw_only=True)
class Assigner:
    """The windows of a row.

    `size`: of each window, of SESSION the gap; `step`: the slide of HOP, the step of CUMULATE; `offset`: from 1970.
    """

    kind: str
    size: int = 0
    step: int = 0
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class WindowPlan:
    """`schema`: the columns of the rows that arrive; `time`: the one with their event time; `keys`: those of GROUP BY;
    `sort`: the order of rows with equal times; `keeps_rows`: firings are computed from rows, not from partial
    aggregates; `skips_failures`: an aggregate that cannot be computed is NULL and does not end the query."""

    schema: pa.Schema
    time: str
    keys: tuple[str, ...]
    assigner: Assigner
    emit: Emit
    aggregates: tuple[FiringAggregate, ...]
    sort: tuple[SortKey, ...] = ()
    keeps_rows: bool = False
    is_ansi: bool = True
    skips_failures: bool = False

    @property
    def row_schema(self) -> pa.Schema:
        """The rows of the state: those that wait for the watermark, and the kept ones, once for each window."""
        return pa.schema([*self.schema, (START, pa.int64()), (END, pa.int64())])

    def result_schema(self, values: Sequence[pa.Array]) -> pa.Schema:
        """The columns of a firing: the keys, what is known of the firing, and the values of the aggregates."""
        kind = self.schema.field(self.time).type
        known = (START, kind), (END, kind), (FIRING, pa.int64()), (TIMING, pa.string()), (ROWTIME, kind)
        aggregates = ((f"{AGGREGATE}{i}", value.type) for i, value in enumerate(values))
        return pa.schema([*(self.schema.field(k) for k in self.keys), *known, *aggregates])

    @property
    def lag(self) -> int:
        """How long before its end a window is complete; a session is at its end, where a row would still be in it."""
        return 0 if self.assigner.kind == SESSION else 1
