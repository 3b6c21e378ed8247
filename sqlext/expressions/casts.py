"""CAST, `::` and TRY_CAST between the basic types, arrays, structs and maps; ANSI on and off."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from sqlext.errors import UnsupportedError
from sqlext.expressions import faults
from sqlext.expressions.calendars import DAY_US, SECOND_US, UNITS_US, zone
from sqlext.expressions.coercion import unchanged
from sqlext.expressions.function import (
    COMPLEX_TO_STRING,
    Evaluate,
    ExecutionSettings,
    Function,
    Signature,
    null_on_error,
    null_propagating,
)
from sqlext.expressions.numbers import (
    DECIMAL128,
    fits,
    float_text,
    float_to_integer,
    nearest_float32,
    quotient,
    remainder,
    saturated,
    to_decimal,
    to_float32,
    wrap,
)
from sqlext.expressions.spark_types import (
    FLOATS,
    INTEGER_BITS,
    TIMESTAMPS,
    ArrayOf,
    MapOf,
    StructOf,
    decimal_of,
    is_day_time,
    is_interval,
    is_year_month,
    nested,
)
from sqlext.expressions.time_arithmetic import in_time_range, to_local
from sqlext.expressions.time_texts import (
    read_date,
    read_timestamp,
    trimmed,
    write_date,
    write_interval,
    write_timestamp,
)
from sqlext.expressions.values import hashable

_INTEGER = re.compile(r"([+-]?\d+)(\.\d*)?|([+-]?)\.\d*", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_DECIMAL = re.compile(r"[+-]?(?:(\d+)\.?(\d*)|\.(\d+))(?:e([+-]?\d+))?", re.IGNORECASE)  # any script, as in Java
_LONGEST_BIGINT, _LONGEST_EXPONENT = 19, 10  # numbers of digits
_WORDS = ("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "nan")
_JAVA_SPACES = "".join(map(chr, range(33)))  # what String.trim removes
_SIZES = {"year": 12, "month": 1, **UNITS_US}  # of the units of intervals
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")


def cast(source: str, target: str, settings: ExecutionSettings, *, is_try: bool = False) -> Evaluate:
    """The function that casts a value, NULL included; with `is_try`, each value that cannot be cast, also one inside of
    an array, a map or a struct, becomes NULL. Raises UnsupportedError CAST_OVER_SEVERAL_ROWS.

    >>> cast("string", "decimal(4,1)", ExecutionSettings(is_ansi=False, time_zone="UTC"))(" 1.25 ")
    Decimal('1.3')
    """
    if source == target:
        return lambda value: value
    if source == "void":
        return lambda _: None
    parts = nested(source), nested(target)
    if type(parts[0]) is type(parts[1]) and parts[0] is not None:
        return null_propagating(_cast_nested(*parts, partial(cast, settings=settings, is_try=is_try)))
    maker = _TARGETS.get(_family(target))
    evaluate = maker and maker(source, target, settings)
    if evaluate is None:
        raise UnsupportedError(
            "CAST_OVER_SEVERAL_ROWS",
            f"the cast of {source} to {target} cannot be computed over several rows",
            hint="it can cast booleans, numbers, strings, dates, timestamps and intervals to each other; cast the "
            "column inside the navigation.",
        )
    return null_propagating(null_on_error("CAST", evaluate) if is_try else evaluate)


def _family(spark_type: str) -> str:
    if spark_type in INTEGER_BITS:
        return "integer"
    if spark_type in FLOATS:
        return "float"
    return "decimal" if decimal_of(spark_type) else "interval" if is_interval(spark_type) else spark_type


def _cast_nested(source: Any, target: Any, cast_part: Callable[[str, str], Evaluate]) -> Evaluate:
    if isinstance(source, ArrayOf):
        element = cast_part(source.element, target.element)
        return lambda values: [element(v) for v in values]
    if isinstance(source, MapOf):
        key, value = cast_part(source.key, target.key), cast_part(source.value, target.value)
        return lambda values: {hashable(key(k), target.key): value(v) for k, v in values.items()}
    fields = [cast_part(a, b) for a, b in zip(source.types, target.types)]
    return lambda values: tuple(field(v) for field, v in zip(fields, values))


# to strings and booleans


def _to_string(source: str, target: str, settings: ExecutionSettings) -> Evaluate | None:
    if source in FLOATS:
        return lambda value: float_text(value, is_double=source == "double")
    if decimal_of(source):
        return (lambda value: f"{value:f}") if settings.is_ansi else str
    if source in TIMESTAMPS:
        local = to_local(source, settings)
        return lambda value: write_timestamp(local(value))
    if is_interval(source):
        return lambda value: write_interval(value, source)
    if (parts := nested(source)) is not None:
        return _nested_to_string(parts, settings)
    by_source: dict[str, Evaluate] = {
        **dict.fromkeys(INTEGER_BITS, str),
        "boolean": lambda value: "true" if value else "false",
        "date": write_date,
        "binary": lambda value: value.decode("utf-8", "replace"),
    }
    return by_source.get(source)


def _nested_to_string(parts: ArrayOf | MapOf | StructOf, settings: ExecutionSettings) -> Evaluate:
    """The text of an array, a map or a struct: `[1, null]`, `{a -> 1}` or `{1, x}`; with a setting of Spark
    `[1,]`, `[a -> 1]` or `[1, x]`."""
    is_legacy = COMPLEX_TO_STRING in settings.is_on
    null, opening, closing = (None, "[", "]") if is_legacy else ("null", "{", "}")

    def text_of(spark_type: str) -> Evaluate:
        evaluate = cast(spark_type, "string", settings)
        return lambda value: null if value is None else evaluate(value)

    def joined(texts: Iterable[str | None]) -> str:
        return ",".join("" if text is None else f" {text}" for text in texts).removeprefix(" ")

    if isinstance(parts, ArrayOf):
        element = text_of(parts.element)
        return lambda values: f"[{joined(map(element, values))}]"
    if isinstance(parts, MapOf):
        key, item = text_of(parts.key), text_of(parts.value)
        return lambda values: f"{opening}{joined(_pair(key(k), item(v)) for k, v in values.items())}{closing}"
    fields = [text_of(t) for t in parts.types]
    return lambda values: f"{opening}{joined(field(v) for field, v in zip(fields, values))}{closing}"


def _pair(key: str, item: str | None) -> str:
    return f"{key} ->" if item is None else f"{key} -> {item}"


def _to_binary(source: str, target: str, settings: ExecutionSettings) -> Evaluate | None:
    if source in INTEGER_BITS:
        return lambda value: value.to_bytes(INTEGER_BITS[source] // 8, "big", signed=True)
    return (lambda value: value.encode("utf-8", "surrogatepass")) if source == "string" else None


def _to_boolean(source: str, target: str, settings: ExecutionSettings) -> Evaluate | None:
    def read(text: str) -> bool | None:
        word = trimmed(text).lower()
        return True if word in _TRUE else False if word in _FALSE else _failed(text, source, target, settings)

    if source == "string":
        return read
    if source == "date":
        return lambda _: None
    return (lambda value: value != 0) if _family(source) in ("integer", "float", "decimal", "timestamp") else None


def _failed(value: Any, source: str, target: str, settings: ExecutionSettings) -> Any:
    """The result for a value that cannot be cast: NULL, or an error."""
    if settings.is_ansi:
        raise faults.invalid_cast(value, source, target)


# to numbers


def _to_integer(source: str, target: str, settings: ExecutionSettings) -> Evaluate | None:
    bits, is_ansi = INTEGER_BITS[target], settings.is_ansi

    def read(text: str) -> int | None:
        match = _INTEGER.fullmatch(trimmed(text))
        if match is None or (is_ansi and match[0] != match[1]) or match[0] in ("+.", "-."):
            return _failed(text, source, target, settings)
        digits = (match[1] or "").lstrip("+-").lstrip("0")
        if len(digits) > _LONGEST_BIGINT:  # Python reads no more than 4,300
            return _failed(text, source, target, settings)
        value = -int(digits or 0) if match[0][0] == "-" else int(digits or 0)
        return value if fits(value, bits) else _failed(text, source, target, settings)

    def narrow(value: int) -> int:
        if is_ansi and not fits(value, bits):
            raise faults.cast_overflow(value, source, target)
        return wrap(value, bits)

    def truncate(value: float) -> int:
        if is_ansi and (value != value or math.isinf(value) or not fits(math.trunc(value), bits)):
            raise faults.cast_overflow(value, source, target)
        return float_to_integer(value, target)

    family = _family(source)
    if family == "float":
        return truncate
    if family == "timestamp":
        return lambda value: narrow(value // SECOND_US) if is_ansi or fits(value // SECOND_US, bits) else None
    if family == "interval":
        return _interval_to_integer(source, narrow)
    by_source: dict[str, Evaluate] = {
        "string": read,
        "boolean": int,
        "integer": narrow,
        "decimal": lambda value: narrow(int(value)),
        "date": lambda _: None,
    }
    return by_source.get(family)


def _interval_to_integer(source: str, narrow: Callable[[int], int]) -> Evaluate:
    size = _SIZES[source.split(" ")[-1]]
    return lambda value: narrow(quotient(value, size))


def _to_float(source: str, target: str, settings: ExecutionSettings) -> Evaluate | None:
    rounded: Callable[[Any], float] = to_float32 if target == "float" else float
    nearest: Callable[[Any], float] = nearest_float32 if target == "float" else float

    def read(text: str) -> float | None:
        number = _number_in(text)
        if number is None:
            return _failed(text, source, target, settings)
        value = float(number)
        return nearest(Decimal(number)) if value and math.isfinite(value) else value

    by_source: dict[str, Evaluate] = {
        "string": read,
        "boolean": float,
        "integer": nearest,
        "float": rounded,
        "decimal": nearest,
        "timestamp": lambda value: rounded(value / SECOND_US),
        "date": lambda _: None,
    }
    return by_source.get(_family(source))


def _number_in(text: str) -> str | None:
    """The number of a text as `Double.parseDouble` reads it, or a word for NaN or infinity that `float` reads.

    >>> _number_in(" 1.5e3 "), _number_in("1d"), _number_in("-inf"), _number_in("1_0")
    ('1.5e3', '1', '-inf', None)
    """
    text = text.strip(_JAVA_SPACES).lower()
    if text in _WORDS:
        return text
    number = text[:-1] if text[-1:] in ("d", "f") else text
    return number if _NUMBER.fullmatch(number) else None


def _integral_digits(number: str) -> int | None:
    """The number of digits before the point of the BigDecimal that Java reads from a text, or None if it reads none.

    The number is below 0 for 0.05, and ten for 0e9.

    >>> [_integral_digits(text) for text in ("12.50", "0.05", "0e9", "1e99999999999", "x")]
    [2, -1, 10, None, None]
    """
    match = _DECIMAL.fullmatch(number)
    if match is None:
        return None
    whole, fraction, only_fraction, exponent_text = (part or "" for part in match.groups())
    fraction = fraction or only_fraction
    if len(exponent_text.lstrip("+-0")) > _LONGEST_EXPONENT:
        return None
    exponent = int(exponent_text or 0)
    scale = len(fraction) - exponent
    if not (fits(exponent, 32) and fits(scale, 32)):
        return None
    significant = Decimal(whole + fraction).as_tuple().digits
    return len(significant) - scale


def _to_decimal(source: str, target: str, settings: ExecutionSettings) -> Evaluate | None:
    precision, scale = decimal_of(target) or (0, 0)

    def fit(value: Decimal) -> Decimal | None:
        return to_decimal(value, precision, scale, settings)

    def read(text: str) -> Decimal | None:
        number = trimmed(text)
        digits = _integral_digits(number)
        if digits is None:
            return _failed(text, source, target, settings)
        if digits > 38:
            if settings.is_ansi:
                raise faults.decimal_out_of_range(text, precision, scale)
            return None
        return fit(Decimal(number))

    def from_float(value: float) -> Decimal | None:
        if value != value or math.isinf(value):
            return None
        return fit(Decimal(repr(value)))

    by_source: dict[str, Evaluate] = {
        "string": read,
        "boolean": lambda value: fit(Decimal(int(value))),
        "integer": lambda value: fit(Decimal(value)),
        "float": from_float,
        "decimal": fit,
        "timestamp": lambda value: fit(Decimal(value).scaleb(-6)),
        "date": lambda _: None,
    }
    return by_source.get(_family(source))


# to dates and times


def _to_date(source: str, target: str, settings: ExecutionSettings) -> Evaluate | None:
    def read(text: str) -> int | None:
        value = read_date(text)
        return _failed(text, source, target, settings) if value is None else value

    if source in TIMESTAMPS:
        local = to_local(source, settings)
        return lambda value: local(value) // DAY_US
    return read if source == "string" else None


def _to_timestamp(source: str, target: str, settings: ExecutionSettings) -> Evaluate | None:
    if source in ("date", "timestamp_ntz"):
        to_utc, unit = zone(settings.time_zone).to_utc, DAY_US if source == "date" else 1
        return lambda value: in_time_range(to_utc(value * unit))
    if source == "string":
        zone(settings.time_zone)  # refuses an unknown zone

    def read(text: str) -> int | None:
        value = read_timestamp(text, settings.time_zone)
        return _failed(text, source, target, settings) if value is None else value

    def from_float(value: float) -> int | None:
        if value != value or math.isinf(value):
            return _failed(value, source, target, settings)
        micros = value * SECOND_US
        if settings.is_ansi and (math.isinf(micros) or not fits(math.trunc(micros), 64)):
            raise faults.cast_overflow(value, source, target)
        return saturated(micros, 64)

    by_source: dict[str, Evaluate] = {
        "string": read,
        "boolean": int,
        "integer": lambda value: max(-(1 << 63), min((1 << 63) - 1, value * SECOND_US)),
        "float": from_float,
        "decimal": lambda value: wrap(int(DECIMAL128.multiply(value, Decimal(SECOND_US))), 64),
    }
    return by_source.get(_family(source))


def _to_timestamp_ntz(source: str, target: str, settings: ExecutionSettings) -> Evaluate | None:
    def read(text: str) -> int | None:
        value = read_timestamp(text, None)
        return _failed(text, source, target, settings) if value is None else value

    if source == "timestamp":
        local = to_local(source, settings)
        return lambda value: in_time_range(local(value))
    by_source: dict[str, Evaluate] = {"string": read, "date": lambda value: in_time_range(value * DAY_US)}
    return by_source.get(source)


def _to_interval(source: str, target: str, settings: ExecutionSettings) -> Evaluate | None:
    """The cast from one interval to another: it drops the parts that are smaller than the last unit of the target."""
    if not ((is_day_time(source) and is_day_time(target)) or (is_year_month(source) and is_year_month(target))):
        return None
    last = target.split(" ")[-1]
    size = 1 if last == "second" else _SIZES[last]
    return lambda value: value - remainder(value, size)


_TARGETS: dict[str, Callable[[str, str, ExecutionSettings], Evaluate | None]] = {
    "string": _to_string,
    "binary": _to_binary,
    "boolean": _to_boolean,
    "integer": _to_integer,
    "float": _to_float,
    "decimal": _to_decimal,
    "date": _to_date,
    "timestamp": _to_timestamp,
    "timestamp_ntz": _to_timestamp_ntz,
    "interval": _to_interval,
}


def _bind(signature: Signature) -> Evaluate:
    return cast(signature.types[0], signature.result, signature.settings)


def _bind_try(signature: Signature) -> Evaluate:
    return cast(signature.types[0], signature.result, replace(signature.settings, is_ansi=True), is_try=True)


_CAST = Function(parameters=unchanged, result=None, bind=_bind)
_TYPE_NAMES = ("boolean", *INTEGER_BITS, *FLOATS, "string", "binary", "date", "timestamp")

CASTS: dict[str, Function] = {
    "CAST": _CAST,
    "TRY_CAST": replace(_CAST, bind=_bind_try),
    **{name: replace(_CAST, result=name) for name in _TYPE_NAMES},
    "decimal": replace(_CAST, result="decimal(10,0)"),
}
