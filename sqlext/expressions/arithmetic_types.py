"""The result types of arithmetic and of rounding, by the rules of Spark's analyzer."""

from __future__ import annotations

from typing import Any

from sqlext.expressions.coercion import decimal_type, digits_of, loses_digits, tightest_type
from sqlext.expressions.function import FEWER_FRACTIONAL_DIGITS, FEWEST_DIGITS, ExecutionSettings, Signature
from sqlext.expressions.spark_types import (
    FLOATS,
    INTEGER_BITS,
    TIME_TYPES,
    TIMESTAMPS,
    decimal_of,
    is_day_time,
    is_interval,
    is_numeric,
    is_year_month,
)

# The operators of functions that compute as one.
SYMBOLS = {"try_add": "+", "try_subtract": "-", "try_multiply": "*", "try_divide": "/", "try_mod": "%", "mod": "%"}
_DAY_TIME, _YEAR_MONTH = "interval day to second", "interval year to month"
_ROUNDED = {"float": (14, 7), "void": (20, 0)}  # the decimals in which floor and ceil with places round other types


def operation_type(signature: Signature) -> str | None:
    """The type of `+ - * / %` and of the functions that compute as they do."""
    symbol, settings = SYMBOLS.get(signature.name, signature.name), signature.settings
    if len(signature.types) != 2:
        return None
    left, right = (_number(t, other, settings) for t, other in zip(signature.types, reversed(signature.types)))
    if not (is_numeric(left) and is_numeric(right)):
        return _time_arithmetic(symbol, left, right)
    if (decimal_of(left) or decimal_of(right)) and left not in FLOATS and right not in FLOATS:
        given = signature.constants if FEWEST_DIGITS in settings.is_on else {}
        digits = (_digits(t, given.get(i)) for i, t in enumerate((left, right)))
        return _decimal_result(symbol, *digits, is_adjusted=FEWER_FRACTIONAL_DIGITS in settings.is_on)
    is_double = symbol == "/" or ("float" in (left, right) and loses_digits((left, right), settings))
    return "double" if is_double else tightest_type(left, right)


def _number(spark_type: str, other: str, settings: ExecutionSettings) -> str:
    """The type of an operand of arithmetic, which reads a string or an untyped NULL as a number."""
    if spark_type == "void":
        return other if other != "void" else "double"
    if spark_type != "string" or not (is_numeric(other) or other in ("string", "void")):
        return spark_type
    return "bigint" if settings.is_ansi and other in INTEGER_BITS else "double"


def _digits(spark_type: str, constant: Any) -> tuple[int, int]:
    """(precision, scale) of an operand of decimal arithmetic; a literal has no more digits than it shows."""
    if isinstance(constant, int) and spark_type in ("smallint", "int", "bigint"):  # not tinyint, in Spark
        return len(str(abs(constant))), 0
    return digits_of(spark_type) or (38, 18)


def _decimal_result(symbol: str, left: tuple[int, int], right: tuple[int, int], *, is_adjusted: bool) -> str:
    """The result type of decimal arithmetic. `is_adjusted`: it may have fewer fractional digits, to keep all others.

    Source: https://spark.apache.org/docs/latest/sql-ref-ansi-compliance.html, arithmetic operations on decimals.
    """
    limited = _adjusted if is_adjusted else decimal_type
    (p, s), (q, t) = left, right
    if symbol in ("+", "-"):
        scale = max(s, t)
        return limited(max(p - s, q - t) + scale + 1, scale)
    if symbol == "*":
        return limited(p + q + 1, s + t)
    if symbol == "/" and not is_adjusted:
        return _unadjusted_quotient(min(38, p - s + t), min(38, max(6, s + q + 1)))
    if symbol == "/":
        scale = max(6, s + q + 1)
        return _adjusted(p - s + t + scale, scale)
    return limited(min(p - s, q - t) + max(s, t), max(s, t))


def _unadjusted_quotient(whole: int, scale: int) -> str:
    """The type of a quotient with so many digits before and after the point, of which Spark drops as many on each side
    if they are more than 38."""
    beyond = whole + scale - 38
    if beyond > 0:
        scale -= beyond // 2 + 1
        whole = 38 - scale
    return decimal_type(whole + scale, scale)


def _adjusted(precision: int, scale: int) -> str:
    """Limit the precision to 38: keep the integer digits, and six fractional digits if there were as many."""
    if precision <= 38:
        return f"decimal({precision},{scale})"
    return f"decimal(38,{max(38 - (precision - scale), min(scale, 6))})"


def _time_arithmetic(symbol: str, left: str, right: str) -> str | None:
    if symbol in ("+", "-") and is_interval(left) and is_interval(right):
        return tightest_type(left, right)
    if symbol == "+" and is_interval(left):
        return _shifted(right, left)
    if symbol in ("+", "-") and is_interval(right):
        return _shifted(left, right)
    if symbol in ("+", "-") and left == "date" and right in ("int", "smallint", "tinyint"):
        return "date"
    if symbol == "+" and right == "date" and left in ("int", "smallint", "tinyint"):
        return "date"
    if symbol == "-" and left in TIME_TYPES and right in TIME_TYPES:
        return "interval day" if left == right == "date" else _DAY_TIME
    if symbol == "*" and is_interval(right) and is_numeric(left):
        left, right = right, left
    if symbol in ("*", "/") and is_interval(left) and is_numeric(right):
        return _DAY_TIME if is_day_time(left) else _YEAR_MONTH
    return None


def _shifted(time: str, interval: str) -> str | None:
    if time in TIMESTAMPS:
        return time
    if time != "date":
        return None
    return "date" if is_year_month(interval) or interval == "interval day" else "timestamp"


def signed_type(signature: Signature) -> str | None:
    """The type of a sign before an operand, and of abs."""
    return _same(signature.types[0]) if len(signature.types) == 1 else None


def _same(spark_type: str) -> str | None:
    if spark_type in ("string", "void"):
        return "double"
    return spark_type if is_numeric(spark_type) or is_interval(spark_type) else None


def rounded_type(signature: Signature) -> str | None:
    """The type of round and bround."""
    places = signature.constants.get(1, 0) if len(signature.types) == 2 else 0
    if not signature.types or not isinstance(places, int):
        return None
    digits = decimal_of(signature.types[0])
    return _rounded_decimal(digits, places) if digits else _same(signature.types[0])


def _rounded_decimal(digits: tuple[int, int], places: int) -> str:
    whole = digits[0] - digits[1] + 1
    if places < 0:
        return decimal_type(max(whole, 1 - places), 0)
    scale = min(digits[1], places)
    return decimal_type(whole + scale, scale)


def floored_type(signature: Signature) -> str | None:
    """The type of floor and ceil."""
    if not signature.types:
        return "bigint"
    value = signature.types[0]
    if len(signature.types) == 2:
        places = signature.constants.get(1, 0)
        known = digits_of(value) or _ROUNDED.get(value, (30, 15))
        return _rounded_decimal(known, places) if isinstance(places, int) else None
    digits = decimal_of(value)
    if digits:
        return value if digits[1] == 0 else decimal_type(digits[0] - digits[1] + 1, 0)
    return "bigint"
