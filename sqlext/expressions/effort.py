"""The cost of evaluating an expression, in units of about 10 ns, and the limit on the cost of one row.

A function whose time or memory depends on the data calls `spend` before it works. The units count characters that it
reads or makes, or steps of a search. Code that evaluates an expression over many rows opens an `Allowance`. Then each
row has a limit, and all rows together have one too, except for a share that every row has: a costly row never takes it
from another row. No clock is read, so the same rows always have the same errors.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from sqlext.expressions.faults import over_budget, too_long

MOST_FOR_A_ROW = 100_000_000
MOST_FOR_AN_EXPRESSION = 1_000_000_000  # for all rows together, beyond their shares
SHARE_OF_A_ROW = 100_000
LARGEST = 10_000_000  # characters of a text that a function makes; an element of an array counts as ten
NO_CEILING = sys.maxsize
_ELEMENT = 10


class Meter(threading.local):
    """`total`: the units that have been spent so far; `limit`: the total at which the current row is given up, None
    where no allowance is open; `ceiling`: the total after which every row is given up at once. A thread has its own."""

    def __init__(self) -> None:
        self.total = 0
        self.limit: int | None = None
        self.ceiling = NO_CEILING


METER = Meter()


def spend(units: int) -> None:
    """Spend units. Raises DataError: EXPRESSION_BUDGET.

    >>> with Allowance() as rows:
    ...     rows.next_row()
    ...     spend(MOST_FOR_A_ROW + 1)
    Traceback (most recent call last):
    sqlext.errors.DataError: SQLEXT_EXPRESSION_BUDGET: this row needs more than 100,000,000 units of work
    Hint: test the length of the texts first, or write simpler patterns
    """
    METER.total += units
    if units > MOST_FOR_A_ROW or (METER.limit is not None and METER.total > METER.limit):
        raise over_budget(MOST_FOR_A_ROW)


class Allowance:
    """The units that the rows of one expression may spend: `with Allowance() as rows`, and `rows.next_row()`."""

    def __init__(self) -> None:
        self._left, self._start = MOST_FOR_AN_EXPRESSION, METER.total

    def __enter__(self) -> Allowance:
        self._start = METER.total
        return self

    def next_row(self) -> None:
        self._left -= max(METER.total - self._start - SHARE_OF_A_ROW, 0)
        self._start = METER.total
        most = self._start + min(MOST_FOR_A_ROW, SHARE_OF_A_ROW + max(self._left, 0))
        METER.limit = min(most, METER.ceiling)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        METER.limit = None


def of_one_row(evaluate: Callable[..., Any], *arguments: Any) -> tuple[Any, int]:
    """The value of `evaluate(*arguments)`, which may spend as much as one row, and the units that it has spent."""
    start = METER.total
    METER.limit = min(start + MOST_FOR_A_ROW, METER.ceiling)
    try:
        value = evaluate(*arguments)
    finally:
        METER.limit = None
    return value, METER.total - start


@contextmanager
def at_most(units: int) -> Iterator[Callable[[], bool]]:
    """All expressions that are evaluated inside may spend this many units together; the value says whether they have.

    >>> with at_most(100) as are_spent:
    ...     spend(101)
    ...     are_spent()
    True
    """
    outer, METER.ceiling = METER.ceiling, METER.total + units
    try:
        yield lambda: METER.total > METER.ceiling
    finally:
        METER.ceiling = outer


def make(size: int) -> None:
    """Spend the cost of a value of that size before it is made. Raises DataError: TEXT_TOO_LONG, EXPRESSION_BUDGET."""
    if size > LARGEST:
        raise too_long(LARGEST)
    spend(max(size, 0))


def size_of(*values: Any) -> int:
    """The total size of values: their characters, and ten for each other value and each container.

    >>> size_of("abc", [1, None], {"x": ("y", 2.5)})
    65
    """
    stack = [value for value in values if not isinstance(value, (str, bytes))]
    size = sum(len(value) for value in values if isinstance(value, (str, bytes)))
    while stack:
        value = stack.pop()
        if isinstance(value, (str, bytes)):
            size += len(value)
            continue
        size += _ELEMENT
        if isinstance(value, (list, tuple)):
            stack.extend(value)
        elif isinstance(value, dict):
            stack.extend(value.keys())
            stack.extend(value.values())
        if size > LARGEST:
            break
    return size
