"""The rows of one relation by key and time, and the places of ranges of time among them. Loads Numba.

A search begins where the one before it in the same key has ended. So ranges that come in the order of their times are
found as by two pointers, and ranges in no order by binary search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlext.operators.rows.arrow import are_valid, as_arrow, as_numpy
from sqlext.operators.rows.columns import IS_ABLE, SortKey
from sqlext.operators.rows.grouped_order import grouped_order
from sqlext.operators.rows.long_columns import concatenated
from sqlext.operators.rows.row_order import key_codes, ranked
from sqlext.operators.rows.threads import in_threads
from sqlext.operators.rows.threads import ranges as parts
from sqlext.pattern.program.jit import compiled, internal, read_only

_KEY, _TIME = "__key", "__time"
_NEAR = 64  # rows around the last place that are searched first


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """`order: int[m]`: the rows; `time: int64[m]`: their times; `begins: int64[k + 1]`: the places where the rows of
    each key begin. Rows after `begins[k]` are in no key."""

    order: np.ndarray
    time: np.ndarray
    begins: np.ndarray

    def first_rows(self) -> Timeline:
        """The same with one row of each key and time, the first one."""
        is_first = np.ones(len(self.time), np.bool_)
        is_first[1:] = self.time[1:] != self.time[:-1]
        is_first[self.begins[self.begins < len(self.time)]] = True
        if is_first.all():
            return self
        begins = np.append(0, np.cumsum(is_first))[self.begins]
        return Timeline(order=self.order[is_first], time=self.time[is_first], begins=begins)


def timeline(codes: np.ndarray, count: int, times: np.ndarray, ties: Mapping[str, pa.Array], threads: int) -> Timeline:
    """The rows with the key codes `codes: int64[m]`, below `count`, or `count` for rows that are in no key.

    `ties`: the columns that order rows of one time.

    >>> rows = timeline(np.array([1, 0, 2, 1]), 2, np.array([7, 5, 1, 3]), {}, threads=1)
    >>> rows.order.tolist(), rows.time.tolist(), rows.begins.tolist()
    ([1, 3, 0, 2], [5, 3, 7, 1], [0, 1, 3])
    """
    order = time_order(codes, times, ties, threads)
    begins = np.append(0, np.cumsum(np.bincount(codes, minlength=count)[:count]))
    return Timeline(order=order, time=times[order], begins=begins)


def time_order(codes: np.ndarray, times: np.ndarray, ties: Mapping[str, pa.Array], threads: int) -> np.ndarray:
    """`int[n]`: the rows by their codes, times and `ties`."""
    columns = {_KEY: as_arrow(codes), _TIME: as_arrow(times), **ties}
    order, _ = grouped_order(columns, [_KEY], [SortKey(_TIME), *map(SortKey, ties)], threads)
    return np.arange(len(codes), dtype=np.int32 if len(codes) < 2**31 else np.int64) if order is None else order


def common_codes(sides: Sequence[Sequence[pa.Array]], lengths: Sequence[int]) -> tuple[list[np.ndarray], int]:
    """The keys of the rows of several relations as integers, equal for equal keys, and a number above all of them.

    >>> codes, count = common_codes([[pa.array(["a", None])], [pa.array(["b", "a", None])]], [2, 3])
    >>> codes[0].tolist() == codes[1][1:].tolist(), codes[1][0] in codes[0]
    (True, False)
    """
    tables = [pa.table({f"{i}": key for i, key in enumerate(keys)}) for keys in sides]
    if not any(table.num_columns for table in tables):
        return [np.zeros(n, np.int64) for n in lengths], 1
    codes = key_codes(tables, tables[0].column_names)
    return codes, max(int(of_side.max(initial=-1)) for of_side in codes) + 1


def able_codes(codes: np.ndarray, count: int, columns: Mapping[str, pa.Array], *needed: str) -> np.ndarray:
    """The codes of the keys; `count` for rows that have no partner."""
    able = np.logical_and.reduce([are_valid(columns[name]) for name in needed])
    if IS_ABLE in columns:
        able &= as_numpy(columns[IS_ABLE]) & are_valid(columns[IS_ABLE])
    return np.where(able, codes, count)


def common_ranks(columns: Sequence[pa.Array]) -> list[np.ndarray]:
    """`int64[n]` for each column: smaller for values that come first in any of them; see `ranked`."""
    return np.split(ranked(concatenated(columns), SortKey("")), np.cumsum([len(column) for column in columns])[:-1])


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """Ranges of time: from `lower` to `upper`, both `int64[n]`, without an end that is excluded, in the rows with the
    key `codes: int[n]`; a code that is not below the number of keys is in no key."""

    codes: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    excludes_lower: bool = False
    excludes_upper: bool = False


def places(rows: Timeline, ranges: Ranges, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """`int64[n]` twice: the places in `rows` from which, and up to which (exclusive), each range has its rows.

    >>> rows = timeline(np.zeros(4, np.int64), 1, np.array([5, 7, 7, 9]), {}, threads=1)
    >>> ranges = Ranges(codes=np.zeros(2, np.int64), lower=np.array([7, 6]), upper=np.array([9, 6]))
    >>> [found.tolist() for found in places(rows, ranges, threads=2)]
    [[1, 1], [4, 1]]
    """
    n = len(ranges.codes)
    first, last = np.empty(n, np.int64), np.empty(n, np.int64)
    wanted = [read_only(column) for column in (ranges.codes, ranges.lower, ranges.upper)]
    time, begins = read_only(rows.time), read_only(rows.begins)

    def find(lo: int, hi: int) -> None:
        part = [column[lo:hi] for column in wanted]
        near = rows.begins.copy()
        _find(time, begins, *part, ranges.excludes_lower, ranges.excludes_upper, near, first[lo:hi], last[lo:hi])

    in_threads(find, parts(n, threads), threads)
    return first, last


@compiled
def _find(time, begins, codes, lower, upper, excludes_lower, excludes_upper, near, first, last):
    for i in range(len(codes)):
        code = codes[i]
        if code >= len(begins) - 1:
            first[i] = last[i] = len(time)
            continue
        end = begins[code + 1]
        place = _place(time, begins[code], end, near[code], lower[i], excludes_lower)
        near[code] = first[i] = place
        last[i] = _place(time, place, end, place, upper[i], not excludes_upper)


@internal
def _place(time, begin, end, near, wanted, is_after):
    """The first place from begin to end (exclusive) whose time is not before `wanted`; is after it if `is_after`; `end`
    without such a time."""
    lo, hi = begin, end
    if near < end and (time[near] < wanted or (is_after and time[near] == wanted)):
        lo, step = near + 1, 1
        while step <= _NEAR and lo + step < end:
            at = lo + step - 1
            if time[at] < wanted or (is_after and time[at] == wanted):
                lo, step = at + 1, 2 * step
            else:
                hi = at
                break
    else:
        hi, step = near, 1
        while step <= _NEAR and hi - step >= begin:
            at = hi - step
            if time[at] < wanted or (is_after and time[at] == wanted):
                lo = at + 1
                break
            hi, step = at, 2 * step
    while lo < hi:
        at = (lo + hi) // 2
        if time[at] < wanted or (is_after and time[at] == wanted):
            lo = at + 1
        else:
            hi = at
    return lo
