"""AND, OR, NOT and the functions that evaluate an argument only if they need it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlext.expressions.casts import cast
from sqlext.expressions.coercion import as_result, choice_from, chosen_type, compared, takes
from sqlext.expressions.function import Evaluate, Function, ResultType, Signature, Thunk, Types
from sqlext.expressions.values import compare


def _and(left: Thunk, right: Thunk) -> bool | None:
    a = left()
    if a is False:
        return False
    b = right()
    return False if b is False else None if a is None or b is None else True


def _or(left: Thunk, right: Thunk) -> bool | None:
    a = left()
    if a is True:
        return True
    b = right()
    return True if b is True else None if a is None or b is None else False


def _coalesce(*arguments: Thunk) -> Any:
    for argument in arguments:
        value = argument()
        if value is not None:
            return value
    return None


def _case(*parts: Thunk) -> Any:
    for i in range(0, len(parts) - 1, 2):
        if parts[i]() is True:
            return parts[i + 1]()
    return parts[-1]() if len(parts) % 2 else None


def _nvl2(test: Thunk, value: Thunk, otherwise: Thunk) -> Any:
    return value() if test() is not None else otherwise()


def _nullif(signature: Signature) -> Evaluate:
    """The arguments are compared in their common type; the result is the first one as it is."""
    common = compared(signature)
    if common is None:
        raise TypeError(f"nullif{signature.types}")
    as_left, as_right = (cast(t, common[0], signature.settings) for t in signature.types)

    def evaluate(left: Thunk, right: Thunk) -> Any:
        a = left()
        if a is None:
            return None
        b = right()
        return None if b is not None and compare(as_left(a), as_right(b), common[0]) == 0 else a

    return evaluate


def _nanvl(left: Thunk, right: Thunk) -> Any:
    value = left()
    return right() if value is not None and value != value else value


def _extreme(signature: Signature) -> Evaluate:
    spark_type, sign = signature.result, 1 if signature.name == "greatest" else -1

    def evaluate(*values: Any) -> Any:
        best = None
        for value in values:
            if value is not None and (best is None or sign * compare(value, best, spark_type) > 0):
                best = value
        return best

    return evaluate


def _case_types(signature: Signature) -> Types:
    pairs = len(signature.types) // 2
    return ("boolean", signature.result) * pairs + (signature.result,) * (len(signature.types) % 2)


def _case_type(signature: Signature) -> str | None:
    types = signature.types
    return chosen_type(types[1::2] + (types[-1:] if len(types) % 2 else ()), signature.settings)


def _lazy(evaluate: Evaluate, parameters: Callable[[Signature], Types | None], result: str | ResultType) -> Function:
    return Function(parameters=parameters, result=result, bind=lambda _: evaluate, is_lazy=True)


def _if_types(signature: Signature) -> Types:
    return "boolean", signature.result, signature.result


def _nvl2_types(signature: Signature) -> Types:
    return signature.types[0], signature.result, signature.result


def _first_type(signature: Signature) -> str | None:
    return signature.types[0] if signature.types else None


def _nullif_types(signature: Signature) -> Types | None:
    return signature.types if compared(signature) else None


_JUNCTION = takes("boolean", "boolean")
_COALESCE = _lazy(_coalesce, as_result, choice_from(0))
_EXTREME = Function(parameters=as_result, result=choice_from(0), bind=_extreme, takes_nulls=True)

CONTROL: dict[str, Function] = {
    "AND": _lazy(_and, _JUNCTION, "boolean"),
    "OR": _lazy(_or, _JUNCTION, "boolean"),
    "NOT": Function(parameters=takes("boolean"), result="boolean", bind=lambda _: lambda value: not value),
    "CASE": _lazy(_case, _case_types, _case_type),
    "if": _lazy(_case, _if_types, choice_from(1)),
    **dict.fromkeys(("coalesce", "nvl", "ifnull"), _COALESCE),
    "nvl2": _lazy(_nvl2, _nvl2_types, choice_from(1)),
    "nanvl": _lazy(_nanvl, as_result, lambda s: "float" if s.types == ("float", "float") else "double"),
    "nullif": Function(parameters=_nullif_types, result=_first_type, bind=_nullif, is_lazy=True),
    **dict.fromkeys(("least", "greatest"), _EXTREME),
}
