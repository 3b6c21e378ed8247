"""The rows of a window with a row pattern: each row of the input, with the match that the search from it found."""

from __future__ import annotations

import numpy as np

from sqlext.pattern.measures.navigation import OutputRows
from sqlext.pattern.task.task import Spans


def window_rows(spans: Spans, low: int, high: int) -> OutputRows:
    """Rows `low` to `high` (exclusive) of a window, each with the match that belongs to it, if it has one.

    >>> spans = Spans(start=np.array([1]), number=np.array([1]), offset=np.array([0, 2]), label=np.zeros(2, "i2"),
    ...     is_hidden=None, unmatched=np.array([]))
    >>> window_rows(spans, 0, 3)
    OutputRows(row=array([0, 1, 2]), match=array([-1,  0, -1]), end=array([0, 2, 0]))
    """
    current = spans.start if spans.current is None else spans.current
    match, end = np.full(high - low, -1), np.zeros(high - low, np.int64)
    match[current - low] = np.arange(len(current))
    end[current - low] = spans.offset[:-1] + spans.length
    return OutputRows(np.arange(low, high), match, end)


def in_frames(row: np.ndarray, out: OutputRows, limit: np.ndarray) -> np.ndarray:
    """The rows that a navigation reaches, -1 outside the frame; `limit: int64[n]` is the end of each row's frame.

    >>> spans = Spans(start=np.array([1]), number=np.array([1]), offset=np.array([0, 2]), label=np.zeros(2, "i2"),
    ...     is_hidden=None, unmatched=np.array([]))
    >>> in_frames(np.array([-1, 0, -1]), window_rows(spans, 0, 3), np.array([3, 3, 3])).tolist()
    [-1, -1, -1]
    """
    return np.where((row >= out.row) & (row < limit[out.row]), row, -1)
