"""Each line of cases.txt gives the value that Spark gives; what is not in the table is refused."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import pytest

from sqlext.errors import DataError, UnsupportedError
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.function_table import bind, evaluation, parameter_types
from sqlext.expressions.spark_types import decimal_of, is_interval
from sqlext.expressions.values import from_arrow, to_arrow

ZONE = "Europe/Berlin"
LINES = (Path(__file__).parent / "cases.txt").read_text("utf-8").splitlines()
CASES = [line for line in LINES if line and not line.startswith("#")]


def read(text, spark_type, settings):
    """A value of the data file; an error instead of one is `/0`."""
    if text == "/0":
        return ZeroDivisionError
    value = eval(text, {"nan": math.nan, "inf": math.inf})
    if isinstance(value, str) and decimal_of(spark_type):
        return Decimal(value)
    if isinstance(value, str) and spark_type == "interval month":
        return int(value)
    if isinstance(value, str) and spark_type != "string":
        return bind("CAST", ("string",), spark_type, settings)(value)
    return value


def shown(value, spark_type, settings):
    if value is not None and (
        decimal_of(spark_type) or is_interval(spark_type) or spark_type in ("date", "timestamp", "timestamp_ntz")
    ):
        return bind("CAST", (spark_type,), "string", ExecutionSettings(True, settings.time_zone))(value)
    return value


def evaluated(name, types, result, texts, settings):
    """The value of a call, or the name of its error."""
    try:
        wanted = parameter_types(name, types, result, settings)
        values = [read(text, t, settings) for text, t in zip(texts, types)]
        values = [
            bind("CAST", (t,), w, settings)(v) if t != w and v is not ZeroDivisionError else v
            for v, t, w in zip(values, types, wanted)
        ]
        function = evaluation(name, wanted, result, settings, dict(enumerate(values)))
        thunks = ((lambda v=v: 1 // 0 if v is ZeroDivisionError else v) for v in values)
        return shown(function(*thunks), result, settings)
    except DataError as error:
        return "!" + error.error_class.removeprefix("SQLEXT_")


@pytest.mark.parametrize("line", CASES)
def test_a_call_has_the_value_of_spark(line):
    name, signature, arguments, *expected = (part.strip() for part in line.split(" | "))
    types, result = signature.split(" -> ")
    for is_ansi in (True, False):
        settings = ExecutionSettings(is_ansi, ZONE)
        text = expected[0 if is_ansi or len(expected) == 1 else 1]
        value = text if text.startswith("!") else eval(text)
        assert evaluated(name, tuple(types.split("; ")), result, arguments.split("; "), settings) == value, settings


@pytest.mark.parametrize(
    "call",
    [
        lambda s: parameter_types("uuid", (), "string", s),
        lambda s: bind("levenshtein", ("string", "string"), "int", s),
        lambda s: bind("RLIKE", ("string", "string"), "boolean", s, {1: "(?>a)b"}),
        lambda s: bind("to_date", ("string", "string"), "date", s, {1: "d MMM yyyy"}),
        lambda s: bind("CAST", ("variant",), "int", s),
        lambda s: bind("CAST", ("timestamp",), "string", ExecutionSettings(True, "Mars/Olympus")),
    ],
)
def test_what_is_not_built_is_refused_before_a_row_is_read(call):
    with pytest.raises(UnsupportedError) as error:
        call(ExecutionSettings(True, ZONE))
    assert error.value.hint


NESTED = "struct<a:array<int>,m:map<string,decimal(5,2)>,t:timestamp>"


@pytest.mark.parametrize(
    ("spark_type", "values"),
    [
        ("date", [0, None, -1]),
        ("timestamp", [0, None, 1_500_000]),
        ("interval day to second", [1, None]),
        ("decimal(5,2)", [Decimal("1.50"), None]),
        (NESTED, [([1, None], {"x": Decimal("1.00")}, 5), None, (None, {}, None)]),
    ],
)
def test_values_go_to_arrow_and_come_back(spark_type, values):
    array = to_arrow(values, spark_type)
    assert from_arrow(array, spark_type) == values
    assert from_arrow(array[1:], spark_type) == values[1:]


def test_floats_keep_32_bits():
    assert math.isclose(
        bind("+", ("float", "float"), "float", ExecutionSettings(True, ZONE))(0.10000000149011612, 0.0),
        0.1,
        rel_tol=1e-7,
    )
    assert bind("CAST", ("double",), "float", ExecutionSettings(True, ZONE))(0.1) == 0.10000000149011612
