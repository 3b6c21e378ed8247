"""The windows that a row is in: each is `[start, end)`, aligned to 1970 plus an offset, in int64 microseconds.

A window that would begin before the first time, or end after the last time, is cut off there. Sessions depend on the
rows before them, see `sessions.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlext.operators.emit.parts import CUMULATE, GLOBAL, HOP, TUMBLE
from sqlext.operators.emit.plan import Assigner
from sqlext.pattern.task.event_time import BEGINNING, NEVER, earlier, later


class InWindow(NamedTuple):
    """Entry i: row `row[i]` is in the window from `start[i]` to `end[i]`. The rows are in order."""

    row: np.ndarray
    start: np.ndarray
    end: np.ndarray


def assign(assigner: Assigner, time: np.ndarray) -> InWindow:
    """The windows of rows with these times, by the definition of their function.

    >>> assign(Assigner(kind=HOP, size=10, step=5), np.array([-1, 12]))
    InWindow(row=array([0, 0, 1, 1]), start=array([-10,  -5,   5,  10]), end=array([ 0,  5, 15, 20]))
    >>> assign(Assigner(kind=HOP, size=2, step=5), np.array([6, 8])).start
    array([5])
    >>> assign(Assigner(kind=CUMULATE, size=10, step=5), np.array([3, 7])).end
    array([ 5, 10, 10])
    """
    return _ASSIGN[assigner.kind](assigner, time)


def aligned_starts(assigner: Assigner, time: np.ndarray) -> np.ndarray:
    """The starts of the windows of TUMBLE or CUMULATE that rows with these times are in. Rows with different ones have
    no window in common.

    >>> aligned_starts(Assigner(kind=CUMULATE, size=10, step=5), np.array([-1, 3, 7])).tolist()
    [-10, 0, 0]
    """
    return earlier(time, _since_step(time, assigner.size, assigner.offset))


def _since_step(time: np.ndarray, step: int, offset: int) -> np.ndarray:
    """The distance of each time from the last multiple of `step` (plus `offset`) that is not after it."""
    return (time % step - offset % step) % step


def _tumble(assigner: Assigner, time: np.ndarray) -> InWindow:
    since = _since_step(time, assigner.size, assigner.offset)
    return InWindow(np.arange(len(time)), earlier(time, since), later(time, assigner.size - since))


def _hop(assigner: Assigner, time: np.ndarray) -> InWindow:
    most = -(-assigner.size // assigner.step)
    last = _since_step(time, assigner.step, assigner.offset)
    since = (last[:, None] + assigner.step * np.arange(most - 1, -1, -1)).ravel()
    is_in = since < assigner.size
    row, since = np.repeat(np.arange(len(time)), most)[is_in], since[is_in]
    return InWindow(row, earlier(time[row], since), later(time[row], assigner.size - since))


def _cumulate(assigner: Assigner, time: np.ndarray) -> InWindow:
    most = assigner.size // assigner.step
    since = _since_step(time, assigner.size, assigner.offset)
    ahead = assigner.step * np.arange(1, most + 1) - since[:, None]
    is_in, is_last = ahead > 0, time[:, None] > NEVER - np.maximum(ahead, 0)
    is_in[:, 1:] &= ~(is_in & is_last)[:, :-1]  # keep one window that ends with the last time
    row = np.repeat(np.arange(len(time)), most)[is_in.ravel()]
    return InWindow(row, earlier(time, since)[row], later(time[row], ahead[is_in]))


def _global(assigner: Assigner, time: np.ndarray) -> InWindow:
    return InWindow(np.arange(len(time)), np.full(len(time), BEGINNING), np.full(len(time), NEVER))


_ASSIGN = {TUMBLE: _tumble, HOP: _hop, CUMULATE: _cumulate, GLOBAL: _global}
