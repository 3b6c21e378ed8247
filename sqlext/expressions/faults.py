"""Errors of rows, with the names of Spark's error classes."""

from __future__ import annotations

from typing import Any

from sqlext.errors import DataError

_LONGEST = 200  # characters of a value in a message
_TRY = "use try_cast, or set spark.sql.ansi.enabled to false"


def function_failed(name: str, error: Exception) -> DataError:
    """The error for what no rule of Spark covers: a mistake in this package, or a value that takes too much memory."""
    return DataError(
        "FUNCTION_FAILED",
        f"{name} failed: {type(error).__name__}: {shortened(str(error))}",
        hint="test the value first; and report this, with the value, if Spark can compute it.",
    )


def shortened(text: str) -> str:
    """
    >>> shortened("x" * 250)[197:]
    'xxx… (250 characters)'
    """
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def value_of_type(spark_type: str, error: Exception) -> DataError:
    return DataError(
        "VALUE_OF_TYPE",
        f"a value does not fit the type {spark_type}: {shortened(str(error))}",
        hint="test the value first",
    )


def overflow(what: str = "integer") -> DataError:
    return DataError(
        "ARITHMETIC_OVERFLOW",
        f"{what} overflow",
        hint="cast to a wider type, use a function such as try_add, or set spark.sql.ansi.enabled to false",
    )


def interval_overflow() -> DataError:
    return DataError("INTERVAL_ARITHMETIC_OVERFLOW", "the value does not fit an interval", hint="use smaller intervals")


def datetime_overflow() -> DataError:
    return DataError("DATETIME_OVERFLOW", "the result is outside of the range of dates and times", hint="test it first")


def division_by_zero() -> DataError:
    return DataError("DIVIDE_BY_ZERO", "division by zero", hint="test the divisor first, for example with nullif(x, 0)")


def too_long(most: int) -> DataError:
    return DataError(
        "TEXT_TOO_LONG",
        f"a text of more than {most:,} characters, or an array of a tenth as many elements",
        hint="test the length first",
    )


def over_budget(most: int) -> DataError:
    return DataError(
        "EXPRESSION_BUDGET",
        f"this row needs more than {most:,} units of work",
        hint="test the length of the texts first, or write simpler patterns",
    )


def too_many_steps(what: str, most: int) -> DataError:
    return DataError(
        "EXPRESSION_BUDGET",
        f"{what} needs more than {most:,} steps on this text",
        hint="write a pattern without nested repetitions, lookaround or references to groups, or test the length first",
    )


def remainder_by_zero() -> DataError:
    return DataError("REMAINDER_BY_ZERO", "remainder by zero", hint="test the divisor first, with nullif(x, 0)")


def decimal_out_of_range(value: Any, precision: int, scale: int) -> DataError:
    return DataError(
        "NUMERIC_VALUE_OUT_OF_RANGE",
        f"{shortened(str(value))} does not fit decimal({precision},{scale})",
        hint="cast to a wider type",
    )


def cast_overflow(value: Any, source: str, target: str) -> DataError:
    return DataError("CAST_OVERFLOW", f"the {source} value {shortened(str(value))} does not fit {target}", hint=_TRY)


def invalid_cast(value: Any, source: str, target: str) -> DataError:
    return DataError(
        "CAST_INVALID_INPUT", f"the {source} value {shortened(repr(value))} cannot be cast to {target}", hint=_TRY
    )


def invalid_value(what: str, hint: str) -> DataError:
    return DataError("INVALID_PARAMETER_VALUE", what, hint=hint)


def invalid_index(index: int, size: int) -> DataError:
    return DataError(
        "INVALID_ARRAY_INDEX",
        f"index {index} is outside of an array of {size} elements",
        hint="use get(array, index) or try_element_at, or set spark.sql.ansi.enabled to false",
    )


def invalid_date(what: str) -> DataError:
    return DataError("DATETIME_FIELD_OUT_OF_BOUNDS", what, hint="set spark.sql.ansi.enabled to false to get NULL")


def invalid_pattern(message: str) -> DataError:
    return DataError("INVALID_PATTERN", message, hint="correct the pattern")
