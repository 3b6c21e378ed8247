"""Every fact about an aggregate of Spark, stated once. formatting/functions.txt describes each in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import Enum
from typing import Generic, TypeVar

from sqlext.errors import Place, UnsupportedError
from sqlext.expressions.coercion import decimal_type
from sqlext.expressions.function import Types
from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, decimal_of, is_day_time, is_interval, is_numeric

_MANY = 1 << 30
A = TypeVar("A")  # how a caller represents an argument: by its text or by its number


class WithinGroupKey(Enum):
    """The meaning of WITHIN GROUP (ORDER BY key)."""

    VALUE = "the key is the value that is aggregated, in its direction"
    ORDER = "the rows are aggregated in the order of the keys"


class Nulls(Enum):
    """What happens to values that are NULL."""

    SKIPPED = "they are skipped, and the call takes neither IGNORE NULLS nor RESPECT NULLS"
    KEPT = "they are values, unless the call has IGNORE NULLS"
    LEFT_OUT = "they are left out, unless the call has RESPECT NULLS"


@dataclass(frozen=True, kw_only=True)
class SortPart(Generic[A]):
    """A key of ORDER BY inside an aggregate. `nulls_last` None: Spark's default."""

    key: A
    is_descending: bool = False
    nulls_last: bool | None = None


@dataclass(frozen=True, kw_only=True)
class AggregateParts(Generic[A]):
    """The parts of a call as the user wrote them. `order_by`: the keys between the parentheses, or, if
    `is_within_group`, the keys of WITHIN GROUP. `nulls`: IGNORE, RESPECT or empty."""

    arguments: tuple[A, ...]
    order_by: tuple[SortPart[A], ...] = ()
    is_within_group: bool = False
    is_distinct: bool = False
    nulls: str = ""
    filter: A | None = None
    place: Place | None = None


@dataclass(frozen=True, kw_only=True)
class AggregateFunction:
    """The facts about an aggregate.

    `is_computed`: workers compute it, by the aggregator of this name in AGGREGATORS of its family. Otherwise only Spark
    does, over the rows of a match, and the other facts are not known.

    `arity`: the least and the greatest number of arguments that workers take, the key of WITHIN GROUP included.
    `constants`: the positions of the arguments that must be constants. `cast(spark_type)`: the type to which Spark
    casts any other argument of that type. `result(types)`: the type of the value, by the types of the cast arguments.

    `within_group`: None if the function has no WITHIN GROUP. `needs_key`: it cannot be called without WITHIN GROUP.
    `nulls`: see Nulls. `is_distinct_refused`: the function does not take DISTINCT.

    `reads_order`: another order of the rows may change the value. `is_growing`: the value contains the values of all
    its rows. `is_list`: it is the list of these values. `is_count`: over no rows it is 0, and not NULL. `kernel`: the
    name under which kernels compute the function, if any do; `has_kernel(spark_type)` is true for the types of
    arguments for which they do.
    """

    is_computed: bool = True
    arity: tuple[int, int] = (1, 1)
    constants: tuple[int, ...] = ()
    cast: Callable[[str], str] = lambda spark_type: spark_type
    result: Callable[[Types], str] = lambda types: types[0]
    within_group: WithinGroupKey | None = None
    needs_key: bool = False
    nulls: Nulls = Nulls.SKIPPED
    is_distinct_refused: bool = False
    reads_order: bool = False
    is_growing: bool = False
    is_list: bool = False
    is_count: bool = False
    kernel: str = ""
    has_kernel: Callable[[str], bool] = lambda spark_type: False


# the types to which arguments are cast


def _number(spark_type: str) -> str:
    """The type to which sum and avg cast an argument: they read strings as doubles."""
    return spark_type if is_numeric(spark_type) or is_interval(spark_type) else "double"


def _double(spark_type: str) -> str:
    return "double"


def _number_or_interval(spark_type: str) -> str:
    """The type to which percentiles cast an argument: double, except for intervals."""
    return spark_type if is_interval(spark_type) else "double"


