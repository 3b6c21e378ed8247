"""`+ - * / % div`, their try_ forms, negation and abs, on numbers. Dates and intervals are in `time_arithmetic`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from sqlext.expressions import faults
from sqlext.expressions.arithmetic_types import SYMBOLS, operation_type, signed_type
from sqlext.expressions.coercion import as_decimal, as_result, digits_of
from sqlext.expressions.function import Evaluate, ExecutionSettings, Function, Signature, Types, null_on_error
from sqlext.expressions.numbers import (
    DECIMAL128,
    EXACT,
    fits,
    quotient,
    remainder,
    rescaled,
    to_decimal,
    to_float32,
    wrap,
)
from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, decimal_of, is_interval
from sqlext.expressions.time_arithmetic import TIME_ARITHMETIC


def _operands(signature: Signature) -> Types | None:
    """The types of the operands: decimals stay as they are, others are cast to the type of the result."""
    if decimal_of(signature.result):
        return tuple(as_decimal(t) if digits_of(t) else signature.result for t in signature.types)
    if signature.result in INTEGER_BITS or signature.result in FLOATS:
        return as_result(signature)
    return TIME_ARITHMETIC[SYMBOLS.get(signature.name, signature.name)].parameters(signature)


def _bind(signature: Signature) -> Evaluate:
    symbol = SYMBOLS.get(signature.name, signature.name)
    if signature.name.startswith("try_"):
        operation = _operation(signature, symbol, replace(signature.settings, is_ansi=True))
        return null_on_error(symbol, operation)
    return _operation(signature, symbol, signature.settings)


def _operation(signature: Signature, symbol: str, settings: ExecutionSettings) -> Evaluate:
    if digits := decimal_of(signature.result):
        return _decimal_operation(symbol, *digits, settings)
    if signature.result in INTEGER_BITS:
        return _integer_operation(symbol, INTEGER_BITS[signature.result], settings)
    if signature.result in FLOATS:
        return _float_operation(symbol, signature.result, settings)
    return TIME_ARITHMETIC[symbol].bind(replace(signature, name=symbol))


def _positive_float_remainder(rounded: Callable[[float], float]) -> Callable[[float, float], float]:
    """The remainder made positive by adding the divisor. The sum is `rounded` to the type of the result."""

    def evaluate(a: float, b: float) -> float:
        result = _FLOATS["%"](a, b)
        return _FLOATS["%"](rounded(result + b), b) if result < 0 else result

    return evaluate


def _positive_remainder(bits: int) -> Callable[[int, int], int]:
    """The remainder made positive by adding the divisor. The sum is computed as Java's int or long, so it may wrap."""

    def evaluate(a: int, b: int) -> int:
        result = remainder(a, b)
        return result if result >= 0 else remainder(wrap(result + b, max(bits, 32)), b)

    return evaluate


_INTEGERS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "%": remainder,
}
_FLOATS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: math.nan if math.isinf(a) or a != a or b != b else math.fmod(a, b),
}
_DECIMALS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "/": lambda a, b: EXACT.quantize(EXACT.divide(a, b), Decimal((0, (1,), -39))),
    "%": EXACT.remainder,
    "pmod": lambda a, b: r if (r := EXACT.remainder(a, b)) >= 0 else EXACT.remainder(EXACT.add(r, b), b),
}


def _zero(symbol: str, settings: ExecutionSettings) -> Any:
    """The result of a division by zero: NULL, or an error."""
    if settings.is_ansi:
        raise faults.remainder_by_zero() if symbol in ("%", "pmod") else faults.division_by_zero()


def _integer_operation(symbol: str, bits: int, settings: ExecutionSettings) -> Evaluate:
    operation, divides = _INTEGERS.get(symbol) or _positive_remainder(bits), symbol in ("%", "pmod")

    def evaluate(a: int, b: int) -> int | None:
        if divides and b == 0:
            return _zero(symbol, settings)
        value = operation(a, b)
        if fits(value, bits):
            return value
        if settings.is_ansi:
            raise faults.overflow("integer" if bits == 32 else "number")
        return wrap(value, bits)

    return evaluate


