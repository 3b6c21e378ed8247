"""The text about a row: why it is, or is not, in a firing of EMIT. Pure: the caller has the trace of the row's keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlext.engine.reports.counts import count
from sqlext.operators.emit.parts import GLOBAL
from sqlext.operators.emit.trace import EVICTED, SEES, TAKEN, TOO_EARLY, Firing, InPane, Trace
from sqlext.pattern.task.event_time import NEVER

MAX_WINDOWS, MAX_FIRINGS = 10, 10  # of a row; of a window, that may see the row: so many are shown


@dataclass(frozen=True)
class FiringResult:
    """The result row of a firing, as JSON, and whether HAVING holds on it; True without a HAVING."""

    row: str
    holds: bool | None = True


@dataclass(frozen=True, kw_only=True)
class EmitWords:
    """The parts of the query as the user wrote them, empty if they are missing; `show`: a time in microseconds as text;
    `time_of`: the time of a row of the trace's table, in microseconds; `result`: the result row of a firing."""

    window: str
    time: str
    evictor: str
    having: str
    show: Callable[[int], str]
    time_of: Callable[[int], int | None]
    result: Callable[[int], FiringResult]


def row_lines(trace: Trace, row: int, words: EmitWords) -> Iterator[str]:
    """The text about a row of the trace's table."""
    time, panes = words.time_of(row), trace.windows_of(row)
    if time is None:
        yield f"It is in no window: its time {words.time} is NULL."
        return
    if not panes:
        yield _between_windows(trace, time, words)
        return
    seen = sum(firing.verdict == SEES for pane in panes for firing in pane.firings)
    every = sum(len(pane.firings) for pane in panes)
    yield f"It is in {seen:,} of {count(every, 'firing')} of {count(len(panes), 'window')}."
    for pane in panes[:MAX_WINDOWS]:
        yield from _pane_lines(trace, pane, words)
    if len(panes) > MAX_WINDOWS:
        yield f"It is in {len(panes) - MAX_WINDOWS:,} further windows."
    if trace.plan.assigner.kind != GLOBAL:
        late = words.show(min(time + trace.plan.emit.lateness, NEVER))
        yield f"On a stream it is late, and in no firing, if the watermark has reached {late} when it arrives."


def shown_points(trace: Trace, row: int) -> list[int]:
    """The firings whose result rows the text about a row shows."""
    panes = trace.windows_of(row)[:MAX_WINDOWS]
    return [firing.point for pane in panes for firing in _may_see(pane)[:MAX_FIRINGS] if firing.verdict == SEES]


def _between_windows(trace: Trace, time: int, words: EmitWords) -> str:
    assigner = trace.plan.assigner
    start = time - (time - assigner.offset) % assigner.step
    ends, begins = words.show(start + assigner.size), words.show(start + assigner.step)
    return f"It is in no window of {words.window}: the one before ends at {ends}, and the next one begins at {begins}."


def _may_see(pane: InPane) -> list[Firing]:
    return [firing for firing in pane.firings if firing.verdict in (SEES, EVICTED)]


def _pane_lines(trace: Trace, pane: InPane, words: EmitWords) -> Iterator[str]:
    whole = "" if trace.plan.assigner.kind == GLOBAL else f" from {words.show(pane.start)} to {words.show(pane.end)}"
    yield f"In the window{whole} it is row {pane.position:,} of {pane.size:,}."
    early = [firing for firing in pane.firings if firing.verdict == TOO_EARLY]
    if early:
        yield f"  {_several(early, _at(early[-1], words))} not see it: the row comes later."
    own = _may_see(pane)
    for firing in own[:MAX_FIRINGS]:
        yield f"  Firing {firing.number}, {firing.timing}{_at(firing, words)}: {_verdict(firing, words)}"
    if len(own) > MAX_FIRINGS:
        yield f"  and {len(own) - MAX_FIRINGS:,} further firings"
    taken = [firing for firing in pane.firings if firing.verdict == TAKEN]
    if taken:
        yield f"  {_several(taken, '')} not see it: with DISCARDING only firing {taken[0].number - 1} may see it."


def _several(firings: list[Firing], at: str) -> str:
    first, last = firings[0].number, firings[-1].number
    if first == last:
        return f"Firing {first}{at}{', ' if at else ' '}does"
    return f"Firings {first} to {last}{at.replace(', at', ', the last at')}{', ' if at else ' '}do"


def _at(firing: Firing, words: EmitWords) -> str:
    if firing.time == NEVER:
        return ", at the end of the input"
    return f", at {words.show(firing.time)}" if words.time else ""


def _verdict(firing: Firing, words: EmitWords) -> str:
    if firing.verdict == EVICTED:
        first = None if firing.kept is None else words.time_of(firing.kept)
        instead = "no row" if first is None else f"the rows from {words.show(first)} on"
        return f"does not see it: {words.evictor} keeps only {instead}."
    result = words.result(firing.point)
    if result.holds is True:
        return f"sees it, {result.row}"
    is_what = "is NULL" if result.holds is None else "is false"
    return f"sees it, but is not in the result, because HAVING {words.having} {is_what}: {result.row}"
