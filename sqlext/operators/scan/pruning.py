"""Whether a row group can hold a row on which a filter is true, or with one of some keys, by the least and the greatest
value of its columns.

Only integers, dates, times in microseconds and texts are compared: writers disagree about NaN and the two zeros. A
filter of another form prunes nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from sqlext.expressions.scalar_tree import Column, Constant, Scalar, ScalarCall
from sqlext.operators.scan.plan import KeyValues

_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_MIRRORED = {"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Range(NamedTuple):
    """The least and the greatest value of a column, as `expressions.values` represents them, but texts in UTF-8."""

    least: Any
    most: Any
    may_have_nulls: bool = True


_MAY_HOLD: dict[str, Callable[[Range, Any], bool]] = {
    "=": lambda held, value: held.least <= value <= held.most,
    "<": lambda held, value: held.least < value,
    "<=": lambda held, value: held.least <= value,
    ">": lambda held, value: held.most > value,
    ">=": lambda held, value: held.most >= value,
}


def may_be_true(condition: Scalar, ranges: Mapping[str, Range]) -> bool:
    """False if the condition is true on no row whose columns are in these ranges.

    >>> from sqlext.expressions.function import ExecutionSettings
    >>> from sqlext.expressions.scalar_tree import call
    >>> settings = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> is_large = call(">", (Column("x", "int"), Constant(5, "int")), settings)
    >>> [may_be_true(is_large, {"x": Range(0, most)}) for most in (5, 6)], may_be_true(is_large, {})
    ([False, True], True)
    """
    if not isinstance(condition, ScalarCall):
        return True
    function, arguments = condition.function, condition.arguments
    if function == "AND":
        return all(may_be_true(part, ranges) for part in arguments)
    if function == "OR":
        return any(may_be_true(part, ranges) for part in arguments)
    if function in _MIRRORED and isinstance(arguments[0], Constant):
        function, arguments = _MIRRORED[function], arguments[::-1]
    if function == "BETWEEN":
        value, low, high = arguments
        return _may_hold(">=", value, (low,), ranges) and _may_hold("<=", value, (high,), ranges)
    return _may_hold("=" if function == "IN" else function, arguments[0], arguments[1:], ranges)


def _may_hold(function: str, value: Scalar, others: tuple[Scalar, ...], ranges: Mapping[str, Range]) -> bool:
    if function not in _MAY_HOLD or not isinstance(value, Column) or value.name not in ranges:
        return True
    constants = [other for other in others if isinstance(other, Constant) and other.type == value.type]
    if len(constants) < len(others):
        return True
    held = ranges[value.name]
    values = (c.value.encode() if isinstance(c.value, str) else c.value for c in constants)
    return any(known is not None and _MAY_HOLD[function](held, known) for known in values)


class KeyRanges:
    """The values of keys in order, without those with NULL, which no range tells.

    >>> keys = KeyRanges([KeyValues("k", pa.array([3, 7]))])
    >>> keys.may_be_in({"k": Range(4, 6)}), keys.may_be_in({"k": Range(4, 7)}), keys.may_be_in({})
    (False, True, True)
    """

    def __init__(self, keys: Sequence[KeyValues]) -> None:
        self._sorted = {key.column: _raw(key.values) for key in keys if not key.values.null_count}

    def may_be_in(self, ranges: Mapping[str, Range]) -> bool:
        """False if no row whose columns are in these ranges has one of the keys."""
        for column, values in self._sorted.items():
            held = ranges.get(column)
            if values is not None and held is not None:
                at = bisect_left(values, held.least)
                if at == len(values) or values[at] > held.most:
                    return False
        return True


def _raw(values: pa.Array) -> list[Any] | None:
    """The values in order, as Range represents them; None for a type of which no range is known."""
    if pa.types.is_string(values.type):
        return sorted(value.encode() for value in values.to_pylist())
    if pa.types.is_date32(values.type):
        values = values.view(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.view(pa.int64())
    return sorted(values.to_pylist()) if values.type in _INTEGERS else None


def ranges_of(file: pq.ParquetFile, group: int, names: Mapping[str, str]) -> dict[str, Range]:
    """The ranges of the columns of a row group that are known. `names`: the names of columns in the file."""
    if not names:
        return {}
    places = {file.schema.column(i).path: i for i in range(len(file.schema))}
    facts, found = file.metadata.row_group(group), {}
    for name, stored in names.items():
        statistics = facts.column(places[stored]).statistics
        kind = file.schema_arrow.field(stored).type
        if statistics is None or not statistics.has_min_max:
            continue
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if is_text or _is_number(kind, statistics.physical_type):
            has_none = statistics.has_null_count and not statistics.null_count
            found[name] = Range(statistics.min_raw, statistics.max_raw, not has_none)
    return found


def _is_number(kind: pa.DataType, physical: str) -> bool:
    if physical not in ("INT32", "INT64"):
        return False
    if pa.types.is_timestamp(kind):
        return kind.unit == "us"
    return pa.types.is_date32(kind) or kind in _INTEGERS
