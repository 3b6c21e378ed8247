"""Python UDFs that a session has registered, called where several rows meet.

A caller looks a name up in the session first (`engine.queries.python_functions`), because a registered function hides
a built-in one, and then in `FUNCTIONS`. The arguments of a UDF are not cast, NULL is None to it, and

>>> import pickle
>>> price = PythonFunction(name="price", pickled=pickle.dumps(round), result="bigint")
>>> bind_python(price, ("double",))(2.7)
3

is its value. A `PythonFunction` is part of a task that goes to workers.
"""

from __future__ import annotations

import calendar
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlext.errors import DataError, UnsupportedError
from sqlext.expressions.function import Evaluate, Types
from sqlext.expressions.numbers import fits, float_text, rescaled, to_float32, wrap
from sqlext.expressions.spark_types import (
    FLOATS,
    INTEGER_BITS,
    ArrayOf,
    MapOf,
    StructOf,
    decimal_of,
    is_day_time,
    is_year_month,
    nested,
)
from sqlext.expressions.values import hashable

_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, kw_only=True)
class PythonFunction:
    """A registered UDF: `pickled` by cloudpickle, with the Spark type of its result."""

    name: str
    pickled: bytes
    result: str
    is_deterministic: bool = True


def bind_python(function: PythonFunction, types: Types) -> Evaluate:
    """The Python function that calls the UDF with our values of arguments of these types.

    Raises UnsupportedError TYPE_OF_EXPRESSION for a type that Python UDFs do not take. The Python function raises
    DataError PYTHON_FUNCTION if the UDF fails or returns a value that does not fit its type.
    """
    to_python = [_to_python(t) for t in types]
    from_python = _from_python(function.result)
    call = pickle.loads(function.pickled)

    def evaluate(*values: Any) -> Any:
        try:
            return from_python(call(*(convert(value) for convert, value in zip(to_python, values))))
        except Exception as error:
            raise DataError(
                "PYTHON_FUNCTION",
                f"the Python function {function.name} failed: {type(error).__name__}: {error}",
                hint="correct the function, and register it again.",
            ) from error

    return evaluate


def _unless_none(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


# from our values to what a UDF receives


def _to_python(spark_type: str) -> Callable[[Any], Any]:
    parts = nested(spark_type)
    if isinstance(parts, ArrayOf):
        element = _to_python(parts.element)
        return _unless_none(lambda values: [element(v) for v in values])
    if isinstance(parts, MapOf):
        key, item = _to_python(parts.key), _to_python(parts.value)
        return _unless_none(lambda values: {key(k): item(v) for k, v in values.items()})
    if isinstance(parts, StructOf):
        return _unless_none(_to_row(parts))
    if is_year_month(spark_type):
        raise UnsupportedError(
            "TYPE_OF_EXPRESSION", f"a Python function does not take {spark_type}", hint="pass the number of months."
        )
    if is_day_time(spark_type):
        return _unless_none(lambda value: timedelta(microseconds=value))
    makers: dict[str, Callable[[Any], Any]] = {
        "date": lambda day: date.fromordinal(day + _EPOCH),
        "timestamp": lambda us: datetime.fromtimestamp(us // 1_000_000).replace(microsecond=us % 1_000_000),
        "timestamp_ntz": lambda us: datetime(1970, 1, 1) + timedelta(microseconds=us),
    }
    return _unless_none(makers.get(spark_type, lambda value: value))


def _to_row(parts: StructOf) -> Callable[[Any], Any]:
    from pyspark.sql.types import Row  # only a UDF of a struct needs it

    fields = [_to_python(t) for t in parts.types]
    make = Row(*parts.names)
    return lambda values: make(*(field(v) for field, v in zip(fields, values)))


# from what a UDF returns to our values, as Spark's EvaluatePython converts it


def _from_python(spark_type: str) -> Callable[[Any], Any]:
    """The conversion of a UDF's result. A value of another Python type becomes NULL, but any value has a text."""
    parts = nested(spark_type)
    if isinstance(parts, ArrayOf):
        element = _from_python(parts.element)
        return lambda values: [element(v) for v in values] if isinstance(values, (list, tuple)) else None
    if isinstance(parts, MapOf):
        return _to_map(parts)
    if isinstance(parts, StructOf):
        return _to_struct(parts)
    if spark_type in INTEGER_BITS:
        return lambda value: _integer(value, INTEGER_BITS[spark_type])
    if spark_type in FLOATS:
        rounded: Callable[[float], float] = to_float32 if spark_type == "float" else float
        return lambda value: rounded(value) if isinstance(value, float) else None
    if digits := decimal_of(spark_type):
        return lambda value: _decimal(value, *digits)
    if is_day_time(spark_type):
        return _unless_none(lambda value: value // timedelta(microseconds=1))
    makers: dict[str, Callable[[Any], Any]] = {
        "boolean": lambda value: value if isinstance(value, bool) else None,
        "string": _unless_none(_text),
        "binary": lambda value: value.encode() if isinstance(value, str) else _bytes(value),
        "date": _unless_none(lambda value: value.toordinal() - _EPOCH),
        "timestamp": _unless_none(_microseconds),
        "timestamp_ntz": _unless_none(lambda v: calendar.timegm(v.timetuple()) * 1_000_000 + v.microsecond),
        "void": lambda _: None,
    }
    if spark_type not in makers:
        raise UnsupportedError(
            "TYPE_OF_EXPRESSION",
            f"a Python function that returns {spark_type} cannot be called",
            hint="return a string.",
        )
    return makers[spark_type]


def _integer(value: Any, bits: int) -> int | None:
    is_integer = isinstance(value, int) and not isinstance(value, bool) and fits(value, 64)
    return wrap(value, bits) if is_integer else None


def _decimal(value: Any, precision: int, scale: int) -> Decimal | None:
    if not isinstance(value, Decimal):
        return None
    result = rescaled(value, precision, scale)
    if result is None:
        raise ValueError(f"{value} does not fit decimal({precision},{scale})")
    return result


def _bytes(value: Any) -> bytes | None:
    return bytes(value) if isinstance(value, (bytes, bytearray)) else None


def _text(value: Any) -> str:
    """Java's text of the value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value, is_double=True)
    if isinstance(value, (str, int, Decimal)):
        return str(value)
    raise TypeError(f"the result is declared as a string, and is a {type(value).__name__}")


def _microseconds(value: datetime) -> int:
    seconds = calendar.timegm(value.utctimetuple()) if value.tzinfo else time.mktime(value.timetuple())
    return int(seconds) * 1_000_000 + value.microsecond


def _to_map(parts: MapOf) -> Callable[[Any], Any]:
    key, item = _from_python(parts.key), _from_python(parts.value)
    return lambda values: (
        {hashable(key(k), parts.key): item(v) for k, v in values.items()} if isinstance(values, dict) else None
    )


def _to_struct(parts: StructOf) -> Callable[[Any], Any]:
    fields = [_from_python(t) for t in parts.types]

    def convert(value: Any) -> tuple[Any, ...] | None:
        if isinstance(value, dict):
            value = tuple(value.get(name) for name in parts.names)
        if not isinstance(value, (tuple, list)):
            return None
        return tuple(field(v) for field, v in zip(fields, value))

    return convert
