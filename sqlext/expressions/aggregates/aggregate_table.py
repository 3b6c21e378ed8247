"""The list of the aggregate functions that workers compute, and `aggregate`, which binds one of them to its types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from sqlext.errors import Place, UnsupportedError
from sqlext.expressions.aggregates import collected_rows, counts, extremes, moments, sums
from sqlext.expressions.aggregates.aggregator import AggregateCall, Aggregator
from sqlext.expressions.aggregates.distinct_rows import SortKey, distinct, ordered
from sqlext.expressions.function import Settings, Types, of_one_row
from sqlext.expressions.spark_types import is_interval, is_numeric


@dataclass(frozen=True, kw_only=True)
class AggregateFunction:
    """`bind(call)` returns the aggregator for the types of a call. `parameter(spark_type)`: the type to which Spark
    casts an argument of that type. `constants`: the positions of the arguments that must be constants."""

    bind: Callable[[AggregateCall], Aggregator]
    parameter: Callable[[str], str] = lambda spark_type: spark_type
    constants: tuple[int, ...] = ()


def _number(spark_type: str) -> str:
    """sum and avg read strings as doubles."""
    return spark_type if is_numeric(spark_type) or is_interval(spark_type) else "double"


def _double(spark_type: str) -> str:
    return "double"


def _number_or_interval(spark_type: str) -> str:
    """Percentiles are doubles, except those of intervals."""
    return spark_type if is_interval(spark_type) else "double"


def _text(spark_type: str) -> str:
    return spark_type if spark_type == "binary" else "string"


_COLLECTED = AggregateFunction(bind=collected_rows.array_agg)
_FIRST = AggregateFunction(bind=extremes.first, constants=(1,))
_EVERY = AggregateFunction(bind=extremes.every)
_SOME = AggregateFunction(bind=extremes.some)
_LISTED = AggregateFunction(bind=collected_rows.listagg, parameter=_text, constants=(1,))
_AVG = AggregateFunction(bind=sums.avg, parameter=_number)
_VAR_SAMP = AggregateFunction(bind=moments.var_samp, parameter=_double)
_STDDEV_SAMP = AggregateFunction(bind=moments.stddev_samp, parameter=_double)
_PERCENTILE = AggregateFunction(bind=collected_rows.percentile, parameter=_number_or_interval, constants=(1,))

AGGREGATES: dict[str, AggregateFunction] = {
    "count": AggregateFunction(bind=counts.count),
    "count_if": AggregateFunction(bind=counts.count_if),
    "approx_count_distinct": AggregateFunction(bind=counts.approx_count_distinct, constants=(1,)),
    "sum": AggregateFunction(bind=sums.sum_of, parameter=_number),
    "try_sum": AggregateFunction(bind=sums.try_sum, parameter=_number),
    "avg": _AVG,
    "mean": _AVG,
    "try_avg": AggregateFunction(bind=sums.try_avg, parameter=_number),
    "min": AggregateFunction(bind=extremes.minimum),
    "max": AggregateFunction(bind=extremes.maximum),
    "min_by": AggregateFunction(bind=extremes.min_by),
    "max_by": AggregateFunction(bind=extremes.max_by),
    "first_value": _FIRST,
    "any_value": _FIRST,
    "last_value": AggregateFunction(bind=extremes.last, constants=(1,)),
    "bool_and": _EVERY,
    "every": _EVERY,
    "bool_or": _SOME,
    "some": _SOME,
    "any": _SOME,
    "bit_and": AggregateFunction(bind=extremes.bit_and),
    "bit_or": AggregateFunction(bind=extremes.bit_or),
    "bit_xor": AggregateFunction(bind=extremes.bit_xor),
    "array_agg": _COLLECTED,
    "collect_list": _COLLECTED,
    "collect_set": AggregateFunction(bind=collected_rows.collect_set),
    "listagg": _LISTED,
    "string_agg": _LISTED,
    "mode": AggregateFunction(bind=collected_rows.mode, constants=(1,)),
    "median": AggregateFunction(bind=collected_rows.median, parameter=_number_or_interval),
    "percentile": _PERCENTILE,
    "percentile_cont": _PERCENTILE,
    "percentile_disc": AggregateFunction(
        bind=collected_rows.percentile_disc, parameter=_number_or_interval, constants=(1,)
    ),
    "stddev": _STDDEV_SAMP,
    "std": _STDDEV_SAMP,
    "stddev_samp": _STDDEV_SAMP,
    "stddev_pop": AggregateFunction(bind=moments.stddev_pop, parameter=_double),
    "variance": _VAR_SAMP,
    "var_samp": _VAR_SAMP,
    "var_pop": AggregateFunction(bind=moments.var_pop, parameter=_double),
    "skewness": AggregateFunction(bind=moments.skewness, parameter=_double),
    "kurtosis": AggregateFunction(bind=moments.kurtosis, parameter=_double),
    "corr": AggregateFunction(bind=moments.corr, parameter=_double),
    "covar_pop": AggregateFunction(bind=moments.covar_pop, parameter=_double),
    "covar_samp": AggregateFunction(bind=moments.covar_samp, parameter=_double),
}


def parameter_types(name: str, types: Types) -> Types:
    """The types to which Spark casts the arguments of an aggregate; constants keep theirs.

    >>> parameter_types("corr", ("int", "decimal(10,2)")), parameter_types("listagg", ("int", "string"))
    (('double', 'double'), ('string', 'string'))
    """
    function = AGGREGATES[name]
    return tuple(t if i in function.constants else function.parameter(t) for i, t in enumerate(types))


def aggregate(
    name: str,
    types: Types,
    result: str,
    settings: Settings,
    *,
    is_distinct: bool = False,
    constants: Mapping[int, Any] | None = None,
    order_by: Sequence[SortKey] = (),
    ignores_nulls: bool = False,
) -> Aggregator:
    """The aggregate `name` over arguments of `types`, those of `parameter_types`, with values of Spark's type `result`.

    `constants`: the values of the arguments that AggregateFunction.constants names, where they are written; `add`
    receives only the other arguments, and after them the values of the `order_by` keys.

    Raises UnsupportedError UNKNOWN_AGGREGATE for a name that is not in AGGREGATES, and DataError for a wrong constant.
    What the aggregator raises is a DataError (see `of_one_row`).

    >>> from sqlext.expressions.aggregates.aggregator import fold
    >>> total = aggregate("sum", ("int",), "bigint", Settings(True, "UTC"), is_distinct=True)
    >>> fold(total, [(1,), (1,), (None,), (2,)])
    3
    """
    if name not in AGGREGATES:
        raise unknown_aggregate(name)
    call = AggregateCall(
        name=name,
        types=types,
        result=result,
        settings=settings,
        constants=constants or {},
        ignores_nulls=ignores_nulls,
    )
    own = [t for i, t in enumerate(types) if i not in call.constants]
    aggregator = AGGREGATES[name].bind(call)
    if is_distinct:
        aggregator = distinct(aggregator, own)
    aggregator = ordered(aggregator, order_by, len(own)) if order_by else aggregator
    return replace(
        aggregator,
        add=of_one_row(name, aggregator.add),
        merge=of_one_row(name, aggregator.merge),
        value=of_one_row(name, aggregator.value),
    )


def unknown_aggregate(name: str, place: Place | None = None) -> UnsupportedError:
    """The error for an aggregate that workers do not compute, with the list of those that they do."""
    near = get_close_matches(name, AGGREGATES, 1)
    guess = f"did you mean {near[0]}? " if near else ""
    return UnsupportedError(
        "UNKNOWN_AGGREGATE",
        f"{name} is not an aggregate that can be computed row by row",
        place=place,
        hint=f"{guess}The aggregates are {', '.join(AGGREGATES)}.",
    )
