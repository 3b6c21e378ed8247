"""EMIT for one bucket of keys, in Spark's stateful operator."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from sqlext.engine.emit.window_plan import WindowPlan
from sqlext.engine.stream.processor import KEYS, StepProcessor
from sqlext.engine.stream.state_log import Stored
from sqlext.engine.stream.stream_plan import FIRST_WATERMARK, State

if TYPE_CHECKING:
    from sqlext.engine.stream.step import Step


@dataclass(frozen=True, kw_only=True)
class EmitBucketPlan:
    """The plan of a step as the operator reads it; see `BucketPlan`. `key_schema` are the columns of the panes, `extra`
    further text columns of the rows that arrive."""

    windows: WindowPlan
    key_schema: pa.Schema
    extra: tuple[str, ...] = ()
    is_processing_time: bool = False
    ends_by_clock: bool = False

    @property
    def arriving(self) -> pa.Schema:
        return pa.schema([*self.windows.schema, *((name, pa.string()) for name in self.extra)])

    @property
    def schema(self) -> pa.Schema:
        return self.windows.row_schema

    @property
    def time(self) -> str:
        return self.windows.time


class EmitProcessor(StepProcessor):
    """Triggers on the clock fire in the first micro-batch behind their time."""

    def first_state(self) -> State:
        plan = self._stream
        return State(plan.schema.empty_table(), plan.key_schema.empty_table(), FIRST_WATERMARK)

    def advance(self, state: State, arrived: pa.Table, watermark: int) -> Step:
        from sqlext.engine.emit.window_step import advance  # loads the matchers, which the driver does not need

        return advance(state, arrived, watermark, self._stream.windows, clock=int(1e6 * time.time()))

    def open_windows(self, state: Stored) -> int:
        return sum(chunk.count for chunk in state.logs[KEYS].chunks)

    @property
    def _stream(self) -> EmitBucketPlan:
        return cast(EmitBucketPlan, self.plan.stream)
