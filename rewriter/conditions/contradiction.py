"""Determines whether a condition of DEFINE certainly holds on no row, as two of its conjuncts exclude each other.

The conjuncts that are used compare one column with literals: `v = 5`, `v < 5`, `v BETWEEN 1 AND 5`, `v IN (1, 2)`,
`kind = 'a'`, `is_open`, `NOT is_open`. Such a conjunct restricts the column to intervals of values; two conjuncts whose
intervals share no value exclude each other. All other conjuncts are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Union

from sqlext.expressions.spark_types import INTEGER_BITS, MAX_DIGITS, decimal_of
from sqlext.rewriter.scalars.expression import Node, conjuncts, own_items, parse
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import Lexeme, lexemes
from sqlext.rewriter.text.names import unquoted

Value = Union[int, str, bool]


@dataclass(frozen=True, kw_only=True)
class Interval:
    """The values from `low` to `high`, where None means no limit.

    `has_low`, `has_high`: the interval includes that end.
    """

    low: Value | None = None
    high: Value | None = None
    has_low: bool = True
    has_high: bool = True

    def is_below(self, other: Interval) -> bool:
        """True if every value of this interval is less than every value of the other."""
        if self.high is None or other.low is None:
            return False
        if self.high == other.low:
            return not (self.has_high and other.has_low)
        return self.high < other.low  # type: ignore[operator]  # they have one type: both compare with one column


@dataclass(frozen=True)
class Restriction:
    """A condition: the value of `column` (in lower case) lies in one of `intervals` and is not NULL."""

    column: str
    intervals: tuple[Interval, ...]


def contradicts_itself(condition: str, types: Mapping[str, str]) -> bool:
    """True if certainly no row satisfies a condition, as two of its conjuncts exclude each other, or one is empty.

    `types`: the Spark type of each column of the row. NULL and NaN need no special treatment: a comparison with NULL
    does not hold, and NaN sorts above all numbers.

    >>> contradicts_itself("v > 5 AND v < 3", {"v": "int"}), contradicts_itself("v BETWEEN 5 AND 3", {"v": "int"})
    (True, True)
    """
    parts = restrictions(condition, types)
    pairs = ((a, b) for i, a in enumerate(parts) for b in parts[i + 1 :] if a.column == b.column)
    return any(_are_apart(a.intervals, b.intervals) for a, b in pairs) or any(
        all(interval.is_below(interval) for interval in part.intervals) for part in parts
    )


def _are_apart(some: tuple[Interval, ...], others: tuple[Interval, ...]) -> bool:
    return all(a.is_below(b) or b.is_below(a) for a, b in product(some, others))


def restrictions(condition: str, types: Mapping[str, str]) -> list[Restriction]:
    """The restrictions of columns that the conjuncts of a condition set.

    >>> restrictions("v = 5 AND f(v)", {"v": "int"})
    [Restriction(column='v', intervals=(Interval(low=5, high=5, has_low=True, has_high=True),))]
    """
    items = lexemes(Fragment(condition, 0, len(condition)))
    reader = _RestrictionReader(items, {name.lower(): spark_type for name, spark_type in types.items()})
    return [restriction for node in reader.conjuncts() if (restriction := reader.restriction(node))]


_OPERATORS = {
    "=": lambda v: Interval(low=v, high=v),
    "<=>": lambda v: Interval(low=v, high=v),
    "<": lambda v: Interval(high=v, has_high=False),
    "<=": lambda v: Interval(high=v),
    ">": lambda v: Interval(low=v, has_low=False),
    ">=": lambda v: Interval(low=v),
}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


@dataclass(frozen=True)
class _RestrictionReader:
    items: list[Lexeme]
    types: Mapping[str, str]

    def conjuncts(self) -> Iterator[Node]:
        stack = [parse(self.items, *r) for r in reversed(conjuncts(self.items))]
        while stack:
            node = stack.pop()
            if node.kind == "AND":
                stack += reversed(node.children)
            else:
                yield node

    def restriction(self, node: Node) -> Restriction | None:
        truth = self._truth(node)
        if truth is not None:
            return truth
        if node.kind not in (*_OPERATORS, "BETWEEN", "IN"):
            return None
        left, *rest = node.children
        kind = node.kind
        if kind in _OPERATORS and self._column(left) is None:
            kind, left, rest = _MIRRORED.get(kind, kind), rest[0], [left]
        column = self._column(left)
        values = [self._value(x, self.types[column]) for x in rest] if column else []
        if column is None or any(v is None for v in values):
            return None
        return self._compared(column, kind, [v for v in values if v is not None])

    def _compared(self, column: str, kind: str, values: list[Value]) -> Restriction | None:
        if isinstance(values[0], str) and kind not in ("=", "<=>", "IN"):
            return None
        if kind == "BETWEEN":
            return Restriction(column, (Interval(low=values[0], high=values[1]),))
        return Restriction(column, tuple(_OPERATORS["=" if kind == "IN" else kind](v) for v in values))

    def _truth(self, node: Node) -> Restriction | None:
        """The restriction of a Boolean column if the condition is that column or NOT of it; otherwise None."""
        is_negated = node.kind == "NOT"
        column = self._column(node.children[0] if is_negated else node)
        if column is None or self.types[column] != "boolean":
            return None
        return Restriction(column, (Interval(low=not is_negated, high=not is_negated),))

    def _column(self, node: Node) -> str | None:
        """The column that the node reads, if the node is a name without a qualifier; otherwise None."""
        if node.kind != "column":
            return None
        name = unquoted(self._words(node)[0]).lower()
        return name if name in self.types else None

    def _value(self, node: Node, spark_type: str) -> Value | None:
        """The value of a literal, or None unless Spark certainly compares it unchanged with a column of that type."""
        words = self._words(node)
        if node.kind == "negate" and len(words) == 2 and words[0] == "-" and words[1].isdecimal():
            value = -int(words[1])
        elif node.kind == "literal" and len(words) == 1 and words[0].isdecimal():
            value = int(words[0])
        elif node.kind == "literal" and len(words) == 1:
            return _text(words[0]) if spark_type == "string" else _TRUTHS.get((words[0].upper(), spark_type))
        else:
            return None
        return value if abs(value) <= _largest_exact(spark_type) else None

    def _words(self, node: Node) -> list[str]:
        return [x.raw for x in own_items(node, self.items)]


_TRUTHS = {("TRUE", "boolean"): True, ("FALSE", "boolean"): False}


def _text(raw: str) -> str | None:
    """The value of a string literal without the blanks at its end, because CHAR columns are padded with blanks.

    None for literals whose meaning depends on the settings for backslashes and for double quotes.
    """
    return raw[1:-1].rstrip(" ") if re.fullmatch(r"'[^'\\]*'", raw) else None


def _largest_exact(spark_type: str) -> int:
    """The largest integer that Spark compares with a column of that type without rounding; -1 if there is none."""
    digits = decimal_of(spark_type)
    if spark_type in (*INTEGER_BITS, "double") or (digits and digits[0] <= MAX_DIGITS):
        return 1 << 53
    return 1 << 24 if spark_type == "float" else -1
