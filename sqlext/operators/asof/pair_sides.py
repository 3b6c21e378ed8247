"""ASOF JOIN of two relations that one process has read: left rows with their partners out. Loads Numba.

Both sides are ordered by key and time, the right one with one row of each time, the smallest one. Two pointers find the
place of each left row among the right rows. No column is copied into a union of both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from sqlext.operators.asof.plan import NEAREST, TIME, PairsPlan
from sqlext.operators.rows.arrow import Taken, limited_batches, to_values
from sqlext.operators.rows.timeline import Ranges, able_codes, common_codes, common_ranks, places, time_order, timeline
from sqlext.pattern.program.jit import compiled

_NONE = -1


def pair_sides(
    left: Mapping[str, pa.Array], right: Mapping[str, pa.Array], plan: PairsPlan
) -> Iterator[pa.RecordBatch]:
    """The result rows. `left`, `right`: all rows of each relation, with the columns that `plan` names."""
    rows, partner = partners(left, right, plan)
    if not plan.is_left:
        rows, partner = rows[partner > _NONE], partner[partner > _NONE]
    of_left = [(name, Taken(left[of], rows)) for name, of in plan.of_left.items()]
    of_right = [(name, Taken(right[of], partner)) for name, of in plan.of_right.items()]
    yield from limited_batches([*of_left, *of_right], len(rows), plan.limits.rows, plan.limits.bytes)


def partners(
    left: Mapping[str, pa.Array], right: Mapping[str, pa.Array], plan: PairsPlan
) -> tuple[np.ndarray, np.ndarray]:
    """The left rows by key and time, and the right row that is the partner of each, -1 if it has none.

    >>> left, right = ({"__time": pa.array(times)} for times in ([5, 2], [4, 3]))
    >>> plan = PairsPlan(operator=">=", keys=(), ties=(), of_left={}, of_right={}, is_left=True)
    >>> [rows.tolist() for rows in partners(left, right, plan)]
    [[1, 0], [-1, 0]]
    """
    sides, threads = (left, right), plan.limits.threads
    lengths = [len(side[TIME]) for side in sides]
    (codes, codes_of_right), count = common_codes([[side[key] for key in plan.keys] for side in sides], lengths)
    times = common_ranks([side[TIME] for side in sides])
    needed = (TIME, *(key for key in plan.keys if key not in plan.null_safe))
    codes, codes_of_right = (able_codes(c, count, side, *needed) for c, side in zip((codes, codes_of_right), sides))
    ties = {name: right[name] for name in plan.ties}
    rows = timeline(codes_of_right, count, times[1], ties, threads).first_rows()
    order = time_order(codes, times[0], {}, threads)
    codes, time = codes[order], times[0][order]
    first, last = places(rows, Ranges(codes=codes, lower=time, upper=time), threads)

    def partner(operator: str) -> np.ndarray:
        place = {">=": last - 1, ">": first - 1, "<=": first.copy(), "<": last.copy()}[operator]
        _take(rows.order, rows.begins, codes, place)
        return place

    if plan.operator != NEAREST:
        return order, partner(plan.operator)
    own, of_right = (to_values(side[TIME]).values for side in sides)
    return order, _nearer(partner("<="), partner(">="), own[order], of_right)


def _nearer(after: np.ndarray, before: np.ndarray, time: np.ndarray, time_of_right: np.ndarray) -> np.ndarray:
    """Of two partners of each left row the one with the least distance, of two the earlier one."""
    both = np.flatnonzero((after > _NONE) & (before > _NONE))
    own = time[both].view(np.uint64)  # a distance may not fit in 63 bits
    times = [time_of_right[rows[both]].view(np.uint64) for rows in (after, before)]
    is_after = times[0] - own < own - times[1]
    nearer = np.where(before > _NONE, before, after)
    nearer[both[is_after]] = after[both[is_after]]
    return nearer


@compiled
def _take(order, begins, codes, place):
    """Replace the places of right rows by these rows, and by -1 where the place is not of the same key."""
    for i in range(len(codes)):
        code = codes[i]
        is_in = code < len(begins) - 1 and begins[code] <= place[i] < begins[code + 1]
        place[i] = order[place[i]] if is_in else _NONE
