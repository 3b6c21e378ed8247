"""Buckets of keys: how many there are, and which number each has, so that every partition of the state has one.

A call of the stateful operator and what it reads and writes are a fixed cost for each bucket of each micro-batch, so
there are as many as the state has partitions, unless `sqlext.stream.buckets` says otherwise. Spark keeps to the number
of partitions that a checkpoint began with, and tells tasks of it: a query that is resumed on other cores, or under
another `spark.sql.shuffle.partitions`, has the buckets that it had.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

SETTING = "sqlext.stream.buckets"
# What Spark sets to the checkpoint's number of partitions: the first, where a query has state of its own kind.
_PARTITIONS = ("spark.sql.streaming.internal.stateStore.partitions", "spark.sql.shuffle.partitions")
_SPARK_DEFAULT = 200
_MASK = 0xFFFFFFFF


def state_partitions() -> int:
    """How many partitions the state of the query has, asked in one of its tasks; 1 outside."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        return 1
    told = (context.getLocalProperty(name) for name in _PARTITIONS)
    return int(next((number for number in told if number), _SPARK_DEFAULT))


@lru_cache(maxsize=4)
def numbers(buckets: int, partitions: int) -> np.ndarray:
    """`int32[buckets]`: the numbers of the buckets; Spark sends the one at i to partition i mod `partitions`.

    >>> numbers(4, 4).tolist(), [partition_of(x, 4) for x in numbers(4, 4).tolist()]
    ([12, 6, 2, 0], [0, 1, 2, 3])
    """
    wanted = [i % partitions for i in range(buckets)]
    waiting: dict[int, list[int]] = {}
    for i in reversed(range(buckets)):
        waiting.setdefault(wanted[i], []).append(i)
    found, number = np.zeros(buckets, np.int32), 0
    while waiting:
        of = partition_of(number, partitions)
        if of in waiting:
            found[waiting[of].pop()] = number
            if not waiting[of]:
                del waiting[of]
        number += 1
    return found


def partition_of(number: int, partitions: int) -> int:
    """Where Spark's hash partitioning puts an INT.

    >>> partition_of(7, 1)
    0
    """
    return _signed(_murmur3(number)) % partitions


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def _murmur3(number: int) -> int:
    """MurmurHash3 of four bytes with Spark's seed (Appleby, public domain; Spark's `hash(INT)`)."""
    k = number * 0xCC9E2D51 & _MASK
    k = _rotated(k, 15) * 0x1B873593 & _MASK
    h = (_rotated(42 ^ k, 13) * 5 + 0xE6546B64) & _MASK
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    return h ^ h >> 16


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & _MASK
