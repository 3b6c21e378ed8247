"""An index of the new rows of a step, which finds the rows on which a match of a rule can begin.

Rule engines index their rules. Here the rows are indexed, by each column that a rule tests, because the rules of a step
meet all of its rows at once: a rule then costs a search in sorted values instead of a pass over the rows, and nothing
has to be maintained when versions join or leave.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sqlext.expressions.column_values import ColumnValues, TextSearch
from sqlext.expressions.scalar_tree import Scalar
from sqlext.operators.rules.openings import ComparisonTest, Opening, Test

Ranges = list[tuple[int, int]]


class SortedTexts(NamedTuple):
    """`rows: int64[k]`: rows in the order of the numbers of their texts; text i has `rows[first[i] : first[i + 1]]`."""

    rows: np.ndarray
    first: list[int]
    number: Mapping[str, int]
    has_null: bool


class SortedValues(NamedTuple):
    """`rows: int64[k]`: the rows with a value, in the order of the values `keys`, NaN last."""

    rows: np.ndarray
    keys: np.ndarray
    has_null: bool


@dataclass(kw_only=True, eq=False)
class RowIndex:
    """An index of `rows: int64[k]`, in ascending order, of the table `values`."""

    values: ColumnValues
    rows: np.ndarray
    _texts: dict[str, SortedTexts] = field(default_factory=dict)
    _values: dict[Scalar, SortedValues] = field(default_factory=dict)

    def is_out(self, opening: Opening) -> bool:
        """True if the condition is true on no indexed row, and its failures do not count on any."""
        for test in opening.tests:
            known = self._sorted(test)
            if not any(stop > first for first, stop in _ranges(known, test)):
                return not (opening.fallible and known.has_null)
        return False

    def candidates(self, opening: Opening) -> np.ndarray | None:
        """`int64[m]`: indexed rows in ascending order, among which are all rows on which the condition is true.

        None if the condition may fail, or is not tested.
        """
        if opening.fallible or not opening.tests:
            return None
        found = [(self._sorted(test).rows, _ranges(self._sorted(test), test)) for test in opening.tests]
        rows, ranges = min(found, key=lambda each: sum(stop - first for first, stop in each[1]))
        return np.sort(np.concatenate([rows[:0], *(rows[first:stop] for first, stop in ranges)]))

    def _sorted(self, test: Test) -> SortedTexts | SortedValues:
        if isinstance(test, TextSearch):
            known = self._texts.get(test.column)
            if known is None:
                known = self._texts[test.column] = self._sorted_texts(test.column)
            return known
        values = self._values.get(test.operand)
        if values is None:
            values = self._values[test.operand] = self._sorted_values(test.operand)
        return values

    def _sorted_texts(self, column: str) -> SortedTexts:
        code, number = self.values.coded(column)
        code = code[self.rows]
        order = np.argsort(code, kind="stable")
        first = np.searchsorted(code[order], np.arange(len(number) + 1)).tolist()
        return SortedTexts(self.rows[order], first, number, first[-1] < len(code))

    def _sorted_values(self, operand: Scalar) -> SortedValues:
        vector = self.values.vector(operand)
        rows = self.rows[vector.valid[self.rows]]
        keys = vector.values[rows]
        order = np.argsort(keys, kind="stable")
        return SortedValues(rows[order], keys[order], len(rows) < len(self.rows))


def _ranges(known: SortedTexts | SortedValues, test: Test) -> Ranges:
    """The ranges of sorted rows that pass a test."""
    if isinstance(test, ComparisonTest):
        assert isinstance(known, SortedValues)
        return [_range(known.keys, test.relation, test.value)]
    assert isinstance(known, SortedTexts)
    numbers = {known.number[text] for text in test.texts if text in known.number}
    return [(known.first[number], known.first[number + 1]) for number in numbers]


def _range(keys: np.ndarray, relation: str, value: Any) -> tuple[int, int]:
    """The range of sorted keys that are related to a value.

    >>> [_range(np.array([1.0, 2.0, 2.0, np.nan]), relation, 2.0) for relation in ("=", "<", "<=", ">", ">=")]
    [(1, 3), (0, 1), (0, 3), (3, 4), (1, 4)]
    """
    wanted = keys.dtype.type(value)
    left, right = int(keys.searchsorted(wanted, "left")), int(keys.searchsorted(wanted, "right"))
    ranges = {"=": (left, right), "<": (0, left), "<=": (0, right), ">": (right, len(keys)), ">=": (left, len(keys))}
    return ranges[relation]
