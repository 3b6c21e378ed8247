"""The aggregates of the rows of many ranges. Loads Numba.

Right rows are in order, so a range is `first` to `last` (exclusive) of their places, and `before`, which is -1 or the
place of one row more. What a range costs depends little on its length:

- counts and exact sums are differences of running totals;
- sums of floating-point numbers are never differences, which would cancel digits and spread NaN: totals of 8 rows, of
  64 rows and so on are added up (a segment tree), about 14 numbers for each factor of 8;
- the row with the best value is found in the same way;
- the first and the last row with a value are looked up;
- every other aggregate reads the rows of the range one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError, Place
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.spark_types import FLOATS, decimal_of
from sqlext.expressions.values import from_arrow
from sqlext.expressions.values import to_arrow as values_to_arrow
from sqlext.operators.interval.aggregates_plan import MOMENTS, RangeCall
from sqlext.operators.rows.arrow import are_valid, as_arrow, as_numpy, taken, to_values
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rows.row_order import ranked
from sqlext.pattern.program.jit import compiled, internal, read_only

_FAN = 8  # entries of a level of the tree that one entry of the next level sums up
_STATE = 5  # numbers: the count, the mean, and the sums of the 2nd to 4th powers of deviations
_LIMB = 32  # bits of the lower part of an exact sum
_LARGE = 2.0**62
Columns = Mapping[str, pa.Array]


@dataclass(frozen=True)
class Ranges:
    """`first, last, before: int64[n]`: places among the right rows, which are in order."""

    first: np.ndarray
    last: np.ndarray
    before: np.ndarray

    def part(self, some: slice | np.ndarray) -> Ranges:
        return Ranges(self.first[some], self.last[some], self.before[some])


Fold = Callable[[Ranges], pa.Array]  # the values of ranges


def range_fold(call: RangeCall, rows: Columns, settings: ExecutionSettings) -> Fold:
    """The aggregate over ranges of the rows, which are in order."""
    kept = None
    if call.filter:
        condition = rows[call.filter]
        kept = as_numpy(condition) & are_valid(condition)
    fold = _KINDS[call.call.function](call, rows, kept, settings) if call.has_kernel else None
    return fold or _general(call, rows, kept, settings)


# counts


def _count(call: RangeCall, rows: Columns, kept: np.ndarray | None, settings: ExecutionSettings) -> Fold:
    counted = kept
    for name in call.columns:
        if rows[name].null_count:
            valid = are_valid(rows[name])
            counted = valid if counted is None else counted & valid
    return _counting(counted)


def _count_if(call: RangeCall, rows: Columns, kept: np.ndarray | None, settings: ExecutionSettings) -> Fold:
    condition = rows[call.columns[0]]
    holds = as_numpy(condition) & are_valid(condition)
    return _counting(holds if kept is None else holds & kept)


def _counting(counted: np.ndarray | None) -> Fold:
    """The number of rows that are `counted: bool[m]`, or of all rows."""
    if counted is None:
        return lambda ranges: as_arrow(ranges.last - ranges.first + (ranges.before >= 0))
    totals = _running(counted.astype(np.int64))
    return lambda ranges: as_arrow(_difference(totals, counted.astype(np.int64), ranges))


def _running(values: np.ndarray) -> np.ndarray:
    """`int64[m + 1]`: the total of the values before each place, modulo 2^64."""
    totals = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=totals[1:])
    return totals


def _difference(totals: np.ndarray, values: np.ndarray, ranges: Ranges) -> np.ndarray:
    result = totals[ranges.last] - totals[ranges.first]
    some = np.flatnonzero(ranges.before >= 0)
    result[some] += values[ranges.before[some]]
    return result


# exact sums


def _sum(call: RangeCall, rows: Columns, kept: np.ndarray | None, settings: ExecutionSettings) -> Fold:
    kind = call.call.types[0]
    if kind in FLOATS:
        return _float_fold(call, rows, kept, is_average=False)
    values, valid = _numbers(rows[call.columns[0]], kept)
    counting = _totals(valid)
    if decimal_of(kind):
        return _decimal_sum(values, counting, decimal_of(call.call.result) or (38, 0))
    is_small = not len(values) or float(np.abs(values.astype(np.float64)).max()) * len(values) < _LARGE
    if is_small or not settings.is_ansi:  # without ANSI a sum wraps around, as running totals do
        totals = _running(values)
        return lambda ranges: as_arrow(_difference(totals, values, ranges), counting(ranges) > 0)
    high, low = _limbs(values)

    def sums(ranges: Ranges) -> pa.Array:
        upper, lower = high(ranges), low(ranges)
        upper += lower >> _LIMB
        if ((upper >= 1 << 31) | (upper < -(1 << 31))).any():
            error = DataError("ARITHMETIC_OVERFLOW", "a sum exceeds 64 bits", hint="sum CAST(x AS DECIMAL(38,0)).")
            raise error.with_(place=call.place)
        return as_arrow((upper << _LIMB) | (lower & 0xFFFFFFFF), counting(ranges) > 0)

    return sums


def _decimal_sum(values: np.ndarray, counting: Callable, digits: tuple[int, int]) -> Fold:
    high, low = _limbs(values)

    def sums(ranges: Ranges) -> pa.Array:
        upper, lower = high(ranges), low(ranges)
        upper += lower >> _LIMB
        words = np.empty((len(upper), 2), np.int64)
        words[:, 0], words[:, 1] = (upper << _LIMB) | (lower & 0xFFFFFFFF), upper >> _LIMB
        valid = counting(ranges) > 0
        mask = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
        return pa.Array.from_buffers(pa.decimal128(*digits), len(upper), [mask, pa.py_buffer(words)])

    return sums


def _limbs(values: np.ndarray) -> tuple[Callable[[Ranges], np.ndarray], Callable[[Ranges], np.ndarray]]:
    """The totals of the upper and of the lower 32 bits, neither of which leaves 64 bits."""
    parts = values >> _LIMB, values & 0xFFFFFFFF
    return tuple(_difference_of(part) for part in parts)  # type: ignore[return-value]


def _difference_of(values: np.ndarray) -> Callable[[Ranges], np.ndarray]:
    totals = _running(values)
    return lambda ranges: _difference(totals, values, ranges)


def _totals(valid: np.ndarray | None) -> Callable[[Ranges], np.ndarray]:
    """The number of valid rows of ranges; None: all are."""
    if valid is None:
        return lambda ranges: ranges.last - ranges.first + (ranges.before >= 0)
    return _difference_of(valid.astype(np.int64))


def _numbers(column: pa.Array, kept: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """The values, with 0 where there is none; and which there are, None for all."""
    values = to_values(column)
    valid = values.valid if kept is None else kept if values.valid is None else values.valid & kept
    numbers = values.values if valid is None else np.where(valid, values.values, values.values.dtype.type(0))
    return numbers, valid


# sums of floating-point numbers


def _avg(call: RangeCall, rows: Columns, kept: np.ndarray | None, settings: ExecutionSettings) -> Fold:
    return _float_fold(call, rows, kept, is_average=True)


def _float_fold(call: RangeCall, rows: Columns, kept: np.ndarray | None, *, is_average: bool) -> Fold:
    numbers, valid = _numbers(rows[call.columns[0]], kept)
    values, counting = numbers.astype(np.float64), _totals(valid)
    levels, starts = _levels(len(values), values.dtype)
    _sum_levels(read_only(values), levels, starts)
    values, levels = read_only(values), read_only(levels)

    def sums(ranges: Ranges) -> pa.Array:
        result, count = np.empty(len(ranges.first)), counting(ranges)
        _add_ranges(values, levels, starts, *map(read_only, (ranges.first, ranges.last, ranges.before)), result)
        return as_arrow(result / np.maximum(count, 1) if is_average else result, count > 0)

    return sums


def _levels(n: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Memory for all levels of the tree above n rows, and where each of them begins, with the end of the last."""
    sizes = []
    while n > _FAN:
        n //= _FAN
        sizes.append(n)
    return np.empty(sum(sizes), dtype), np.cumsum([0, *sizes])


