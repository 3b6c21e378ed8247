"""MATCH_RECOGNIZE as the stateful operator of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlext.operators.match.stream_plan import StreamMatchPlan
from sqlext.operators.rows.columns import WITHIN_END
from sqlext.operators.stateful.operator import KEYS, ROWS, Clock, State, Step, TimesBy, arriving_rows


@dataclass(frozen=True, kw_only=True)
class MatchOperator:
    """`extra`: further columns of the rows that arrive: LATE_ROW and FAILURE, if they are needed."""

    plan: StreamMatchPlan
    extra: tuple[str, ...] = ()
    times_by: TimesBy = TimesBy.EVENTS

    @property
    def inputs(self) -> Mapping[str, pa.Schema]:
        return arriving_rows(self.plan.schema, self.extra)

    @property
    def tables(self) -> Mapping[str, pa.Schema]:
        return {ROWS: self.plan.schema, KEYS: self.plan.key_schema}

    @property
    def time(self) -> str:
        return self.plan.time

    def advance(self, state: State, arrived: Mapping[str, pa.Table], clock: Clock) -> Step:
        from sqlext.operators.match.step import advance  # loads Numba, which the driver does not need

        rows, watermark = arrived[ROWS], clock.watermark
        if self.times_by is not TimesBy.EVENTS:
            watermark = max(watermark, state.watermark + 1)
            rows = stamped(rows, watermark, self.time)
        return advance(state, rows, watermark, self.plan)


def stamped(arrived: pa.Table, now: int, time: str) -> pa.Table:
    """The rows with their time of arrival `now` (int64 microseconds) in the column `time`. It is later than the times
    of all earlier rows. The end of WITHIN is moved by as much.

    >>> kind = pa.timestamp("us", "UTC")
    >>> rows = pa.table({"__key": pa.array([5], kind), "__end": pa.array([8], kind)})
    >>> [c.cast(pa.int64()).to_pylist() for c in stamped(rows, 100, "__key").columns]
    [[100], [103]]
    """
    before = arrived.column(time).cast(pa.int64()).to_numpy()
    for name in (time, WITHIN_END):
        if name in arrived.column_names:
            at = arrived.schema.get_field_index(name)
            field = arrived.schema.field(at)
            times = arrived.column(name).cast(pa.int64()).to_numpy() - before + np.int64(now)
            arrived = arrived.set_column(at, field, pa.array(times).cast(field.type))
    return arrived
