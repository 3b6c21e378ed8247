"""`+ - * / % div`, their try_ forms, negation and abs, on numbers. Dates and intervals are in `time_arithmetic`."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sqlext.expressions import faults
from sqlext.expressions.coercion import as_decimal, as_result, digits_of
from sqlext.expressions.function import Evaluate, Function, Settings, Signature, Types
from sqlext.expressions.numbers import EXACT, fits, rescaled, to_decimal, to_float32, wrap
from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, decimal_of, is_interval
from sqlext.expressions.time_arithmetic import TIME_ARITHMETIC


def _operands(signature: Signature) -> Types | None:
    """Decimals stay as they are; other operands are cast to the type of the result."""
    if decimal_of(signature.result):
        return tuple(as_decimal(t) if digits_of(t) else signature.result for t in signature.types)
    if signature.result in INTEGER_BITS or signature.result in FLOATS:
        return as_result(signature)
    return TIME_ARITHMETIC[signature.name.removeprefix("try_")].parameters(signature)


_SYMBOLS = {"try_add": "+", "try_subtract": "-", "try_multiply": "*", "try_divide": "/", "try_mod": "%", "mod": "%"}


def _bind(signature: Signature) -> Evaluate:
    symbol = _SYMBOLS.get(signature.name, signature.name)
    if signature.name.startswith("try_"):
        return _or_null(_operation(signature, symbol, Settings(True, signature.settings.time_zone)))
    return _operation(signature, symbol, signature.settings)


def _operation(signature: Signature, symbol: str, settings: Settings) -> Evaluate:
    if digits := decimal_of(signature.result):
        return _decimal_operation(symbol, *digits, settings)
    if signature.result in INTEGER_BITS:
        return _integer_operation(symbol, INTEGER_BITS[signature.result], settings)
    if signature.result in FLOATS:
        return _float_operation(symbol, signature.result, settings)
    return TIME_ARITHMETIC[symbol].bind(signature)


def _or_null(evaluate: Evaluate) -> Evaluate:
    def evaluate_or_null(*values: Any) -> Any:
        try:
            return evaluate(*values)
        except faults.DataError:
            return None

    return evaluate_or_null


def _remainder(a: int, b: int) -> int:
    """Java's: the sign is that of the dividend."""
    return int(math.copysign(1, a)) * (abs(a) % abs(b))


_INTEGERS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "%": _remainder,
    "pmod": lambda a, b: r if (r := _remainder(a, b)) >= 0 else _remainder(r + b, b),
}
_FLOATS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: math.nan if math.isinf(a) or a != a or b != b else math.fmod(a, b),
    "pmod": lambda a, b: r if not (r := _FLOATS["%"](a, b)) < 0 else _FLOATS["%"](r + b, b),
}
_DECIMALS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "/": lambda a, b: EXACT.quantize(EXACT.divide(a, b), Decimal((0, (1,), -39))),
    "%": EXACT.remainder,
    "pmod": lambda a, b: r if (r := EXACT.remainder(a, b)) >= 0 else EXACT.remainder(EXACT.add(r, b), b),
}


def _zero(symbol: str, settings: Settings) -> Any:
    """The quotient by zero: NULL, or an error."""
    if settings.is_ansi:
        raise faults.remainder_by_zero() if symbol in ("%", "pmod") else faults.division_by_zero()


def _integer_operation(symbol: str, bits: int, settings: Settings) -> Evaluate:
    operation, divides = _INTEGERS[symbol], symbol in ("%", "pmod")

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


def _float_operation(symbol: str, result: str, settings: Settings) -> Evaluate:
    operation, divides, is_single = _FLOATS[symbol], symbol in ("/", "%", "pmod"), result == "float"

    def evaluate(a: float, b: float) -> float | None:
        if divides and b == 0:
            return _zero(symbol, settings)
        value = operation(a, b)
        return to_float32(value) if is_single else value

    return evaluate


def _decimal_operation(symbol: str, precision: int, scale: int, settings: Settings) -> Evaluate:
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

    def evaluate(a: Any, b: Any) -> int | None:
        if not b:
            return _zero("div", signature.settings)
        if isinstance(a, Decimal):
            value = int(EXACT.divide_int(a, b))
        else:
            value = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        if is_ansi and not fits(value, 64):
            raise faults.overflow("number")
        return wrap(value, 64)

    return evaluate


# one operand


def _negate(signature: Signature) -> Evaluate:
    return _unary(signature, lambda a: -a)


def _abs(signature: Signature) -> Evaluate:
    return _unary(signature, abs)


def _unary(signature: Signature, operation: Callable[[Any], Any]) -> Evaluate:
    """A result that is out of range is that of the lowest integer."""
    result, is_ansi = signature.result, signature.settings.is_ansi
    if digits := decimal_of(result):
        return lambda a: rescaled(EXACT.minus(a) if operation(a) != a else a, *digits)
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


ARITHMETIC: dict[str, Function] = {
    **{name: Function(parameters=_operands, bind=_bind) for name in ("+", "-", "*", "/", "%", "pmod", *_SYMBOLS)},
    "div": Function(parameters=_div_operands, bind=_div),
    "negate": Function(parameters=as_result, bind=_negate),
    "positive": Function(parameters=as_result, bind=lambda _: lambda a: a),
    "abs": Function(parameters=as_result, bind=_abs),
}
