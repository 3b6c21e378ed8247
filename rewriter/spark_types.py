"""Spark's types by name, and how workers store their values.

Workers read this too, so that nothing here may import the tokenizer.
"""

from __future__ import annotations

import re

INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
MAX_DIGITS = 18  # decimals of more digits do not fit an int64


def kind_of(spark_type: str) -> str | None:
    """How workers store values of a Spark type: as "bool", "int", "float" or "rank" (the position among the sorted
    strings of a batch); None if they cannot.

    >>> [kind_of(t) for t in ("date", "decimal(10,2)", "decimal(20,2)", "string", "map<int,int>")]
    ['int', 'int', None, 'rank', None]
    """
    if (
        spark_type in INTEGER_BITS
        or spark_type in ("date", "timestamp", "timestamp_ntz")
        or spark_type.startswith("interval day")
    ):
        return "int"
    if match := decimal_of(spark_type):
        return "int" if match[0] <= MAX_DIGITS else None
    if re.fullmatch(r"interval (day|hour|minute|second)( to (hour|minute|second))?", spark_type):
        return "int"
    return {"boolean": "bool", "float": "float", "double": "float", "string": "rank", "binary": "rank"}.get(spark_type)


def decimal_of(spark_type: str) -> tuple[int, int] | None:
    """(precision, scale) of a decimal type."""
    match = re.fullmatch(r"decimal\((\d+),(\d+)\)", spark_type)
    return (int(match[1]), int(match[2])) if match else None


def aggregate_type(function: str, argument: str) -> str | None:
    """The Spark type of an aggregate over a column of type `argument`; None if workers do not compute it."""
    if function == "count":
        return "bigint"
    if function in ("min", "max"):
        return argument
    if argument in INTEGER_BITS:
        return {"sum": "bigint", "avg": "double", "mean": "double"}.get(function)
    if argument in ("float", "double"):
        return {"sum": "double", "avg": "double", "mean": "double"}.get(function)
    if (digits := decimal_of(argument)) and function == "sum":
        return f"decimal({min(38, digits[0] + 10)},{digits[1]})"
    return None


def has_plain_equality(spark_type: str) -> bool:
    """Are two values of this type one key exactly if they are the same value?"""
    plain = (*INTEGER_BITS, "boolean", "date", "timestamp", "timestamp_ntz", "string", "binary")
    return spark_type in plain or spark_type.startswith("decimal(")


def is_orderable(spark_type: str) -> bool:
    """Can Spark sort values of this type?"""
    return not any(t in spark_type for t in ("map<", "variant", "calendar", "geometry", "geography"))
