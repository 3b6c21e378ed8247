"""One step of INTERVAL JOIN … AGGREGATE: arriving rows and a watermark in, decided left rows with the aggregates of
their ranges and the next state out. Loads Numba.

    order      discard late rows, keep rows above the watermark for later
    decide     a left row is decided when the watermark has passed it and its range
    test       the pairs of a range by a condition on both rows, if there is one
    aggregate  the ranges of the decided rows, by the code of the batch
    keep       the left rows that are not decided, and the right rows that a left row may still need

A range ends at its upper bound, or just before that if the bound is excluded; an empty one has ended at once. With the
prevailing row, what comes before the range must have passed, too.

Of the right rows that have passed, a left row that is not decided needs those from its lower bound on, and a later left
row those that are at most `reach` before the watermark. The last right row before all of these prevails.

A step is pure: it uses neither Spark nor a clock. The same rows in any portions give the same results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.expressions.column_values import ColumnValues
from sqlext.expressions.scalar_tree import columns_in
from sqlext.expressions.values import to_arrow as values_to_arrow
from sqlext.operators.interval.aggregate_ranges import Columns, FoundRanges, found_ranges
from sqlext.operators.interval.aggregates_plan import OF_LEFT, SIDE, RangeCall
from sqlext.operators.interval.plan import LOWER, TIME, UPPER
from sqlext.operators.interval.range_folds import Fold, Ranges
from sqlext.operators.interval.stream_plan import LEFT, StreamAggregatesPlan
from sqlext.operators.rows.arrow import are_valid, as_numpy, one_chunk, shown_value, taken
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rows.failed_arguments import failed_aggregate
from sqlext.operators.rows.row_order import sorted_rows
from sqlext.operators.stateful.arrivals import Arrivals, arrivals, times
from sqlext.operators.stateful.operator import FAILURES, ROWS, State, Step
from sqlext.operators.stateful.side_rows import failures_of_keys
from sqlext.pattern.task.event_time import BEGINNING, NEVER, earlier

Errors = dict[int, DataError]  # by the places of left rows in the result


def advance(state: State, arrived: pa.Table, watermark: int, plan: StreamAggregatesPlan) -> Step:
    """Run one step. `watermark`: no row up to it will arrive any more, except late ones, in int64 microseconds."""
    came = arrivals(state, arrived, watermark, time=TIME, keys=plan.keys)
    is_left = as_numpy(one_chunk(came.table.column(SIDE))) == OF_LEFT
    decided = decision_times(came.table, plan)
    is_due = is_left & (decided <= came.watermark)
    keeps = is_left & ~is_due
    keeps |= _are_needed(came, ~is_left, keeps, plan)
    results, failures = _results(came, np.flatnonzero(is_due), ~is_left, decided, plan)
    return Step(
        results=results,
        late=came.late,
        failures=pa.concat_tables([came.failed, failures]),
        changes={ROWS: came.kept(keeps)},
        watermark=came.watermark,
    )


def decision_times(table: pa.Table, plan: StreamAggregatesPlan) -> np.ndarray:
    """`int64[n]`: when each left row is decided; arbitrary for right rows."""
    lower, upper = (times(table, name) for name in (LOWER, UPPER))
    has_range = np.logical_and(*(are_valid(one_chunk(table.column(name))) for name in (LOWER, UPPER)))
    last = earlier(upper, 1) if plan.ranges.excludes_upper else upper
    is_empty = (last <= lower) if plan.ranges.excludes_lower else (last < lower)
    end = np.where(is_empty, BEGINNING, last)
    if plan.ranges.is_prevailing:
        end = np.maximum(end, earlier(lower, 1))
    return np.maximum(times(table, TIME), np.where(has_range, end, BEGINNING))


# what is kept


def _are_needed(came: Arrivals, is_right: np.ndarray, is_open: np.ndarray, plan: StreamAggregatesPlan) -> np.ndarray:
    """`bool[n]`: the right rows that a left row which is not decided (`is_open: bool[n]`), or one after the watermark,
    may need."""
    begin = min(max(came.watermark + 1 - plan.reach, BEGINNING), NEVER)
    first = np.full(int(came.code.max(initial=-1)) + 1, begin)  # the earliest lower bound, by key
    has_range = is_open & are_valid(one_chunk(came.table.column(LOWER)))
    np.minimum.at(first, came.code[has_range], times(came.table, LOWER)[has_range])
    is_needed = is_right & (came.is_waiting | (came.time >= first[came.code]))
    if plan.ranges.is_prevailing:
        is_needed[_prevailing(came, np.flatnonzero(is_right & (came.time < first[came.code])), plan)] = True
    return is_needed


def _prevailing(came: Arrivals, rows: np.ndarray, plan: StreamAggregatesPlan) -> np.ndarray:
    """The last of these right rows, by key."""
    last = np.full(int(came.code.max(initial=-1)) + 1, BEGINNING)
    np.maximum.at(last, came.code[rows], came.time[rows])
    rows = rows[came.time[rows] == last[came.code[rows]]]
    rows = sorted_rows(rows, came.code, came.time, came.table, [SortKey(name) for name in plan.ranges.ties])
    return rows[np.diff(came.code[rows], append=-1) != 0]


# the result


def _results(
    came: Arrivals, due: np.ndarray, is_right: np.ndarray, decided: np.ndarray, plan: StreamAggregatesPlan
) -> tuple[list[tuple[np.ndarray, pa.RecordBatch]], pa.Table]:
    """The result rows of the left rows `due`, by the times at which they are decided, and what failed on them."""
    if not len(due):
        return [], FAILURES.empty_table()
    is_active = np.zeros(int(came.code.max()) + 1, np.bool_)
    is_active[came.code[due]] = True
    rights = np.flatnonzero(is_right & is_active[came.code])
    columns = {name: one_chunk(came.table.column(name)) for name in came.table.column_names}
    of_left = (LOWER, UPPER, *plan.keys, *(plan.left if plan.condition is not None else ()))
    left = {name: taken(columns[name], due) for name in of_left}
    right = {name: taken(column, rights) for name, column in columns.items() if name not in (*plan.left, LOWER, UPPER)}
    found = _found(left, right, plan)
    rows = due[found.lefts]
    order = np.argsort(decided[rows], kind="stable")
    rows = rows[order]
    found = FoundRanges(found.lefts[order], found.ranges.part(order), found.order)
    values, failures = _aggregates(found, right, plan)
    shown = [taken(columns[of], rows) for of in plan.ranges.of_left.values()]
    names = [*plan.ranges.of_left, *(call.name for call in plan.ranges.calls)]
    batch = pa.RecordBatch.from_arrays([*shown, *values], names=names)
    keys = [columns[name] for name in plan.keys]
    failed = failures_of_keys(
        [int(decided[rows[place]]) for place, _ in failures],
        [error for _, error in failures],
        [[shown_value(key[int(rows[place])]) for key in keys] for place, _ in failures],
    )
    return [(decided[rows], batch)], failed


def _found(left: Columns, right: Columns, plan: StreamAggregatesPlan) -> FoundRanges:
    """The ranges of left rows, which have only the right rows on which the condition on pairs holds."""
    if plan.condition is None:
        return found_ranges(left, right, plan.ranges)
    found = found_ranges(left, right, replace(plan.ranges, is_left=True))
    first, counts = found.ranges.first, found.ranges.last - found.ranges.first
    of_left = np.repeat(np.arange(len(first)), counts)
    rights = found.order[np.arange(len(of_left)) + np.repeat(first + counts - np.cumsum(counts), counts)]
    sides = {True: (left, found.lefts[of_left]), False: (right, rights)}
    columns = {}
    for column in columns_in(plan.condition):
        side, rows = sides[column.name.startswith(LEFT)]
        columns[column.name] = taken(side[column.name], rows)
    holds = ColumnValues(columns=columns, rows=len(rights)).truth(plan.condition)
    ends = np.append(0, np.cumsum(np.bincount(of_left[holds], minlength=len(first))))
    ranges = Ranges(ends[:-1], ends[1:], np.full(len(first), -1))
    some = np.ones(len(first), np.bool_) if plan.ranges.is_left else ends[1:] > ends[:-1]
    return FoundRanges(found.lefts[some], ranges.part(some), rights[holds])


def _aggregates(
    found: FoundRanges, right: Columns, plan: StreamAggregatesPlan
) -> tuple[list[pa.Array], list[tuple[int, DataError]]]:
    """The values of each call, and the errors with the places of their rows."""
    columns, failures = [], []
    for call, fold in zip(plan.ranges.calls, found.folds(right, plan.ranges)):
        errors: Errors = {}
        if plan.skips_failures:
            parts = list(_tolerant(call, fold, found.ranges, 0, errors))
            column = _with_failed(call, found, right, plan, pa.concat_arrays(parts), errors)
        else:
            column = fold(found.ranges)
        columns.append(column)
        failures += sorted(errors.items(), key=lambda item: item[0])
    return columns, failures


def _tolerant(call: RangeCall, fold: Fold, ranges: Ranges, at: int, errors: Errors) -> Iterator[pa.Array]:
    """The values of the ranges, NULL where they cannot be computed; `at`: the place of the first one."""
    n = len(ranges.first)
    try:
        yield fold(ranges)
    except DataError as error:
        if n == 1:
            errors[at] = error
            yield values_to_arrow([None], call.call.result)
            return
        half = n // 2
        yield from _tolerant(call, fold, ranges.part(slice(0, half)), at, errors)
        yield from _tolerant(call, fold, ranges.part(slice(half, n)), at + half, errors)


def _with_failed(
    call: RangeCall,
    found: FoundRanges,
    right: Columns,
    plan: StreamAggregatesPlan,
    values: pa.Array,
    errors: Errors,
) -> pa.Array:
    """The values, NULL for ranges with a row on which Spark could not compute what the call reads. A row that FILTER
    leaves out does not count."""
    failed = np.zeros(len(right[TIME]), np.bool_)
    for name in (*call.columns, *filter(None, [call.filter])):
        if name in plan.marks:
            mark = right[plan.marks[name]]
            failed |= as_numpy(mark) & are_valid(mark)
    if not failed.any():
        return values
    totals = np.append(0, np.cumsum(failed[found.order]))
    counts = totals[found.ranges.last] - totals[found.ranges.first]
    before = found.ranges.before
    counts += (before >= 0) & failed[found.order][before]
    places = np.flatnonzero(counts)
    error = failed_aggregate(call.call.function)
    errors.update((int(place), error if call.place is None else error.with_(place=call.place)) for place in places)
    return taken(values, np.where(counts > 0, -1, np.arange(len(values))))
