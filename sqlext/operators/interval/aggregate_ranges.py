"""INTERVAL JOIN … AGGREGATE of two relations in a Python worker: left rows with the aggregates of their ranges out.
Loads Numba.

Both relations are ordered by key and time. The right rows of a range are neighbours in this order, so two pointers find
them, and no pairs are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlext.operators.interval.aggregates_plan import OF_RIGHT, SIDE, AggregatesPlan
from sqlext.operators.interval.plan import LOWER, TIME, UPPER
from sqlext.operators.interval.range_folds import Fold, Ranges, range_fold
from sqlext.operators.rows.arrow import Taken, as_numpy, limited_batches, taken
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rows.held_rows import joined_columns
from sqlext.operators.rows.spilled_rows import rows_in_memory
from sqlext.operators.rows.threads import one_after_another
from sqlext.operators.rows.timeline import Side, common_words, places, tied_in_order, timeline
from sqlext.operators.rows.value_order import gathered
from sqlext.operators.rows.worker_memory import memory_errors
from sqlext.pattern.program.jit import compiled, read_only

Columns = Mapping[str, pa.Array]
_FEWER = "read fewer columns, or divide the relations by a key in ON."


def aggregate_batches(batches: Iterator[pa.RecordBatch], plan: AggregatesPlan) -> Iterator[pa.RecordBatch]:
    """The result rows of all rows of a task, which has all rows of its keys.

    Raises DataError (WORKER_MEMORY) for rows of one key that do not fit in memory.
    """
    keys = tuple(plan.right[key] for key in plan.keys)
    with memory_errors(_FEWER) as held:
        for some in rows_in_memory(batches, keys, plan.limits, held):
            columns = joined_columns(some)
            is_right = as_numpy(columns[SIDE]) == OF_RIGHT
            left, right = (
                {name: taken(columns[of], rows) for name, of in named.items()}
                for named, rows in ((plan.left, np.flatnonzero(~is_right)), (plan.right, np.flatnonzero(is_right)))
            )
            del columns
            yield from aggregate_sides(left, right, plan)


def aggregate_sides(left: Columns, right: Columns, plan: AggregatesPlan) -> Iterator[pa.RecordBatch]:
    """The result rows, in no order. `left`, `right`: all rows of each relation, with the columns that `plan` names."""
    found = found_ranges(left, right, plan)
    folds = found.folds(right, plan)

    def batches(start: int) -> Iterator[pa.RecordBatch]:
        some = slice(start, start + plan.limits.rows)
        columns: list[tuple[str, pa.Array | Taken]] = [
            (name, Taken(left[of], found.lefts[some])) for name, of in plan.of_left.items()
        ]
        part = found.ranges.part(some)
        columns += [(call.name, fold(part)) for call, fold in zip(plan.calls, folds)]
        return limited_batches(columns, len(part.first), plan.limits.rows, plan.limits.bytes)

    yield from one_after_another(map(batches, range(0, len(found.lefts), plan.limits.rows)), plan.limits.threads)


@dataclass(frozen=True)
class FoundRanges:
    """`lefts: int[n]`: the left rows of the result, by key and lower end; `ranges`: their ranges, which count the right
    rows by key and time, `order: int[m]`."""

    lefts: np.ndarray
    ranges: Ranges
    order: np.ndarray

    def folds(self, right: Columns, plan: AggregatesPlan) -> list[Fold]:
        """The aggregates of ranges, by the calls of the plan."""
        names = {name for call in plan.calls for name in (*call.columns, *filter(None, [call.filter]))}
        ordered = {name: taken(right[name], self.order) for name in names}
        return [range_fold(call, ordered, plan.settings) for call in plan.calls]


def found_ranges(left: Columns, right: Columns, plan: AggregatesPlan) -> FoundRanges:
    """The range of each left row that is in the result. `left`, `right`: as in `aggregate_sides`."""
    threads = plan.limits.threads
    sides = [
        Side(columns=columns, times=times, keys=plan.keys, null_safe=plan.null_safe)
        for columns, times in ((right, (TIME,)), (left, (LOWER, UPPER)))
    ]
    ((time,), (lower, upper)), bits = common_words(sides, threads)
    rows, wanted = timeline(time, threads), timeline(lower, threads)
    if plan.ties:
        rows = tied_in_order(rows, right, [SortKey(name) for name in plan.ties], threads)
    upper = gathered(upper, wanted.order, threads)
    begin = places(rows.words, wanted.words, is_after=False, threads=threads)
    first = places(rows.words, wanted.words, is_after=True, threads=threads) if plan.excludes_lower else begin
    last = places(rows.words, upper, is_after=not plan.excludes_upper, threads=threads)
    np.maximum(first, last, out=last)
    before = np.full(len(begin), -1)
    if plan.is_prevailing:
        _take_before(read_only(rows.words), read_only(wanted.words), np.uint64(bits), read_only(begin), before)
    ranges = Ranges(first, last, before)
    if plan.is_left:
        return FoundRanges(wanted.order, ranges, rows.order)
    has_partner = (last > first) | (before >= 0)
    return FoundRanges(wanted.order[has_partner], ranges.part(has_partner), rows.order)


@compiled
def _take_before(words, wanted, bits, begin, before):
    """Write the place before each place of `begin`, where it has the same key."""
    for i in range(len(wanted)):
        at = begin[i] - 1
        if at >= 0 and words[at] >> bits == wanted[i] >> bits:
            before[i] = at
