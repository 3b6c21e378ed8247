"""The firings of EMIT over whole keys, or after the state of a stream, and the rows that each of them sees: for EXPLAIN
MATCH ANALYZE and WHY, and for FOR KEY.

It is the step of a batch (`step.advance`) without aggregates, so windows and triggers are defined once. Loads Numba.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from sqlext.operators.emit.assigned import Assigned, StepRows, assigned, step_rows
from sqlext.operators.emit.firing_points import Points
from sqlext.operators.emit.operator import FEWER_ROWS, EmitOperator
from sqlext.operators.emit.panes import stored_panes
from sqlext.operators.emit.parts import EARLY, ON_TIME
from sqlext.operators.emit.plan import EmitOperatorPlan
from sqlext.operators.emit.seen_rows import PaneRows, evictor_values, pane_rows, seen
from sqlext.operators.emit.step import StepTimes, points_and_panes
from sqlext.operators.rows.limits import Limits
from sqlext.operators.rows.spilled_rows import rows_in_memory
from sqlext.operators.rows.worker_memory import memory_errors
from sqlext.operators.stateful.arrivals import arrivals
from sqlext.operators.stateful.key_state import LAST_WATERMARK
from sqlext.operators.stateful.operator import State, first_state
from sqlext.pattern.task.event_time import BEGINNING, NEVER

SEES, TOO_EARLY, TAKEN, EVICTED = "sees", "too early", "taken", "evicted"


@dataclass(frozen=True)
class Firing:
    """A firing of a window: its number among all firings, in the order of the step's results, and in the window, from
    1; `time`: when it is decided. `verdict`: whether it sees a row, or why not, one of the words above; with EVICTED
    `kept` is the first row that it sees instead, None if it sees no row."""

    point: int
    number: int
    timing: str
    time: int
    verdict: str
    kept: int | None = None


@dataclass(frozen=True, kw_only=True)
class InPane:
    """A row in a window of its key: it is row `position` of `size`, and the window fires."""

    start: int
    end: int
    position: int
    size: int
    firings: tuple[Firing, ...]


@dataclass(frozen=True, kw_only=True)
class WindowFiring:
    """A firing of a window, which is decided when the watermark reaches `time`. It `sees` these rows of the trace, and
    EVICT `leaves_out` those others that the window then has."""

    timing: str
    time: int
    sees: np.ndarray
    leaves_out: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Trace:
    """`numbers: int64[n]`: the rows of the table that have a time, by which the other parts number them."""

    plan: EmitOperatorPlan
    numbers: np.ndarray
    rows: StepRows
    windows: Assigned
    points: Points

    @cached_property
    def _of_panes(self) -> PaneRows:
        return pane_rows(self.rows, self.windows, self.plan)

    @cached_property
    def _seen(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows that each firing sees, see `seen_rows.seen`."""
        return seen(self.points, self._of_panes, evictor_values(self.rows, self.plan), self.plan)

    def firings(self, pane: int) -> Iterator[WindowFiring]:
        """The firings of a pane, in order."""
        rows, start, stop = self._seen
        whole = slice(*self._of_panes.bounds[pane : pane + 2].tolist())
        row, position, before = self._of_panes.row[whole], self._of_panes.position[whole], -1
        for point in np.flatnonzero(self.points.pane == pane).tolist():
            count, own = int(self.points.seen[point]), rows[start[point] : stop[point]]
            at = row[(before < position) & (position <= count)]
            yield WindowFiring(
                timing=ON_TIME if self.points.is_complete[point] else EARLY,
                time=int(self.points.time[point]),
                sees=own,
                leaves_out=at[~np.isin(at, own)],
            )
            before = count if self.plan.emit.is_discarding else before

    def panes_of(self, row: int) -> list[int]:
        """The panes that have a row of the trace."""
        at = np.flatnonzero(self._of_panes.row == row)
        return (np.searchsorted(self._of_panes.bounds, at, side="right") - 1).tolist()

    def end(self, pane: int) -> int:
        """The end of a pane, with all rows of the trace."""
        entries = self.windows.entries
        return int(entries.end[entries.pane == pane].max(initial=int(self.windows.panes.end[pane])))

    def windows_of(self, row: int) -> list[InPane]:
        """The windows of a row of the table, by their start and end."""
        at = np.flatnonzero(self.windows.row == np.searchsorted(self.numbers, row))
        known = row in self.numbers
        found = [self._in_pane(int(entry)) for entry in at] if known else []
        return sorted(found, key=lambda pane: (pane.start, pane.end))

    def _in_pane(self, entry: int) -> InPane:
        entries, panes = self.windows.entries, self.windows.panes
        pane, position = int(entries.pane[entry]), int(entries.position[entry])
        own = entries.pane == pane
        firings, before = [], 0
        for number, point in enumerate(np.flatnonzero(self.points.pane == pane).tolist(), 1):
            count = int(self.points.seen[point])
            verdict, kept = self._verdict(entry, point, before if self.plan.emit.is_discarding else 0, count)
            timing = ON_TIME if self.points.is_complete[point] else EARLY
            firings.append(Firing(point, number, timing, int(self.points.time[point]), verdict, kept))
            before = count
        return InPane(
            start=int(panes.start[pane]),
            end=self.end(pane),
            position=position,
            size=int(own.sum()),
            firings=tuple(firings),
        )

    def _verdict(self, entry: int, point: int, before: int, count: int) -> tuple[str, int | None]:
        position = int(self.windows.entries.position[entry])
        if position > count:
            return TOO_EARLY, None
        if position <= before:
            return TAKEN, None
        rows, start, stop = self._seen
        own = rows[start[point] : stop[point]]
        if self.windows.row[entry] in own:
            return SEES, None
        return EVICTED, int(self.numbers[own[0]]) if len(own) else None

    def counts(self) -> Mapping[str, int]:
        """`rows`: with a time; `outside`: those in no window; `in_windows`: rows of windows, a row counts in each;
        `windows`; `largest`: the most rows of a window; `early`, `on_time`: firings; `never_seen`: rows of windows that
        no firing sees, because EVICT leaves them out of each."""
        entries = self.windows.entries
        sizes = np.bincount(entries.pane, minlength=len(self.windows.panes))
        on_time = int(self.points.is_complete.sum())
        return {
            "rows": len(self.numbers),
            "outside": len(self.numbers) - len(np.unique(self.windows.row)),
            "in_windows": len(entries.pane),
            "windows": len(self.windows.panes),
            "largest": int(sizes.max(initial=0)),
            "early": len(self.points.pane) - on_time,
            "on_time": on_time,
            "never_seen": self._never_seen(),
        }

    def _never_seen(self) -> int:
        if self.plan.emit.evictor is None:
            return 0
        rows, start, stop = self._seen
        pane = np.repeat(self.points.pane, stop - start)
        pairs = np.unique(np.stack([pane, rows]), axis=1) if len(rows) else np.zeros((2, 0))
        return len(self.windows.row) - pairs.shape[1]


