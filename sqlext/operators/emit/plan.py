"""What a step of EMIT needs: the windows of rows, and the parts of EMIT. This module is light, since the driver imports
it too.

All times and durations are int64 microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from sqlext.expressions.function import SPARK_DEFAULTS, ExecutionSettings
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

    `size`: the size of each window, for SESSION the gap; `step`: the slide of HOP, the step of CUMULATE; `offset`: the
    offset from 1970.
    """

    kind: str
    size: int = 0
    step: int = 0
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class EmitOperatorPlan:
    """`schema`: the columns of the rows that arrive; `time`: the column with their event time; `keys`: the columns of
    GROUP BY; `sort`: the order of rows with equal times; `keeps_rows`: firings are computed from rows, not from partial
    aggregates; `skips_failures`: an aggregate that cannot be computed is NULL and does not end the query."""

    schema: pa.Schema
    time: str
    keys: tuple[str, ...]
    assigner: Assigner
    emit: Emit
    aggregates: tuple[FiringAggregate, ...]
    sort: tuple[SortKey, ...] = ()
    keeps_rows: bool = False
    settings: ExecutionSettings = SPARK_DEFAULTS
    skips_failures: bool = False

    @property
    def row_schema(self) -> pa.Schema:
        """The columns of the rows of the state: the rows that wait for the watermark, and the kept rows, once for each
        window."""
        return pa.schema([*self.schema, (START, pa.int64()), (END, pa.int64())])

    def result_schema(self, values: Sequence[pa.Array]) -> pa.Schema:
        """The columns of a firing: the keys, the columns that describe the firing, and the values of the aggregates."""
        kind = self.schema.field(self.time).type
        known = (START, kind), (END, kind), (FIRING, pa.int64()), (TIMING, pa.string()), (ROWTIME, kind)
        aggregates = ((f"{AGGREGATE}{i}", value.type) for i, value in enumerate(values))
        return pa.schema([*(self.schema.field(k) for k in self.keys), *known, *aggregates])

    @property
    def lag(self) -> int:
        """How long before its end a window is complete. A session is complete at its end, because a row at that time
        would still be in the session."""
        return 0 if self.assigner.kind == SESSION else 1
