"""INTERVAL JOIN … AGGREGATE as the stateful operator of two streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from sqlext.operators.interval.stream_plan import StreamAggregatesPlan
from sqlext.operators.stateful.operator import ROWS, Clock, State, Step
from sqlext.operators.stateful.two_streams import TwoStreamsOperator


@dataclass(frozen=True, kw_only=True)
class AggregatesOperator(TwoStreamsOperator):
    plan: StreamAggregatesPlan

    def advance(self, state: State, arrived: Mapping[str, pa.Table], clock: Clock) -> Step:
        from sqlext.operators.interval.step import advance  # loads Numba, which the driver does not need

        return advance(state, arrived[ROWS], clock.watermark, self.plan)
