"""The places at which windows fire, and how the firings of all triggers become one list.

A *point* is a place in the sequence of a pane's rows: the firing there sees the first `seen` of the rows that the step
adds to the pane, and all rows that the pane already had. Times are int64 microseconds. A complete window fires after
all its rows, when the watermark has reached its end; the points of the other triggers are in `triggers`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from sqlext.pattern.task.event_time import NEVER

NOTHING = -NEVER  # in the columns of a pane: no row, or no time


class Points(NamedTuple):
    """`pane`: the index of the pane; `seen`: how many of its new rows the firing sees; `time`: when it is decided;
    `is_complete`: whether the firing is that of the complete window."""

    pane: np.ndarray
    seen: np.ndarray
    time: np.ndarray
    is_complete: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Entries:
    """The new rows of all panes, sorted by pane and in order within each of them.

    Entry j is the row `position[j]` (from 1) that pane `pane[j]` gets in this step. `time[j]` is the time from which it
    counts: its own time or, if it came late, the first time after the watermark; `decided[j]`: the time of a firing
    that it causes; `end[j]`: where the window then ends, as far as is known.
    """

    pane: np.ndarray
    position: np.ndarray
    time: np.ndarray
    decided: np.ndarray
    end: np.ndarray

    def take(self, at: np.ndarray) -> Entries:
        return Entries(**{field.name: getattr(self, field.name)[at] for field in fields(self)})


def early(pane: np.ndarray, seen: np.ndarray, time: np.ndarray) -> Points:
    """Firings of windows that are not complete."""
    return Points(pane, seen, time, np.zeros(len(pane), np.bool_))


def complete(pane: np.ndarray, seen: np.ndarray, time: np.ndarray) -> Points:
    """Firings of complete windows."""
    return Points(pane, seen, time, np.ones(len(pane), np.bool_))


def in_order(points: list[Points]) -> Points:
    """All points, by pane and in the order in which they fire; at one place the points of earlier lists come first."""
    joined = Points(*(np.concatenate([getattr(p, name) for p in points]) for name in Points._fields))
    order = np.lexsort((joined.is_complete, joined.seen, joined.pane))
    return Points(*(column[order] for column in joined))


def merged(points: list[Points], news: np.ndarray) -> Points:
    """All points in order. A point without new rows since the one before is left out, so several points at one place
    are one firing. `news`: as in `Panes`."""
    pane, count, time, _ = in_order(points)
    follows = np.zeros(len(pane), np.bool_)
    follows[1:] = (np.diff(pane) == 0) & (np.diff(count) == 0)
    is_news = ~follows & ((count > 0) | (news[pane] != NOTHING))
    return early(pane[is_news], count[is_news], time[is_news])
