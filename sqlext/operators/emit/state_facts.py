"""The state of EMIT for one key, in words. Loads Numba."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from sqlext.operators.emit import triggers
from sqlext.operators.emit.operator import EmitOperator
from sqlext.operators.emit.panes import Panes, stored_panes
from sqlext.operators.emit.parts import GLOBAL, START, TIMING
from sqlext.operators.rows.arrow import as_numpy, one_chunk
from sqlext.operators.stateful.fact import MAX_ROWS, ROW, WINDOW, Fact, ShowTime, further_rows, row_text
from sqlext.operators.stateful.key_state import coming
from sqlext.operators.stateful.operator import State


def emit_facts(operator: EmitOperator, state: State, names: Mapping[str, str], show: ShowTime) -> Iterator[Fact]:
    """The facts: the rows and the windows of the key. `names`: the columns that are shown of a row."""
    yield from _rows(operator, state, names)
    panes = stored_panes(state.keys, np.zeros(state.keys.num_rows, np.int64), operator.windows)
    firings = _next_firings(operator, state, show)
    for i in np.argsort(panes.start, kind="stable").tolist()[:MAX_ROWS]:
        start = int(panes.start[i])
        next_firing = firings.pop(start, "no firing follows unless a further row comes")
        yield Fact(WINDOW, _shown(operator, start), f"{_pane(operator, panes, i, show)}; {next_firing}")
    if len(panes) > MAX_ROWS:
        yield Fact(WINDOW, None, f"{len(panes) - MAX_ROWS:,} further windows are open")
    for start, next_firing in sorted(firings.items()):
        yield Fact(WINDOW, _shown(operator, start), f"it opens when the watermark passes its first row; {next_firing}")
    if triggers.reads_clock(operator.windows.emit):
        yield Fact(WINDOW, None, "firings by the clock are not foretold")


def _rows(operator: EmitOperator, state: State, names: Mapping[str, str]) -> Iterator[Fact]:
    times = as_numpy(one_chunk(state.rows.column(operator.time)).view(pa.int64()))
    for i in np.argsort(times, kind="stable").tolist()[:MAX_ROWS]:
        waits = times[i] > state.watermark
        about = "the watermark has not passed it" if waits else "a firing of its window may see it"
        yield Fact(ROW, int(times[i]), f"{row_text(state.rows, i, names)}; {about}")
    yield from further_rows(len(times))


def _pane(operator: EmitOperator, panes: Panes, i: int, show: ShowTime) -> str:
    """A window in words."""
    count, fired = int(panes.count[i]), int(panes.fired[i])
    whole = "" if operator.windows.assigner.kind == GLOBAL else f"to {show(int(panes.end[i]))}: "
    complete = ", complete" if panes.was_on_time[i] else ""
    return f"{whole}{count:,} row{'s' * (count != 1)}, fired {fired:,} time{'s' * (fired != 1)}{complete}"


def _next_firings(operator: EmitOperator, state: State, show: ShowTime) -> dict[int, str]:
    """The next firing of each window in words, by the window's start."""
    firings: dict[int, str] = {}
    for row in coming(operator, state):
        start = row.rows.column(START)[row.row]
        text = f"it fires next ({row.rows.column(TIMING)[row.row].as_py()}) when the watermark reaches {show(row.time)}"
        firings.setdefault(_NO_START if not start.is_valid else start.value, text)
    return firings


_NO_START = 0  # of the only window of GLOBAL_WINDOW


def _shown(operator: EmitOperator, start: int) -> int | None:
    return None if operator.windows.assigner.kind == GLOBAL else start
