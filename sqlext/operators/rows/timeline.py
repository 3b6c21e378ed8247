"""The rows of two relations by key and time, and the places of times among them. Loads Numba.

Key and time of a row are one integer, its word: the time is in the lower bits, and the key in those above them. So rows
are ordered by one radix sort, and a search among them compares integers. A search begins where the one before it has
ended: times that come in order are found as by two pointers, and others by binary search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlext.operators.rows.arrow import are_valid, as_arrow, as_numpy
from sqlext.operators.rows.columns import IS_ABLE, SortKey
from sqlext.operators.rows.grouped_order import grouped_order, key_values
from sqlext.operators.rows.long_columns import concatenated
from sqlext.operators.rows.row_order import ranked
from sqlext.operators.rows.threads import in_threads, ranges
from sqlext.operators.rows.value_order import numbered, value_order
from sqlext.pattern.program.jit import compiled, internal, read_only

_WORD_BITS = 64
_NEAR = 64  # rows around the last place that are searched first
_WORD = "__word"


@dataclass(frozen=True, kw_only=True)
class Side:
    """A relation: its `columns`, with IS_ABLE if some rows have no partner, the names of its `times`, and those of its
    `keys`, of which the `null_safe` ones match NULL."""

    columns: Mapping[str, pa.Array]
    times: Sequence[str]
    keys: Sequence[str] = ()
    null_safe: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.columns[self.times[0]])

    def is_able(self) -> np.ndarray:
        """`bool[n]`: which rows may have a partner."""
        able = np.ones(len(self), np.bool_)
        for name in (*self.times, *self.keys):
            if name not in self.null_safe and self.columns[name].null_count:
                able &= are_valid(self.columns[name])
        if IS_ABLE in self.columns:
            able &= as_numpy(self.columns[IS_ABLE]) & are_valid(self.columns[IS_ABLE])
        return able


def common_words(sides: Sequence[Side], threads: int) -> tuple[list[list[np.ndarray]], int]:
    """The words of the times of both sides, `uint64[n]`, and how many of their bits the time has. The rows of a side
    that have no partner have a key that the other side has not.

    >>> sides = [Side(columns={"t": pa.array(times)}, times="t") for times in ([7, None, 4], [5])]
    >>> [words.tolist() for (words,) in common_words(sides, threads=1)[0]]
    [[4, 8, 1], [2]]
    """
    keys = {name: _joined([side.columns[name] for side in sides]) for name in sides[0].keys}
    n = sum(map(len, sides))
    codes = key_values(keys, list(keys), n, threads) if keys else np.zeros(n, np.int64)
    times = ranked(_joined([side.columns[name] for side in sides for name in side.times]), SortKey(""), threads)
    if _bits(codes, len(sides)) + _bits(times) > _WORD_BITS:
        times, _ = numbered(times, threads)
    if _bits(codes, len(sides)) + _bits(times) > _WORD_BITS:
        codes, _ = numbered(codes, threads)
    (least, most), (earliest, _), bits = _ends(codes), _ends(times), _bits(times)
    words: list[list[np.ndarray]] = []
    for i, side in enumerate(sides):
        own, codes = codes[: len(side)], codes[len(side) :]
        able, of_others = side.is_able(), np.uint64(most - least + 1 + i)
        words.append([])
        for _ in side.times:
            of_time, times = times[: len(side)], times[len(side) :]
            words[-1].append(_words(own, least, able, of_others, of_time, earliest, bits, threads))
    return words, bits


def _joined(columns: Sequence[pa.Array]) -> pa.Array:
    """The columns in one piece. They have one type, or are integers of different widths."""
    is_mixed = len({column.type for column in columns if pa.types.is_integer(column.type)}) > 1
    return concatenated([column.cast(pa.int64()) for column in columns] if is_mixed else columns)


def _ends(values: np.ndarray) -> tuple[int, int]:
    """The least and the greatest value."""
    return (int(values.min()), int(values.max())) if len(values) else (0, 0)


def _bits(values: np.ndarray, more: int = 0) -> int:
    """The bits of the distances of the values from the least one, and of `more` integers above them."""
    least, most = _ends(values)
    return (most - least + more).bit_length()


def _words(codes, least, able, of_others, times, earliest, bits, threads) -> np.ndarray:
    words = np.empty(len(codes), np.uint64)
    read = [read_only(column) for column in (codes.view(np.uint64), able, times.view(np.uint64))]
    ends = np.array([least, earliest], np.int64).view(np.uint64)

    def write(lo: int, hi: int) -> None:
        _write_words(*(column[lo:hi] for column in read), ends[0], ends[1], of_others, np.uint64(bits), words[lo:hi])

    in_threads(write, ranges(len(words), threads), threads)
    return words


@compiled
def _write_words(codes, able, times, least, earliest, of_others, bits, words):
    for i in range(len(words)):
        code = codes[i] - least if able[i] else of_others
        words[i] = code << bits | (times[i] - earliest)


@dataclass(frozen=True)
class Timeline:
    """`order: int[m]`: the rows; `words: uint64[m]`: their words, which are in order."""

    order: np.ndarray
    words: np.ndarray


def timeline(words: np.ndarray, threads: int) -> Timeline:
    """The rows by their words; those with equal words keep their order.

    >>> rows = timeline(np.array([7, 5, 7], np.uint64), threads=1)
    >>> rows.order.tolist(), rows.words.tolist()
    ([1, 0, 2], [5, 7, 7])
    """
    order, distances = value_order(words, threads)
    if len(words):
        distances += words[order[0]]
    return Timeline(order, distances)


def first_rows(rows: Timeline, of: Mapping[str, pa.Array], ties: Sequence[SortKey], threads: int) -> Timeline:
    """One row of each word, the first one by `ties`, which are columns in `of`.

    >>> line, of = timeline(np.array([7, 5, 7], np.uint64), threads=1), {"x": pa.array([3, 2, 1])}
    >>> rows = first_rows(line, of, [SortKey("x")], threads=1)
    >>> rows.order.tolist(), rows.words.tolist()
    ([1, 2], [5, 7])
    """
    is_first = _is_first(rows)
    if is_first.all():
        return rows
    ordered = tied_in_order(rows, of, ties, threads)
    return Timeline(ordered.order[is_first], rows.words[is_first])


def tied_in_order(rows: Timeline, of: Mapping[str, pa.Array], ties: Sequence[SortKey], threads: int) -> Timeline:
    """The rows, those of each word in the order of `ties`, which are columns in `of`.

    >>> line, of = timeline(np.array([7, 5, 7], np.uint64), threads=1), {"x": pa.array([3, 2, 1])}
    >>> rows = tied_in_order(line, of, [SortKey("x")], threads=1)
    >>> rows.order.tolist(), rows.words.tolist()
    ([1, 2, 0], [5, 7, 7])
    """
    others = np.flatnonzero(~_is_first(rows))
    if not len(others) or not ties:
        return rows
    at = np.union1d(others, others - 1)
    words = at - np.searchsorted(others, at, "right")  # their numbers
    columns = {key.column: of[key.column].take(as_arrow(rows.order[at])) for key in ties}
    columns[_WORD] = as_arrow(words)
    order, _ = grouped_order(columns, [_WORD], ties, threads)
    if order is None:
        return rows
    result = rows.order.copy()
    result[at] = rows.order[at[order]]
    return Timeline(result, rows.words)


def _is_first(rows: Timeline) -> np.ndarray:
    """`bool[m]`: which rows are the first ones of their words."""
    is_first = np.ones(len(rows.words), np.bool_)
    np.not_equal(rows.words[1:], rows.words[:-1], out=is_first[1:])
    return is_first


def places(words: np.ndarray, wanted: np.ndarray, *, is_after: bool, threads: int) -> np.ndarray:
    """`int64[n]`: the first place in `words: uint64[m]`, which are in order, that is not below each `wanted: uint64[n]`
    or, if `is_after`, that is above it.

    >>> rows, wanted = np.array([5, 7, 7, 9], np.uint64), np.array([7, 6, 10], np.uint64)
    >>> [places(rows, wanted, is_after=is_after, threads=2).tolist() for is_after in (False, True)]
    [[1, 1, 4], [3, 1, 4]]
    """
    found = np.empty(len(wanted), np.int64)
    words, wanted = read_only(words), read_only(wanted)

    def find(lo: int, hi: int) -> None:
        _find(words, wanted[lo:hi], is_after, found[lo:hi])

    in_threads(find, ranges(len(wanted), threads), threads)
    return found


@compiled
def _find(words, wanted, is_after, found):
    place = 0
    for i in range(len(wanted)):
        place = _place(words, place, wanted[i], is_after)
        found[i] = place


@internal
def _place(words, near, wanted, is_after):
    """The place of `wanted`, which may be near the place `near`."""
    lo, hi = 0, len(words)
    if near < hi and (words[near] < wanted or (is_after and words[near] == wanted)):
        lo, step = near + 1, 1
        while step <= _NEAR and lo + step < hi:
            at = lo + step - 1
            if words[at] < wanted or (is_after and words[at] == wanted):
                lo, step = at + 1, 2 * step
            else:
                hi = at
                break
    else:
        hi, step = near, 1
        while step <= _NEAR and hi - step >= lo:
            at = hi - step
            if words[at] < wanted or (is_after and words[at] == wanted):
                lo = at + 1
                break
            hi, step = at, 2 * step
    while lo < hi:
        at = (lo + hi) // 2
        if words[at] < wanted or (is_after and words[at] == wanted):
            lo = at + 1
        else:
            hi = at
    return lo