def _float_operation(symbol: str, result: str, settings: ExecutionSettings) -> Evaluate:
    divides, rounded = symbol in ("/", "%", "pmod"), to_float32 if result == "float" else float
    operation = _FLOATS.get(symbol) or _positive_float_remainder(rounded)

    def evaluate(a: float, b: float) -> float | None:
        if divides and b == 0:
            return _zero(symbol, settings)
        return rounded(operation(a, b))

    return evaluate


def _decimal_operation(symbol: str, precision: int, scale: int, settings: ExecutionSettings) -> Evaluate:
    operation, divides = _DECIMALS[symbol], symbol in ("/", "%", "pmod")

    def evaluate(a: Decimal, b: Decimal) -> Decimal | None:
        if divides and not b:
            return _zero(symbol, settings)
        return to_decimal(operation(a, b), precision, scale, settings)

    return evaluate


# div


def _div_operands(signature: Signature) -> Types:
    decimals = any(decimal_of(t) for t in signature.types)
    if any(is_interval(t) for t in signature.types):
        return signature.types
    return tuple(as_decimal(t) if decimals and digits_of(t) else "bigint" for t in signature.types)


def _div(signature: Signature) -> Evaluate:
    is_ansi = signature.settings.is_ansi
    (precision, scale), (_, divisor_scale) = (decimal_of(t) or (0, 0) for t in signature.types)
    most = 10 ** min(38, precision - scale + divisor_scale)  # Spark's quotient is first a decimal, then a bigint

    def evaluate(a: Any, b: Any) -> int | None:
        if not b:
            return _zero("div", signature.settings)
        if isinstance(a, Decimal):
            value = int(EXACT.divide_int(a, b))
            if abs(value) >= most:
                if is_ansi:
                    raise faults.decimal_out_of_range(value, 38, 0)
                return None
        else:
            value = quotient(a, b)
        if is_ansi and not isinstance(a, Decimal) and not fits(value, 64):
            raise faults.overflow("number")
        return wrap(value, 64)

    return evaluate


# one operand


def _negated(value: Decimal, precision: int, scale: int) -> Decimal:
    """The negated value, of which Spark keeps only 34 digits."""
    result = rescaled(DECIMAL128.minus(value), precision, scale)
    if result is None:
        raise faults.decimal_out_of_range(-value, precision, scale)
    return result


def _unary(signature: Signature, *, operation: Callable[[Any], Any]) -> Evaluate:
    """The function of one operand. Only the lowest integer has a result that is out of range."""
    result, is_ansi, keeps_positive = signature.result, signature.settings.is_ansi, operation is abs
    if digits := decimal_of(result):
        return lambda a: a if keeps_positive and a >= 0 else _negated(a, *digits)
    if result in FLOATS:
        return operation
    bits = INTEGER_BITS.get(result, 32 if "month" in result or "year" in result else 64)
    must_fit = is_ansi or is_interval(result)

    def evaluate(a: int) -> int:
        value = operation(a)
        if fits(value, bits):
            return value
        if must_fit:
            raise faults.interval_overflow() if is_interval(result) else faults.overflow()
        return wrap(value, bits)

    return evaluate


_OPERATION = Function(parameters=_operands, result=operation_type, bind=_bind)

ARITHMETIC: dict[str, Function] = {
    **dict.fromkeys(("+", "-", "*", "try_add", "try_subtract", "try_multiply"), _OPERATION),
    **dict.fromkeys(("/", "%", "mod", "pmod", "try_divide", "try_mod"), replace(_OPERATION, is_right_first=True)),
    "div": Function(parameters=_div_operands, result="bigint", bind=_div, is_right_first=True),
    **dict.fromkeys(
        ("negate", "negative"),  # the operator, and Spark's function
        Function(parameters=as_result, result=signed_type, bind=partial(_unary, operation=operator.neg)),
    ),
    "positive": Function(parameters=as_result, result=signed_type, bind=lambda _: lambda a: a),
    "abs": Function(parameters=as_result, result=signed_type, bind=partial(_unary, operation=abs)),
}
