"""Work that is divided among threads. Kernels, NumPy and Arrow release the interpreter's lock while they run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice, pairwise
from typing import Any, TypeVar

T = TypeVar("T")

_AHEAD = 8  # items that are kept of an iterator whose turn has not come


def in_threads(work: Callable[..., T], parts: Iterable[tuple[Any, ...]], threads: int) -> list[T]:
    """The results of `work(*part)` for each part, in the order of the parts. The first error in this order is raised.

    >>> in_threads(lambda lo, hi: sum(range(lo, hi)), ranges(10, 3), 2)
    [3, 12, 30]
    """
    if threads == 1:
        return [work(*part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda part: work(*part), parts))


def one_after_another(works: Iterator[Iterator[T]], threads: int) -> Iterator[T]:
    """The items of all iterators, those of the first one first. Threads run as many iterators at once; at most one more
    has been begun, and a few items of each are kept. An error comes after the items that precede it.

    >>> list(one_after_another((iter(range(n)) for n in (2, 0, 3)), 2))
    [0, 1, 0, 1, 2]
    """
    if threads == 1:
        for work in works:
            yield from work
        return
    with ThreadPoolExecutor(threads) as pool:
        begun: deque[tuple[Iterator[T], Future]] = deque()
        try:
            for work in _with_error_as_work(works):
                begun.append((work, pool.submit(_next_items, work)))
                if len(begun) > threads:
                    yield from _all_items(*begun.popleft(), pool)
            while begun:
                yield from _all_items(*begun.popleft(), pool)
        finally:
            pool.shutdown(cancel_futures=True)  # where the caller wants no more items


def _with_error_as_work(works: Iterator[Iterator[T]]) -> Iterator[Iterator[T]]:
    """The iterators; if there is an error, an iterator that raises it, so that it comes after their items."""
    try:
        yield from works
    except Exception as error:
        yield _raising(error)


def _raising(error: Exception) -> Iterator[Any]:
    raise error
    yield


def _next_items(work: Iterator[T]) -> tuple[list[T], Exception | None]:
    """Some items, fewer than _AHEAD if there are no more, and the error that ended them."""
    items: list[T] = []
    try:
        items.extend(islice(work, _AHEAD))  # keeps what came before an error
    except Exception as error:
        return items, error
    return items, None


def _all_items(work: Iterator[T], future: Future, pool: ThreadPoolExecutor) -> Iterator[T]:
    has_more = True
    while has_more:
        items, error = future.result()
        has_more = not error and len(items) == _AHEAD
        if has_more:
            future = pool.submit(_next_items, work)
        yield from items
    if error:
        raise error


def ranges(n: int, parts: int) -> list[tuple[int, int]]:
    """Ranges of about equal length from 0 to n, none of them empty.

    >>> ranges(7, 2), ranges(2, 3), ranges(0, 2)
    ([(0, 3), (3, 7)], [(0, 1), (1, 2)], [])
    """
    cuts = sorted({n * part // parts for part in range(parts + 1)})
    return list(pairwise(cuts))
