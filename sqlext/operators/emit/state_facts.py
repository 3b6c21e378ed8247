"""The state of EMIT for one key, in words. Loads Numba."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from sqlext.operators.emit import triggers
from sqlext.operators.emit.operator import EmitOperator
from sqlext.operators.emit.panes import Panes
from sqlext.operators.emit.parts import EVERY_ROWS, GLOBAL, ON_DELTA
from sqlext.operators.emit.trace import Trace, WindowFiring, trace_state
from sqlext.operators.rows.arrow import as_arrow, as_numpy, one_chunk
from sqlext.operators.stateful.fact import MAX_ROWS, ROW, WINDOW, Fact, RowTexts, ShowTime, further_rows
from sqlext.operators.stateful.operator import State
from sqlext.pattern.task.event_time import NEVER

_MAX_LEFT_OUT = 5  # rows of which the times are named


def emit_facts(operator: EmitOperator, state: State, texts: RowTexts, show: ShowTime) -> Iterator[Fact]:
    """The facts: the rows and the windows of the key."""
    trace = trace_state(state, operator.windows)
    times = as_numpy(one_chunk(state.rows.column(operator.time)).view(pa.int64()))
    yield from _rows(trace, state, times, texts, show)
    panes = trace.windows.panes
    order = np.lexsort((panes.end, panes.start)).tolist()
    for pane in order[:MAX_ROWS]:
        start = None if operator.windows.assigner.kind == GLOBAL else int(panes.start[pane])
        yield Fact(WINDOW, start, "; ".join(_window(trace, pane, times, show)))
    if len(panes) > MAX_ROWS:
        yield Fact(WINDOW, None, f"{len(panes) - MAX_ROWS:,} further windows are open")
    if triggers.reads_clock(operator.windows.emit):
        yield Fact(WINDOW, None, "firings by the clock are not foretold")


def _rows(trace: Trace, state: State, times: np.ndarray, texts: RowTexts, show: ShowTime) -> Iterator[Fact]:
    order = np.argsort(times, kind="stable")[:MAX_ROWS]
    for row, text in zip(order.tolist(), texts(state.rows.take(as_arrow(order)))):
        waits = "the watermark has not passed it, " if times[row] > state.watermark else ""
        yield Fact(ROW, int(times[row]), f"{text}; {waits}{_fate(trace, row, show)}")
    yield from further_rows(len(times))


def _fate(trace: Trace, row: int, show: ShowTime) -> str:
    """Which firing sees a row first, or leaves it out."""
    panes = sorted(trace.panes_of(row), key=lambda pane: (trace.windows.panes.start[pane], trace.end(pane)))
    if not panes:
        return "it is in no window"
    pane, several = panes[0], f", and so on in {len(panes) - 1:,} further windows" if len(panes) > 1 else ""
    window = f"its window{_between(trace, pane, show)}"
    for firing in trace.firings(pane):
        if row in firing.sees:
            return f"the firing of {window} at {show(firing.time)} sees it{several}"
        if row in firing.leaves_out:
            return f"EVICT leaves it out of the firing of {window} at {show(firing.time)}{several}"
    return f"no firing of {window} sees it unless a further row comes{several}"


def _between(trace: Trace, pane: int, show: ShowTime) -> str:
    if trace.plan.assigner.kind == GLOBAL:
        return ""
    return f" from {show(int(trace.windows.panes.start[pane]))} to {show(trace.end(pane))}"


def _window(trace: Trace, pane: int, times: np.ndarray, show: ShowTime) -> Iterator[str]:
    """The sentences about a window."""
    yield _pane(trace, pane, show)
    firing = next(trace.firings(pane), None)
    if firing is not None:
        left_out = _left_out(firing, times, show)
        yield f"it fires next ({firing.timing}) when the watermark reaches {show(firing.time)}{left_out}"
    else:
        yield "no firing follows unless a further row comes"
    panes = trace.windows.panes
    if not panes.was_on_time[pane]:
        yield from _awaited(trace, pane)
        return
    close = min(int(panes.end[pane]) - trace.plan.lag + trace.plan.emit.lateness, NEVER)
    yield f"late rows may join it until the watermark reaches {show(close)}"


def _pane(trace: Trace, pane: int, show: ShowTime) -> str:
    """A window in words."""
    panes: Panes = trace.windows.panes
    known, end = int(panes.end[pane]), trace.end(pane)
    is_global = trace.plan.assigner.kind == GLOBAL
    if trace.windows.origin[pane] < 0:
        to = "" if is_global else f"to {show(end)}: "
        return f"{to}it opens when the watermark passes its first row"
    count, fired = int(panes.count[pane]), int(panes.fired[pane])
    longer = f", or to {show(end)} with the rows that the watermark has not passed" if end > known else ""
    whole = "" if is_global else f"to {show(known)}{longer}: "
    complete = ", complete" if panes.was_on_time[pane] else ""
    return f"{whole}{count:,} row{'s' * (count != 1)}, fired {fired:,} time{'s' * (fired != 1)}{complete}"


def _left_out(firing: WindowFiring, times: np.ndarray, show: ShowTime) -> str:
    """The rows that EVICT leaves out of a firing, by their times."""
    rows = firing.leaves_out
    if not len(rows):
        return ""
    shown = [show(int(time)) for time in times[rows][:_MAX_LEFT_OUT]]
    more = [f"{len(rows) - _MAX_LEFT_OUT:,} others"] if len(rows) > _MAX_LEFT_OUT else []
    return f", and EVICT then leaves out the row{'s' * (len(rows) > 1)} of {_listed([*shown, *more])}"


def _listed(words: Sequence[str]) -> str:
    """
    >>> _listed(["1"]), _listed(["1", "2", "3"])
    ('1', '1, 2 and 3')
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _awaited(trace: Trace, pane: int) -> Iterator[str]:
    """What the triggers that rows fire wait for."""
    every, delta = (trace.plan.emit.trigger(kind) for kind in (EVERY_ROWS, ON_DELTA))
    panes = trace.windows.panes
    if every is not None:
        count = int(panes.count[pane]) + int((trace.windows.entries.pane == pane).sum())
        left = int(every.amount) - count % int(every.amount)
        yield f"EVERY {int(every.amount)} ROWS fires after {left:,} further row{'s' * (left != 1)}"
    if delta is not None and triggers.has_fired_on(panes.own)[pane]:
        numbers = (delta.amount, float(panes.own["delta"][pane]))
        by, value = (_number(number / 10**delta.scale) for number in numbers)
        yield f"ON DELTA fires after a row whose value differs by more than {by} from {value}"


def _number(number: float) -> str:
    """
    >>> _number(0.1), _number(-math.inf), _number(math.nan)
    ('0.1', '-Infinity', 'NaN')
    """
    if math.isfinite(number):
        return f"{number:.15g}"
    return str(number).replace("inf", "Infinity").replace("nan", "NaN")
