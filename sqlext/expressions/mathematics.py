"""Rounding, roots, powers, logarithms, trigonometry and bits."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

from sqlext.expressions.arithmetic_types import floored_type, rounded_type
from sqlext.expressions.coercion import as_decimal, as_result, chosen_type, digits_of, takes
from sqlext.expressions.faults import overflow
from sqlext.expressions.function import Evaluate, ExecutionSettings, Function, Signature, Types
from sqlext.expressions.numbers import EXACT, fits, float_text, nearest_float32, saturated, to_decimal, wrap
from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, decimal_of, is_interval

_MODES = {"round": ROUND_HALF_UP, "bround": ROUND_HALF_EVEN, "floor": ROUND_FLOOR, "ceil": ROUND_CEILING}
_MODES["ceiling"] = ROUND_CEILING
_MOST_DIGITS = 400  # before or after the point: more than a double or a decimal has
_DOUBLE_AS_DECIMAL = {"float": "decimal(14,7)", "double": "decimal(30,15)"}


_LOWEST_SCALE = -646_456_993  # a larger power of 10 has more bits than Java's BigInteger


def _at_scale(value: Decimal, scale: int, mode: str) -> Decimal:
    """The value with `scale` digits after the point. Raises DataError ARITHMETIC_OVERFLOW as Java does."""
    if scale < _LOWEST_SCALE:
        raise overflow("decimal")
    return value.quantize(Decimal((0, (1,), -max(scale, -_MOST_DIGITS))), rounding=mode, context=EXACT)


def _round_types(signature: Signature) -> Types:
    value, *scale = signature.types
    if value == "void" or (value not in FLOATS and digits_of(value) is None):
        value = signature.result
    return (value, *("int" for _ in scale))


def _round(signature: Signature) -> Evaluate:
    spark_type, mode = signature.types[0], _MODES[signature.name]
    if digits := decimal_of(signature.result):
        return _decimal_rounding(digits, mode, signature.settings)
    if spark_type in FLOATS:
        return lambda value, scale=0: _round_float(value, scale, mode, is_double=spark_type == "double")
    bits, is_ansi = INTEGER_BITS[spark_type], signature.settings.is_ansi

    def round_integer(value: int, scale: int = 0) -> int:
        if scale >= 0:
            return value
        rounded = int(_at_scale(Decimal(value), scale, mode))
        if is_ansi and not fits(rounded, bits):
            raise overflow()
        return wrap(rounded, bits)

    return round_integer


def _decimal_rounding(digits: tuple[int, int], mode: str, settings: ExecutionSettings) -> Evaluate:
    """The rounding to a decimal type. With negative places, a result that does not fit is an error without ANSI too."""
    always_fails = replace(settings, is_ansi=True)
    return lambda value, scale=0: to_decimal(
        _at_scale(value, min(scale, digits[1]), mode), *digits, always_fails if scale < 0 else settings
    )


def _round_float(value: float, scale: int, mode: str, *, is_double: bool) -> float:
    """The rounded number, which is never -0.0: Java's BigDecimal has none.

    >>> _round_float(-0.4, 0, ROUND_HALF_UP, is_double=True)
    0.0
    """
    if not math.isfinite(value):
        return value
    rounded = _at_scale(Decimal(float_text(value, is_double=is_double)), min(scale, _MOST_DIGITS), mode)
    return (float(rounded) if is_double else nearest_float32(rounded)) + 0.0


def _floor_types(signature: Signature) -> Types:
    """The types of the arguments: one argument is a double, a decimal or a bigint; of two, the first is a decimal."""
    value, *scale = signature.types
    if scale:
        value = _DOUBLE_AS_DECIMAL.get(value) or (as_decimal(value) if digits_of(value) else "decimal(38,18)")
        return (value, "int")
    if decimal_of(value):
        return (value,)
    return ("bigint",) if value in INTEGER_BITS else ("double",)


def _floor(signature: Signature) -> Evaluate:
    mode = _MODES[signature.name]
    if digits := decimal_of(signature.result):
        return _decimal_rounding(digits, mode, signature.settings)
    if signature.types[0] == "double":
        whole = math.floor if mode == ROUND_FLOOR else math.ceil
        return lambda value: whole(value) if abs(value) < 2**53 else saturated(value, 64)
    return lambda value: value


def _double(evaluate: Callable[..., float | None], n: int = 1) -> Function:
    """A function of doubles. Where Python raises an error, the result is that of Java."""
    return Function(parameters=takes(*["double"] * n), result="double", bind=lambda _: evaluate)


def _or_nan(evaluate: Callable[[float], float], at_overflow: float = math.inf) -> Callable[[float], float]:
    def guarded(value: float) -> float:
        try:
            return evaluate(value)
        except OverflowError:
            return at_overflow
        except ValueError:
            return math.nan

    return guarded


def _logarithm(evaluate: Callable[[float], float], asymptote: float = 0.0) -> Callable[[float], float | None]:
    return lambda value: None if value <= asymptote else value if value == math.inf else evaluate(value)


def _log(*values: float) -> float | None:
    """`log(x)` is the natural logarithm, `log(base, x)` the logarithm to a base."""
    if any(value <= 0 for value in values):
        return None
    logs = [math.inf if value == math.inf else math.log(value) for value in values]
    if len(logs) == 1:
        return logs[0]
    base, value = logs
    if base == 0:
        return math.nan if value == 0 or value != value else math.copysign(math.inf, value * math.copysign(1, base))
    return value / base


def power(base: float, exponent: float) -> float:
    """Java's power: NaN for 1 and -1 to the power of infinity, where C returns 1.

    >>> power(1.0, math.inf), power(0.0, -1.0), power(-8.0, 1 / 3), power(10.0, 400.0)
    (nan, inf, nan, inf)
    """
    if exponent == 0:
        return 1.0
    if exponent != exponent or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    is_odd = exponent % 2 == 1
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and is_odd else math.inf
    except ValueError:
        if base != 0:
            return math.nan
        return math.copysign(math.inf, base) if is_odd else math.inf


def _sign(value: Any) -> float:
    number = float(value)  # intervals are integers
    return number if number != number or number == 0 else math.copysign(1.0, number)


def _cbrt(value: float) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    root = math.copysign(abs(value) ** (1 / 3), value)
    near = round(root)
    return float(near) if near**3 == value else root - (root**3 - value) / (3 * root * root)


def _atan2(y: float, x: float) -> float:
    return math.atan2(y + 0.0, x + 0.0)


def _bits(evaluate: Callable[..., int]) -> Function:
    return Function(parameters=as_result, result=_bits_type, bind=lambda _: evaluate)


def _bits_type(signature: Signature) -> str | None:
    common = chosen_type(signature.types, signature.settings)
    return common if common in INTEGER_BITS else None


def _shift_types(signature: Signature) -> Types:
    return ("bigint" if signature.result == "bigint" else "int", "int")


def _shift_type(signature: Signature) -> str:
    return "bigint" if signature.types[:1] == ("bigint",) else "int"


def _shift(signature: Signature) -> Evaluate:
    bits = INTEGER_BITS[signature.result]
    if signature.name in ("<<", "shiftleft"):
        return lambda value, n: wrap(value << (n % bits), bits)
    if signature.name in (">>", "shiftright"):
        return lambda value, n: value >> (n % bits)
    return lambda value, n: wrap((value & ((1 << bits) - 1)) >> (n % bits), bits)


def _sign_types(signature: Signature) -> Types:
    return tuple(t if is_interval(t) else "double" for t in signature.types)


_ROUND = Function(parameters=_round_types, result=rounded_type, bind=_round)
_FLOOR = Function(parameters=_floor_types, result=floored_type, bind=_floor)
_SHIFT = Function(parameters=_shift_types, result=_shift_type, bind=_shift)
_SIGN = Function(parameters=_sign_types, result="double", bind=lambda _: _sign)

MATHEMATICS: dict[str, Function] = {
    "round": _ROUND,
    "bround": _ROUND,
    "floor": _FLOOR,
    "ceil": _FLOOR,
    "ceiling": _FLOOR,
    "sqrt": _double(_or_nan(math.sqrt)),
    "cbrt": _double(_cbrt),
    "exp": _double(_or_nan(math.exp)),
    "expm1": _double(_or_nan(math.expm1)),
    "ln": _double(_logarithm(math.log)),
    "log": Function(parameters=takes("double", "double", optional=1), result="double", bind=lambda _: _log),
    "log10": _double(_logarithm(math.log10)),
    "log2": _double(_logarithm(lambda value: math.log(value) / math.log(2.0))),
    "log1p": _double(_logarithm(math.log1p, -1.0)),
    "pow": _double(power, 2),
    "power": _double(power, 2),
    "hypot": _double(math.hypot, 2),
    "sign": _SIGN,
    "signum": _SIGN,
    "sin": _double(_or_nan(math.sin)),
    "cos": _double(_or_nan(math.cos)),
    "tan": _double(_or_nan(math.tan)),
    "asin": _double(_or_nan(math.asin)),
    "acos": _double(_or_nan(math.acos)),
    "atan": _double(math.atan),
    "atan2": _double(_atan2, 2),
    "sinh": _double(lambda v: _or_nan(math.sinh, math.copysign(math.inf, v))(v)),
    "cosh": _double(_or_nan(math.cosh)),
    "tanh": _double(math.tanh),
    "degrees": _double(math.degrees),
    "radians": _double(math.radians),
    "pi": _double(lambda: math.pi, 0),
    "e": _double(lambda: math.e, 0),
    "&": _bits(operator.and_),
    "|": _bits(operator.or_),
    "^": _bits(operator.xor),
    "~": _bits(operator.invert),
    **dict.fromkeys(("<<", ">>", ">>>", "shiftleft", "shiftright", "shiftrightunsigned"), _SHIFT),
}
