"""The byte order of many texts, on several threads. Loads Numba.

Texts are grouped by a radix sort of their hashes, and each one is compared with the first one of its group. Only
distinct texts are ordered: by their first eight bytes, and where those are equal by the next eight. To encode all rows
as a dictionary, and to sort its texts by comparisons, takes several times as long.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sqlext.operators.rows.arrow import as_arrow
from sqlext.operators.rows.threads import in_threads, ranges
from sqlext.operators.rows.value_order import changes, gathered, numbers_of, sort_each, value_order
from sqlext.pattern.program.jit import compiled

_LONGEST = 256  # bytes; each eight bytes read all texts once more
_WORD = 8
_PARTS = 8  # for each thread, so that the threads are done at about the same time
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio


def text_numbers(column: pa.Array, threads: int = 1) -> np.ndarray | None:
    """`int64[n]`: the place of each text or binary among the distinct ones, in the order of their bytes, arbitrary for
    NULL; None if they are too long, or two of them have the same hash.

    >>> text_numbers(pa.array(["b", "", "a", "a", "b"])).tolist()
    [2, 0, 1, 1, 2]
    """
    texts = _texts(column)
    starts = _starts_of_runs(texts, threads)
    if 2 * len(starts) < len(column):
        numbers = text_numbers(column.take(as_arrow(starts)), threads)
        return None if numbers is None else np.repeat(numbers, np.diff(starts, append=len(column)))
    parts = ranges(len(column), threads * _PARTS)
    hashes = np.empty(len(column), np.int64)
    in_threads(lambda lo, hi: _hash(texts, lo, hi, hashes), parts, threads)
    order, ordered = value_order(hashes, threads)
    bounds = changes(ordered, threads)
    numbers = numbers_of(order, bounds)
    distinct = _texts(column.take(as_arrow(order[bounds[:-1]])))
    del order, ordered
    if distinct[1].max(initial=0) > _LONGEST:
        return None
    if any(in_threads(lambda lo, hi: _count_others(texts, distinct, numbers, lo, hi), parts, threads)):
        return None
    return gathered(_numbers(*distinct, threads), numbers, threads)


def _texts(column: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each text begins, the number of its bytes, and the bytes of all texts."""
    _, offsets, letters = column.buffers()
    is_wide = column.type in (pa.large_string(), pa.large_binary())
    kind = np.int64 if is_wide else np.int32
    ends = np.frombuffer(offsets, kind)[column.offset :][: len(column) + 1] if len(column) else np.zeros(1, kind)
    return ends[:-1], np.diff(ends), np.frombuffer(letters or b"", np.uint8)


def _starts_of_runs(texts: tuple[np.ndarray, np.ndarray, np.ndarray], threads: int) -> np.ndarray:
    """The rows whose text is not that of the row before."""
    differs = np.ones(len(texts[0]), np.bool_)
    parts = ranges(len(differs), threads * _PARTS)
    in_threads(lambda lo, hi: _find_starts(texts, max(1, lo), hi, differs), parts, threads)
    return np.flatnonzero(differs)


def _numbers(begin: np.ndarray, size: np.ndarray, letters: np.ndarray, threads: int) -> np.ndarray:
    """The place of each of some distinct texts in their order."""
    n, longest = len(size), int(size.max(initial=0))
    words = np.empty(n, np.uint64)

    def read_words(at: int, rows: np.ndarray) -> None:
        parts = ranges(n, threads * _PARTS)
        in_threads(lambda lo, hi: _read_words(begin, size, letters, at, rows, lo, hi, words), parts, threads)

    read_words(0, np.arange(n, dtype=np.int32 if n < 2**31 else np.int64))
    order, ordered = value_order(words, threads)
    bounds, at = changes(ordered, threads), _WORD
    while len(bounds) <= n and at < longest:
        read_words(at, order)
        bounds, at = _divided(bounds, words, order, threads), at + _WORD
    if len(bounds) <= n:  # a text ends with bytes that are zero, as the words of shorter texts do
        bounds = _divided(bounds, size[order].astype(np.uint64), order, threads)
    return numbers_of(order, bounds)


def _divided(bounds: np.ndarray, words: np.ndarray, order: np.ndarray, threads: int) -> np.ndarray:
    """Order the rows of each group by their words, and return the bounds of the groups that have equal words too."""
    sort_each(bounds, words, order, threads)
    is_bound = np.zeros(len(order) + 1, np.bool_)
    is_bound[bounds] = is_bound[changes(words, threads)] = True
    return np.flatnonzero(is_bound)


@compiled
def _word(letters, begin, size):
    """The first eight bytes of a text of `size` bytes, with zeros for the bytes after its end."""
    at, word = np.uint64(begin), np.uint64(0)  # an unsigned index is not tested for being negative
    if size >= _WORD:
        for j in range(_WORD):  # one instruction
            word = word << np.uint64(8) | np.uint64(letters[at + np.uint64(j)])
        return word
    for j in range(size):
        word |= np.uint64(letters[at + np.uint64(j)]) << np.uint64(8 * (_WORD - 1 - j))
    return word


@compiled
def _are_same(texts, row, others, other):
    begin, size, letters = texts
    other_begin, other_size, other_letters = others
    if size[row] != other_size[other]:
        return False
    for at in range(0, size[row], _WORD):
        word = _word(letters, begin[row] + at, size[row] - at)
        if word != _word(other_letters, other_begin[other] + at, size[row] - at):
            return False
    return True


@compiled
def _find_starts(texts, lo, hi, differs):
    for row in range(lo, hi):
        differs[row] = not _are_same(texts, row, texts, row - 1)


@compiled
def _count_others(texts, distinct, numbers, lo, hi):
    """The number of texts that are not the distinct one of their number."""
    others = 0
    for row in range(lo, hi):
        others += not _are_same(texts, row, distinct, numbers[row])
    return others


@compiled
def _read_words(begin, size, letters, at, rows, lo, hi, words):
    for i in range(lo, hi):
        words[i] = _word(letters, begin[rows[i]] + at, max(0, size[rows[i]] - at))


@compiled
def _hash(texts, lo, hi, hashes):
    begin, size, letters = texts
    for row in range(lo, hi):
        mixed = np.uint64(size[row])
        for at in range(0, size[row], _WORD):
            mixed = (mixed ^ _word(letters, begin[row] + at, size[row] - at)) * _FACTOR
            mixed ^= mixed >> np.uint64(32)
        hashes[row] = np.int64(mixed)
