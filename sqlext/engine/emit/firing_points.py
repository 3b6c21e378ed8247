"""When a window fires: one function for each trigger of the language, and how their firings become one list.

A *point* is a place in the sequence of a pane's rows: the firing there sees the first `seen` of the rows that the step
adds to the pane, behind those that it had. Times are int64 microseconds.

| trigger | a point |
|---|---|
| AFTER WATERMARK | behind all rows, when the watermark has reached the end of the window |
| EARLY EVERY d | before the first row at or behind a multiple of d, if the window goes on there |
| EVERY n ROWS | behind the rows n, 2n, … of the window |
| ON DELTA(e) > x | behind a row whose e differs by more than x from that of the row on which it last fired |
| EARLY EVERY d PROCESSING TIME, AFTER DELAY d | before all rows of the step, when the clock has reached the time set |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from sqlext.pattern.event_time import NEVER, later

NOTHING = -NEVER  # no row, or no time, in the columns of a pane


class Points(NamedTuple):
    """`pane`: the index of the pane; `seen`: how many of its new rows the firing sees; `time`: when it is decided;
    `is_complete`: is it a firing of the complete window?"""

    pane: np.ndarray
    seen: np.ndarray
    time: np.ndarray
    is_complete: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Entries:
    """The new rows of all panes, sorted by pane and in order within each of them.

    Entry j is the row `position[j]` (from 1) that pane `pane[j]` gets in this step. `time[j]` is the time from which it
    counts: its own or, where it came late, that behind the watermark; `decided[j]`: the time of a firing that it
    causes; `end[j]`: where the window then ends, as far as is known.
    """

    pane: np.ndarray
    position: np.ndarray
    time: np.ndarray
    decided: np.ndarray
    end: np.ndarray

    def take(self, at: np.ndarray) -> Entries:
        return Entries(**{field.name: getattr(self, field.name)[at] for field in fields(self)})


@dataclass(frozen=True, kw_only=True)
class PaneTimes:
    """What triggers need to know of the panes before the step.

    `end`: where the window ends, as far as its rows tell; `count`: its rows so far; `news`: the time of its last row
    since it last fired, NOTHING without one.
    """

    end: np.ndarray
    count: np.ndarray
    news: np.ndarray


def early(pane: np.ndarray, seen: np.ndarray, time: np.ndarray) -> Points:
    """Firings of windows that are not complete."""
    return Points(pane, seen, time, np.zeros(len(pane), np.bool_))


def complete(pane: np.ndarray, seen: np.ndarray, time: np.ndarray) -> Points:
    """Firings of complete windows."""
    return Points(pane, seen, time, np.ones(len(pane), np.bool_))


def every_rows(n: int, entries: Entries, panes: PaneTimes) -> Points:
    """EVERY n ROWS: rows are counted whatever other triggers do."""
    fires = (panes.count[entries.pane] + entries.position) % n == 0
    return early(entries.pane[fires], entries.position[fires], entries.decided[fires])


def on_delta(threshold: float, values: np.ndarray, entries: Entries, last: np.ndarray) -> tuple[Points, np.ndarray]:
    """ON DELTA: `values`: of each entry, NaN for NULL; `last: float[p]`: the value on which each pane last fired, NaN
    before its first row. Also returns the new `last`."""
    last_fired, fires = last.tolist(), np.zeros(len(entries.pane), np.bool_)
    for i, (pane, value) in enumerate(zip(entries.pane.tolist(), values.tolist())):
        distance = abs(value - last_fired[pane])
        if distance > threshold:
            fires[i] = True
        if distance > threshold or math.isnan(last_fired[pane]):
            last_fired[pane] = value
    return early(entries.pane[fires], entries.position[fires], entries.decided[fires]), np.array(last_fired, np.float64)


def early_every(every: int, entries: Entries, panes: PaneTimes, watermark: int) -> Points:
    """EARLY EVERY: at multiples of `every` since 1970."""
    waiting = np.flatnonzero(panes.news != NOTHING)  # rows of earlier steps, of which no firing has told
    pane = np.concatenate([waiting, entries.pane])
    count = np.concatenate([np.zeros(len(waiting), np.int64), entries.position])
    time = np.concatenate([panes.news[waiting], entries.time])
    order = np.lexsort((count, pane))
    end = np.concatenate([panes.end[waiting], entries.end])[order]
    pane, count, time = pane[order], count[order], time[order]
    multiple = later(time, every - time % every)
    next_time = np.append(np.where(np.diff(pane) == 0, time[1:], NEVER), NEVER)[: len(time)]
    fires = (multiple <= next_time) & (multiple < end) & (multiple - 1 <= watermark)
    return early(pane[fires], count[fires], multiple[fires] - 1)


def in_order(points: list[Points]) -> Points:
    """All points, by pane and in the order in which they fire; at one place those of earlier lists come first."""
    joined = Points(*(np.concatenate([getattr(p, name) for p in points]) for name in Points._fields))
    order = np.lexsort((joined.is_complete, joined.seen, joined.pane))
    return Points(*(column[order] for column in joined))


def merged(points: list[Points], panes: PaneTimes) -> Points:
    """All points in order, without those that have no row since the one before: several at one place are one firing."""
    pane, count, time, _ = in_order(points)
    follows = np.zeros(len(pane), np.bool_)
    follows[1:] = (np.diff(pane) == 0) & (np.diff(count) == 0)
    is_news = ~follows & ((count > 0) | (panes.news[pane] != NOTHING))
    return early(pane[is_news], count[is_news], time[is_news])
