"""Comparisons, IN, IS NULL and the tests of NaN, with Spark's three-valued logic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from sqlext.expressions.casts import cast
from sqlext.expressions.coercion import alike, compared, takes, unchanged
from sqlext.expressions.function import Evaluate, Function, Signature, Thunk, Types, null_propagating
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


def _between_types(signature: Signature) -> Types | None:
    """The types unchanged, because the value is compared with each bound in a type of its own."""
    value, low, high = signature.types
    bounds = [replace(signature, types=pair) for pair in ((value, low), (value, high))]
    return signature.types if all(compared(pair) for pair in bounds) else None


def _between(signature: Signature) -> Evaluate:
    value_type, low_type, high_type = signature.types
    at_least = _in_common_type(replace(signature, name=">=", types=(value_type, low_type)))
    at_most = _in_common_type(replace(signature, name="<=", types=(value_type, high_type)))

    def evaluate(compared_value: Thunk, low: Thunk, high: Thunk) -> bool | None:
        value = compared_value()
        if value is None:
            return None
        is_above = at_least(value, low())
        is_below = False if is_above is False else at_most(value, high())
        return False if is_below is False else None if is_above is None or is_below is None else True

    return evaluate


def _in_common_type(signature: Signature) -> Evaluate:
    """The function that compares two values, NULL included, after casting them to their common type."""
    common = compared(signature) or signature.types
    left, right = (cast(t, c, signature.settings) for t, c in zip(signature.types, common))
    test = null_propagating(_comparison(replace(signature, types=common)))
    return lambda a, b: test(left(a), right(b))


def _in(signature: Signature) -> Evaluate:
    spark_type = signature.types[0]

    def evaluate(searched: Thunk, *choices: Thunk) -> bool | None:
        value = searched()
        if value is None:
            return None
        has_null = False
        for choice in choices:
            other = choice()
            has_null |= other is None
            if other is not None and compare(value, other, spark_type) == 0:
                return True
        return None if has_null else False

    return evaluate


def _is_nan(_: Signature) -> Evaluate:
    return lambda value: value is not None and value != value


_test = partial(Function, result="boolean")
_NULL_SAFE = _test(parameters=compared, bind=_null_safe, takes_nulls=True)

COMPARISONS: dict[str, Function] = {
    **dict.fromkeys(_TESTS, _test(parameters=compared, bind=_comparison)),
    **dict.fromkeys(("<=>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "equal_null"), _NULL_SAFE),
    "BETWEEN": _test(parameters=_between_types, bind=_between, is_lazy=True),
    "IN": _test(parameters=alike, bind=_in, is_lazy=True),
    "IS NULL": _test(parameters=unchanged, bind=lambda _: lambda value: value is None, takes_nulls=True),
    "IS NOT NULL": _test(parameters=unchanged, bind=lambda _: lambda value: value is not None, takes_nulls=True),
    "isnan": _test(parameters=takes("double|float"), bind=_is_nan, takes_nulls=True),
}
