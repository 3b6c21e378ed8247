"""The parts of EMIT by name and as values: lowering finds them, and workers run them.

Workers import this module too, so nothing here may import the tokenizer. Durations are int64 microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlext.errors import Place

if TYPE_CHECKING:  # it loads numpy, which checking and formatting do not need
    from sqlext.aggregates.bind import BoundAggregate

TUMBLE, HOP, CUMULATE, SESSION, GLOBAL = "TUMBLE", "HOP", "CUMULATE", "SESSION", "GLOBAL_WINDOW"
AFTER_WATERMARK, EARLY_EVERY, ON_CLOCK = "AFTER WATERMARK", "EARLY EVERY", "EARLY EVERY … PROCESSING TIME"
EVERY_ROWS, ON_DELTA, AFTER_DELAY = "EVERY … ROWS", "ON DELTA", "AFTER DELAY"
KEEP_ROWS, KEEP_TIME, KEEP_DELTA = "KEEP LAST … ROWS", "KEEP LAST interval", "KEEP DELTA"

# The columns of a firing that follow its keys. START and END are also columns of kept rows in the state.
START, END = "__start", "__end"
FIRING, TIMING, ROWTIME, AGGREGATE = "__firing", "__timing", "__rowtime", "__aggregate"
EARLY, ON_TIME, LATE, MERGED = "EARLY", "ON_TIME", "LATE", "MERGED"  # the values of window_timing


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

    `columns`, of the types `call.column_types`; `filter`: a Boolean column, or empty; `place`: the place of the call in
    the user's text.
    """

    call: BoundAggregate
    columns: tuple[str, ...]
    filter: str = ""
    place: Place | None = field(default=None, compare=False)
