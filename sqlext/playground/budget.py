"""The limits of one answer: of the steps of its search, of its seconds, and of the work in its expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from sqlext.errors import DataError

MOST_STEPS, MOST_SECONDS = 1_000_000, 5.0
MOST_WORK = 300_000_000  # units of `expressions.effort`, about three seconds
_CHECKED_EVERY = 64


@dataclass(kw_only=True)
class WorkBudget:
    """The steps that are left, and the time at which the work has to end, by the clock `now`."""

    steps: int = MOST_STEPS
    seconds: float = MOST_SECONDS
    now: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        self._end = self.now() + self.seconds

    def spend(self) -> None:
        """Take one step. Raises DataError: PLAYGROUND_BUDGET.

        >>> WorkBudget(steps=0).spend()
        Traceback (most recent call last):
        sqlext.errors.DataError: SQLEXT_PLAYGROUND_BUDGET: the search takes too many steps for this page
        Hint: add WITHIN, let the variables exclude each other, or try fewer rows.
        """
        self.steps -= 1
        if self.steps < 0 or (self.steps % _CHECKED_EVERY == 0 and self.now() > self._end):
            raise DataError(
                "PLAYGROUND_BUDGET",
                "the search takes too many steps for this page",
                hint="add WITHIN, let the variables exclude each other, or try fewer rows.",
            )


def too_much_work() -> DataError:
    """The error of an answer whose expressions need more than MOST_WORK."""
    return DataError(
        "PLAYGROUND_BUDGET",
        "the expressions of this statement take too much work for this page",
        hint="test the length of the texts first, write simpler patterns, or try fewer rows.",
    )
