"""The stable order of integers by a radix sort, on several threads. Loads Numba.

The values are first scattered into buckets by their highest digit, each thread its own range of rows. A bucket fits in
a core's cache, and the threads sort the buckets one by one, digit by digit from the lowest. The first and the last
bucket also take what lies outside the range of most values, so that a few distant values, such as a date that stands
for "never", do not leave all others in one bucket.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sqlext.operators.rows.threads import in_threads, ranges
from sqlext.pattern.program.jit import compiled, read_only

_BUCKET_BITS = 8  # more buckets than pages and lines that a core has at hand make the scatter slow
_BUCKET_ROWS_BITS = 12  # fewer rows need no more buckets
_FEW = 64  # rows that are sorted by insertion
_LONG = 1 << 17  # rows of a range that all threads sort together
_DIGIT_BITS = 12  # the counts of a digit fit in a core's first cache
_SAMPLE, _OUTSIDE = 4096, 64  # of so many values, so many on either side may lie outside the range that is divided
_SIGN = np.uint64(1 << 63)
_PARTS = 8  # for each thread, so that the threads are done at about the same time


def value_order(values: np.ndarray, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The rows in the order of their values, `int32[n]` or for very many rows int64, and `uint64[n]`: by how much each
    value, in this order, is above the least one. Equal values keep their order. `values: int64[n]` or `uint64[n]`.

    >>> [found.tolist() for found in value_order(np.array([7, -2, 5, -2]))]
    [[1, 3, 2, 0], [0, 0, 7, 9]]
    """
    n = len(values)
    rows, ordered = np.empty(n, np.int32 if n < 2**31 else np.int64), np.empty(n, np.uint64)
    if not n:
        return rows, ordered
    parts = ranges(n, threads)
    words, sign = read_only(values).view(np.uint64), np.uint64(0) if values.dtype == np.uint64 else _SIGN
    least = np.uint64(min(in_threads(lambda lo, hi: int(values[lo:hi].min()), parts, threads)) + int(sign))
    last = np.uint64((1 << max(0, min(_BUCKET_BITS, n.bit_length() - _BUCKET_ROWS_BITS))) - 1)
    low, shift = _divided(words, sign, least, int(last))
    counts = np.zeros((len(parts), int(last) + 1), np.int64)
    tasks = [(words, lo, hi, sign, least, low, shift, last, counts[part]) for part, (lo, hi) in enumerate(parts)]
    in_threads(_count, tasks, threads)
    ends = np.append(0, np.cumsum(counts.sum(axis=0)))
    counts[:] = ends[:-1] + np.cumsum(counts, axis=0) - counts  # now the places of the next rows
    in_threads(_scatter, [(*task, rows, ordered) for task in tasks], threads)
    _sort_parts(ends, ordered, rows, threads)
    return rows, ordered


