"""One step of EMIT: arriving rows and a watermark in, firings and the next state out. Batch is one step to the end.

    order     discard late rows, keep rows above the watermark for later, sort the others by key and time (`assigned`)
    assign    the windows of each row (`assigners`, `sessions`): a pane is one window of one key
    trigger   where in the sequence of its rows each pane fires (`triggers`, `firing_points`)
    see       what each firing sees: partial aggregates (`firings`), or the rows that an evictor chooses (`seen_rows`)

A step is pure: it uses neither Spark nor a clock. The same rows in any portions give the same firings, except for rows
that come late and triggers on the clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sqlext.operators.emit import firing_points, triggers
from sqlext.operators.emit.assigned import Assigned, StepRows, assigned, step_rows
from sqlext.operators.emit.distances import delta_values
from sqlext.operators.emit.firing_points import NOTHING, Points
from sqlext.operators.emit.firings import failures, firing_rows, merged_rows, partial_values
from sqlext.operators.emit.panes import Panes, stored_panes
from sqlext.operators.emit.parts import END, START
from sqlext.operators.emit.plan import EmitOperatorPlan
from sqlext.operators.emit.seen_rows import evictor_values, pane_rows, seen, still_seen
from sqlext.operators.emit.triggers import TriggerInput
from sqlext.operators.emit.whole import aggregations
from sqlext.operators.rows.arrow import as_arrow, one_chunk
from sqlext.operators.stateful.arrivals import arrivals
from sqlext.operators.stateful.operator import KEYS, ROWS, Change, State, Step
from sqlext.pattern.task.event_time import BEGINNING, NEVER, later


@dataclass(frozen=True, kw_only=True)
class StepTimes:
    """The watermark `before` a step and the `watermark` after it, and the time of day, in int64 microseconds."""

    before: int
    watermark: int
    clock: int

    @property
    def moment(self) -> int:
        """The time of firings that late rows cause: Spark accepts no row with an older time."""
        return max(self.watermark, self.before + 1)


def advance(state: State, arrived: pa.Table, watermark: int, plan: EmitOperatorPlan, clock: int = BEGINNING) -> Step:
    """Run one step. `watermark`: no row up to it will arrive any more, except late ones; `clock`: the time of day,
    which only triggers on the clock read. Both are in int64 microseconds.

    Raises DataError as aggregates do, unless `plan.skips_failures`.
    """
    if not triggers.reads_clock(plan.emit):
        return _advance(state, arrived, watermark, plan, clock)
    first = _advance(state, arrived.slice(0, 0), state.watermark, plan, clock)  # the clock comes before the rows
    return first.then(_advance(first.after(state), arrived, watermark, plan, clock))


def _advance(state: State, arrived: pa.Table, watermark: int, plan: EmitOperatorPlan, clock: int) -> Step:
    came = arrivals(state, arrived, watermark, time=plan.time, keys=plan.keys, lateness=plan.emit.lateness)
    times = StepTimes(before=came.before, watermark=came.watermark, clock=clock)
    rows = step_rows(came, plan)
    columns = {name: one_chunk(rows.table.column(name)) for name in plan.schema.names}
    calls = aggregations(plan, columns)
    partial = [] if plan.keeps_rows else calls
    windows = assigned(rows, stored_panes(state.keys, rows.key_code, plan), times.before, times.moment, plan, partial)
    points, panes = points_and_panes(rows, windows, times, plan)
    is_open = _close(panes, plan) > times.watermark
    kept = np.zeros(0, np.int64), np.zeros(0, np.int64)
    if plan.keeps_rows:
        of_panes = pane_rows(rows, windows, plan)
        seen_rows, start, stop = seen(points, of_panes, evictor_values(rows, plan), plan)
        at_points = [call.reduce(seen_rows, start, stop) for call in calls]
        kept = still_seen(_last_count(points, len(panes)), is_open, of_panes, plan)
    else:
        first = np.searchsorted(windows.entries.pane, np.arange(len(panes) + 1))
        at_points, partials = partial_values(
            points, windows.row, first, panes, calls, is_discarding=plan.emit.is_discarding
        )
        panes = replace(panes, partials=partials)
    time, fired, errors = firing_rows(points, windows, at_points, calls, plan)
    ended = merged_rows(windows.ended, times.moment, calls, plan)
    waiting = came.kept(rows.is_waiting)
    open_panes = _open_panes(state, windows, panes, points, is_open, plan)
    return Step(
        results=[result for result in (ended, (time, fired)) if result[1].num_rows],
        late=came.late,
        failures=pa.concat_tables([came.failed, failures(points, fired, errors, plan)]),
        changes={
            ROWS: Change(waiting.keeps, pa.concat_tables([waiting.added, _kept_rows(rows, panes, *kept)])),
            KEYS: open_panes,
        },
        watermark=times.watermark,
        open_windows=int(open_panes.keeps.sum()) + open_panes.added.num_rows,
    )


def _last(panes: Panes, plan: EmitOperatorPlan) -> np.ndarray:
    """`int64[p]`: the watermark at which each window is complete."""
    return np.where(panes.end == NEVER, NEVER, panes.end - plan.lag)


def _close(panes: Panes, plan: EmitOperatorPlan) -> np.ndarray:
    """`int64[p]`: the watermark from which on no row can be added to the window any more."""
    return later(_last(panes, plan), plan.emit.lateness)


def points_and_panes(
    rows: StepRows, windows: Assigned, times: StepTimes, plan: EmitOperatorPlan
) -> tuple[Points, Panes]:
    """All firings of the step, and the panes after it, without their partial aggregates."""
    panes, entries, before, moment = windows.panes, windows.entries, times.before, times.moment
    size = np.bincount(entries.pane, minlength=len(panes))
    end = panes.end.copy()
    np.maximum.at(end, entries.pane, entries.end)
    last = _last(replace(panes, end=end), plan)
    was_complete = last <= before
    is_late = rows.time[windows.row] <= before
    late = np.bincount(entries.pane[is_late], minlength=len(panes))
    # Late rows have made a session longer that had been complete: it fires for them, and is open for the rows after.
    is_open_again = panes.was_on_time & ~was_complete & (late > 0)
    is_open = ~was_complete[entries.pane] & ~(is_open_again[entries.pane] & is_late)
    inputs = TriggerInput(
        entries=entries.take(is_open),
        size=size,
        end=panes.end,
        count=panes.count,
        news=np.where(is_open_again, NOTHING, panes.news),
        columns=panes.own,
        values=lambda column: delta_values(rows.table.column(column)).take(windows.row[is_open]),
        before=before,
        watermark=times.watermark,
        clock=times.clock,
    )
    rung, own = triggers.fired(plan.emit, inputs)
    panes = replace(panes, end=end, own=own)
    again = np.flatnonzero(is_open_again)
    opened = firing_points.complete(again, late[again], np.full(len(again), moment))
    early = firing_points.in_order([opened, firing_points.merged(rung, panes.news)])
    news = _news(panes, windows, early)
    needs_news = panes.was_on_time | plan.emit.is_discarding
    complete = np.flatnonzero(~was_complete & (last <= times.watermark) & ~(needs_news & (news == NOTHING)))
    corrected = np.flatnonzero(was_complete & (size > 0))
    points = firing_points.in_order(
        [
            early,
            firing_points.complete(complete, size[complete], last[complete]),
            firing_points.complete(corrected, size[corrected], np.full(len(corrected), moment)),
        ]
    )
    was_on_time = panes.was_on_time.copy()
    was_on_time[points.pane[points.is_complete]] = True
    panes = replace(
        panes,
        count=panes.count + size,
        fired=panes.fired + np.bincount(points.pane, minlength=len(panes)),
        news=_news(panes, windows, points),
        was_on_time=was_on_time,
    )
    return points, panes


def _last_count(points: Points, panes: int) -> np.ndarray:
    """`int64[p]`: how many new rows the last firing of each pane saw, -1 if it did not fire."""
    last = np.full(panes, -1)
    last[points.pane] = points.seen  # if a pane is assigned several times, the last assignment holds
    return last


def _news(panes: Panes, windows: Assigned, points: Points) -> np.ndarray:
    """The values of `Panes.news` after these firings."""
    entries, news = windows.entries, panes.news.copy()
    last = _last_count(points, len(panes))
    news[last >= 0] = NOTHING
    is_new = entries.position > last[entries.pane]
    news[entries.pane[is_new]] = entries.time[is_new]
    return news


# the next state


def _kept_rows(rows: StepRows, panes: Panes, row: np.ndarray, pane: np.ndarray) -> pa.Table:
    """The rows of the state that firings see, each with its window."""
    table = rows.table.take(as_arrow(row))
    for name, values in ((START, panes.start), (END, panes.end)):
        table = table.set_column(table.schema.get_field_index(name), name, as_arrow(values[pane]))
    return table.cast(rows.table.schema)


def _open_panes(
    state: State, windows: Assigned, panes: Panes, points: Points, is_open: np.ndarray, plan: EmitOperatorPlan
) -> Change:
    """The change of the panes of the state: open panes that do not change in any way in this step stay as they are."""
    is_touched = windows.origin < 0
    is_touched[windows.entries.pane] = True
    is_touched[points.pane] = True
    stays = np.zeros(state.keys.num_rows, np.bool_)
    stays[windows.origin[~is_touched & is_open]] = True
    return Change(stays, panes.take(np.flatnonzero(is_touched & is_open)).table(plan))
