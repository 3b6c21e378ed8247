"""How often the conditions of a row are TRUE, FALSE and NULL, and which of them alone keeps a row from a variable."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

TRUE, FALSE, NULL = 1, 0, -1
Verdict = tuple[int, ...]  # of each condition, on one row


@dataclass
class VerdictCounts:
    """`rows[v]`: how many rows have these verdicts; `groups[v]`: the smallest and the largest number of the groups in
    which such rows are, so that some of them are found again. Counts can be merged.

    >>> counts = VerdictCounts()
    >>> counts.add([np.array([1, 0, 1]), np.array([1, 1, 1])], np.array([7, 8, 9]))
    >>> dict(counts.rows), counts.groups
    ({(0, 1): 1, (1, 1): 2}, {(0, 1): (8, 8), (1, 1): (7, 9)})
    >>> counts.number({0: FALSE}), counts.number({0: TRUE, 1: TRUE}), counts.groups_of({1: TRUE})
    (1, 2, {9, 7})
    """

    rows: Counter[Verdict] = field(default_factory=Counter)
    groups: dict[Verdict, tuple[int, int]] = field(default_factory=dict)

    def add(self, verdicts: Sequence[np.ndarray], group: np.ndarray) -> None:
        """Count rows: `verdicts: int8[n]` of each condition, and the number of the group of each row, `int64[n]`."""
        if not len(group):
            return
        code = np.zeros(len(group), np.int64)
        for verdict in verdicts:  # codes are numbered anew, so that any number of conditions fits
            code = np.unique(code * 3 + verdict + 1, return_inverse=True)[1].reshape(-1)
        first = np.unique(code, return_index=True)[1]
        for number, at in enumerate(first.tolist()):
            mine = group[code == number]
            key = tuple(int(verdict[at]) for verdict in verdicts)
            self.count(key, len(mine), int(mine.min()), int(mine.max()))

    def count(self, verdict: Verdict, rows: int, first: int, last: int) -> None:
        """Count rows with the same verdicts; `first`, `last`: the smallest and the largest number of their groups."""
        self.rows[verdict] += rows
        low, high = self.groups.get(verdict, (first, last))
        self.groups[verdict] = min(low, first), max(high, last)

    def merge(self, other: VerdictCounts) -> None:
        for verdict, rows in other.rows.items():
            self.count(verdict, rows, *other.groups[verdict])

    @property
    def total(self) -> int:
        return sum(self.rows.values())

    def number(self, wanted: dict[int, int]) -> int:
        """On how many rows the conditions of these numbers have these verdicts."""
        return sum(rows for verdict, rows in self.rows.items() if _has(verdict, wanted))

    def all_of(self, conditions: Collection[int]) -> tuple[int, int, int]:
        """On how many rows the AND of these conditions is TRUE, FALSE and NULL."""
        true = self.number({i: TRUE for i in conditions})
        false = sum(rows for v, rows in self.rows.items() if any(v[i] == FALSE for i in conditions))
        return true, false, self.total - true - false

    def groups_of(self, wanted: dict[int, int]) -> set[int]:
        """The first and the last group with a row on which the conditions of these numbers have these verdicts."""
        groups = [self.groups[verdict] for verdict, rows in self.rows.items() if rows and _has(verdict, wanted)]
        return {min(low for low, _ in groups), max(high for _, high in groups)} if groups else set()

    def as_json(self) -> str:
        """
        >>> counts = VerdictCounts()
        >>> counts.count((1, -1), 5, 3, 4)
        >>> VerdictCounts.of_json(counts.as_json()) == counts
        True
        """
        return json.dumps([[verdict, rows, *self.groups[verdict]] for verdict, rows in self.rows.items()])

    @staticmethod
    def of_json(text: str) -> VerdictCounts:
        counts = VerdictCounts()
        for verdict, rows, first, last in json.loads(text):
            counts.count(tuple(verdict), rows, first, last)
        return counts


def _has(verdict: Verdict, wanted: dict[int, int]) -> bool:
    return all(verdict[i] == value for i, value in wanted.items())
