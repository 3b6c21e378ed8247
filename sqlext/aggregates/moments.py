"""Variance, standard deviation, skewness, kurtosis, covariance, correlation and linear regression.

The updates follow Spark's CentralMomentAgg, Covariance and PearsonCorrelation, in the same order of operations,
so that values are the same to the last bit. Spark merges the partial result of a group into an empty one. This turns
infinity into NaN, so `value` does the same. Sources: D. Knuth, The Art of Computer Programming 2, 4.2.2; P. Pébay,
SAND2008-6212.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sqlext.aggregates.aggregator import AggregateCall, Aggregator, of_all_calls, of_complete_rows
from sqlext.expressions.faults import division_by_zero
from sqlext.expressions.function import NAN_OF_ZERO_DIVISORS

_Moments = tuple[float, float, float, float, float]  # count, mean, and the sums of the 2nd to 4th powers of deviations
_NONE = (0.0, 0.0, 0.0, 0.0, 0.0)


def _moment_aggregator(value: Callable[[_Moments], float | None]) -> Aggregator:
    return Aggregator(empty=_NONE, add=_with_value, merge=_merged, value=lambda state: value(_merged(_NONE, state)))


def _of_zero_divisors(aggregator: Aggregator) -> Callable[[AggregateCall], Aggregator]:
    """Return the aggregate, which `spark.sql.legacy.statisticalAggregate` makes NaN instead of NULL over rows where a
    divisor is zero: over one row, or over equal values."""

    def bind(call: AggregateCall) -> Aggregator:
        return _with_nan(aggregator) if NAN_OF_ZERO_DIVISORS in call.settings.is_on else aggregator

    return bind


def _with_nan(aggregator: Aggregator) -> Aggregator:
    def value(state: _Moments | _Pairs) -> float | None:
        result = aggregator.value(state)
        return math.nan if result is None and state[0] else result

    return replace(aggregator, value=value)


def _with_value(state: _Moments, value: Any) -> _Moments:
    if value is None:
        return state
    n, mean, m2, m3, m4 = state
    count = n + 1.0
    delta = value - mean
    step = delta / count
    new_m2 = m2 + delta * (delta - step)
    new_m3 = m3 - 3.0 * step * new_m2 + delta * (delta * delta - step * step)
    new_m4 = (
        m4
        - 4.0 * step * new_m3
        - 6.0 * (step * step) * new_m2
        + delta * (delta * (delta * delta) - step * (step * step))
    )
    return (count, mean + step, new_m2, new_m3, new_m4)


def _merged(left: _Moments, right: _Moments) -> _Moments:
    n1, mean1, m2, m3, m4 = left
    n2, mean2, right2, right3, right4 = right
    n = n1 + n2
    delta = mean2 - mean1
    step = 0.0 if n == 0.0 else delta / n
    new_m2 = m2 + right2 + delta * step * n1 * n2
    new_m3 = m3 + right3 + step * step * delta * n1 * n2 * (n1 - n2) + 3.0 * step * (n1 * right2 - n2 * m2)
    new_m4 = (
        m4
        + right4
        + step * step * step * delta * n1 * n2 * (n1 * n1 - n1 * n2 + n2 * n2)
        + 6.0 * step * step * (n1 * n1 * right2 + n2 * n2 * m2)
        + 4.0 * step * (n1 * right3 - n2 * m3)
    )
    return (n, mean1 + step * n2, new_m2, new_m3, new_m4)


def _population(state: _Moments) -> float | None:
    return state[2] / state[0] if state[0] else None


def _sample(state: _Moments) -> float | None:
    return state[2] / (state[0] - 1.0) if state[0] > 1.0 else None


def _root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value) if value == value else value


def _skewness(state: _Moments) -> float | None:
    n, _, m2, m3, _ = state
    return None if not n or m2 == 0.0 else math.sqrt(n) * m3 / math.sqrt(m2 * m2 * m2)


def _kurtosis(state: _Moments) -> float | None:
    n, _, m2, _, m4 = state
    return None if not n or m2 == 0.0 else n * m4 / (m2 * m2) - 3.0


# pairs

_Pairs = tuple[float, float, float, float, float, float]  # count, means of x and y, sums of dx·dy, dx², dy²
_NO_PAIRS = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def _pair_aggregator(value: Callable[[_Pairs], float | None]) -> Aggregator:
    return Aggregator(
        empty=_NO_PAIRS,
        add=_with_pair,
        merge=_merged_pairs,
        value=lambda state: value(_merged_pairs(_NO_PAIRS, state)),
    )


def _with_pair(state: _Pairs, x: Any, y: Any) -> _Pairs:
    if x is None or y is None:
        return state
    n, x_mean, y_mean, products, x_squares, y_squares = state
    count = n + 1.0
    dx, dy = x - x_mean, y - y_mean
    dx_step, dy_step = dx / count, dy / count
    new_x, new_y = x_mean + dx_step, y_mean + dy_step
    return (
        count,
        new_x,
        new_y,
        products + dx * (y - new_y),
        x_squares + dx * (x - new_x),
        y_squares + dy * (y - new_y),
    )


def _merged_pairs(left: _Pairs, right: _Pairs) -> _Pairs:
    n1, x1, y1, products, x_squares, y_squares = left
    n2, x2, y2, right_products, right_x, right_y = right
    n = n1 + n2
    dx, dy = x2 - x1, y2 - y1
    dx_step, dy_step = (0.0, 0.0) if n == 0.0 else (dx / n, dy / n)
    return (
        n,
        x1 + dx_step * n2,
        y1 + dy_step * n2,
        products + right_products + dx * dy_step * n1 * n2,
        x_squares + right_x + dx * dx_step * n1 * n2,
        y_squares + right_y + dy * dy_step * n1 * n2,
    )


def _sample_covariance(state: _Pairs) -> float | None:
    return state[3] / (state[0] - 1.0) if state[0] > 1.0 else None


def corr(call: AggregateCall) -> Aggregator:
    """The coefficient of correlation; where x or y has one value only, Spark divides by zero."""
    of_one_row = math.nan if NAN_OF_ZERO_DIVISORS in call.settings.is_on else None

    def value(state: _Pairs) -> float | None:
        n, _, _, products, x_squares, y_squares = state
        if n < 2.0:
            return of_one_row if n else None
        denominator = _root(x_squares * y_squares)
        if denominator == 0.0 and call.settings.is_ansi:
            raise division_by_zero()
        return products / denominator if denominator else None

    return _pair_aggregator(value)


# linear regression: of y, the first argument, by x


def _regression_aggregator(value: Callable[[_Pairs, _Moments], float | None]) -> Aggregator:
    """The aggregator of a function of the pairs (x, y) and the moments of x; Spark keeps both, rounded differently."""

    def add(state: tuple[_Pairs, _Moments], y: Any, x: Any) -> tuple[_Pairs, _Moments]:
        if x is None or y is None:
            return state
        return (_with_pair(state[0], x, y), _with_value(state[1], x))

    def merge(state: tuple[_Pairs, _Moments], later: tuple[_Pairs, _Moments]) -> tuple[_Pairs, _Moments]:
        return (_merged_pairs(state[0], later[0]), _merged(state[1], later[1]))

    empty = (_NO_PAIRS, _NONE)
    return Aggregator(empty=empty, add=add, merge=merge, value=lambda state: value(*merge(empty, state)))


def _regr_r2(state: _Pairs) -> float | None:
    """The square of the coefficient of correlation; 1 where y has one value only, NULL where x has one value only."""
    _, _, _, products, y_squares, x_squares = state
    if x_squares == 0.0:
        return None
    root = _root(y_squares * x_squares)
    correlation = products / root if root else math.nan
    return 1.0 if y_squares == 0.0 else correlation * correlation


_VAR_SAMP = _of_zero_divisors(_moment_aggregator(_sample))
_STDDEV_SAMP = _of_zero_divisors(_moment_aggregator(lambda state: _root(_sample(state))))
_SUM_OF_SQUARES = _moment_aggregator(lambda state: state[2] if state[0] else None)
_OF_ALL_CALLS = {
    "stddev_pop": _moment_aggregator(lambda state: _root(_population(state))),
    "var_pop": _moment_aggregator(_population),
    "covar_pop": _pair_aggregator(lambda state: state[3] / state[0] if state[0] else None),
    "regr_intercept": _regression_aggregator(lambda pairs, x: pairs[2] - pairs[3] / x[2] * pairs[1] if x[2] else None),
    "regr_r2": _pair_aggregator(_regr_r2),
    "regr_slope": _regression_aggregator(lambda pairs, x: pairs[3] / x[2] if x[2] else None),
    "regr_sxx": of_complete_rows(_SUM_OF_SQUARES, 1),
    "regr_sxy": _pair_aggregator(lambda state: state[3] if state[0] else None),
    "regr_syy": of_complete_rows(_SUM_OF_SQUARES, 0),
}
AGGREGATORS: Mapping[str, Callable[[AggregateCall], Aggregator]] = {
    **dict.fromkeys(("stddev", "std", "stddev_samp"), _STDDEV_SAMP),
    **dict.fromkeys(("variance", "var_samp"), _VAR_SAMP),
    "skewness": _of_zero_divisors(_moment_aggregator(_skewness)),
    "kurtosis": _of_zero_divisors(_moment_aggregator(_kurtosis)),
    "covar_samp": _of_zero_divisors(_pair_aggregator(_sample_covariance)),
    "corr": corr,
    **of_all_calls(_OF_ALL_CALLS),
}