@compiled
def _sum_levels(values, levels, starts):
    for level in range(len(starts) - 1):
        for i in range(starts[level + 1] - starts[level]):
            total = 0.0
            for j in range(i * _FAN, i * _FAN + _FAN):
                total += values[j] if level == 0 else levels[starts[level - 1] + j]
            levels[starts[level] + i] = total


@compiled
def _add_ranges(values, levels, starts, first, last, before, result):
    """Write the sum of each range: of the rows at its ends that fill no entry of the next level, and so on upwards."""
    for i in range(len(first)):
        total = values[before[i]] if before[i] >= 0 else 0.0
        lo, hi, level = first[i], last[i], -1
        while lo < hi:
            inner_lo, inner_hi = (lo + _FAN - 1) // _FAN, hi // _FAN
            is_top = level + 2 == len(starts) or inner_lo >= inner_hi
            middle_lo, middle_hi = (hi, hi) if is_top else (inner_lo * _FAN, inner_hi * _FAN)
            for half in range(2):
                begin, end = (lo, middle_lo) if half == 0 else (middle_hi, hi)
                for j in range(begin, end):
                    total += values[j] if level < 0 else levels[starts[level] + j]
            if is_top:
                break
            lo, hi, level = inner_lo, inner_hi, level + 1
        result[i] = total


