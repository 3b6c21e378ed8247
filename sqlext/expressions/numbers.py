"""Integers of a fixed width, 32-bit floats and decimals, as Java computes them."""

from __future__ import annotations

import math
from ctypes import c_float
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np

from sqlext.expressions.faults import decimal_out_of_range
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.spark_types import INTEGER_BITS

EXACT = Context(prec=800, rounding=ROUND_HALF_UP, Emin=-9999, Emax=9999)  # sums, products and doubles keep their digits
DECIMAL128 = Context(prec=34)  # used where Spark computes with Scala's BigDecimal, which rounds to 34 digits


def wrap(value: int, bits: int) -> int:
    """The integer whose two's complement is the low bits of the value.

    >>> wrap(2**31, 32)
    -2147483648
    """
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def quotient(a: int, b: int) -> int:
    """Java's division of integers, which rounds toward zero.

    >>> quotient(-7, 2), quotient(7, 2)
    (-3, 3)
    """
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def remainder(a: int, b: int) -> int:
    """Java's remainder, which has the sign of the dividend."""
    return a - b * quotient(a, b)


def fits(value: int, bits: int) -> bool:
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def to_float32(value: float) -> float:
    """The nearest 32-bit float.

    >>> to_float32(0.1), to_float32(1e300)
    (0.10000000149011612, inf)
    """
    return c_float(value).value


def nearest_float32(exact: int | Decimal) -> float:
    """The nearest 32-bit float, also where the nearest double is halfway between two of them.

    >>> number = 2**60 + 2**36 + 1
    >>> to_float32(number) == 2.0**60, nearest_float32(number) == 2.0**60 + 2.0**37
    (True, True)
    """
    value = float(exact)
    rounded = to_float32(value)
    other = 2 * value - rounded  # the float on the other side, if the double is halfway between two
    if value == exact or math.isinf(rounded) or to_float32(other) != other:
        return rounded
    return max(rounded, other) if exact > value else min(rounded, other)


def saturated(value: float, bits: int) -> int:
    """Java's conversion of a double to int or long: NaN is 0, and what does not fit is the nearest bound."""
    if value != value:
        return 0
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return high if value >= high else low if value <= low else int(value)


def float_to_integer(value: float, spark_type: str) -> int:
    """Spark's conversion without ANSI: smallint and tinyint are the low bits of the int.

    >>> float_to_integer(1e10, "int"), float_to_integer(1e10, "smallint")
    (2147483647, -1)
    """
    bits = INTEGER_BITS[spark_type]
    return wrap(saturated(value, max(32, bits)), bits)


def rescaled(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """The value with `scale` digits after the point, half up; None if it has more than `precision` digits.

    >>> rescaled(Decimal("1.005"), 3, 2), rescaled(Decimal("99.999"), 4, 2)
    (Decimal('1.01'), None)
    """
    rounded = EXACT.quantize(value, Decimal((0, (1,), -scale)))
    if rounded and rounded.adjusted() >= precision - scale:
        return None
    return rounded if rounded else Decimal((0, (0,), -scale))  # no -0.00


def to_decimal(value: Decimal, precision: int, scale: int, settings: ExecutionSettings) -> Decimal | None:
    """As `rescaled`, with the error of ANSI instead of None. Raises DataError NUMERIC_VALUE_OUT_OF_RANGE."""
    result = rescaled(value, precision, scale)
    if result is None and settings.is_ansi:
        raise decimal_out_of_range(value, precision, scale)
    return result


def float_text(value: float, *, is_double: bool) -> str:
    """The text of `Double.toString` or `Float.toString`.

    >>> [float_text(value, is_double=True) for value in (0.1, 1e7, -0.0)], float_text(to_float32(0.1), is_double=False)
    (['0.1', '1.0E7', '-0.0'], '0.1')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    shortest = repr(value) if is_double else str(np.float32(value))
    sign, digits, exponent = Decimal(shortest).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    point = len(digits) + int(exponent)  # digits before the point
    minus = "-" * sign
    if -3 < point <= 7:
        whole, fraction = (text[:point].ljust(point, "0"), text[point:]) if point > 0 else ("0", "0" * -point + text)
        return f"{minus}{whole}.{fraction or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"
