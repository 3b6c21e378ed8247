"""INTERVAL JOIN of two relations that one process has read: batches of the result out. Loads Numba.

Both relations are ordered by key and time. The rows of a range are neighbours in this order, so two pointers find them,
and pairs are made a batch at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlext.expressions.column_values import ColumnValues
from sqlext.expressions.scalar_tree import columns_in
from sqlext.operators.interval.plan import LOWER, TIME, UPPER, RangesPlan
from sqlext.operators.rows.arrow import Taken, limited_batches, taken
from sqlext.operators.rows.threads import one_after_another
from sqlext.operators.rows.timeline import Side, common_words, places, timeline
from sqlext.operators.rows.value_order import gathered
from sqlext.pattern.program.jit import compiled

Columns = Mapping[str, pa.Array]


def range_batches(left: Columns, right: Columns, plan: RangesPlan) -> Iterator[pa.RecordBatch]:
    """The result rows, in no order. `left`, `right`: all rows of each relation, with the columns that `plan` names;
    their columns have different names, except those of the keys, and the times and both ends are of one type."""
    points, ranges = (left, right) if plan.time_is_left else (right, left)
    found = _found(points, ranges, plan)
    met = _met(found) if plan.condition is None else (_none_of(points[TIME]), _none_of(ranges[LOWER]))
    if plan.shows_pairs or plan.condition is not None:
        pairs = _Pairs(left, right, plan, found, met)
        works = map(pairs.batches, range(0, found.pairs, plan.limits.rows))
        yield from one_after_another(works, plan.limits.threads)
    of_left, of_right = met if plan.time_is_left else met[::-1]
    if plan.join_type in ("LEFT", "FULL", "LEFT SEMI", "LEFT ANTI"):
        alone = np.flatnonzero(of_left if plan.join_type == "LEFT SEMI" else ~of_left)
        yield from _result(left, right, alone, np.full(len(alone), -1), plan)
    if plan.join_type in ("RIGHT", "FULL"):
        alone = np.flatnonzero(~of_right)
        yield from _result(left, right, np.full(len(alone), -1), alone, plan)


def _none_of(rows: pa.Array) -> np.ndarray:
    return np.zeros(len(rows), np.bool_)


def _result(
    left: Columns, right: Columns, lefts: np.ndarray, rights: np.ndarray, plan: RangesPlan
) -> Iterator[pa.RecordBatch]:
    """Result rows of pairs of rows; -1 is no row."""
    columns = [(name, Taken(left[of], lefts)) for name, of in plan.of_left.items()]
    columns += [(name, Taken(right[of], rights)) for name, of in plan.of_right.items()]
    yield from limited_batches(columns, len(lefts), plan.limits.rows, plan.limits.bytes)


# which rows are partners


@dataclass(frozen=True, kw_only=True)
class _Found:
    """`points: int[m]`: the rows with the times, by key and time; `ranges: int[n]`: the rows with ranges, by key and
    lower end; `first, last: int64[n]`: the places in `points` from which, and up to which (exclusive), each range has
    its rows; `ends: int64[n]`: the number of pairs up to each range."""

    points: np.ndarray
    ranges: np.ndarray
    first: np.ndarray
    last: np.ndarray
    ends: np.ndarray

    @property
    def pairs(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0


def _found(points: Columns, ranges: Columns, plan: RangesPlan) -> _Found:
    threads = plan.limits.threads
    sides = [
        Side(columns=columns, times=times, keys=plan.keys, null_safe=plan.null_safe)
        for columns, times in ((points, (TIME,)), (ranges, (LOWER, UPPER)))
    ]
    ((time,), (lower, upper)), _ = common_words(sides, threads)
    rows, wanted = timeline(time, threads), timeline(lower, threads)
    upper = gathered(upper, wanted.order, threads)
    first = places(rows.words, wanted.words, is_after=plan.excludes_lower, threads=threads)
    last = places(rows.words, upper, is_after=not plan.excludes_upper, threads=threads)
    np.maximum(first, last, out=last)
    return _Found(points=rows.order, ranges=wanted.order, first=first, last=last, ends=np.cumsum(last - first))


def _met(found: _Found) -> tuple[np.ndarray, np.ndarray]:
    """`bool[m]`, `bool[n]`: which rows with times, and which rows with ranges, have partners."""
    m, n = len(found.points), len(found.ranges)
    begun, ended = (np.cumsum(np.bincount(at, minlength=m + 1)) for at in (found.first, found.last))
    of_points, of_ranges = np.empty(m, np.bool_), np.empty(n, np.bool_)
    of_points[found.points] = (begun > ended)[:m]
    of_ranges[found.ranges] = found.last > found.first
    return of_points, of_ranges


# pairs


@dataclass(frozen=True)
class _Pairs:
    """`met`: with a condition, receives which rows have partners, as `_met` returns them."""

    left: Columns
    right: Columns
    plan: RangesPlan
    found: _Found
    met: tuple[np.ndarray, np.ndarray]

    def batches(self, start: int) -> Iterator[pa.RecordBatch]:
        """The results of the pairs that a batch has from `start` on."""
        of_points, of_ranges = _pairs(self.found, start, min(start + self.plan.limits.rows, self.found.pairs))
        lefts, rights = (of_points, of_ranges) if self.plan.time_is_left else (of_ranges, of_points)
        if self.plan.condition is not None:
            holds = self._truth(lefts, rights)
            lefts, rights = lefts[holds], rights[holds]
            self.met[0][of_points[holds]] = self.met[1][of_ranges[holds]] = True
        if self.plan.shows_pairs:
            yield from _result(self.left, self.right, lefts, rights, self.plan)

    def _truth(self, lefts: np.ndarray, rights: np.ndarray) -> np.ndarray:
        assert self.plan.condition is not None
        columns = {}
        for column in columns_in(self.plan.condition):
            side, rows = (self.left, lefts) if column.name in self.left else (self.right, rights)
            columns[column.name] = taken(side[column.name], rows)
        return ColumnValues(columns=columns, rows=len(lefts)).truth(self.plan.condition)


def _pairs(found: _Found, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows with times, and the rows with ranges, of the pairs from `start` to `stop` (exclusive)."""
    of_points, of_ranges = np.empty(stop - start, np.int64), np.empty(stop - start, np.int64)
    i = int(np.searchsorted(found.ends, start, side="right"))
    skipped = start - (int(found.ends[i - 1]) if i else 0)
    _make_pairs(found.points, found.ranges, found.first, found.last, i, skipped, of_points, of_ranges)
    return of_points, of_ranges


@compiled
def _make_pairs(points, ranges, first, last, i, skipped, of_points, of_ranges):
    """Write the pairs of the ranges from i on, without the first `skipped` pairs, until the arrays are full."""
    n = 0
    while n < len(of_points):
        place = first[i] + skipped
        while place < last[i] and n < len(of_points):
            of_points[n], of_ranges[n] = points[place], ranges[i]
            n += 1
            place += 1
        i += 1
        skipped = 0