def trace(table: pa.Table, plan: EmitOperatorPlan) -> Trace:
    """The firings over the rows of whole keys, in any order; the table has the columns of `plan.schema`."""
    plan = replace(plan, keeps_rows=True, aggregates=())
    has_time = table.column(plan.time).is_valid().combine_chunks()
    state = first_state(EmitOperator(windows=plan).tables, BEGINNING)
    numbers = np.flatnonzero(has_time.to_numpy(zero_copy_only=False))
    return _traced(state, table.filter(has_time), NEVER, plan, numbers)


def trace_state(state: State, plan: EmitOperatorPlan) -> Trace:
    """The firings that come after a state of one key if no further row arrives, but for triggers on the clock. Its rows
    are those of the state, in their order."""
    plan = replace(plan, keeps_rows=True, aggregates=())
    return _traced(state, state.rows.slice(0, 0), LAST_WATERMARK, plan, np.arange(state.rows.num_rows))


def _traced(state: State, arrived: pa.Table, watermark: int, plan: EmitOperatorPlan, numbers: np.ndarray) -> Trace:
    came = arrivals(state, arrived, watermark, time=plan.time, keys=plan.keys)
    rows = step_rows(came, plan)
    times = StepTimes(before=came.before, watermark=came.watermark, clock=BEGINNING)
    windows = assigned(rows, stored_panes(state.keys, rows.key_code, plan), times.before, times.moment, plan, [])
    points, _ = points_and_panes(rows, windows, times, plan)
    return Trace(plan=plan, numbers=numbers, rows=rows, windows=windows, points=points)


def count_batch(batches: Iterator[pa.RecordBatch], plan: EmitOperatorPlan) -> Iterator[pa.RecordBatch]:
    """The counts of `Trace.counts` over the rows of whole keys, as JSON in a row for each part of them."""
    with memory_errors(FEWER_ROWS) as held:
        for rows in rows_in_memory(batches, plan.keys, Limits(), held):
            counts = trace(pa.Table.from_batches(rows).cast(plan.schema), plan).counts()
            yield pa.RecordBatch.from_pydict({"counts": [json.dumps(counts)]})
