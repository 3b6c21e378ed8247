"""What INTERVAL JOIN … AGGREGATE needs to aggregate the rows of each range. This module is light, since the driver
imports it too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlext.aggregates.bind import BoundAggregate
from sqlext.errors import Place
from sqlext.expressions.function import SPARK_DEFAULTS, ExecutionSettings
from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, decimal_of, kind_of
from sqlext.operators.rows.limits import Limits

SIDE = "__side"  # of rows of both relations that arrive together
OF_RIGHT, OF_LEFT = 0, 1
_NUMBERS = {name: (*INTEGER_BITS, *FLOATS) for name in ("sum", "avg", "mean")}
_BEST = ("max", "max_by", "bool_or", "some", "any", "min", "min_by", "bool_and", "every")
MOMENTS = (
    "stddev", "std", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "skewness", "kurtosis",
)  # fmt: skip
KERNELS = ("count", "regr_count", "count_if", *_NUMBERS, *_BEST, *MOMENTS, "first_value", "any_value", "last_value")


@dataclass(frozen=True, kw_only=True)
class RangeCall:
    """The aggregate `call` whose value is the column `name`. `columns`: the columns of right rows that it reads, with
    the types `call.column_types`; `filter`: the column that is true on the rows that count, or "" for all."""

    name: str
    call: BoundAggregate
    columns: tuple[str, ...]
    filter: str = ""
    place: Place | None = None

    @property
    def has_kernel(self) -> bool:
        """Whether the time that a range takes hardly depends on its length."""
        function, types = self.call.function, self.call.types
        if function not in KERNELS or (self.call.is_distinct and function not in ("min", "max")):
            return False
        if function in _NUMBERS:
            digits = decimal_of(types[0])
            return types[0] in _NUMBERS[function] or (function == "sum" and digits is not None and digits[0] <= 18)
        is_ranked = function not in _BEST or kind_of(types[-1]) is not None or decimal_of(types[-1]) is not None
        return is_ranked and not (function in _BEST and self.call.constants)


@dataclass(frozen=True, kw_only=True)
class AggregatesPlan:
    """`excludes_lower`, `excludes_upper`: the end is not in a range; `keys`: the columns of the keys, in both
    relations; `null_safe`: those of them that match NULL; `is_left`: left rows without a partner are in the result;
    `is_prevailing`: the last right row before the range counts too; `ties`: the columns that order right rows with one
    time. Of the result's columns, `of_left` names the column that each takes from the left row, `calls` are the others.

    `left`, `right`: where the rows of both relations arrive together, with SIDE, the columns of each by their names
    there.
    """

    excludes_lower: bool = False
    excludes_upper: bool = False
    keys: tuple[str, ...] = ()
    null_safe: tuple[str, ...] = ()
    is_left: bool
    is_prevailing: bool = False
    ties: tuple[str, ...] = ()
    of_left: Mapping[str, str]
    calls: tuple[RangeCall, ...]
    left: Mapping[str, str]
    right: Mapping[str, str]
    settings: ExecutionSettings = SPARK_DEFAULTS
    limits: Limits = Limits()
