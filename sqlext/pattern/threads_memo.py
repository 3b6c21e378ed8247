"""The memo of failed states: a bounded exact set of keys of int64 words, for use inside the kernel.

Open addressing; the words of all keys lie one behind the other in an arena and are compared in full, so a collision of
hashes costs time, never an answer. A full memo forgets everything. The first word of a key fixes its length.
"""

from __future__ import annotations

from mmap import mmap
from typing import NamedTuple

import numpy as np

from sqlext.pattern.jit import compiled

GENERATION, USED, COUNT = range(3)
_OFFSET_BITS = 32


class Memo(NamedTuple):
    """`slots: int64[2^k]` hold generation and offset in `words: int64[w]`; `counters: int64[3]`."""

    slots: np.ndarray
    words: np.ndarray
    counters: np.ndarray


def empty_memo(keys: int, words: int) -> Memo:
    """A memo for at most about `keys` keys and `words` words; memory is touched only as it fills.

    >>> memo = empty_memo(100, 1000)
    >>> add(memo, np.array([1, 2]), 2), contains(memo, np.array([1, 2]), 2), contains(memo, np.array([1, 3]), 2)
    (None, True, False)
    """
    slots = 1 << max(2, (2 * keys - 1).bit_length())
    memo = Memo(_untouched(slots), _untouched(max(1, words)), np.zeros(3, np.int64))
    memo.counters[GENERATION] = 1  # a zero slot is free
    return memo


def _untouched(words: int) -> np.ndarray:
    """Zeros that the system hands out page by page; np.zeros clears all of them at once, which took 2 ms a call."""
    return np.frombuffer(mmap(-1, 8 * words), np.int64)


@compiled
def _slot(key, length, slots):
    h = np.uint64(0)
    for k in range(length):
        h = (h ^ np.uint64(key[k])) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(29)
    return np.int64(h & np.uint64(slots - 1))


@compiled
def contains(memo, key, length):
    """Is `key[:length]` in the memo?"""
    slots, words, counters = memo.slots, memo.words, memo.counters
    i = _slot(key, length, slots.size)
    while slots[i] >> _OFFSET_BITS == counters[GENERATION]:
        offset = slots[i] & 0xFFFFFFFF
        k = 0
        while k < length and words[offset + k] == key[k]:
            k += 1
        if k == length:
            return True
        i = (i + 1) & (slots.size - 1)
    return False


@compiled
def forget(memo):
    """Empty the memo, in constant time."""
    memo.counters[GENERATION] += 1
    memo.counters[USED] = 0
    memo.counters[COUNT] = 0


@compiled
def add(memo, key, length):
    """Put `key[:length]`, which is not in the memo, into it."""
    slots, words, counters = memo.slots, memo.words, memo.counters
    if counters[USED] + length > words.size or 2 * (counters[COUNT] + 1) > slots.size:
        forget(memo)
        if length > words.size:
            return
    offset = counters[USED]
    for k in range(length):
        words[offset + k] = key[k]
    i = _slot(key, length, slots.size)
    while slots[i] >> _OFFSET_BITS == counters[GENERATION]:
        i = (i + 1) & (slots.size - 1)
    slots[i] = counters[GENERATION] << _OFFSET_BITS | offset
    counters[USED] = offset + length
    counters[COUNT] += 1
