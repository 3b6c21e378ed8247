"""INTERVAL JOIN … AGGREGATE as the stateful operator of two streams, whose rows arrive together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from sqlext.operators.interval.plan import TIME
from sqlext.operators.interval.stream_plan import StreamAggregatesPlan
from sqlext.operators.stateful.operator import KEYS, ROWS, Clock, State, Step, TimesBy


@dataclass(frozen=True, kw_only=True)
class AggregatesOperator:
    """The state has rows only: nothing else is stored of a key.

    `extra`: further columns of the rows that arrive: LATE_ROW and FAILURE, if they are needed.
    """

    plan: StreamAggregatesPlan
    extra: tuple[str, ...] = ()
    times_by: TimesBy = TimesBy.EVENTS

    @property
    def inputs(self) -> Mapping[str, pa.Schema]:
        return {ROWS: pa.schema([*self.plan.schema, *((name, pa.string()) for name in self.extra)])}

    @property
    def tables(self) -> Mapping[str, pa.Schema]:
        keys = pa.schema([self.plan.schema.field(name) for name in self.plan.keys])
        return {ROWS: self.plan.schema, KEYS: keys}

    @property
    def time(self) -> str:
        return TIME

    def advance(self, state: State, arrived: Mapping[str, pa.Table], clock: Clock) -> Step:
        from sqlext.operators.interval.step import advance  # loads Numba, which the driver does not need

        return advance(state, arrived[ROWS], clock.watermark, self.plan)
