"""The parts of EMIT: their names, how they are written, and their values. Lowering finds them, and workers run them.

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


@dataclass(frozen=True, kw_only=True)
class Form:
    """How a trigger or an evictor is written: its words, then INTERVAL, ROWS, or an expression and its threshold.

    `kind`: its name in messages and in the fingerprints of queries. `option` are words that may follow and change its
    kind to `with_option`.
    """

    kind: str
    words: tuple[str, ...]
    operand: str = ""
    option: tuple[str, ...] = ()
    with_option: str = ""

    @property
    def text(self) -> str:
        """The form as hints show it."""
        operand = self.operand if not self.operand or self.operand.startswith("(") else f" {self.operand}"
        return " ".join(self.words) + operand + (f" [{' '.join(self.option)}]" if self.option else "")


INTERVAL, N_ROWS, ABOVE, BELOW = "interval", "n ROWS", "(e) > x", "(e) < x"  # the operands of forms
TRIGGER_FORMS = (
    Form(kind=AFTER_WATERMARK, words=("AFTER", "WATERMARK")),
    Form(kind=EARLY_EVERY, words=("EARLY", "EVERY"), operand=INTERVAL, option=("PROCESSING", "TIME"),
         with_option=ON_CLOCK),
    Form(kind=EVERY_ROWS, words=("EVERY",), operand=N_ROWS),
    Form(kind=ON_DELTA, words=("ON", "DELTA"), operand=ABOVE),
    Form(kind=AFTER_DELAY, words=("AFTER", "DELAY"), operand=INTERVAL),
)  # fmt: skip
# A late row may merge two sessions. It is then undefined on which row, or when, the merged session last fired.
NOT_FOR_SESSIONS = frozenset({ON_DELTA, AFTER_DELAY})
EVICTOR_FORMS = (
    Form(kind=KEEP_ROWS, words=("KEEP", "LAST"), operand=N_ROWS),
    Form(kind=KEEP_TIME, words=("KEEP", "LAST"), operand=INTERVAL),
    Form(kind=KEEP_DELTA, words=("KEEP", "DELTA"), operand=BELOW),
)


@dataclass(frozen=True)
class Trigger:
    """`amount`: a duration, a number of rows, or the threshold of ON DELTA, whose expression is `column`. The threshold
    and the values of `column` are multiplied by 10^`scale`, which makes decimals whole numbers."""

    kind: str
    amount: float
    column: str = ""
    scale: int = 0


@dataclass(frozen=True)
class Evictor:
    """`amount`: a number of rows, a duration, or the threshold of KEEP DELTA, whose expression is `column`, with its
    `scale` as in a trigger."""

    kind: str
    amount: float
    column: str = ""
    scale: int = 0


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
