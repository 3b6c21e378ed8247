"""The triggers of EMIT: for each kind, where among the rows of a pane it fires, and what it stores about a pane for
this.

| trigger | fires |
|---|---|
| EARLY EVERY d PROCESSING TIME, AFTER DELAY d | before all rows of the step, when the clock has reached the time set |
| EVERY n ROWS | after the rows n, 2n, … of the window |
| ON DELTA(e) > x | after a row whose e differs by more than x from that of the row on which it last fired |
| EARLY EVERY d | before the first row at or after a multiple of d, if the window goes on there |

AFTER WATERMARK is a part of every query, so the step itself implements it. TRIGGER_FORMS in `parts.py` says how a
trigger is written, and `tests/operators/emit/model.py` defines its meaning a second time, row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlext.operators.emit.distances import DeltaValues, distances
from sqlext.operators.emit.firing_points import NOTHING, Entries, Points, early
from sqlext.operators.emit.parts import AFTER_DELAY, EARLY_EVERY, EVERY_ROWS, ON_CLOCK, ON_DELTA, Emit, Trigger
from sqlext.pattern.task.event_time import NEVER, later

Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class PaneColumn:
    """A column of panes that a trigger reads and writes. When sessions are merged, the largest of their values is kept.

    `empty`: the value before the first row. `is_in_every_state`: the states of all queries have the column. Any other
    column is stored only for queries with the trigger, so a new trigger changes no stored state.
    """

    name: str
    empty: int | float
    is_in_every_state: bool = False

    @property
    def type(self) -> pa.DataType:
        return pa.int64() if isinstance(self.empty, int) else pa.float64()


@dataclass(frozen=True, kw_only=True)
class TriggerInput:
    """The inputs that decide where triggers fire in a step.

    - `entries`: the new rows of windows that were not complete before the step;
    - `size: int64[p]`: how many new rows each pane gets, including the rows of complete windows;
    - `end`, `count`, `news`, `columns`: of the panes before the step, as in `Panes`, where `columns` is `own`;
    - `values`: for a column of rows, its value for each entry;
    - `before`, `watermark`: the watermark before the step and after it; `clock`: the time of day.
    """

    entries: Entries
    size: np.ndarray
    end: np.ndarray
    count: np.ndarray
    news: np.ndarray
    columns: Columns
    values: Callable[[str], DeltaValues]
    before: int
    watermark: int
    clock: int


@dataclass(frozen=True, kw_only=True)
class TriggerKind:
    """`fire`: the firings of one step, and the columns of the trigger after it. `reads_clock`: the trigger fires before
    the rows of a step. Such a step is preceded by a step of the clock alone."""

    fire: Callable[[Trigger, TriggerInput], tuple[Points, Columns]]
    columns: tuple[PaneColumn, ...] = ()
    reads_clock: bool = False


def reads_clock(emit: Emit) -> bool:
    """Return True if a trigger fires by the time of day."""
    return any(TRIGGERS[trigger.kind].reads_clock for trigger in emit.triggers)


def stored_columns(emit: Emit) -> tuple[PaneColumn, ...]:
    """The columns of triggers in the state of a query, in the order of the table."""
    return tuple(
        column
        for kind, trigger in TRIGGERS.items()
        for column in trigger.columns
        if column.is_in_every_state or emit.trigger(kind) is not None
    )


def empty_columns(names: Columns, n: int) -> dict[str, np.ndarray]:
    """The columns with these names for n panes without rows."""
    return {name: np.full(n, _EMPTY[name]) for name in names}


def fired(emit: Emit, inputs: TriggerInput) -> tuple[list[Points], dict[str, np.ndarray]]:
    """The firings of each trigger in one step, and the columns that triggers store after it."""
    nothing = np.zeros(0, np.int64)
    points = [early(nothing, nothing, nothing)]
    columns = dict(inputs.columns)
    for kind, entry in TRIGGERS.items():
        trigger = emit.trigger(kind)
        if trigger is not None:
            own, changed = entry.fire(trigger, inputs)
            points.append(own)
            columns.update(changed)
    return points, columns


# one function for each kind


def _on_clock(trigger: Trigger, inputs: TriggerInput) -> tuple[Points, Columns]:
    """Fire at the first multiple of the duration after a row."""
    every = int(trigger.amount)
    points, due = _due("clock_due", inputs)
    return points, {"clock_due": np.where(inputs.size > 0, inputs.clock // every * every + every, due)}


def _after_delay(trigger: Trigger, inputs: TriggerInput) -> tuple[Points, Columns]:
    """Fire when the duration has passed since the first row after the last firing of this trigger."""
    points, due = _due("delay_due", inputs)
    is_first = (inputs.size > 0) & (due == NOTHING)
    return points, {"delay_due": np.where(is_first, inputs.clock + int(trigger.amount), due)}


def _due(column: str, inputs: TriggerInput) -> tuple[Points, np.ndarray]:
    """The firings whose time in the column the clock has reached, before all rows; and the remaining times."""
    due = inputs.columns[column]
    fires = np.flatnonzero((due != NOTHING) & (due <= inputs.clock))
    points = early(fires, np.zeros(len(fires), np.int64), np.full(len(fires), inputs.before + 1))
    return points, np.where(due <= inputs.clock, NOTHING, due)


def _every_rows(trigger: Trigger, inputs: TriggerInput) -> tuple[Points, Columns]:
    """Fire after each n rows. Rows are counted whatever other triggers do."""
    entries = inputs.entries
    fires = (inputs.count[entries.pane] + entries.position) % int(trigger.amount) == 0
    return early(entries.pane[fires], entries.position[fires], entries.decided[fires]), {}


def _on_delta(trigger: Trigger, inputs: TriggerInput) -> tuple[Points, Columns]:
    """Fire where the expression has changed by more than the threshold.

    The stored column `delta` is the value on which each pane last fired, at first that of its first row that is not
    NULL. It is NaN before that row, and `delta_is_nan` is 1 where the value is NaN itself.
    """
    entries, values, columns = inputs.entries, inputs.values(trigger.column), inputs.columns
    last, has_last = columns["delta"].tolist(), has_fired_on(columns).tolist()
    fires = np.zeros(len(entries.pane), np.bool_)
    at = np.flatnonzero(~values.is_null)
    for i, pane, value in zip(at.tolist(), entries.pane[at].tolist(), values.number[at].tolist()):
        distance = abs(value - last[pane])
        if math.isnan(distance):
            distance = float(distances(value, last[pane]))
        fires[i] = has_last[pane] and distance > trigger.amount
        if fires[i] or not has_last[pane]:
            last[pane], has_last[pane] = value, True
    points = early(entries.pane[fires], entries.position[fires], entries.decided[fires])
    delta = np.array(last, np.float64)
    return points, {"delta": delta, "delta_is_nan": (np.array(has_last, np.bool_) & np.isnan(delta)).astype(np.int64)}


def has_fired_on(columns: Columns) -> np.ndarray:
    """`bool[p]`: the panes whose column `delta` is a value with which ON DELTA compares."""
    return ~np.isnan(columns["delta"]) | (columns["delta_is_nan"] == 1)


def _early_every(trigger: Trigger, inputs: TriggerInput) -> tuple[Points, Columns]:
    """Fire at multiples of the duration since 1970."""
    every, entries, news = int(trigger.amount), inputs.entries, inputs.news
    waiting = np.flatnonzero(news != NOTHING)  # rows of earlier steps, which no firing has seen
    pane = np.concatenate([waiting, entries.pane])
    count = np.concatenate([np.zeros(len(waiting), np.int64), entries.position])
    time = np.concatenate([news[waiting], entries.time])
    order = np.lexsort((count, pane))
    end = np.concatenate([inputs.end[waiting], entries.end])[order]
    pane, count, time = pane[order], count[order], time[order]
    multiple = later(time, every - time % every)
    next_time = np.append(np.where(np.diff(pane) == 0, time[1:], NEVER), NEVER)[: len(time)]
    fires = (multiple <= next_time) & (multiple < end) & (multiple - 1 <= inputs.watermark)
    return early(pane[fires], count[fires], multiple[fires] - 1), {}


# If several triggers fire at one place, the first one in this table counts: the clock comes before all rows, and a row
# fires before time does. The columns in every state are the ones that triggers stored before this table was written.
TRIGGERS = {
    ON_CLOCK: TriggerKind(
        fire=_on_clock, reads_clock=True,
        columns=(PaneColumn(name="clock_due", empty=NOTHING, is_in_every_state=True),),
    ),
    AFTER_DELAY: TriggerKind(
        fire=_after_delay, reads_clock=True,
        columns=(PaneColumn(name="delay_due", empty=NOTHING, is_in_every_state=True),),
    ),
    EVERY_ROWS: TriggerKind(fire=_every_rows),
    ON_DELTA: TriggerKind(
        fire=_on_delta,
        columns=(
            PaneColumn(name="delta", empty=math.nan, is_in_every_state=True),
            PaneColumn(name="delta_is_nan", empty=0),
        ),
    ),
    EARLY_EVERY: TriggerKind(fire=_early_every),
}  # fmt: skip
_EMPTY = {column.name: column.empty for kind in TRIGGERS.values() for column in kind.columns}
