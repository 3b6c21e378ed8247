"""What a step of EMIT needs to know: windows, triggers, evictors, aggregates. Light: the driver imports it too.

All times and durations are int64 microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sqlext.engine.stream.stream_plan import SortKey
from sqlext.expressions.aggregates.distinct_rows import SortKey as OrderInside

TUMBLE, HOP, CUMULATE, SESSION, GLOBAL = "TUMBLE", "HOP", "CUMULATE", "SESSION", "GLOBAL_WINDOW"
EARLY_EVERY, ON_CLOCK = "EARLY EVERY", "EARLY EVERY … PROCESSING TIME"
EVERY_ROWS, ON_DELTA, AFTER_DELAY = "EVERY … ROWS", "ON DELTA", "AFTER DELAY"
KEEP_ROWS, KEEP_TIME, KEEP_DELTA = "KEEP LAST … ROWS", "KEEP LAST interval", "KEEP DELTA"

# The windows of kept rows and of panes in the state.
START, END = "__start", "__end"
FIRING, TIMING, ROWTIME, AGGREGATE = "__firing", "__timing", "__rowtime", "__aggregate"  # the columns of a firing


@dataclass(frozen=True, kw_only=True)
class Assigner:
    """The windows of a row.

    `size`: of each window, of SESSION the gap; `step`: the slide of HOP, the step of CUMULATE; `offset`: from 1970.
    """

    kind: str
    size: int = 0
    step: int = 0
    offset: int = 0


@dataclass(frozen=True)
class Trigger:
    """`amount`: a duration, a number of rows, or the threshold of ON DELTA, whose expression is `column`."""

    kind: str
    amount: float
    column: str = ""


@dataclass(frozen=True)
class Evictor:
    """`amount`: a number of rows, a duration, or the threshold of KEEP DELTA, whose expression is `column`."""

    kind: str
    amount: float
    column: str = ""


@dataclass(frozen=True, kw_only=True)
class Emit:
    """`EMIT [trigger, …] [ACCUMULATING | DISCARDING] [ALLOW LATENESS …] [EVICT …]`; AFTER WATERMARK is always there."""

    triggers: tuple[Trigger, ...] = ()
    is_discarding: bool = False
    lateness: int = 0
    evictor: Evictor | None = None

    def trigger(self, kind: str) -> Trigger | None:
        return next((t for t in self.triggers if t.kind == kind), None)


@dataclass(frozen=True, kw_only=True)
class FiringAggregate:
    """An aggregate over the rows that a firing sees.

    `columns`: the arguments that rows decide, then the keys `order_by`; `types`: the Spark types of all arguments;
    `constants`: the values of the others, by position; `filter`: a Boolean column, or empty; `result`: its Spark type.
    """

    function: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    result: str
    is_distinct: bool = False
    filter: str = ""
    constants: tuple[tuple[int, Any], ...] = ()
    order_by: tuple[OrderInside, ...] = ()
    ignores_nulls: bool = False

    @property
    def column_types(self) -> list[str]:
        """The Spark types of `columns`."""
        constants = dict(self.constants)
        arguments = [kind for i, kind in enumerate(self.types) if i not in constants]
        return [*arguments, *(key.spark_type for key in self.order_by)]


@dataclass(frozen=True, kw_only=True)
class WindowPlan:
    """`schema`: the columns of the rows that arrive; `time`: the one with their event time; `keys`: those of GROUP BY;
    `sort`: the order of rows with equal times; `keeps_rows`: firings are computed from rows, not from partial
    aggregates."""

    schema: pa.Schema
    time: str
    keys: tuple[str, ...]
    assigner: Assigner
    emit: Emit
    aggregates: tuple[FiringAggregate, ...]
    sort: tuple[SortKey, ...] = ()
    keeps_rows: bool = False
    is_ansi: bool = True
    time_zone: str = "UTC"

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
