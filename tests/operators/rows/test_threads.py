"""What threads return does not depend on their number."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from sqlext.errors import DataError
from sqlext.expressions.effort import MOST_FOR_A_ROW, Allowance, spend
from sqlext.operators.rows.threads import one_after_another

FAILS = -1


def numbers(count: int, after: int) -> Iterator[int]:
    """The numbers below `count`; FAILS: an error after some of them."""
    yield from range(after if count == FAILS else count)
    if count == FAILS:
        raise ValueError(after)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    ("counts", "fails_in_input", "expected"),
    [
        ([], False, ([], None)),
        ([0, 0], False, ([], None)),
        ([3, 0, 20, 1], False, ([*range(3), *range(20), 0], None)),
        ([16, 8, 8, 8, 8], False, ([*range(16), *range(8), *range(8), *range(8), *range(8)], None)),
        ([2, FAILS, 4, FAILS], False, ([0, 1, *range(9)], "9")),
        ([1, 1], True, ([0, 0], "input")),
        ([1, FAILS, 1], True, ([0, *range(9)], "9")),
    ],
)
def test_items_and_the_first_error_come_in_the_order_of_one_thread(threads, counts, fails_in_input, expected):
    def works() -> Iterator[Iterator[int]]:
        for count in counts:
            yield numbers(count, after=9)
        if fails_in_input:
            raise ValueError("input")

    items, error = [], None
    try:
        for item in one_after_another(works(), threads):
            items.append(item)
    except ValueError as raised:
        error = str(raised)
    assert (items, error) == expected


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_no_more_iterators_are_begun_than_threads_and_one(threads):
    begun = []

    def works() -> Iterator[Iterator[int]]:
        for i in range(100):
            begun.append(i)
            yield iter([i])

    results = one_after_another(works(), threads)
    assert next(results) == 0 and len(begun) <= threads + 1
    results.close()


def test_what_another_thread_spends_does_not_count_for_a_row():
    with Allowance() as rows, ThreadPoolExecutor(1) as pool:
        rows.next_row()
        pool.submit(lambda: [spend(MOST_FOR_A_ROW), spend(MOST_FOR_A_ROW)]).result()
        spend(1)
        with pytest.raises(DataError):
            spend(MOST_FOR_A_ROW)
