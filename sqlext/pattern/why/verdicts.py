"""How often the conditions of a row are TRUE, FALSE and NULL, and which of them alone keeps a row from a variable.

A verdict is 1, 0 or -1. The last two bits tell these numbers apart, so a LONG holds 32 verdicts of a row.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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


class PackedVerdicts(NamedTuple):
    """`bits: int64[n]`: the verdicts of at most PACKED conditions on each row; `conditions`: the condition of each
    place."""

    bits: np.ndarray
    conditions: Sequence[int]


def packed(verdicts: Sequence[np.ndarray], conditions: Sequence[int]) -> Iterator[PackedVerdicts]:
    """The verdicts of conditions, `int8[n]` each, packed.

    >>> (both,) = packed([np.array([-1, 0], np.int8), np.array([1, -1], np.int8)], (4, 5))
    >>> [bin(bits) for bits in both.bits.tolist()], both.conditions
    (['0b111', '0b1100'], (4, 5))
    """
    for first in range(0, len(conditions), PACKED):
        bits = np.zeros(len(verdicts[first]), np.int64)
        for place, verdict in enumerate(verdicts[first : first + PACKED]):
            bits |= (verdict.astype(np.int64) & (1 << BITS) - 1) << BITS * place
        yield PackedVerdicts(bits, conditions[first : first + PACKED])


_IN_OCTET = 8 // BITS  # verdicts
_OF_OCTET = [unpacked(np.arange(256), place) for place in range(_IN_OCTET)]  # int8[256] each: the verdict at the place


@dataclass
class VerdictCounts:
    """Counts of rows, by condition and verdict; as many numbers as there are conditions, however many rows there are.
    They can be merged.

    `each[c, v]`: the rows on which condition c has the verdict v; `all_of[l, v]`: on which the AND of all conditions of
    label l has it; `alone[c, v]`: on which condition c has it, FALSE or NULL, and all others of its label are TRUE;
    `row_ids[c, v]`: the smallest and the largest of the numbers by which the rows of `alone` are found again.

    >>> counts, row_ids = VerdictCounts(), np.array([7, 8, 9])
    >>> verdicts = list(packed([np.array([1, 0, 1]), np.array([1, 1, -1])], (0, 1)))
    >>> counts.add(verdicts, (5, 5), None, row_ids, row_ids)
    >>> counts.rows, counts.each[1, TRUE], [counts.all_of[5, verdict] for verdict in (TRUE, FALSE, NULL)]
    (3, 2, [1, 1, 1])
    >>> counts.alone, counts.row_ids
    (Counter({(0, 0): 1, (1, -1): 1}), {(0, 0): (8, 8), (1, -1): (9, 9)})
    """

    rows: int = 0
    each: Counter[_Key] = field(default_factory=Counter)
    all_of: Counter[_Key] = field(default_factory=Counter)
    alone: Counter[_Key] = field(default_factory=Counter)
    row_ids: dict[_Key, tuple[int, int]] = field(default_factory=dict)

    def add(
        self,
        columns: Sequence[PackedVerdicts],
        labels: Sequence[int],
        number: np.ndarray | None,
        first: np.ndarray,
        last: np.ndarray,
    ) -> None:
        """Count rows. `labels`: of each condition; `number: int64[n]`: how many rows each entry represents, None if it
        is one row; `first`, `last: int64[n]`: the smallest and the largest of their numbers."""
        rows = _Entries(number, first, last)
        self.rows += len(first) if number is None else int(number.sum())
        for column in columns:
            self._count_each(column, rows)
        for label in dict.fromkeys(labels):
            self._count_label(label, _own(columns, labels, label), rows)

    def _count_each(self, column: PackedVerdicts, rows: _Entries) -> None:
        octets = column.bits.astype("<i8", copy=False).view(np.uint8).reshape(-1, 8)
        for at, condition in enumerate(column.conditions):
            octet, place = divmod(at, _IN_OCTET)
            if not place:
                sums = rows.sums(octets[:, octet], 256)
            for verdict in (TRUE, FALSE, NULL):
                self.each[condition, verdict] += int(sums[_OF_OCTET[place] == verdict].sum())

    def _count_label(self, label: int, own: Sequence[tuple[PackedVerdicts, int]], rows: _Entries) -> None:
        """Count the verdicts of one label. `own`: its columns, with their places."""
        not_true, is_false = _and_of(own)
        all_rows, failed_rows, false_rows = (rows.total(x) for x in (None, not_true != 0, is_false))
        self.all_of[label, TRUE] += all_rows - failed_rows
        self.all_of[label, FALSE] += false_rows
        self.all_of[label, NULL] += failed_rows - false_rows
        one_fails = np.flatnonzero(not_true == 1)
        for column, places in own:
            self._count_alone(column, places, one_fails, rows)

    def _count_alone(self, column: PackedVerdicts, places: int, one_fails: np.ndarray, rows: _Entries) -> None:
        failed = _failed(column.bits[one_fails], places)
        at = one_fails[failed != 0]
        failed = failed[failed != 0]
        place = (np.frexp(failed.astype(np.float64))[1] - 1) // BITS
        code = (place * 2 + (column.bits[at] >> 1 & failed != 0)).astype(np.uint8)
        order = np.argsort(code, kind="stable")
        code, at = code[order], at[order]
        for begin, stop in _runs(code):
            condition = column.conditions[int(code[begin]) // 2]
            key, own = (condition, NULL if code[begin] % 2 else FALSE), at[begin:stop]
            self.alone[key] += stop - begin if rows.number is None else int(rows.number[own].sum())
            self._widen(key, int(rows.first[own].min()), int(rows.last[own].max()))

    def merge(self, other: VerdictCounts) -> None:
        self.rows += other.rows
        for mine, others in ((self.each, other.each), (self.all_of, other.all_of), (self.alone, other.alone)):
            mine.update(others)
        for key, (first, last) in other.row_ids.items():
            self._widen(key, first, last)

    def _widen(self, key: _Key, first: int, last: int) -> None:
        low, high = self.row_ids.get(key, (first, last))
        self.row_ids[key] = min(low, first), max(high, last)

    def as_json(self) -> str:
        """
        >>> counts = VerdictCounts()
        >>> counts.add(list(packed([np.array([-1])], [0])), [0], np.array([5]), np.array([3]), np.array([4]))
        >>> VerdictCounts.of_json(counts.as_json()) == counts
        True
        """
        tables = (self.each, self.all_of, self.alone, self.row_ids)
        return json.dumps([self.rows, *(list(table.items()) for table in tables)])

    @staticmethod
    def of_json(text: str) -> VerdictCounts:
        rows, *counters, row_ids = json.loads(text)
        each, all_of, alone = (Counter({(i, v): number for (i, v), number in counter}) for counter in counters)
        return VerdictCounts(rows, each, all_of, alone, {(i, v): (low, high) for (i, v), (low, high) in row_ids})


class _Entries(NamedTuple):
    """As in `VerdictCounts.add`."""

    number: np.ndarray | None
    first: np.ndarray
    last: np.ndarray

    def total(self, chosen: np.ndarray | None) -> int:
        """The number of rows of the chosen entries, `bool[n]`, or of all."""
        if self.number is None:
            return len(self.first) if chosen is None else int(np.count_nonzero(chosen))
        return int((self.number if chosen is None else self.number[chosen]).sum())

    def sums(self, values: np.ndarray, n: int) -> np.ndarray:
        """The number of rows of each value 0 … n - 1."""
        # sums of doubles, exact up to 2 ** 53 rows
        return np.bincount(values, None if self.number is None else self.number.astype(np.float64), n)


def is_null(columns: Sequence[PackedVerdicts], labels: Sequence[int], label: int) -> np.ndarray:
    """`bool[n]`: the rows on which the AND of all conditions of a label is NULL. `labels`: of each condition.

    >>> verdicts = [np.array([-1, -1, 1], np.int8), np.array([1, 0, 1], np.int8)]
    >>> is_null(list(packed(verdicts, (0, 1))), (5, 5), 5).tolist()
    [True, False, False]
    """
    not_true, is_false = _and_of(_own(columns, labels, label))
    return (not_true != 0) & ~is_false


def _own(columns: Sequence[PackedVerdicts], labels: Sequence[int], label: int) -> list[tuple[PackedVerdicts, int]]:
    """The columns that have conditions of a label, with the last bits of their verdicts."""
    places = [
        sum(1 << BITS * place for place, condition in enumerate(column.conditions) if labels[condition] == label)
        for column in columns
    ]
    return [(column, of) for column, of in zip(columns, places) if of]


def _and_of(own: Sequence[tuple[PackedVerdicts, int]]) -> tuple[np.ndarray, np.ndarray]:
    """How many of the conditions are not TRUE on each row, `int16[n]`: 0, 1, or more if there are several; and whether
    one is FALSE, `bool[n]`."""
    n = len(own[0][0].bits)
    not_true, is_false = np.zeros(n, np.int16), np.zeros(n, np.bool_)
    for column, places in own:
        failed = _failed(column.bits, places)
        not_true += failed != 0
        not_true += failed & (failed - 1) != 0
        is_false |= ~column.bits & places != 0
    return not_true, is_false


def _failed(bits: np.ndarray, places: int) -> np.ndarray:
    """`int64[n]`: the places of the verdicts that are not TRUE."""
    return (~bits | bits >> 1) & places


def _runs(values: np.ndarray) -> Iterator[tuple[int, int]]:
    """(begin, stop) of each run of equal values.

    >>> list(_runs(np.array([4, 4, 7])))
    [(0, 2), (2, 3)]
    """
    ends = [*(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)] if len(values) else []
    yield from zip([0, *ends], ends)
