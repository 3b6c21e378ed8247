"""Work that is divided among threads. Kernels, NumPy and Arrow release the interpreter's lock while they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

T = TypeVar("T")


def in_threads(work: Callable[..., T], parts: Iterable[tuple[Any, ...]], threads: int) -> list[T]:
    """The results of `work(*part)` for each part, in the order of the parts. The first error in this order is raised.

    >>> in_threads(lambda lo, hi: sum(range(lo, hi)), ranges(10, 3), 2)
    [3, 12, 30]
    """
    if threads == 1:
        return [work(*part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda part: work(*part), parts))


def ranges(n: int, parts: int) -> list[tuple[int, int]]:
    """Ranges of about equal length from 0 to n, none of them empty.

    >>> ranges(7, 2), ranges(2, 3), ranges(0, 2)
    ([(0, 3), (3, 7)], [(0, 1), (1, 2)], [])
    """
    cuts = sorted({n * part // parts for part in range(parts + 1)})
    return list(pairwise(cuts))
