"""The memo of failed states: an exact set of keys of int64 words, bounded in size, for use inside the kernel.

It is a hash table with open addressing. The words of all keys are concatenated in one array and are compared in full,
so a collision of hashes costs time but never changes a result. The first word of a key determines its length.

A memo begins small, because hashing touches all of its pages, which the operating system supplies one by one. When it
is full, the search stops and begins again with a larger memo. The largest memo is emptied when it is full.
"""

from __future__ import annotations

from mmap import mmap
from typing import NamedTuple

import numpy as np

from sqlext.pattern.program.jit import internal

GENERATION, USED, COUNT, CAN_GROW = range(4)
_FIRST_KEYS, _GROWTH = 1 << 12, 4
_OFFSET_BITS = 32


class Memo(NamedTuple):
    """`slots: int64[2^k]`: the generation and the offset in `words: int64[w]` of each key; `counters: int64[4]`."""

    slots: np.ndarray
    words: np.ndarray
    counters: np.ndarray


def empty_memo(keys: int, words: int, before: Memo | None = None) -> Memo:
    """An empty memo for at most about `keys` keys and `words` words, larger than `before`, which is full.

    >>> small = empty_memo(1 << 20, 1 << 23)
    >>> large = empty_memo(1 << 20, 1 << 23, before=small)
    >>> small.slots.size, large.slots.size, bool(large.counters[CAN_GROW])
    (8192, 32768, True)
    """
    wanted = _FIRST_KEYS if before is None else _GROWTH * before.slots.size // 2
    size = min(keys, wanted)
    slots = 1 << max(2, (2 * size - 1).bit_length())
    memo = Memo(_untouched(slots), _untouched(max(1, -(-words * size // keys))), np.zeros(4, np.int64))
    memo.counters[GENERATION] = 1  # a zero slot is free
    memo.counters[CAN_GROW] = size < keys
    return memo


def _untouched(words: int) -> np.ndarray:
    """An array of zeros whose pages the operating system supplies when they are touched.

    np.zeros clears all pages at once, which took 2 ms a call.
    """
    return np.frombuffer(mmap(-1, 8 * words), np.int64)


@internal
def _slot(key, length, slots):
    h = np.uint64(0)
    for k in range(length):
        h = (h ^ np.uint64(key[k])) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(29)
    return np.int64(h & np.uint64(slots - 1))


@internal
def contains(memo, key, length):
    """True if `key[:length]` is in the memo."""
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


@internal
def forget(memo):
    """Empty the memo, in constant time."""
    memo.counters[GENERATION] += 1
    memo.counters[USED] = 0
    memo.counters[COUNT] = 0


@internal
def add(memo, key, length):
    """Add `key[:length]`, which is not in the memo; return False if the memo must grow first."""
    slots, words, counters = memo.slots, memo.words, memo.counters
    if counters[USED] + length > words.size or 2 * (counters[COUNT] + 1) > slots.size:
        if counters[CAN_GROW]:
            return False
        forget(memo)
        if length > words.size:
            return True
    offset = counters[USED]
    for k in range(length):
        words[offset + k] = key[k]
    i = _slot(key, length, slots.size)
    while slots[i] >> _OFFSET_BITS == counters[GENERATION]:
        i = (i + 1) & (slots.size - 1)
    slots[i] = counters[GENERATION] << _OFFSET_BITS | offset
    counters[USED] = offset + length
    counters[COUNT] += 1
    return True
