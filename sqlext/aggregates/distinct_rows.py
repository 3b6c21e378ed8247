"""DISTINCT and ORDER BY inside an aggregate: aggregators that wrap an aggregator without either."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

from sqlext.aggregates.aggregator import EMPTY, Aggregator, appended, concatenated, fold, listed
from sqlext.expressions.values import compare, hashable

_BITS = 4  # bits of a hash that each level of a set uses


@dataclass(frozen=True)
class AggregateSortKey:
    """A key of ORDER BY inside an aggregate, by the Spark type of its expression."""

    spark_type: str
    is_descending: bool = False
    nulls_last: bool = False


def distinct(inner: Aggregator, types: Sequence[str]) -> Aggregator:
    """Return the aggregator over the rows with distinct arguments, each at its first occurrence.

    The state is (rows so far as a set, rows so far in order, state of `inner`). Values are equal as in GROUP BY.

    >>> count = Aggregator(empty=0, add=lambda n, x: n + 1, merge=int.__add__, value=int)
    >>> fold(distinct(count, ["double"]), [(0.0,), (-0.0,), (2.0,)])
    2
    """

    def add(state: tuple, *values: Any) -> tuple:
        rows, order, inside = state
        key = tuple(hashable(v, t) for v, t in zip(values, types))
        if key in rows:
            return state
        return (rows.with_key(key), appended(order, values), inner.add(inside, *values))

    def merge(state: tuple, later: tuple) -> tuple:
        for values in listed(later[1]):
            state = add(state, *values)
        return state

    return Aggregator(
        empty=(KeySet(), EMPTY, inner.empty),
        add=add,
        merge=merge,
        value=lambda state: inner.value(state[2]),
        needs_rows=True,
    )


def ordered(inner: Aggregator, keys: Sequence[AggregateSortKey], first_key: int) -> Aggregator:
    """Return the aggregator over its rows in the order of `keys`.

    In a row, the values of the keys follow the `first_key` arguments of `inner`.

    Rows that are equal on all keys keep their order.
    """

    def order(left: tuple, right: tuple) -> int:
        for key, a, b in zip(keys, left[first_key:], right[first_key:]):
            if result := compare(a, b, key.spark_type):
                is_null = a is None or b is None
                return -result if (key.nulls_last if is_null else key.is_descending) else result
        return 0

    def value(state: tuple) -> Any:
        rows = sorted(listed(state), key=cmp_to_key(order))
        return fold(inner, (row[:first_key] for row in rows))

    return Aggregator(
        empty=EMPTY,
        add=lambda state, *values: appended(state, values),
        merge=concatenated,
        value=value,
        needs_rows=True,
    )


# sets that never change: a tree with 16 branches at each node, by the bits of the hash


class KeySet:
    """An immutable set of keys: adding a key returns another set.

    It is stored as its keys (`key_set` reads them), because another process computes other hashes.

    >>> keys = KeySet().with_key("a").with_key((float("nan"),))
    >>> "b" in keys, "a" in keys, (math.nan,) in keys, (math.nan,) in key_set(keys)
    (False, True, False, True)
    """

    __slots__ = ("_root",)

    def __init__(self, root: tuple = ()):
        self._root = root

    def __contains__(self, key: Any) -> bool:
        node, rest = self._root, hash(key)
        while node:
            if isinstance(node, _Leaf):
                return key in node
            node = node[rest & ((1 << _BITS) - 1)]
            rest >>= _BITS
        return False

    def with_key(self, key: Any) -> KeySet:
        """The set with a key that is not in it."""
        return KeySet(_with_key(self._root, key, 0))

    def __iter__(self) -> Iterator[Any]:
        return _keys(self._root)


def key_set(keys: Iterable[Any]) -> KeySet:
    result = KeySet()
    for key in keys:
        result = result.with_key(_with_one_nan(key))
    return result


def _with_one_nan(key: Any) -> Any:
    """Return a stored key with each NaN replaced by `math.nan`, the one NaN that equals itself in a container.

    Reading a stored key makes another NaN object of it.
    """
    if isinstance(key, (tuple, frozenset)):
        return type(key)(map(_with_one_nan, key))
    return math.nan if isinstance(key, float) and key != key else key


class _Leaf(tuple[Any, ...]):
    """The keys of a node without branches."""

    __slots__ = ()


def _keys(node: tuple) -> Iterator[Any]:
    if isinstance(node, _Leaf):
        yield from node
    else:
        for branch in node:
            yield from _keys(branch)


def _with_key(node: tuple, key: Any, level: int) -> tuple:
    """Return the tree with one more key; the empty tree is ()."""
    if not node:
        return _Leaf((key,))
    if isinstance(node, _Leaf):
        if len(node) < _LEAF_KEYS or level >= _LEVELS:
            return _Leaf((*node, key))
        node = _split(node, level)
    at = (hash(key) >> (_BITS * level)) & ((1 << _BITS) - 1)
    return (*node[:at], _with_key(node[at], key, level + 1), *node[at + 1 :])


def _split(keys: _Leaf, level: int) -> tuple:
    branches: list[tuple] = [()] * (1 << _BITS)
    for key in keys:
        at = (hash(key) >> (_BITS * level)) & ((1 << _BITS) - 1)
        branches[at] = _with_key(branches[at], key, level + 1)
    return tuple(branches)


_LEAF_KEYS = 8
_LEVELS = 15  # 60 bits, fewer than a hash has
