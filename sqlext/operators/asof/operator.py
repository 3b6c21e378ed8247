"""ASOF JOIN as the stateful operator of two streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from sqlext.operators.asof.plan import AsofPlan
from sqlext.operators.stateful.operator import ROWS, Clock, State, Step
from sqlext.operators.stateful.two_streams import TwoStreamsOperator


@dataclass(frozen=True, kw_only=True)
class AsofOperator(TwoStreamsOperator):
    plan: AsofPlan

    def advance(self, state: State, arrived: Mapping[str, pa.Table], clock: Clock) -> Step:
        from sqlext.operators.asof.step import advance  # loads the matchers, which the driver does not need

        return advance(state, arrived[ROWS], clock.watermark, self.plan)