def _divided(words: np.ndarray, sign: np.uint64, least: np.uint64, last: int) -> tuple[np.uint64, np.uint64]:
    """Where the range of most values begins, as a distance from `least`, and by how many bits distances from there are
    shifted to be the number of a bucket, at most `last`."""
    sample = np.sort((words[:: -(-len(words) // _SAMPLE)] ^ sign) - least)
    outside = len(sample) * _OUTSIDE // _SAMPLE
    low = sample[outside]
    width = int(sample[-1 - outside] - low).bit_length()
    return low, np.uint64(max(0, width - last.bit_length()))


def in_order(values: np.ndarray, rows: np.ndarray | None = None, threads: int = 1) -> np.ndarray:
    """The integers, or those of some rows, as `uint64` in the same order; the inverse for `uint64`.

    >>> in_order(np.array([3, -1, 0])).argsort().tolist(), in_order(np.array([3, -1, 0]), np.array([1])) < 1 << 63
    ([1, 2, 0], array([ True]))
    """
    words = np.empty(len(values) if rows is None else len(rows), np.uint64)

    def write(lo: int, hi: int) -> None:
        if rows is None:
            np.bitwise_xor(values[lo:hi].view(np.uint64), _SIGN, out=words[lo:hi])
        else:
            values.view(np.uint64).take(rows[lo:hi], out=words[lo:hi], mode="clip")  # other modes copy
            words[lo:hi] ^= _SIGN

    in_threads(write, ranges(len(words), threads * _PARTS), threads)
    return words


def sort_each(bounds: np.ndarray, words: np.ndarray, rows: np.ndarray, threads: int = 1) -> None:
    """Order the rows from `bounds[i]` to `bounds[i + 1]` (exclusive) by their `words: uint64[n]`, in place; equal words
    keep their order.

    >>> words, rows = np.array([3, 1, 2, 0], np.uint64), np.array([10, 11, 12, 13], np.int32)
    >>> sort_each(np.array([0, 3, 4]), words, rows)
    >>> words.tolist(), rows.tolist()
    ([1, 2, 3, 0], [11, 12, 10, 13])
    """
    for i in np.flatnonzero(np.diff(bounds) > _LONG) if threads > 1 else ():
        lo, hi = bounds[i], bounds[i + 1]
        if (words[lo + 1 : hi] < words[lo : hi - 1]).any():
            least = words[lo:hi].min()
            places, ordered = value_order(words[lo:hi], threads)
            np.add(ordered, least, out=words[lo:hi])
            del ordered
            rows[lo:hi] = gathered(rows[lo:hi], places, threads)
    _sort_parts(bounds, words, rows, threads)


def _sort_parts(bounds: np.ndarray, words: np.ndarray, rows: np.ndarray, threads: int) -> None:
    """As `sort_each`, but one thread sorts each range."""

    def sort(first: int, stop: int) -> None:
        most = int(np.diff(bounds[first : stop + 1]).max())
        spare = np.empty(most, rows.dtype), np.empty(most, words.dtype)
        _sort_ranges(bounds[first : stop + 1], rows, words, *spare, np.empty(1 << _DIGIT_BITS, np.int64))

    cuts = np.unique(np.searchsorted(bounds, np.linspace(0, bounds[-1], threads * _PARTS + 1)))
    in_threads(sort, pairwise(cuts.tolist()), threads)


def changes(words: np.ndarray, threads: int = 1) -> np.ndarray:
    """`int64[p + 1]`: the places where a value is not that of the place before, with 0 and the number of places.

    >>> changes(np.array([7, 7, 3])).tolist()
    [0, 2, 3]
    """

    def found(lo: int, hi: int) -> np.ndarray:
        return np.flatnonzero(words[lo + 1 : hi + 1] != words[lo:hi]) + lo + 1

    places = in_threads(found, ranges(max(0, len(words) - 1), threads * _PARTS), threads)
    return np.concatenate([np.zeros(1, np.int64), *places, np.full(int(len(words) > 0), len(words), np.int64)])


def numbers_of(order: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """`int64[n]`: for each row the number of the range of `bounds` in which it is in the order.

    >>> numbers_of(np.array([2, 0, 1]), np.array([0, 2, 3])).tolist()
    [0, 1, 0]
    """
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return numbers


def numbered(values: np.ndarray, threads: int = 1) -> tuple[np.ndarray, int]:
    """`int64[n]`: the place of each value among the distinct values; and their number.

    >>> numbered(np.array([7, 3, 7]))[0].tolist()
    [1, 0, 1]
    """
    order, ordered = value_order(values, threads)
    bounds = changes(ordered, threads)
    return numbers_of(order, bounds), len(bounds) - 1


def gathered(values: np.ndarray, rows: np.ndarray, threads: int) -> np.ndarray:
    """`values[rows]`."""
    result = np.empty(len(rows), values.dtype)

    def gather(lo: int, hi: int) -> None:
        values.take(rows[lo:hi], out=result[lo:hi], mode="clip")  # other modes copy

    in_threads(gather, ranges(len(rows), threads * _PARTS), threads)
    return result


@compiled
def _bucket(distance, low, shift, last):
    return min((max(distance, low) - low) >> shift, last)


@compiled
def _count(words, lo, hi, sign, least, low, shift, last, counts):
    """Add the number of the rows from `lo` to `hi` in each bucket."""
    for row in range(lo, hi):
        counts[_bucket((words[row] ^ sign) - least, low, shift, last)] += 1


@compiled
def _scatter(words, lo, hi, sign, least, low, shift, last, places, rows, ordered):
    """Write the rows from `lo` to `hi`, and how far their values are above the least one, to the places of their
    buckets."""
    for row in range(lo, hi):
        distance = (words[row] ^ sign) - least
        bucket = _bucket(distance, low, shift, last)
        place = places[bucket]
        rows[place], ordered[place], places[bucket] = row, distance, place + 1


@compiled
def _sort_ranges(bounds, rows, words, spare_rows, spare_words, counts):
    for p in range(len(bounds) - 1):
        lo, hi = bounds[p], bounds[p + 1]
        differing, is_sorted = np.uint64(0), True
        for i in range(lo + 1, hi):
            differing |= words[i] ^ words[lo]
            is_sorted &= words[i] >= words[i - 1]
        if not is_sorted and hi - lo <= _FEW:
            _insert(words, rows, lo, hi)
        elif not is_sorted:
            _sort_by_digits(words, rows, lo, hi - lo, differing, spare_words, spare_rows, counts)


@compiled
def _insert(words, rows, lo, hi):
    for i in range(lo + 1, hi):
        word, row, at = words[i], rows[i], i
        while at > lo and words[at - 1] > word:
            words[at], rows[at] = words[at - 1], rows[at - 1]
            at -= 1
        words[at], rows[at] = word, row


@compiled
def _sort_by_digits(words, rows, lo, n, differing, spare_words, spare_rows, counts):
    """Sort n rows from `lo`, whose words differ in bits up to the highest one of `differing`."""
    width, most = 0, 4  # bits of the words, and of a digit
    while width < 64 and differing >> np.uint64(width):
        width += 1
    while most < _DIGIT_BITS and n >> most:
        most += 1
    digits = -(-width // most)
    bits = -(-width // digits)
    source, target = (words, rows, lo), (spare_words, spare_rows, 0)
    for digit in range(digits):
        _move(source, n, target, np.uint64(digit * bits), bits, counts)
        source, target = target, source
    if digits % 2:
        for i in range(n):
            words[lo + i], rows[lo + i] = spare_words[i], spare_rows[i]


@compiled
def _move(source, n, target, shift, bits, counts):
    """Write n rows of the `source` to the `target`, in the order of the digit of `bits` bits from bit `shift`.

    Source and target are words, rows, and the first place there.
    """
    words, rows, lo = source
    to_words, to_rows, place = target
    mask = np.uint64((1 << bits) - 1)
    for value in range(1 << bits):
        counts[value] = 0
    for i in range(lo, lo + n):
        counts[(words[i] >> shift) & mask] += 1
    for value in range(1 << bits):
        counts[value], place = place, place + counts[value]
    for i in range(lo, lo + n):
        value = (words[i] >> shift) & mask
        place = counts[value]
        to_rows[place], to_words[place], counts[value] = rows[i], words[i], place + 1
