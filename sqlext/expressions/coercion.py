"""Spark's implicit casts: the common types in which operands are compared, and the types that parameters take.

The rules come from Spark's TypeCoercion and AnsiTypeCoercion. A call that Spark refuses never reaches this module,
because its result type is determined first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sqlext.expressions.function import (
    ALL_FRACTIONAL_DIGITS,
    SPARK_DEFAULTS,
    TIMES_AS_TEXTS,
    ExecutionSettings,
    ResultType,
    Signature,
    Types,
)
from sqlext.expressions.spark_types import (
    FLOATS,
    INTEGER_BITS,
    ArrayOf,
    MapOf,
    StructOf,
    decimal_of,
    is_day_time,
    is_interval,
    is_numeric,
    is_year_month,
    nested,
)

_INTEGERS = tuple(INTEGER_BITS)
_DIGITS = {"tinyint": (3, 0), "smallint": (5, 0), "int": (10, 0), "bigint": (20, 0)}
_TEXT_AND_TIME = ({"string", "date"}, {"string", "timestamp"})
_DAY_TIME_UNITS = ("day", "hour", "minute", "second")
_YEAR_MONTH_UNITS = ("year", "month")

Parameters = Callable[[Signature], "Types | None"]


def digits_of(spark_type: str) -> tuple[int, int] | None:
    """(precision, scale) of the decimal type that has all values of a decimal or integer type."""
    return decimal_of(spark_type) or _DIGITS.get(spark_type)


def decimal_type(precision: int, scale: int) -> str:
    return f"decimal({min(precision, 38)},{min(scale, 38)})"


def as_decimal(spark_type: str) -> str:
    """The decimal type to which Spark casts an operand of decimal arithmetic."""
    digits = digits_of(spark_type)
    return spark_type if digits is None else decimal_type(*digits)


def tightest_type(left: str, right: str, settings: ExecutionSettings = SPARK_DEFAULTS) -> str | None:
    """The tightest common type of two types, without strings and without a loss; None if there is none."""
    if left == right or right == "void":
        return left
    if left == "void":
        return right
    if left in _INTEGERS and right in _INTEGERS:
        return max(left, right, key=_INTEGERS.index)
    if is_numeric(left) and is_numeric(right):
        return _numeric_type(left, right, settings)
    times = ("date", "timestamp_ntz", "timestamp")
    if left in times and right in times:
        return max(left, right, key=times.index)
    return _interval_type(left, right)


def _numeric_type(left: str, right: str, settings: ExecutionSettings) -> str:
    if left in FLOATS or right in FLOATS:
        is_single = "double" not in (left, right) and not (decimal_of(left) or decimal_of(right))
        return "float" if is_single else "double"
    (p, s), (q, t) = digits_of(left) or (0, 0), digits_of(right) or (0, 0)
    whole, scale = max(p - s, q - t), max(s, t)
    if whole + scale > 38 and ALL_FRACTIONAL_DIGITS in settings.is_on:
        return decimal_type(38, scale)
    return decimal_type(whole + scale, min(scale, max(0, 38 - whole)))  # digits before the point have priority


def _interval_type(left: str, right: str) -> str | None:
    for units, is_type in ((_DAY_TIME_UNITS, is_day_time), (_YEAR_MONTH_UNITS, is_year_month)):
        if is_type(left) and is_type(right):
            named = [unit for t in (left, right) for unit in t.removeprefix("interval ").split(" to ")]
            first, last = min(named, key=units.index), max(named, key=units.index)
            return f"interval {first}" if first == last else f"interval {first} to {last}"
    return None


class TypeWithString(Protocol):
    """The common type of a string and another type, `string_in_comparison` or `string_among_others`."""

    def __call__(self, other: str, *, is_ansi: bool) -> str | None: ...


def wider_type(left: str, right: str, *, settings: ExecutionSettings, with_string: TypeWithString) -> str | None:
    """The common type of two types."""
    common = tightest_type(left, right, settings)
    if common is not None:
        return common
    if "string" in (left, right):
        return with_string(right if left == "string" else left, is_ansi=settings.is_ansi)
    parts = nested(left), nested(right)
    if isinstance(parts[0], ArrayOf) and isinstance(parts[1], ArrayOf):
        element = wider_type(parts[0].element, parts[1].element, settings=settings, with_string=with_string)
        return None if element is None else f"array<{element}>"
    if isinstance(parts[0], MapOf) and isinstance(parts[1], MapOf):
        key = wider_type(parts[0].key, parts[1].key, settings=settings, with_string=with_string)
        value = wider_type(parts[0].value, parts[1].value, settings=settings, with_string=with_string)
        return None if key is None or value is None else f"map<{key},{value}>"
    if isinstance(parts[0], StructOf) and isinstance(parts[1], StructOf):
        types = [
            wider_type(a, b, settings=settings, with_string=with_string) for a, b in zip(parts[0].types, parts[1].types)
        ]
        fields = ",".join(f"{name}:{t}" for name, t in zip(parts[0].names, types))
        return None if None in types or len(parts[0].types) != len(parts[1].types) else f"struct<{fields}>"
    return None


def _string_in_ansi(other: str) -> str | None:
    if other in INTEGER_BITS:
        return "bigint"
    return "double" if is_numeric(other) else None if nested(other) else other


def string_in_comparison(other: str, *, is_ansi: bool) -> str | None:
    """The type in which a string is compared with another type.

    >>> string_in_comparison("int", is_ansi=False), string_in_comparison("int", is_ansi=True)
    ('int', 'bigint')
    """
    if is_ansi:
        return _string_in_ansi(other)
    if nested(other):
        return None
    digits = decimal_of(other)
    return "double" if digits and digits[1] else other


def string_among_others(other: str, *, is_ansi: bool) -> str | None:
    """The common type of a string and another type in IN, COALESCE, CASE and similar functions."""
    if is_ansi:
        return _string_in_ansi(other)
    return None if nested(other) or other in ("boolean", "binary") else "string"


def common_type(types: Types, *, settings: ExecutionSettings, with_string: TypeWithString) -> str | None:
    common: str | None = "void"
    for t in types:
        common = None if common is None else wider_type(common, t, settings=settings, with_string=with_string)
    return common


def chosen_type(types: Types, settings: ExecutionSettings) -> str | None:
    """The type of a result that is one of several values; None if these have no common type."""
    common = common_type(types, settings=settings, with_string=string_among_others)
    return "double" if common == "float" and loses_digits(types, settings) else common


def loses_digits(types: Types, settings: ExecutionSettings) -> bool:
    """True if one of the types is an integer under ANSI: then the common type with a float is double."""
    return settings.is_ansi and any(t in INTEGER_BITS for t in types)


def choice_from(first: int) -> ResultType:
    """The common type of the arguments from `first` on."""
    return lambda signature: chosen_type(signature.types[first:], signature.settings)


def compared(signature: Signature) -> Types | None:
    """The parameter types of a comparison: all are the type in which the operands are compared."""
    settings, types = signature.settings, signature.types
    if not settings.is_ansi and set(types) in _TEXT_AND_TIME and TIMES_AS_TEXTS in settings.is_on:
        return ("string",) * len(types)
    common = common_type(types, settings=settings, with_string=string_in_comparison)
    return None if common is None else (common,) * len(types)


def alike(signature: Signature) -> Types | None:
    """The parameter types of IN and NULLIF: all are the common type of the arguments."""
    common = common_type(signature.types, settings=signature.settings, with_string=string_among_others)
    return None if common is None else (common,) * len(signature.types)


def as_result(signature: Signature) -> Types:
    """The parameter types of COALESCE, LEAST and similar functions: all are the type of the result."""
    return (signature.result,) * len(signature.types)


def unchanged(signature: Signature) -> Types:
    return signature.types


def cast_to(spark_type: str, allowed: str) -> str | None:
    """The type of a parameter that takes the types `allowed`, separated by "|", for an argument of type `spark_type`.

    "any", "numeric", "integer", "decimal", "interval", "array", "map" and "struct" allow all such types. A NULL
    without a type, and an argument whose type must be cast, become the first type that is named.

    >>> cast_to("date", "timestamp|timestamp_ntz"), cast_to("float", "numeric"), cast_to("string", "double|numeric")
    ('timestamp', 'float', 'double')
    """
    names = allowed.split("|")
    for name in names:
        if name in (spark_type, "any") or (name in _FAMILIES and _FAMILIES[name](spark_type)):
            return spark_type
    concrete = [name for name in names if name not in _FAMILIES]
    if not concrete:
        return None
    if spark_type in INTEGER_BITS or spark_type in ("date", "timestamp"):
        for name in concrete:
            if tightest_type(spark_type, name) == name:
                return name
    return concrete[0]


_FAMILIES: dict[str, Callable[[str], bool]] = {
    "numeric": is_numeric,
    "integer": INTEGER_BITS.__contains__,
    "decimal": lambda t: decimal_of(t) is not None,
    "interval": is_interval,
    "array": lambda t: isinstance(nested(t), ArrayOf),
    "map": lambda t: isinstance(nested(t), MapOf),
    "struct": lambda t: isinstance(nested(t), StructOf),
}


def takes(*parameters: str, optional: int = 0, repeated: bool = False) -> Parameters:
    """A function that returns the parameter types: these types (see `cast_to`), the last `optional` of which may be
    missing, or the last of which is `repeated`."""

    def types(signature: Signature) -> Types | None:
        n, m = len(signature.types), len(parameters)
        if n < m - optional or (n > m and not repeated):
            return None
        wanted = (*parameters, *parameters[-1:] * (n - m))[:n]
        result = tuple(cast_to(t, w) for t, w in zip(signature.types, wanted))
        return None if None in result else result  # type: ignore[return-value]

    return types