def _text(spark_type: str) -> str:
    return spark_type if spark_type == "binary" else "string"


# the types of values


def _always(spark_type: str) -> Callable[[Types], str]:
    return lambda types: spark_type


def _array(types: Types) -> str:
    return f"array<{types[0]}>"


def _at_keys(types: Types) -> str:
    """The type of max_by and min_by: a list if they take a number of rows."""
    return types[0] if len(types) < 3 else _array(types)


def _total(types: Types) -> str:
    if digits := decimal_of(types[0]):
        return decimal_type(digits[0] + 10, digits[1])
    if is_interval(types[0]):
        return types[0]
    return "bigint" if types[0] in INTEGER_BITS else "double"


def _mean(types: Types) -> str:
    digits = decimal_of(types[0])
    return decimal_type(digits[0] + 4, digits[1] + 4) if digits else _quantile(types[:1])


def _mean_of_second(types: Types) -> str:
    return _mean(types[1:])


def _quantile(types: Types) -> str:
    """The type of a percentile, or of a list of percentiles where the second argument is a list of fractions."""
    first = types[0]
    day_time = "interval day to second" if is_day_time(first) else "interval year to month"
    value = day_time if is_interval(first) else "double"
    return f"array<{value}>" if len(types) > 1 and types[1].startswith("array<") else value


# the types of arguments for which there are kernels


def _of_any_type(spark_type: str) -> bool:
    return True


def _of_numbers(spark_type: str) -> bool:
    return spark_type in INTEGER_BITS or spark_type in FLOATS


def _of_numbers_and_decimals(spark_type: str) -> bool:
    return _of_numbers(spark_type) or decimal_of(spark_type) is not None


_DOUBLES = AggregateFunction(cast=_double)
_PAIRS = AggregateFunction(arity=(2, 2), cast=_double)
_AVG = AggregateFunction(cast=_number, result=_mean, kernel="avg", has_kernel=_of_numbers)
_AT_KEY = AggregateFunction(arity=(2, 3), constants=(2,), result=_at_keys, reads_order=True)
_FIRST_OR_LAST = AggregateFunction(arity=(1, 2), constants=(1,), nulls=Nulls.KEPT, reads_order=True)
_BOOLEAN = AggregateFunction(result=_always("boolean"))
_BITS = AggregateFunction()
_LIST = AggregateFunction(result=_array, nulls=Nulls.LEFT_OUT, reads_order=True, is_growing=True, is_list=True)
_TEXT = AggregateFunction(
    arity=(1, 2), constants=(1,), cast=_text, within_group=WithinGroupKey.ORDER, reads_order=True, is_growing=True
)
_PERCENTILE = AggregateFunction(arity=(2, 2), constants=(1,), cast=_number_or_interval, result=_quantile)
_PERCENTILE_OF_KEY = replace(_PERCENTILE, within_group=WithinGroupKey.VALUE, needs_key=True, is_distinct_refused=True)
_OF_SPARK = AggregateFunction(is_computed=False)

