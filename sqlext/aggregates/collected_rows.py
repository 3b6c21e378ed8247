"""Aggregates that keep their rows: arrays, texts, percentiles and the most frequent value."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from sqlext.aggregates.aggregator import (
    EMPTY,
    AggregateCall,
    Aggregator,
    appended,
    concatenated,
    listed,
)
from sqlext.expressions.effort import make, size_of
from sqlext.expressions.faults import invalid_value
from sqlext.expressions.function import LOWER_PERCENTILES
from sqlext.expressions.numbers import saturated
from sqlext.expressions.spark_types import ArrayOf, is_interval, is_year_month, nested
from sqlext.expressions.values import distinct, hashable, order_key


def _collecting(value: Callable[[Any], Any], *, keeps_nulls: bool = False) -> Aggregator:
    """Return the aggregator of a function of the list of all values, without NULLs unless `keeps_nulls`."""

    def add(state: tuple, new: Any) -> tuple:
        return state if new is None and not keeps_nulls else appended(state, new)

    return Aggregator(
        empty=EMPTY, add=add, merge=concatenated, value=lambda state: value(listed(state)), needs_rows=True
    )


def array_agg(call: AggregateCall) -> Aggregator:
    """array_agg and collect_list: the values in the order of the rows."""
    return _collecting(lambda values: values, keeps_nulls=call.respects_nulls)


def collect_set(call: AggregateCall) -> Aggregator:
    """The distinct values, in the order in which they first occur."""
    return _collecting(lambda values: distinct(values, call.types[0]), keeps_nulls=call.respects_nulls)


def listagg(call: AggregateCall) -> Aggregator:
    """listagg and string_agg: the values with a delimiter between them; NULL over none."""
    delimiter = call.constants.get(1)
    if delimiter is None:
        delimiter = b"" if call.types[0] == "binary" else ""

    def value(values: list[Any]) -> Any:
        if not values:
            return None
        make(size_of(*values) + len(values) * len(delimiter))
        return delimiter.join(values)

    return _collecting(value)


def mode(call: AggregateCall) -> Aggregator:
    """The most frequent value; of equally frequent values the least, or with ORDER BY … DESC the greatest."""
    spark_type, choose = call.types[0], max if call.is_descending else min

    def value(values: list[Any]) -> Any:
        if not values:
            return None
        counts = Counter(hashable(v, spark_type) for v in values)
        most = max(counts.values())
        kept = {hashable(v, spark_type): v for v in reversed(values)}
        return choose((kept[k] for k, n in counts.items() if n == most), key=lambda v: order_key(v, spark_type))

    return _collecting(value)


def _percentiles(call: AggregateCall, *, pick: Callable[[Any, float], Any]) -> Aggregator:
    """The values at the fractions that the second argument names, by default at one half; `pick` returns each."""
    fractions = call.constants.get(1, 0.5)
    is_list = isinstance(fractions, tuple)
    shares = [_fraction(call, fraction) for fraction in (fractions if is_list else [fractions])]

    def value(values: Any) -> Any:
        ordered = _in_order(values, is_descending=call.is_descending)
        if not ordered:
            return None
        results = [_as_result(pick(ordered, share), call.result) for share in shares]
        return results if is_list else results[0]

    return _collecting(value) if len(call.types) < 3 else _with_frequencies(value)


def _in_order(values: Sequence[Any], *, is_descending: bool) -> Sequence[Any]:
    """The values in order; NaN is the largest."""

    def key(value: Any) -> Any:
        return value != value, value

    if not isinstance(values, _Repeated):
        return sorted(values, key=key, reverse=is_descending)
    return _Repeated(sorted(values.pairs, key=lambda pair: key(pair[0]), reverse=is_descending))


def _with_frequencies(value: Callable[[Any], Any]) -> Aggregator:
    """Return the aggregator of `percentile(value, fraction, frequency)`: each value counts as often as its row says."""

    def add(state: tuple, new: Any, frequency: float | None) -> tuple:
        if frequency is not None and frequency < 0:
            raise invalid_value(f"percentile takes frequencies from 0 on, not {frequency:.0f}", "write 1.")
        return appended(state, (new, int(frequency))) if new is not None and frequency else state

    return Aggregator(
        empty=EMPTY,
        add=add,
        merge=concatenated,
        value=lambda state: value(_Repeated(listed(state))),
        needs_rows=True,
    )


class _Repeated(Sequence[Any]):
    """Values that are there as often as their frequencies say, without their copies.

    >>> values = _in_order(_Repeated([(9, 1), (5, 2)]), is_descending=False)
    >>> len(values), [values[i] for i in range(3)]
    (3, [5, 5, 9])
    """

    def __init__(self, pairs: Sequence[tuple[Any, int]]):
        self.pairs = pairs
        self.ends = list(accumulate(frequency for _, frequency in pairs))

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    def __getitem__(self, i: Any) -> Any:
        return self.pairs[bisect_right(self.ends, i)][0]


def percentile_disc(call: AggregateCall) -> Aggregator:
    return _percentiles(call, pick=_discrete_before if LOWER_PERCENTILES in call.settings.is_on else _discrete)


def _fraction(call: AggregateCall, written: Any) -> float:
    try:
        fraction = math.nan if written is None else float(written)
    except ValueError:
        fraction = math.nan
    if not 0 <= fraction <= 1:
        shown = "NULL" if written is None else written
        raise invalid_value(f"{call.name} takes fractions from 0.0 to 1.0, not {shown}", "write 0.5.")
    return fraction


def _interpolated(ordered: Sequence[Any], fraction: float) -> Any:
    """The value for percentile_cont, between two of the values."""
    position = (len(ordered) - 1) * fraction
    lower, higher = math.floor(position), math.ceil(position)
    low, high = float(ordered[lower]), float(ordered[higher])
    if lower == higher or low == high:
        return low
    return (higher - position) * low + (position - lower) * high


def _discrete(ordered: Sequence[Any], fraction: float) -> Any:
    """The first value whose cumulative share reaches the fraction, for percentile_disc."""
    return float(ordered[max(0, math.ceil(fraction * len(ordered)) - 1)])


def _discrete_before(ordered: Sequence[Any], fraction: float) -> Any:
    """The lower of the values between which percentile_cont interpolates, for `percentileDiscCalculation`."""
    return float(ordered[math.floor((len(ordered) - 1) * fraction)])


def _as_result(value: float, spark_type: str) -> Any:
    """Return the value in the result type: an interval becomes a whole number, rounded toward zero as in Java."""
    parts = nested(spark_type)
    element = parts.element if isinstance(parts, ArrayOf) else spark_type
    if not is_interval(element):
        return value
    return saturated(value, 32 if is_year_month(element) else 64)


AGGREGATORS: Mapping[str, Callable[[AggregateCall], Aggregator]] = {
    "array_agg": array_agg,
    "collect_list": array_agg,
    "collect_set": collect_set,
    "listagg": listagg,
    "string_agg": listagg,
    "mode": mode,
    **dict.fromkeys(("median", "percentile", "percentile_cont"), partial(_percentiles, pick=_interpolated)),
    "percentile_disc": percentile_disc,
}
