"""How often the conditions of a row are TRUE, FALSE and NULL, and which of them alone keeps a row from a variable.

A verdict is 1, 0 or -1. The last two bits tell these numbers apart, so a LONG holds 32 verdicts of a row.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

TRUE, FALSE, NULL = 1, 0, -1
BITS = 2  # of a packed verdict
PACKED = 32  # verdicts in a LONG
_Key = tuple[int, int]  # (a condition or a label, a verdict)


def unpacked(packed: np.ndarray, place: int) -> np.ndarray:
    """The verdicts at one of the places 0 … 31 of packed ones: `int64[n]` → `int8[n]`.

    >>> packed = np.array([0b01_11, 0b11_00], np.int64)
    >>> unpacked(packed, 0).tolist(), unpacked(packed, 1).tolist(), unpacked(packed, 31).tolist()
    ([-1, 0], [1, -1], [0, 0])
    """
    above = 64 - BITS * (place + 1)
    return ((packed << above) >> (64 - BITS)).astype(np.int8)


@dataclass
class VerdictCounts:
    """Counts of rows, by condition and verdict; as many numbers as there are conditions, however many rows there are.
    They can be merged.

    `each[c, v]`: the rows on which condition c has the verdict v; `all_of[l, v]`: on which the AND of all conditions of
    label l has it; `alone[c, v]`: on which condition c has it, FALSE or NULL, and all others of its label are TRUE;
    `groups[c, v]`: the smallest and the largest number of the groups in which the rows of `alone` are, so that some of
    them are found again.

    >>> counts, group = VerdictCounts(), np.array([7, 8, 9])
    >>> counts.add([np.array([1, 0, 1]), np.array([1, 1, -1])], (5, 5), np.ones(3, np.int64), group, group)
    >>> counts.rows, counts.each[1, TRUE], [counts.all_of[5, verdict] for verdict in (TRUE, FALSE, NULL)]
    (3, 2, [1, 1, 1])
    >>> counts.alone, counts.groups
    (Counter({(0, 0): 1, (1, -1): 1}), {(0, 0): (8, 8), (1, -1): (9, 9)})
    """

    rows: int = 0
    each: Counter[_Key] = field(default_factory=Counter)
    all_of: Counter[_Key] = field(default_factory=Counter)
    alone: Counter[_Key] = field(default_factory=Counter)
    groups: dict[_Key, tuple[int, int]] = field(default_factory=dict)

    def add(
        self,
        verdicts: Sequence[np.ndarray],
        labels: Sequence[int],
        number: np.ndarray,
        first: np.ndarray,
        last: np.ndarray,
    ) -> None:
        """Count rows: `verdicts: int8[n]` and the label of each condition; `number: int64[n]`: how many rows each entry
        represents; `first`, `last: int64[n]`: the smallest and the largest number of their groups."""
        self.rows += int(number.sum())
        weights = number.astype(np.float64)  # the type of sums of bincount, exact up to 2 ** 53 rows
        for condition, verdict in enumerate(verdicts):
            _count(self.each, condition, verdict, weights)
        for label in dict.fromkeys(labels):
            own = [condition for condition, of in enumerate(labels) if of == label]
            not_true, is_false = np.zeros(len(number), np.int32), np.zeros(len(number), np.bool_)
            for condition in own:
                not_true += verdicts[condition] != TRUE
                is_false |= verdicts[condition] == FALSE
            _count(self.all_of, label, np.where(is_false, FALSE, np.where(not_true > 0, NULL, TRUE)), weights)
            one_fails = np.flatnonzero(not_true == 1)
            for condition in own:
                verdict = verdicts[condition][one_fails]
                for value in (FALSE, NULL):
                    rows = one_fails[verdict == value]
                    if len(rows):
                        self.alone[condition, value] += int(number[rows].sum())
                        self._widen((condition, value), int(first[rows].min()), int(last[rows].max()))

    def merge(self, other: VerdictCounts) -> None:
        self.rows += other.rows
        for mine, others in ((self.each, other.each), (self.all_of, other.all_of), (self.alone, other.alone)):
            mine.update(others)
        for key, (first, last) in other.groups.items():
            self._widen(key, first, last)

    def _widen(self, key: _Key, first: int, last: int) -> None:
        low, high = self.groups.get(key, (first, last))
        self.groups[key] = min(low, first), max(high, last)

    def as_json(self) -> str:
        """
        >>> counts = VerdictCounts()
        >>> counts.add([np.array([-1])], [0], np.array([5]), np.array([3]), np.array([4]))
        >>> VerdictCounts.of_json(counts.as_json()) == counts
        True
        """
        tables = (self.each, self.all_of, self.alone, self.groups)
        return json.dumps([self.rows, *(list(table.items()) for table in tables)])

    @staticmethod
    def of_json(text: str) -> VerdictCounts:
        rows, *counters, groups = json.loads(text)
        each, all_of, alone = (Counter({(i, v): number for (i, v), number in counter}) for counter in counters)
        return VerdictCounts(rows, each, all_of, alone, {(i, v): (low, high) for (i, v), (low, high) in groups})


def _count(counts: Counter[_Key], of: int, verdicts: np.ndarray, weights: np.ndarray) -> None:
    sums = np.bincount(verdicts + 1, weights, 3)
    for verdict in (TRUE, FALSE, NULL):
        counts[of, verdict] += int(sums[verdict + 1])