AGGREGATES: Mapping[str, AggregateFunction] = {
    "count": AggregateFunction(
        arity=(0, _MANY), result=_always("bigint"), is_count=True, kernel="count", has_kernel=_of_any_type
    ),
    "count_if": AggregateFunction(result=_always("bigint"), is_count=True),
    "approx_count_distinct": AggregateFunction(
        arity=(1, 2), constants=(1,), result=_always("bigint"), is_count=True
    ),
    "sum": AggregateFunction(cast=_number, result=_total, kernel="sum", has_kernel=_of_numbers_and_decimals),
    "try_sum": AggregateFunction(cast=_number, result=_total),
    "avg": _AVG,
    "mean": _AVG,
    "try_avg": AggregateFunction(cast=_number, result=_mean),
    "min": AggregateFunction(kernel="min", has_kernel=_of_any_type),
    "max": AggregateFunction(kernel="max", has_kernel=_of_any_type),
    "min_by": _AT_KEY,
    "max_by": _AT_KEY,
    "first_value": _FIRST_OR_LAST,
    "any_value": _FIRST_OR_LAST,
    "last_value": _FIRST_OR_LAST,
    "bool_and": _BOOLEAN,
    "every": _BOOLEAN,
    "bool_or": _BOOLEAN,
    "some": _BOOLEAN,
    "any": _BOOLEAN,
    "bit_and": _BITS,
    "bit_or": _BITS,
    "bit_xor": _BITS,
    "array_agg": _LIST,
    "collect_list": _LIST,
    "collect_set": replace(_LIST, is_list=False),
    "listagg": _TEXT,
    "string_agg": _TEXT,
    "mode": AggregateFunction(
        arity=(1, 2), constants=(1,), within_group=WithinGroupKey.VALUE, is_distinct_refused=True, reads_order=True
    ),
    "median": AggregateFunction(cast=_number_or_interval, result=_quantile),
    "percentile": replace(_PERCENTILE, arity=(2, 3)),
    "percentile_cont": _PERCENTILE_OF_KEY,
    "percentile_disc": _PERCENTILE_OF_KEY,
    **dict.fromkeys(("stddev", "std", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"), _DOUBLES),
    "skewness": _DOUBLES,
    "kurtosis": _DOUBLES,
    "corr": _PAIRS,
    "covar_pop": _PAIRS,
    "covar_samp": _PAIRS,
    "regr_avgx": AggregateFunction(arity=(2, 2), cast=_number, result=_mean_of_second),
    "regr_avgy": AggregateFunction(arity=(2, 2), cast=_number, result=_mean),
    "regr_count": AggregateFunction(arity=(2, 2), result=_always("bigint"), is_count=True),
    **dict.fromkeys(("regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy"), _PAIRS),
    # https://spark.apache.org/docs/4.2.0/api/sql/ "Aggregate functions": sketches and approximations
    **dict.fromkeys((
        "approx_percentile", "approx_top_k", "approx_top_k_accumulate", "approx_top_k_combine", "bitmap_and_agg",
        "bitmap_construct_agg", "bitmap_or_agg",
        "count_min_sketch", "grouping", "grouping_id", "hll_sketch_agg", "hll_union_agg", "histogram_numeric",
        "kll_merge_agg_bigint", "kll_merge_agg_double", "kll_merge_agg_float", "kll_sketch_agg_bigint",
        "kll_sketch_agg_double", "kll_sketch_agg_float", "percentile_approx", "schema_of_variant_agg",
        "theta_intersection_agg", "theta_sketch_agg", "theta_union_agg", "tuple_intersection_agg_double",
        "tuple_intersection_agg_integer", "tuple_sketch_agg_double", "tuple_sketch_agg_integer",
        "tuple_union_agg_double", "tuple_union_agg_integer", "vector_avg", "vector_sum",
    ), _OF_SPARK),
}  # fmt: skip
COMPUTED = tuple(name for name, function in AGGREGATES.items() if function.is_computed)  # by workers
# Other names of Spark's. In MATCH_RECOGNIZE they are navigations.
ALIASES = {"first": "first_value", "last": "last_value"}


def kernel_result(name: str, spark_type: str) -> str | None:
    """The result type of an aggregate of one argument of this type if kernels compute it, otherwise None.

    >>> kernel_result("mean", "int"), kernel_result("sum", "decimal(10,2)"), kernel_result("avg", "string")
    ('double', 'decimal(20,2)', None)
    """
    function = AGGREGATES.get(name)
    if function is None or not function.has_kernel(spark_type):
        return None
    return function.result((spark_type,))


def unknown_aggregate(name: str, place: Place | None = None) -> UnsupportedError:
    """The error for an aggregate that workers do not compute, with the list of the others."""
    near = get_close_matches(name, COMPUTED, 1)
    guess = f"did you mean {near[0]}? " if near else ""
    return UnsupportedError(
        "UNKNOWN_AGGREGATE",
        f"{name} is not an aggregate that can be computed row by row",
        place=place,
        hint=f"{guess}The aggregates are {', '.join(COMPUTED)}.",
    )