# moments


def _moments(call: RangeCall, rows: Columns, kept: np.ndarray | None, settings: ExecutionSettings) -> Fold:
    """Variance and the like: the moments of the entries of the tree are merged as Spark merges those of its tasks."""
    numbers, valid = _numbers(rows[call.columns[0]], kept)
    values = read_only(numbers.astype(np.float64))
    counted = read_only(np.ones(len(values), np.bool_) if valid is None else valid)
    sizes, starts = _levels(len(values), np.dtype(np.bool_))
    levels = np.empty((len(sizes), _STATE))
    _merge_levels(values, counted, levels, starts)
    levels, value = read_only(levels), call.call.aggregator(settings).value

    def moments(ranges: Ranges) -> pa.Array:
        states = np.empty((len(ranges.first), _STATE))
        bounds = map(read_only, (ranges.first, ranges.last, ranges.before))
        _merge_ranges(values, counted, levels, starts, *bounds, states)
        try:
            return values_to_arrow([value(tuple(state)) for state in states.tolist()], call.call.result)
        except DataError as error:
            raise _at(error, call.place) from None

    return moments


@internal
def _added(values, counted, levels, at, level, n1, mean1, m2, m3, m4):
    """The moments of a state and those of a row, if `level` is -1, or of an entry of the tree: Pébay, SAND2008-6212."""
    if level < 0:
        n2 = 1.0 if counted[at] else 0.0
        mean2, right2, right3, right4 = values[at], 0.0, 0.0, 0.0
    else:
        n2, mean2, right2, right3, right4 = levels[at, 0], levels[at, 1], levels[at, 2], levels[at, 3], levels[at, 4]
    if n2 == 0.0:
        return n1, mean1, m2, m3, m4
    if n1 == 0.0:
        return n2, mean2, right2, right3, right4
    n = n1 + n2
    delta = mean2 - mean1
    step = delta / n
    return (
        n,
        mean1 + step * n2,
        m2 + right2 + delta * step * n1 * n2,
        m3 + right3 + step * step * delta * n1 * n2 * (n1 - n2) + 3.0 * step * (n1 * right2 - n2 * m2),
        m4
        + right4
        + step * step * step * delta * n1 * n2 * (n1 * n1 - n1 * n2 + n2 * n2)
        + 6.0 * step * step * (n1 * n1 * right2 + n2 * n2 * m2)
        + 4.0 * step * (n1 * right3 - n2 * m3),
    )


@compiled
def _merge_levels(values, counted, levels, starts):
    for level in range(len(starts) - 1):
        before = starts[level - 1] if level else 0
        for i in range(starts[level + 1] - starts[level]):
            n, mean, m2, m3, m4 = 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(i * _FAN, i * _FAN + _FAN):
                n, mean, m2, m3, m4 = _added(values, counted, levels, before + j, level - 1, n, mean, m2, m3, m4)
            at = starts[level] + i
            levels[at, 0], levels[at, 1], levels[at, 2], levels[at, 3], levels[at, 4] = n, mean, m2, m3, m4


