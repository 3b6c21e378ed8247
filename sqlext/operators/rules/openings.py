"""Tests that rows must pass to begin a match of a rule, of the kinds that an index answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Union

from sqlext.expressions.column_values import TextSearch, cannot_fail, text_search, without_between
from sqlext.expressions.scalar_tree import Constant, Scalar, ScalarCall
from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, TIME_TYPES

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}


@dataclass(frozen=True)
class ComparisonTest:
    """The condition that a number or a time `operand` is related to `value` by one of `= < <= > >=`."""

    operand: Scalar
    relation: str
    value: Any


Test = Union[TextSearch, ComparisonTest]


@dataclass(frozen=True, kw_only=True)
class Opening:
    """A condition of which one must hold on the first row of a match.

    It is not true on rows that do not pass all `tests`. `fallible`: the parts that may fail on a row; on rows that do
    not pass some test, and where its column is not NULL, a failure in them does not count, because Spark does not
    evaluate them there.
    """

    condition: Scalar
    tests: tuple[Test, ...]
    fallible: tuple[Scalar, ...]


def opening_of(condition: Scalar) -> Opening:
    """The tests in a condition.

    >>> from sqlext.expressions.function import ExecutionSettings
    >>> from sqlext.expressions.scalar_tree import Column, call
    >>> settings = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> paris = call("=", (Column("city", "string"), Constant("Paris", "string")), settings)
    >>> large = call("<", (Constant(9, "int"), Column("v", "int")), settings)
    >>> [str(test)[:33] for test in opening_of(call("AND", (paris, large), settings)).tests]
    ["TextSearch(column='city', texts=(", 'ComparisonTest(operand=Column(nam']
    """
    tests: list[Test] = []
    for part in _conjuncts(condition):
        if not cannot_fail(part):
            break  # the failures of this part do not count where the tests before it are not passed
        if (test := _test(part)) is not None:
            tests.append(test)
    fallible = () if cannot_fail(condition) else tuple(p for p in _parts(condition) if not cannot_fail(p))
    return Opening(condition=condition, tests=tuple(tests), fallible=fallible)


def _conjuncts(condition: Scalar) -> Iterator[Scalar]:
    """The conditions that AND joins, in their order."""
    if isinstance(condition, ScalarCall) and condition.function == "AND":
        for argument in condition.arguments:
            yield from _conjuncts(argument)
    elif isinstance(condition, ScalarCall) and condition.function == "BETWEEN" and cannot_fail(condition):
        yield from _conjuncts(without_between(condition))
    else:
        yield condition


def _parts(condition: Scalar) -> Iterator[Scalar]:
    """The calls in a condition, without the condition itself."""
    if isinstance(condition, ScalarCall):
        for argument in condition.arguments:
            if isinstance(argument, ScalarCall):
                yield argument
                yield from _parts(argument)


def _test(condition: Scalar) -> Test | None:
    """The condition as a test; None if an index cannot answer it."""
    if (search := text_search(condition)) is not None:
        return search
    if not isinstance(condition, ScalarCall) or condition.function not in _TURNED:
        return None
    left, right = condition.arguments
    relation = condition.function
    if isinstance(left, Constant):
        left, right, relation = right, left, _TURNED[relation]
    if not isinstance(right, Constant) or right.value is None or not _is_ordered(right.type):
        return None
    return ComparisonTest(left, relation, right.value)


def _is_ordered(spark_type: str) -> bool:
    return spark_type in FLOATS or spark_type in INTEGER_BITS or spark_type in TIME_TYPES
