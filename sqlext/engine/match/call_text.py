"""Function calls in conditions, written as Spark SQL."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sqlext.expressions.scalar_tree import ScalarCall
from sqlext.rewriter.text.lexemes import string_literal

# Calls that are not written f(a, b), by the name of the function.
_FORMS = {
    "BETWEEN": "({0} BETWEEN {1} AND {2})",
    "[]": "{0}[{1}]",
    ".": "{0}.{1}",
    "IS NULL": "({0} IS NULL)",
    "IS NOT NULL": "({0} IS NOT NULL)",
    "NOT": "(NOT {0})",
    "negate": "(- {0})",
}


def call_text(call: ScalarCall, arguments: list[str]) -> str:
    """The SQL of a call whose arguments have these texts.

    >>> from sqlext.expressions.function import ExecutionSettings
    >>> from sqlext.expressions.scalar_tree import Constant
    >>> one = Constant(1, "int")
    >>> settings = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> call = ScalarCall(function="+", arguments=(one, one), type="int", settings=settings)
    >>> call_text(call, ["1", "LAST(A.v)"])
    '(1 + LAST(A.v))'
    """
    name = call.function
    if name in _FORMS:
        return _FORMS[name].format(*arguments)
    if name in ("CAST", "TRY_CAST"):
        return f"{name}({arguments[0]} AS {call.type})"
    if name == "CASE":
        return f"CASE {_branches(arguments)} END"
    if name == "IN":
        return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"
    if name == "extract":
        return f"extract({arguments[0].strip(chr(39))} FROM {arguments[1]})"
    if name in ("LIKE", "ILIKE", "RLIKE") and len(arguments) == 3:
        return f"({arguments[0]} {name} {arguments[1]} ESCAPE {arguments[2]})"
    if not name[0].islower() or name == "div":
        return f"({f' {name} '.join(arguments)})"
    return f"{name}({', '.join(arguments)})"


def _branches(arguments: list[str]) -> str:
    pairs = zip(arguments[0::2], arguments[1::2])
    whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    return f"{whens} ELSE {arguments[-1]}" if len(arguments) % 2 else whens


def literal_text(value: Any) -> str:
    """The value of a literal as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return string_literal(value)
    if isinstance(value, bool):
        return str(value).upper()
    return f"{value}BD" if isinstance(value, Decimal) else f"{value!r}D" if isinstance(value, float) else str(value)
