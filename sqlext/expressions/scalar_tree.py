"""Typed expressions: trees with the types and the casts that Spark chooses, and what they mean on one row.

Expressions over one row of a table read Columns, and `column_values` evaluates them for all rows at once. Expressions
in DEFINE that matchers interpret read the rows of a path by `Read`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Union

from sqlext.errors import BindError, DataError
from sqlext.expressions.effort import size_of
from sqlext.expressions.function import Evaluate, ExecutionSettings
from sqlext.expressions.function_table import evaluation, parameter_types, result_type
from sqlext.expressions.python_functions import PythonFunction, bind_python
from sqlext.expressions.spark_types import INTEGER_BITS, TIME_TYPES, is_interval, is_numeric, nested

_MOST_FOLDED = 10_000  # the size of a value


@dataclass(frozen=True)
class Column:
    name: str
    type: str


@dataclass(frozen=True)
class Constant:
    value: Any
    type: str

    def __hash__(self) -> int:
        return hash((self.type, repr(self.value)))  # the value may be a list or a dictionary


@dataclass(frozen=True)
class Read:
    """A value of a path and its current row: that of `source`, a navigation or an aggregate of `pattern.task`."""

    source: Any
    type: str


@dataclass(frozen=True, kw_only=True)
class ScalarCall:
    """`function` of the table, over arguments of exactly the types that it takes; or `python`, a UDF of the session."""

    function: str
    arguments: tuple[Scalar, ...]
    type: str
    settings: ExecutionSettings
    python: PythonFunction | None = None

    @cached_property
    def apply(self) -> Evaluate:
        """The Python function of the call; it receives functions without parameters that evaluate the arguments."""
        types = tuple(a.type for a in self.arguments)
        if self.python is not None:
            evaluate = bind_python(self.python, types)
            return lambda *arguments: evaluate(*(argument() for argument in arguments))
        constants = {i: a.value for i, a in enumerate(self.arguments) if isinstance(a, Constant)}
        return evaluation(self.function, types, self.type, self.settings, constants)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:  # rules look up their expressions in each micro-batch
        return hash((self.function, self.arguments, self.type))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("apply", "_hash")}


Scalar = Union[Column, Constant, Read, ScalarCall]


def call(
    function: str, arguments: tuple[Scalar, ...], settings: ExecutionSettings, result: str | None = None
) -> Scalar:
    """The call with the casts of its arguments, or its value if all arguments are constants.

    `result`: the type of the result, if the call names it. Raises UnsupportedError, and BindError for an argument that
    Spark does not cast.

    >>> plus = call("+", (Column("x", "int"), Constant(1, "bigint")), ExecutionSettings(is_ansi=True, time_zone="UTC"))
    >>> plus.type, plus.arguments[0].function, plus.arguments[0].type
    ('bigint', 'CAST', 'bigint')
    """
    if function in ("CAST", "TRY_CAST") and arguments[0].type == result:
        return arguments[0]
    types = tuple(a.type for a in arguments)
    constants = {i: a.value for i, a in enumerate(arguments) if isinstance(a, Constant)}
    kind = result or result_type(function, types, settings, constants)
    wanted = parameter_types(function, types, kind, settings)
    if function not in ("CAST", "TRY_CAST"):
        arguments = tuple(cast(a, t, settings) for a, t in zip(arguments, wanted))
    whole = ScalarCall(function=function, arguments=arguments, type=kind, settings=settings)
    whole.apply  # noqa: B018  (binds the function, which refuses what it cannot compute)
    return _folded(whole)


def _folded(whole: ScalarCall) -> Scalar:
    """The value of a call if all of its arguments are constants and it is not large, because rules keep all values."""
    if not all(isinstance(a, Constant) for a in whole.arguments):
        return whole
    try:
        value = evaluate(whole, {})
    except DataError:
        return whole  # the error is raised where a row needs the value
    return Constant(value, whole.type) if size_of(value) <= _MOST_FOLDED else whole


def call_python(function: PythonFunction, arguments: tuple[Scalar, ...], settings: ExecutionSettings) -> Scalar:
    """The call of a deterministic UDF, which gets its arguments as is. Raises UnsupportedError for their types."""
    whole = ScalarCall(
        function=function.name, arguments=arguments, type=function.result, settings=settings, python=function
    )
    whole.apply  # noqa: B018  (refuses types that a UDF does not take)
    return _folded(whole)


def cast(value: Scalar, target: str, settings: ExecutionSettings) -> Scalar:
    """The value as Spark casts it implicitly. Raises BindError: DATATYPE_MISMATCH."""
    if value.type == target:
        return value
    if not is_cast_by_spark(value.type, target):
        raise BindError(
            "DATATYPE_MISMATCH",
            f"{value.type} is written where {target} is needed",
            hint=f"write CAST(… AS {target.upper()}).",
        )
    return call("CAST", (value,), settings, target)


def is_cast_by_spark(source: str, target: str) -> bool:
    """True if Spark casts an argument of this type implicitly.

    >>> is_cast_by_spark("int", "double"), is_cast_by_spark("string", "date"), is_cast_by_spark("boolean", "int")
    (True, True, False)
    """
    if source in (target, "void") or "string" in (source, target):
        return not (nested(source) and target == "string") and not (nested(target) and source == "string")
    if is_numeric(source) and (is_numeric(target) or (source in INTEGER_BITS and target in INTEGER_BITS)):
        return True
    if source in TIME_TYPES and target in TIME_TYPES:
        return True
    if is_interval(source) and is_interval(target):
        return True
    return bool(nested(source)) and bool(nested(target))


def evaluate(scalar: Scalar, row: Mapping[str, Any]) -> Any:
    """Evaluate on one row, whose values are in the representation of `expressions.values`. Raises DataError."""
    return evaluate_with(scalar, lambda column: row[column.name])


def evaluate_with(scalar: Scalar, read: Callable[[Any], Any]) -> Any:
    """Evaluate with the values that `read` returns for each Column or Read, in Spark's order. Raises DataError.

    This is the definition of what expressions mean: every other evaluation has the same values and the same errors.

    >>> settings = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> last = Read("the last price", "int")
    >>> evaluate_with(call("*", (last, Constant(2, "int")), settings), {last: 21}.get)
    42
    """
    if isinstance(scalar, ScalarCall):
        return scalar.apply(*(partial(evaluate_with, argument, read) for argument in scalar.arguments))
    return scalar.value if isinstance(scalar, Constant) else read(scalar)


def columns_in(scalar: Scalar) -> Iterator[Column]:
    """The columns that an expression reads, as often as it reads them."""
    if isinstance(scalar, Column):
        yield scalar
    elif isinstance(scalar, ScalarCall):
        for argument in scalar.arguments:
            yield from columns_in(argument)


def substituted(scalar: Scalar, columns: Mapping[str, Scalar]) -> Scalar:
    """The expression with others, of the same types, in place of the columns of these names.

    >>> settings = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> plus = call("+", (Column("x", "int"), Constant(1, "int")), settings)
    >>> substituted(plus, {"x": Column("y", "int")}).arguments[0]
    Column(name='y', type='int')
    """
    if isinstance(scalar, Column):
        return columns[scalar.name]
    if isinstance(scalar, ScalarCall):
        return replace(scalar, arguments=tuple(substituted(argument, columns) for argument in scalar.arguments))
    return scalar