@compiled
def _merge_ranges(values, counted, levels, starts, first, last, before, states):
    """Write the moments of each range, which are merged as `_add_ranges` adds."""
    for i in range(len(first)):
        n, mean, m2, m3, m4 = 0.0, 0.0, 0.0, 0.0, 0.0
        if before[i] >= 0:
            n, mean, m2, m3, m4 = _added(values, counted, levels, before[i], -1, n, mean, m2, m3, m4)
        lo, hi, level = first[i], last[i], -1
        while lo < hi:
            inner_lo, inner_hi = (lo + _FAN - 1) // _FAN, hi // _FAN
            is_top = level + 2 == len(starts) or inner_lo >= inner_hi
            middle_lo, middle_hi = (hi, hi) if is_top else (inner_lo * _FAN, inner_hi * _FAN)
            start = starts[level] if level >= 0 else 0
            for half in range(2):
                begin, end = (lo, middle_lo) if half == 0 else (middle_hi, hi)
                for j in range(begin, end):
                    n, mean, m2, m3, m4 = _added(values, counted, levels, start + j, level, n, mean, m2, m3, m4)
            if is_top:
                break
            lo, hi, level = inner_lo, inner_hi, level + 1
        states[i, 0], states[i, 1], states[i, 2], states[i, 3], states[i, 4] = n, mean, m2, m3, m4


# the row with the best value


def _greatest(call: RangeCall, rows: Columns, kept: np.ndarray | None, settings: ExecutionSettings) -> Fold:
    return _best(call, rows, kept, key=len(call.columns) - 1, is_least=False)


def _least(call: RangeCall, rows: Columns, kept: np.ndarray | None, settings: ExecutionSettings) -> Fold:
    return _best(call, rows, kept, key=len(call.columns) - 1, is_least=True)


def _best(call: RangeCall, rows: Columns, kept: np.ndarray | None, *, key: int, is_least: bool) -> Fold:
    """The value of the first column on the row with the greatest, or the least, key; of equal keys the last one."""
    column = rows[call.columns[key]]
    valid = are_valid(column) if kept is None else are_valid(column) & kept
    codes = ranked(column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column, SortKey(""))
    codes = read_only(~codes if is_least else codes)
    places = np.where(valid, np.arange(len(codes)), -1)
    levels, starts = _levels(len(codes), places.dtype)
    _best_levels(codes, read_only(places), levels, starts)
    places, levels, shown = read_only(places), read_only(levels), rows[call.columns[0]]

    def values(ranges: Ranges) -> pa.Array:
        found = np.empty(len(ranges.first), np.int64)
        _find_best(codes, places, levels, starts, *map(read_only, (ranges.first, ranges.last, ranges.before)), found)
        return taken(shown, found)

    return values


@compiled
def _best_levels(codes, places, levels, starts):
    for level in range(len(starts) - 1):
        for i in range(starts[level + 1] - starts[level]):
            best = -1
            for j in range(i * _FAN, i * _FAN + _FAN):
                at = places[j] if level == 0 else levels[starts[level - 1] + j]
                if at >= 0 and (best < 0 or codes[at] >= codes[best]):
                    best = at
            levels[starts[level] + i] = best


@compiled
def _find_best(codes, places, levels, starts, first, last, before, found):
    """Write the place with the greatest code of each range, the last one of equal codes; -1 without any."""
    for i in range(len(first)):
        best = places[before[i]] if before[i] >= 0 else -1
        lo, hi, level = first[i], last[i], -1
        while lo < hi:
            inner_lo, inner_hi = (lo + _FAN - 1) // _FAN, hi // _FAN
            is_top = level + 2 == len(starts) or inner_lo >= inner_hi
            middle_lo, middle_hi = (hi, hi) if is_top else (inner_lo * _FAN, inner_hi * _FAN)
            for half in range(2):
                begin, end = (lo, middle_lo) if half == 0 else (middle_hi, hi)
                for j in range(begin, end):
                    at = places[j] if level < 0 else levels[starts[level] + j]
                    if at >= 0 and (best < 0 or codes[at] > codes[best] or (codes[at] == codes[best] and at > best)):
                        best = at
            if is_top:
                break
            lo, hi, level = inner_lo, inner_hi, level + 1
        found[i] = best


