"""ASOF JOIN of two relations that one process has read: left rows with their partners out. Loads Numba.

Both sides are ordered by key and time, the right one with one row of each time, the first one by its ties. Two pointers
find the place of each left row among the right rows. No column of values is copied into a union of both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from sqlext.operators.asof.plan import NEAREST, TIME, PairsPlan
from sqlext.operators.rows.arrow import Taken, limited_batches, to_values
from sqlext.operators.rows.threads import one_after_another
from sqlext.operators.rows.timeline import Side, common_words, first_rows, places, timeline
from sqlext.pattern.program.jit import compiled

_NONE = -1


def pair_sides(
    left: Mapping[str, pa.Array], right: Mapping[str, pa.Array], plan: PairsPlan
) -> Iterator[pa.RecordBatch]:
    """The result rows. `left`, `right`: all rows of each relation, with the columns that `plan` names."""
    rows, partner = partners(left, right, plan)
    if not plan.is_left:
        rows, partner = rows[partner > _NONE], partner[partner > _NONE]

    def batches(start: int) -> Iterator[pa.RecordBatch]:
        some = slice(start, start + plan.limits.rows)
        columns = [(name, Taken(left[of], rows[some])) for name, of in plan.of_left.items()]
        columns += [(name, Taken(right[of], partner[some])) for name, of in plan.of_right.items()]
        return limited_batches(columns, len(rows[some]), plan.limits.rows, plan.limits.bytes)

    yield from one_after_another(map(batches, range(0, len(rows), plan.limits.rows)), plan.limits.threads)


def partners(
    left: Mapping[str, pa.Array], right: Mapping[str, pa.Array], plan: PairsPlan
) -> tuple[np.ndarray, np.ndarray]:
    """The left rows by key and time, and the right row that is the partner of each, -1 if it has none.

    >>> left, right = ({"__time": pa.array(times)} for times in ([5, 2], [4, 3]))
    >>> plan = PairsPlan(operator=">=", keys=(), ties=(), of_left={}, of_right={}, is_left=True)
    >>> [rows.tolist() for rows in partners(left, right, plan)]
    [[1, 0], [-1, 0]]
    """
    threads = plan.limits.threads
    sides = [Side(columns=side, times=(TIME,), keys=plan.keys, null_safe=plan.null_safe) for side in (left, right)]
    ((own,), (of_right,)), bits = common_words(sides, threads)
    lefts = timeline(own, threads)
    rights = first_rows(timeline(of_right, threads), right, plan.order_of_ties, threads)

    def partner(operator: str) -> np.ndarray:
        place = places(rights.words, lefts.words, is_after=operator in (">=", "<"), threads=threads)
        _take(rights.order, rights.words, lefts.words, np.uint64(bits), operator in (">=", ">"), place)
        return place

    if plan.operator != NEAREST:
        return lefts.order, partner(plan.operator)
    times = [to_values(side[TIME]).values for side in (left, right)]
    return lefts.order, _nearer(partner("<="), partner(">="), times[0][lefts.order], times[1])


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
def _take(order, words, wanted, bits, is_before, place):
    """Replace places among right rows by the row that is there or, if `is_before`, by the one before it, and by -1
    where this row has another key."""
    for i in range(len(wanted)):
        at = place[i] - is_before
        is_partner = 0 <= at < len(words) and words[at] >> bits == wanted[i] >> bits
        place[i] = order[at] if is_partner else _NONE
