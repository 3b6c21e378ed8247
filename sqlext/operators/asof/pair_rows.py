"""ASOF JOIN in a Python worker: rows of both relations in no order in, left rows with their partners out. Loads Numba.

The rows of a task are ordered by key and time (`rows.grouped_order`); where times tie, right rows come first, the
possible partner first. One pass over each key then carries the last right row along. Only rows that are in the result
are copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from sqlext.operators.asof.plan import NEAREST, OF_RIGHT, SIDE, TIME, PairsPlan
from sqlext.operators.rows.arrow import Taken, as_arrow, as_numpy, limited_batches, to_values
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rows.grouped_order import grouped_order
from sqlext.operators.rows.held_rows import joined_columns
from sqlext.operators.rows.row_order import ranked
from sqlext.operators.rows.spilled_rows import rows_in_memory
from sqlext.operators.rows.worker_memory import memory_errors
from sqlext.pattern.program.jit import compiled, read_only

_IN_SPARK = "SET sqlext.order = spark: then Spark pairs the rows, which it keeps on disk, or read fewer columns."
_NONE, _NO_LEFT_ROW = -1, -2  # in place of a partner


def pair_batches(batches: Iterator[pa.RecordBatch], plan: PairsPlan) -> Iterator[pa.RecordBatch]:
    """The result rows of all rows of a task, which has all rows of its keys.

    Raises DataError (WORKER_MEMORY) for rows of one key that do not fit in memory.
    """
    with memory_errors(_IN_SPARK) as held:
        for rows in rows_in_memory(batches, plan.keys, plan.limits, held):
            yield from _paired(rows, plan)


def _paired(batches: list[pa.RecordBatch], plan: PairsPlan) -> Iterator[pa.RecordBatch]:
    columns = joined_columns(batches)
    partner = partners(columns, plan)
    left = np.flatnonzero(partner > _NO_LEFT_ROW if plan.is_left else partner > _NONE)
    right = partner[left]
    read = [(name, Taken(columns[of], left)) for name, of in plan.of_left.items()]
    read += [(name, Taken(columns[of], right)) for name, of in plan.of_right.items()]
    yield from limited_batches(read, len(left), plan.limits.rows, plan.limits.bytes)


def partners(columns: Mapping[str, pa.Array], plan: PairsPlan) -> np.ndarray:
    """`int64[n]`: the row that is the partner of each left row, −1 if it has none; −2 for right rows.

    >>> rows = {"__side": pa.array([1, 0, 0, 2], pa.int8()), "__time": pa.array([5, 4, 3, None])}
    >>> plan = PairsPlan(operator=">=", keys=(), ties=(), of_left={}, of_right={}, is_left=True)
    >>> partners(rows, plan).tolist()
    [1, -2, -2, -1]
    """
    side = as_numpy(columns[SIDE])
    time = read_only(ranked(columns[TIME], SortKey(TIME)))
    sort = [SortKey(TIME), SortKey(SIDE), *plan.order_of_ties]
    order, bounds = grouped_order({**columns, TIME: as_arrow(time)}, plan.keys, sort, plan.limits.threads)
    order = np.arange(len(side), dtype=np.int32 if len(side) < 2**31 else np.int64) if order is None else order

    def compared(operator: str) -> np.ndarray:
        partner = np.where(side == OF_RIGHT, _NO_LEFT_ROW, _NONE)
        is_backward, takes_equal = operator in (">=", ">"), operator in (">=", "<=")
        _carry(order, bounds, time, side, is_backward, takes_equal, plan.is_once, partner)
        return partner

    if plan.operator != NEAREST:
        return compared(plan.operator)
    return _nearer(compared("<="), compared(">="), to_values(columns[TIME]).values)


def _nearer(after: np.ndarray, before: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Of two partners of each left row the one with the least distance, of two the earlier one."""
    both = np.flatnonzero((after >= 0) & (before >= 0))
    own = time[both].view(np.uint64)  # a distance may not fit in 63 bits
    is_after = time[after[both]].view(np.uint64) - own < own - time[before[both]].view(np.uint64)
    nearer = np.where(before >= 0, before, after)
    nearer[both[is_after]] = after[both[is_after]]
    return nearer


@compiled
def _carry(order, bounds, time, side, is_backward, takes_equal, is_once, partner):
    """Write the partner of each left row: the nearest right row before it, or after it if not `is_backward`.

    `order: int[n]`: the rows by key, time, and right rows first; `bounds: int64[p + 1]`: the keys in it; `partner:
    int64[n]` is −1 for left rows. With `is_once`, only the first left row of each key and time gets a partner.
    """
    for p in range(len(bounds) - 1):
        begin, end = bounds[p], bounds[p + 1]
        known = -1
        while begin < end:
            if is_backward:  # the rows from lo to hi have one time
                lo = begin
                hi = lo + 1
                while hi < end and time[order[hi]] == time[order[lo]]:
                    hi += 1
                begin = hi
            else:
                hi = end
                lo = hi - 1
                while lo > begin and time[order[lo - 1]] == time[order[hi - 1]]:
                    lo -= 1
                end = lo
            first = order[lo] if side[order[lo]] == 0 else -1
            nearest = first if takes_equal and first >= 0 else known
            for i in range(lo, hi):
                if side[order[i]] == 1:
                    partner[order[i]] = nearest
                    if is_once:
                        break
            if first >= 0:
                known = first
