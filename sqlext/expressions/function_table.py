"""The list of functions that are computed where several rows meet, and how to call them.

A caller asks Spark, or `result_type` where there is no session, for the types of an expression and of its parts. For
each function over several rows it calls `parameter_types`, wraps an argument whose type differs in `CAST` (by
`bind("CAST", (type,), parameter_type, …)`), and then calls `bind`. Functions have Spark's names in lower case;
operators and predicates are written in upper case:

| name | arguments |
|---|---|
| `+ - * / % div negate`, `\\|\\|`, `& \\| ^ ~` | operands |
| `= <> < <= > >= <=>`, `IS DISTINCT FROM`, `IS NULL`, `IS NOT NULL` | operands |
| `AND OR NOT` | operands; AND and OR have two |
| `BETWEEN` | value, low, high |
| `IN` | value, choices… |
| `LIKE`, `ILIKE`, `RLIKE` | value, pattern, and the escape character if there is one |
| `CASE` | condition, value, condition, value, …, and the ELSE value if there is one |
| `CAST`, `TRY_CAST` | value; the type is the `result` |
| `.` | struct, the field's name as a string |
| `[]` | array and index, or map and key |
| `extract` | the field's name as a string, value; the same as `date_part` |

Known differences from Spark: the last digits of logarithms, powers and trigonometric functions; the text of some
floats, which Java before 19 writes with more digits than needed (99999998000 as 9.9999998E10); empty matches and
positions of regular expressions in texts with characters beyond U+FFFF, which Java counts twice; groups of regular
expressions in which Java leaves what a failed attempt matched; `$` right after the position of regexp_replace in a text
that ends in CR LF; invalid UTF-8.

Units such as MONTH of `timestampdiff(MONTH, a, b)` are strings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from sqlext.errors import UnsupportedError
from sqlext.expressions.arithmetic import ARITHMETIC
from sqlext.expressions.casts import CASTS
from sqlext.expressions.comparisons import COMPARISONS
from sqlext.expressions.control import CONTROL
from sqlext.expressions.function import (
    Evaluate,
    ExecutionSettings,
    Function,
    Signature,
    Thunk,
    Types,
    limited,
    null_propagating,
    of_one_row,
)
from sqlext.expressions.mathematics import MATHEMATICS
from sqlext.expressions.nested_values import NESTED_VALUES
from sqlext.expressions.spark_types import TIME_TYPES, is_interval, is_numeric
from sqlext.expressions.strings import STRINGS
from sqlext.expressions.text_search import TEXT_SEARCH
from sqlext.expressions.time_parts import TIME_PARTS
from sqlext.expressions.times import TIMES, refused_policy

FUNCTIONS: dict[str, Function] = {
    **COMPARISONS,
    **CONTROL,
    **CASTS,
    **ARITHMETIC,
    **MATHEMATICS,
    **STRINGS,
    **TEXT_SEARCH,
    **TIMES,
    **TIME_PARTS,
    **NESTED_VALUES,
}


def result_type(
    name: str, types: Types, settings: ExecutionSettings, constants: Mapping[int, Any] | None = None
) -> str:
    """The type that Spark gives to the call of a function with arguments of these types.

    `constants`: the values of arguments, by position, that are literals; digits of decimals depend on them. The second
    argument of `.` is the name of the field. Raises UnsupportedError: FUNCTION_OVER_SEVERAL_ROWS.

    The rules are those of Spark's analyzer. `tests/expressions` compares them with Spark on random expressions.

    >>> ansi = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> result_type("*", ("decimal(10,2)", "int"), ansi, {1: 3}), result_type("-", ("timestamp", "timestamp"), ansi)
    ('decimal(12,2)', 'interval day to second')
    """
    signature = Signature(name=name, types=types, result="", settings=settings, constants=constants or {})
    result = _function(name).result_of(signature)
    if result is None:
        raise UnsupportedError(
            "FUNCTION_OVER_SEVERAL_ROWS",
            f"{name} of {', '.join(types) or 'nothing'} cannot be computed here",
            hint="cast its arguments to the types that it takes.",
        )
    return result


def parameter_types(name: str, types: Types, result: str, settings: ExecutionSettings) -> Types:
    """The types to which Spark casts arguments of these types in a call to which it gives the type `result`.

    Raises UnsupportedError FUNCTION_OVER_SEVERAL_ROWS.

    >>> ansi = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> parameter_types("<", ("int", "decimal(10,2)"), "boolean", ansi)
    ('decimal(12,2)', 'decimal(12,2)')
    >>> parameter_types("+", ("int", "double"), "double", ansi)
    ('double', 'double')
    """
    signature = Signature(name=name, types=types, result=result, settings=settings)
    parameters = _function(name).parameters(signature)
    if parameters is None:
        raise UnsupportedError(
            "FUNCTION_OVER_SEVERAL_ROWS",
            f"{name} of {', '.join(types)} cannot be computed over several rows",
            hint="cast its arguments, or compute it in the navigation where one row decides it.",
        )
    return parameters


def bind(
    name: str, types: Types, result: str, settings: ExecutionSettings, constants: Mapping[int, Any] | None = None
) -> Evaluate:
    """The Python function that takes values of these types and returns Spark's value of type `result`.

    `types` are the types that `parameter_types` returned. `constants`: the values of arguments (by position) that are
    constants, so that a pattern, a format or a unit that is not supported is refused now. If
    `FUNCTIONS[name].is_lazy`, the Python function receives one function without parameters for each argument.

    Raises UnsupportedError. The Python function raises DataError and nothing else, with the name of Spark's error class
    where Spark has one (see `of_one_row`).

    >>> settings = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> bind("+", ("int", "int"), "int", settings)(1, None) is None
    True
    >>> bind("coalesce", ("int", "int"), "int", settings)(lambda: None, lambda: 2)
    2
    """
    function = _function(name)
    if policy := refused_policy(name, types, settings):
        raise UnsupportedError(
            "FUNCTION_OVER_SEVERAL_ROWS",
            f"{name}() cannot be computed over several rows as spark.sql.legacy.timeParserPolicy = {policy} wants it",
            hint="SET spark.sql.legacy.timeParserPolicy = CORRECTED, or compute it in the navigation where one row "
            "decides it.",
        )
    signature = Signature(name=name, types=types, result=result, settings=settings, constants=constants or {})
    evaluate = of_one_row(name, limited(function, function.bind(signature), result))
    return evaluate if function.is_lazy or function.takes_nulls else null_propagating(evaluate)


def evaluation(
    name: str, types: Types, result: str, settings: ExecutionSettings, constants: Mapping[int, Any] | None = None
) -> Callable[..., Any]:
    """As `bind`, for callers that evaluate the arguments too.

    The Python function receives one function without parameters for each argument, and calls them in Spark's order.
    The order decides which errors are raised: a function that propagates NULL stops at the first NULL.

    >>> divide = evaluation("/", ("double", "double"), "double", ExecutionSettings(is_ansi=True, time_zone="UTC"))
    >>> divide(lambda: 1 // 0, lambda: None) is None
    True
    """
    evaluate, function = bind(name, types, result, settings, constants), FUNCTIONS[name]
    if function.is_lazy:
        return evaluate
    if function.takes_nulls:
        return lambda *arguments: evaluate(*(argument() for argument in arguments))
    is_right_first = _is_right_first(function, types)
    ignores_zero = function.is_right_first and is_right_first and (name.startswith("try_") or not settings.is_ansi)

    def strict(*arguments: Thunk) -> Any:
        values: list[Any] = []
        for argument in reversed(arguments) if is_right_first else arguments:
            value = argument()
            if value is None:
                return None
            if ignores_zero and not values and value == 0:  # NULL, whatever the dividend is
                return None
            values.append(value)
        return evaluate(*(reversed(values) if is_right_first else values))

    return strict


def _is_right_first(function: Function, types: Types) -> bool:
    """True if the right argument is evaluated first.

    Spark reads `interval + time` as `time + interval`, and `number * interval` as `interval * number`.
    """
    if len(types) != 2 or not any(is_interval(t) for t in types):
        return function.is_right_first
    left, right = types
    return (is_interval(left) and right in TIME_TYPES) or (is_numeric(left) and is_interval(right))


def _function(name: str) -> Function:
    """The function of a name. Raises UnsupportedError, with the names that are like it."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    names = get_close_matches(name, [n for n in FUNCTIONS if n[:1].islower()], n=3, cutoff=0.8)
    meant = f"did you mean {' or '.join(f'{n}()' for n in names)}? " if names else ""
    raise UnsupportedError(
        "FUNCTION_OVER_SEVERAL_ROWS",
        f"{name}{'()' if name[:1].islower() else ''} cannot be computed over several rows",
        hint=f"{meant}over several rows there are operators, CASE, CAST and the functions of docs/functions.md; or "
        "compute it in the navigation where one row decides it.",
    )
