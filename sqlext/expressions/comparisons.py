"""Comparisons, IN, IS NULL and the tests of NaN, with Spark's three-valued logic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlext.expressions.coercion import alike, compared, takes, unchanged
from sqlext.expressions.function import Evaluate, Function, Signature, null_propagating
from sqlext.expressions.spark_types import FLOATS, nested
from sqlext.expressions.values import compare

_TESTS: dict[str, Callable[[int], bool]] = {
    "=": lambda order: order == 0,
    "<>": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}
_PLAIN: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _comparison(signature: Signature) -> Evaluate:
    spark_type, test = signature.types[0], _TESTS[signature.name]
    if nested(spark_type) is None and spark_type not in FLOATS:
        return _PLAIN[signature.name]
    return lambda a, b: test(compare(a, b, spark_type))


def _null_safe(signature: Signature) -> Evaluate:
    spark_type, is_equal = signature.types[0], signature.name != "IS DISTINCT FROM"
    return lambda a, b: (compare(a, b, spark_type) == 0) == is_equal


def _between(signature: Signature) -> Evaluate:
    spark_type = signature.types[0]
    at_least = null_propagating(lambda a, b: compare(a, b, spark_type) >= 0)

    def evaluate(value: Any, low: Any, high: Any) -> bool | None:
        sides = at_least(value, low), at_least(high, value)
        return False if False in sides else None if None in sides else True

    return evaluate


def _in(signature: Signature) -> Evaluate:
    spark_type = signature.types[0]

    def evaluate(value: Any, *choices: Any) -> bool | None:
        if value is None:
            return None
        if any(choice is not None and compare(value, choice, spark_type) == 0 for choice in choices):
            return True
        return None if None in choices else False

    return evaluate


def _is_nan(_: Signature) -> Evaluate:
    return lambda value: value is not None and value != value


COMPARISONS: dict[str, Function] = {
    **{name: Function(parameters=compared, bind=_comparison) for name in _TESTS},
    "<=>": Function(parameters=compared, bind=_null_safe, takes_nulls=True),
    "IS DISTINCT FROM": Function(parameters=compared, bind=_null_safe, takes_nulls=True),
    "IS NOT DISTINCT FROM": Function(parameters=compared, bind=_null_safe, takes_nulls=True),
    "equal_null": Function(parameters=compared, bind=_null_safe, takes_nulls=True),
    "BETWEEN": Function(parameters=compared, bind=_between, takes_nulls=True),
    "IN": Function(parameters=alike, bind=_in, takes_nulls=True),
    "IS NULL": Function(parameters=unchanged, bind=lambda _: lambda value: value is None, takes_nulls=True),
    "IS NOT NULL": Function(parameters=unchanged, bind=lambda _: lambda value: value is not None, takes_nulls=True),
    "isnan": Function(parameters=takes("double|float"), bind=_is_nan, takes_nulls=True),
}