# the first and the last row


def _first(call: RangeCall, rows: Columns, kept: np.ndarray | None, settings: ExecutionSettings) -> Fold:
    valid = _considered(call, rows, kept)
    column = rows[call.columns[0]]
    n = len(column)
    after = np.arange(n + 1)
    if valid is not None:  # the first such row from each place on
        after[:n][~valid] = n
        after = np.minimum.accumulate(after[::-1])[::-1]

    def values(ranges: Ranges) -> pa.Array:
        found = after[ranges.first]
        found = np.where(found < ranges.last, found, -1)
        return taken(column, np.where(_holds(ranges.before, valid), ranges.before, found))

    return values


def _last(call: RangeCall, rows: Columns, kept: np.ndarray | None, settings: ExecutionSettings) -> Fold:
    valid = _considered(call, rows, kept)
    column = rows[call.columns[0]]
    until = np.arange(-1, len(column))
    if valid is not None:  # the last such row before each place
        until[1:][~valid] = -1
        until = np.maximum.accumulate(until)

    def values(ranges: Ranges) -> pa.Array:
        found = until[ranges.last]
        of_before = np.where(_holds(ranges.before, valid), ranges.before, -1)
        return taken(column, np.where((found >= ranges.first) & (ranges.last > ranges.first), found, of_before))

    return values


def _considered(call: RangeCall, rows: Columns, kept: np.ndarray | None) -> np.ndarray | None:
    """`bool[m]`: the rows whose value may be the first or the last one; None for all."""
    if not (call.call.ignores_nulls or dict(call.call.constants).get(1) is True):
        return kept
    valid = are_valid(rows[call.columns[0]])
    return valid if kept is None else valid & kept


def _holds(before: np.ndarray, valid: np.ndarray | None) -> np.ndarray:
    if valid is None or not len(valid):
        return before >= 0
    return (before >= 0) & valid[before]


# all others


def _general(call: RangeCall, rows: Columns, kept: np.ndarray | None, settings: ExecutionSettings) -> Fold:
    """The aggregators of the registry, which add one row at a time."""
    aggregator = call.call.aggregator(settings)
    columns = [from_arrow(rows[name], kind) for name, kind in zip(call.columns, call.call.column_types)]
    keeps = None if kept is None else kept.tolist()

    def value(first: int, last: int, before: int) -> object:
        state = aggregator.empty
        for row in (*((before,) if before >= 0 else ()), *range(first, last)):
            if keeps is None or keeps[row]:
                state = aggregator.add(state, *(column[row] for column in columns))
        return aggregator.value(state)

    def values(ranges: Ranges) -> pa.Array:
        bounds = zip(*(ends.tolist() for ends in (ranges.first, ranges.last, ranges.before)))
        try:
            return values_to_arrow([value(*ends) for ends in bounds], call.call.result)
        except DataError as error:
            raise _at(error, call.place) from None

    return values


def _at(error: DataError, place: Place | None) -> DataError:
    return error if place is None else error.with_(place=place)  # type: ignore[return-value]


_KINDS: Mapping[str, Callable[..., Fold]] = {  # of KERNELS
    "count": _count,
    "regr_count": _count,
    "count_if": _count_if,
    "sum": _sum,
    **dict.fromkeys(("avg", "mean"), _avg),
    **dict.fromkeys(MOMENTS, _moments),
    **dict.fromkeys(("max", "max_by", "bool_or", "some", "any"), _greatest),
    **dict.fromkeys(("min", "min_by", "bool_and", "every"), _least),
    **dict.fromkeys(("first_value", "any_value"), _first),
    "last_value": _last,
}
