"""Event time in streams and for MATCH_ROWTIME(): which rows have passed, how far a search is, and what is decided.

A stream knows the rows whose first ORDER BY key is at most the watermark. The search from a start row is the same
depth-first search as in batch (`Program`), with three outcomes instead of two:

| outcome | when |
|---|---|
| match | DONE is reached before any path that is still alive after the last row |
| unknown | such a path is reached first: a later row could complete a match that is preferred |
| no match | neither is reached |

Time ends paths, too: once the watermark has passed the end of WITHIN, no later row may continue them. The search goes
from start row to start row as in batch and stops at the first one whose outcome is unknown. Therefore a decided match
is never taken back.

Each decided match, and each row that is certainly in none, has a *time*: the least t at which the rows with keys up to
t decide it. It is the greatest of the keys of all rows that the search looked at, of the ends of WITHIN that ended a
path, and of the times of all start rows before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.task.task import Rows, Spans

NEVER = np.iinfo(np.int64).max  # a time that never comes
BEGINNING = np.iinfo(np.int64).min


def later(time: np.ndarray, by: np.ndarray | int) -> np.ndarray:
    """`int64[n]`: the times plus `by` (not negative); a time beyond the last one is NEVER.

    >>> later(np.array([1, NEVER - 5]), 7).tolist() == [8, NEVER]
    True
    """
    return np.where(time > NEVER - by, NEVER, time + by)


def earlier(time: np.ndarray, by: np.ndarray | int) -> np.ndarray:
    """`int64[n]`: the times minus `by` (not negative); a time before the first one is BEGINNING."""
    return np.where(time < BEGINNING + by, BEGINNING, time - by)


@dataclass(frozen=True, kw_only=True)
class EventTimes:
    """The event times of the rows, all of which have passed: `key[i] <= watermark`.

    - `key: int64[n]`: the first ORDER BY key, ascending in each partition;
    - `end: int64[n]` or None: with WITHIN, the time from which on no row may continue a match that starts at row i;
    - `need: int64[v, n]` or None: the last row that the condition of label l reads on row i (row i itself unless the
      condition has NEXT), in the partition or after it.
    """

    key: np.ndarray
    watermark: int
    end: np.ndarray | None = None
    need: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class SearchPosition:
    """How far the search is in each of p partitions.

    - `row: int64[p]`: the next start row, or the partition's end if all are decided;
    - `number: int64[p]`: the MATCH_NUMBER() of the next match;
    - `matched_end: int64[p]`: rows below it are in an earlier match;
    - `time: int64[p]`: when all start rows before were decided;
    - `is_first: bool[p]`: whether the partition's first row is the very first one of its key.
    """

    row: np.ndarray
    number: np.ndarray
    matched_end: np.ndarray
    time: np.ndarray
    is_first: np.ndarray


class Failure(NamedTuple):
    """An error of what could not be computed for row `row`, which was decided at `time`."""

    row: int
    time: int
    error: DataError


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """`spans`: the decided matches; `time: int64[m]`: the time of each match; `unmatched_time: int64[u]`: that of each
    unmatched row; `position`: where the next search starts; `failures`: what failed, none unless `Rows.errors` notes
    errors.

    Partial matches of SHOW TIMEOUT MATCHES are among the matches, with the number of the next match.
    """

    spans: Spans
    time: np.ndarray
    unmatched_time: np.ndarray
    position: SearchPosition
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StreamFacts:
    """What is known about the needed decisions, besides the task, before any row comes.

    `needs_times`: the time of each decision is read; otherwise every time may be the watermark. `reads_ahead`: a
    condition reads rows after the current one, so EventTimes.need is present. `needs_failed`: the unmatched rows are
    all start rows that gave no match, including those in an earlier match.
    """

    needs_times: bool = True
    reads_ahead: bool = False
    needs_failed: bool = False


def first_position(rows: Rows) -> SearchPosition:
    """The position of a search that has not begun.

    >>> first_position(Rows(bounds=np.array([0, 2, 5]), mask=np.zeros((5, 1), np.uint8))).row
    array([0, 2])
    """
    p = len(rows.bounds) - 1
    start = rows.bounds[:-1].astype(np.int64)
    return SearchPosition(
        row=start,
        number=np.ones(p, np.int64),
        matched_end=start.copy(),
        time=np.full(p, BEGINNING),
        is_first=np.ones(p, np.bool_),
    )
