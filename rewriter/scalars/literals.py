"""Computes the values of Spark's literals without Spark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from sqlext.errors import BindError, UnsupportedError
from sqlext.expressions.casts import cast
from sqlext.expressions.function import (
    CONSECUTIVE_STRINGS,
    ESCAPED_STRINGS,
    EXPONENT_IS_DECIMAL,
    QUOTED_NAMES,
    ExecutionSettings,
)
from sqlext.expressions.scalar_tree import Constant
from sqlext.expressions.spark_types import INTEGER_BITS, is_year_month
from sqlext.expressions.time_texts import has_zone
from sqlext.rewriter.text.lexemes import string_value

_NUMBER = re.compile(r"(-?(?:\d+\.?\d*|\.\d+))(e[+-]?\d+)?(bd|[ldfsy])?", re.IGNORECASE)
_SUFFIXES = {"L": "bigint", "D": "double", "F": "float", "S": "smallint", "Y": "tinyint"}
_DAY_TIME = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_SMALL = {
    "WEEK": ("DAY", Decimal(7)),
    "MILLISECOND": ("SECOND", Decimal("0.001")),
    "MICROSECOND": ("SECOND", Decimal("1e-6")),
}
_YEAR_MONTH = {"YEAR": 12, "MONTH": 1}
_LIMITS = {"MONTH": 12, "HOUR": 24, "MINUTE": 60, "SECOND": 60}  # of a unit that follows a larger one
_SEPARATORS = {"MONTH": "-", "HOUR": " "}  # before a unit that follows a larger one; others have a colon
_AMOUNT = re.compile(r"((?:[+-]\s*)*)(\d+\.?\d*|\.\d+)\s+([a-z]+)", re.IGNORECASE)
_AMOUNTS = re.compile(rf"(?:{_AMOUNT.pattern}(?:\s+|$))+", re.IGNORECASE)


def literal(words: Sequence[str], settings: ExecutionSettings) -> Constant:
    """The value of the words of a literal, without parentheses around it. The first word may be the sign of a number.

    Raises BindError: LITERAL; UnsupportedError.

    >>> utc = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> [literal(words, utc).value for words in (["1.50"], ["'it\\\\'s'"], ["X'1F'"], ["DATE", "'1970-01-02'"])]
    [Decimal('1.50'), "it's", b'\\x1f', 1]
    >>> literal(["INTERVAL", "'90'", "MINUTES"], utc)
    Constant(value=5400000000, type='interval minute')
    """
    try:
        return _literal(words, settings)
    except (ArithmeticError, ValueError, IndexError):  # for example, characters that are not digits
        raise BindError("LITERAL", f"{' '.join(words)} is no literal") from None


def _literal(words: Sequence[str], settings: ExecutionSettings) -> Constant:
    first = words[0].upper()
    if first[0] == '"' and settings.is_ansi and QUOTED_NAMES in settings.is_on:
        raise UnsupportedError("EXPRESSION", f"{words[0]} is a name with {QUOTED_NAMES}", hint="write '…' or `…`.")
    if first == "-":
        return number("-" + words[1], exponent_is_decimal=EXPONENT_IS_DECIMAL in settings.is_on)
    if first in ("TRUE", "FALSE", "NULL"):
        return Constant({"TRUE": True, "FALSE": False, "NULL": None}[first], "void" if first == "NULL" else "boolean")
    if first == "INTERVAL":
        return _interval(words[1:])
    if len(words) == 2 and words[1][:1] in "'\"":
        return _typed(first, words[1], settings)
    if first[0] in "'\"" or first[:2] in ("R'", 'R"'):
        return Constant("".join(_string(word, settings) for word in words), "string")
    if first[-1] in "'\"":
        return _typed(first[0], words[0][1:], settings)
    return number(words[0], exponent_is_decimal=EXPONENT_IS_DECIMAL in settings.is_on)


def _string(raw: str, settings: ExecutionSettings) -> str:
    """The value of a string, as the session reads it.

    >>> escaped = ExecutionSettings(is_ansi=True, time_zone="UTC", is_on=frozenset({ESCAPED_STRINGS}))
    >>> [len(_string(raw, escaped)) for raw in ("'\\\\d'", "'it''s'")]
    [2, 5]
    """
    if ESCAPED_STRINGS in settings.is_on:
        return raw[1:-1]
    if CONSECUTIVE_STRINGS in settings.is_on and raw[0] in "'\"":
        raw = raw[0] + raw[1:-1].replace(raw[0] * 2, "") + raw[0]
    return string_value(raw)


def number(raw: str, *, exponent_is_decimal: bool = False) -> Constant:
    """The value of a number.

    `exponent_is_decimal`: a number with an exponent is a decimal.

    >>> number("0.5"), number("3L").type, number("1e3").type, number("99999999999").type, number("1e3BD").type
    (Constant(value=Decimal('0.5'), type='decimal(1,1)'), 'bigint', 'double', 'bigint', 'decimal(4,0)')
    """
    match = _NUMBER.fullmatch(raw)
    if match is None:
        raise BindError("LITERAL", f"{raw} is no number")
    digits, exponent, suffix = match[1], match[2] or "", (match[3] or "").upper()
    if suffix in ("D", "F"):
        return Constant(float(digits + exponent), _SUFFIXES[suffix])
    if suffix in _SUFFIXES:
        kind = _SUFFIXES[suffix]
        if not _fits(int(digits), kind):
            raise BindError("LITERAL", f"{raw} does not fit {kind.upper()}")
        return Constant(int(digits), kind)
    if exponent and not suffix and not exponent_is_decimal:
        return Constant(float(digits + exponent), "double")
    if "." in digits or exponent or suffix == "BD" or not _fits(int(digits), "bigint"):
        value = Decimal(digits + exponent)
        power = int(value.as_tuple().exponent)
        value, scale = value.quantize(Decimal(1)) if power > 0 else value, max(0, -power)
        return Constant(value, f"decimal({max(len(value.as_tuple().digits), scale)},{scale})")
    return Constant(int(digits), "int" if _fits(int(digits), "int") else "bigint")


def _fits(value: int, spark_type: str) -> bool:
    limit = 1 << (INTEGER_BITS[spark_type] - 1)
    return -limit <= value < limit


def _typed(kind: str, raw: str, settings: ExecutionSettings) -> Constant:
    """The value of `DATE '…'`, `TIMESTAMP '…'` or `X'…'`."""
    text = string_value(raw)
    if kind == "X":
        return Constant(bytes.fromhex(text.rjust(len(text) + len(text) % 2, "0")), "binary")
    of_session = "timestamp" if has_zone(text) else settings.timestamp_type
    types = {"DATE": "date", "TIMESTAMP": of_session, "TIMESTAMP_NTZ": "timestamp_ntz", "TIMESTAMP_LTZ": "timestamp"}
    if kind not in types:
        raise UnsupportedError("EXPRESSION", f"a literal {kind} cannot be read here")
    value = cast("string", types[kind], replace(settings, is_ansi=False))(text)
    if value is None:
        hint = "write DATE '2026-03-02' or TIMESTAMP '2026-03-02 10:00:00'."
        raise BindError("LITERAL", f"{raw} is no {types[kind]}", hint=hint)
    return Constant(value, types[kind])


def _interval(words: Sequence[str]) -> Constant:
    """The value of `'1' DAY`, `-5 MINUTES`, `'1 2' DAY TO HOUR`, `1 DAY 2 HOURS` or `'10 minutes'`."""
    texts = [string_value(word).strip() if word[:1] in "'\"" else word for word in words]
    if len(words) >= 4 and words[-2].upper() == "TO":
        return _range_of_units("".join(texts[:-3]), words[-3].upper(), words[-1].upper())
    text = " ".join(texts)
    if len(words) == 1:
        text = re.sub(r"^interval\s", "", text, flags=re.IGNORECASE)
    if not _AMOUNTS.fullmatch(text.strip()):
        raise BindError("LITERAL", f"'{text}' is no interval", hint="write INTERVAL 1 DAY 2 HOURS.")
    total, units = Decimal(0), []
    for signs, amount, written in _AMOUNT.findall(text):
        name = written.upper().removesuffix("S")
        unit, times = _SMALL.get(name, (name, Decimal(1)))
        if "." in amount and name != "SECOND":
            raise BindError(
                "LITERAL",
                f"only seconds have a fraction, not {amount} {written}",
                hint="write INTERVAL 1 DAY 12 HOURS.",
            )
        units.append(unit)
        total += _sign(signs) * Decimal(amount) * times * _size(unit)
    return _interval_of(total, units)


def _range_of_units(text: str, first: str, last: str) -> Constant:
    """The value of `'1 02:03' DAY TO MINUTE` or `'1-2' YEAR TO MONTH`."""
    units = list(_YEAR_MONTH if first in _YEAR_MONTH else _DAY_TIME)
    if first not in units or last not in units[units.index(first) + 1 :]:
        hint = "the units are YEAR TO MONTH, or two of DAY, HOUR, MINUTE and SECOND, the larger one first."
        raise BindError("LITERAL", f"there is no interval {first} TO {last}", hint=hint)
    named = units[units.index(first) : units.index(last) + 1]
    separators = [_SEPARATORS.get(unit, ":") for unit in named[1:]]
    fraction = r"(?:\.\d{1,9})?" if last == "SECOND" else ""
    later = [rf"{separator}(\d\d?)" for separator in separators[:-1]] + [rf"{separators[-1]}(\d\d?{fraction})"]
    match = re.fullmatch(r"([+-]*)(\d+)" + "".join(later), text)
    amounts = [Decimal(amount) for amount in match.groups()[1:]] if match else []
    if match is None or any(amount >= _LIMITS[unit] for amount, unit in zip(amounts[1:], named[1:])):
        example = "1" + "".join(f"{separator}{i}" for i, separator in enumerate(separators, 2))
        hint = f"write INTERVAL '{example}' {first} TO {last}."
        raise BindError("LITERAL", f"'{text}' is no interval {first} TO {last}", hint=hint)
    total = sum((amount * _size(unit) for amount, unit in zip(amounts, named)), Decimal(0))
    return _interval_of(_sign(match[1]) * total, named)


def _sign(signs: str) -> int:
    return -1 if signs.count("-") % 2 else 1


def _interval_of(total: Decimal, units: Sequence[str]) -> Constant:
    """An interval of so many months or microseconds. Raises BindError (LITERAL) if it has more bits than Spark's."""
    spark_type = _type(units)
    largest = (1 << (31 if is_year_month(spark_type) else 63)) - 1
    if not -largest - 1 <= int(total) <= largest:
        raise BindError("LITERAL", "the interval is too long", hint="write fewer days or years.")
    return Constant(int(total), spark_type)


def _size(unit: str) -> int:
    size = {**_DAY_TIME, **_YEAR_MONTH}.get(unit)
    if size is None:
        raise BindError("LITERAL", f"{unit} is no unit of an interval")
    return size


def _type(units: Sequence[str]) -> str:
    order = [*_YEAR_MONTH, *_DAY_TIME]
    if not units or len({unit in _YEAR_MONTH for unit in units}) > 1:
        raise BindError("LITERAL", "an interval is of years and months, or of days and smaller units")
    first, last = min(units, key=order.index).lower(), max(units, key=order.index).lower()
    return f"interval {first}" if first == last else f"interval {first} to {last}"


def shown_number(value: float) -> str:
    """A number as messages show it.

    >>> shown_number(-300.0), shown_number(0.5)
    ('-300', '0.5')
    """
    return f"{value:.0f}" if value == int(value) else repr(value)
