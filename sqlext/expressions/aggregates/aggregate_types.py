"""The types of the results of aggregates, where no Spark is at hand to name them."""

from __future__ import annotations

from sqlext.expressions.coercion import decimal_type
from sqlext.expressions.function import Types
from sqlext.expressions.spark_types import INTEGER_BITS, decimal_of, is_day_time, is_interval

_FIXED = {
    **dict.fromkeys(("count", "count_if", "approx_count_distinct"), "bigint"),
    **dict.fromkeys(("bool_and", "every", "bool_or", "some", "any"), "boolean"),
    **dict.fromkeys(
        (
            "stddev", "std", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "skewness", "kurtosis",
            "corr", "covar_pop", "covar_samp",
        ),
        "double",
    ),
}  # fmt: skip
_FIRST_ARGUMENT = frozenset(
    ("min", "max", "min_by", "max_by", "first_value", "any_value", "last_value", "bit_and", "bit_or", "bit_xor", "mode")
)
_ARRAYS = frozenset(("array_agg", "collect_list", "collect_set"))
_SUMS, _MEANS = frozenset(("sum", "try_sum")), frozenset(("avg", "mean", "try_avg"))


def aggregate_result(name: str, types: Types) -> str | None:
    """The type that Spark gives an aggregate of arguments of these types; None if it is not known.

    >>> aggregate_result("sum", ("decimal(10,2)",)), aggregate_result("avg", ("decimal(10,2)",))
    ('decimal(20,2)', 'decimal(14,6)')
    >>> aggregate_result("max_by", ("string", "int")), aggregate_result("collect_set", ("int",))
    ('string', 'array<int>')
    """
    if name in _FIXED:
        return _FIXED[name]
    if not types:
        return None
    first = types[0]
    if name in _FIRST_ARGUMENT:
        return first
    if name in _ARRAYS:
        return f"array<{first}>"
    if name in _SUMS:
        return _total(first)
    if name in _MEANS:
        digits = decimal_of(first)
        return decimal_type(digits[0] + 4, digits[1] + 4) if digits else _whole_interval(first) or "double"
    if name in ("listagg", "string_agg"):
        return "binary" if first == "binary" else "string"
    of_one = _whole_interval(first) or "double"  # percentiles and the median
    return f"array<{of_one}>" if len(types) > 1 and types[1].startswith("array<") else of_one


def _total(argument: str) -> str:
    if digits := decimal_of(argument):
        return decimal_type(digits[0] + 10, digits[1])
    if is_interval(argument):
        return argument
    return "bigint" if argument in INTEGER_BITS else "double"


def _whole_interval(argument: str) -> str | None:
    if not is_interval(argument):
        return None
    return "interval day to second" if is_day_time(argument) else "interval year to month"
