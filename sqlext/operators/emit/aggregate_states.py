"""Aggregates of many groups of rows at once: partial aggregates that are merged, and the values at the end.

A group is a run of entries of an array of rows. The partial aggregates of n groups are `States`, some arrays of n
values each. NumPy reduces numbers; for all other calls the aggregators of `sqlext.expressions` add one row at a time.

An error in computing a value becomes part of the state. So it concerns only the firings that see it: for such a firing
`finish` either reports the error and returns NULL, or raises it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sqlext.aggregates.registry import AGGREGATES
from sqlext.aggregates.stored_states import read_state, write_states
from sqlext.errors import DataError, Place
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, TIME_TYPES
from sqlext.expressions.values import from_arrow
from sqlext.expressions.values import to_arrow as values_to_arrow
from sqlext.operators.emit.parts import FiringAggregate
from sqlext.operators.rows.arrow import are_valid, as_arrow, as_numpy, to_arrow, to_values
from sqlext.pattern.task.task import Values

States = tuple[np.ndarray, ...]
Columns = Mapping[str, pa.Array]
Errors = dict[int, DataError]


class Aggregation(Protocol):
    """An aggregate over groups. `reduce`: group i is entries `start[i]` to `stop[i]` (exclusive) of `rows: int64[k]`,
    and the groups follow one another; `fields`: the Arrow types of its states.

    `running`: state i, merged with the `rank[i]` states before it. `finish` writes the errors of groups that could not
    be computed into `errors`, or raises DataError if `errors` is not given.
    """

    @property
    def fields(self) -> tuple[pa.DataType, ...]: ...

    def empty(self, n: int) -> States: ...

    def reduce(self, rows: np.ndarray, start: np.ndarray, stop: np.ndarray) -> States: ...

    def merge(self, before: States, after: States) -> States: ...

    def running(self, states: States, rank: np.ndarray) -> States: ...

    def finish(self, states: States, errors: Errors | None = None) -> pa.Array: ...


def aggregation(call: FiringAggregate, columns: Columns, settings: ExecutionSettings) -> Aggregation:
    """The aggregation of a call over these columns of the rows."""
    kept = None
    if call.filter:
        condition = columns[call.filter]
        kept = as_numpy(condition) & are_valid(condition)
    if not is_vectorised(call):
        return General(call, columns, kept, settings)
    kernel = AGGREGATES[call.call.function].kernel
    if kernel == "count":
        return Count(_is_counted(call, columns, kept))
    column = columns[call.columns[0]]
    if kernel in ("min", "max"):
        return Extreme(_values(column, kept), column.type, is_max=kernel == "max")
    if kernel == "sum" and call.call.types[0] not in FLOATS:
        return IntegerSum(_values(column, kept), is_ansi=settings.is_ansi, place=call.place)
    return FloatSum(_values(column, kept), is_average=kernel == "avg")


def is_vectorised(call: FiringAggregate) -> bool:
    """Return True if NumPy computes the aggregate for all groups at once."""
    bound, kernel = call.call, AGGREGATES[call.call.function].kernel
    if kernel == "count":
        return not bound.is_distinct
    if len(bound.types) != 1 or (bound.is_distinct and kernel not in ("min", "max")):
        return False
    is_number = bound.types[0] in (*INTEGER_BITS, *FLOATS)
    return kernel != "" and (is_number or (kernel in ("min", "max") and bound.types[0] in TIME_TYPES))


def depends_on_order(call: FiringAggregate) -> bool:
    """Return True if the value depends on the order of the rows, or on which of several equal rows comes first."""
    return AGGREGATES[call.call.function].reads_order


def _is_counted(call: FiringAggregate, columns: Columns, kept: np.ndarray | None) -> np.ndarray | None:
    """`bool[n]`: the rows that COUNT counts; None if it counts all rows."""
    is_counted = kept
    for name in call.columns:
        column = columns[name]
        if column.null_count:
            is_counted = are_valid(column) if is_counted is None else is_counted & are_valid(column)
    return is_counted


def _values(column: pa.Array, kept: np.ndarray | None) -> Values:
    """The values of a column, with NULL for the rows that FILTER leaves out."""
    values = to_values(column)
    return values if kept is None else Values(values.values, values.is_valid & kept)


def _groups(operation: np.ufunc, values: np.ndarray, start: np.ndarray, stop: np.ndarray, of_none: Any) -> np.ndarray:
    """The reduced values of each group; `of_none` for an empty group.

    >>> _groups(np.add, np.array([1, 2, 3]), np.array([0, 2, 2]), np.array([2, 2, 3]), 0).tolist()
    [3, 0, 3]
    """
    result = np.full(len(start), of_none, values.dtype)
    some = np.flatnonzero(start < stop)
    if len(some):
        result[some] = operation.reduceat(values, start[some])  # the groups follow one another
    return result


def taken(states: States, at: np.ndarray) -> States:
    """Some of the states, by a mask or by indexes."""
    return tuple(column[at] for column in states)


class _Vectorised(ABC):
    """The common part of the aggregations that NumPy computes."""

    @abstractmethod
    def merge(self, before: States, after: States) -> States: ...

    def running(self, states: States, rank: np.ndarray) -> States:
        """A scan in as many merges as the greatest rank has binary digits (Hillis and Steele 1986, Data parallel
        algorithms)."""
        step = 1
        while (at := np.flatnonzero(rank >= step)).size:
            merged = self.merge(taken(states, at - step), taken(states, at))
            states = tuple(column.copy() for column in states)
            for column, value in zip(states, merged):
                column[at] = value
            step *= 2
        return states


@dataclass(frozen=True)
class Count(_Vectorised):
    """COUNT; `is_counted: bool[n]` or None for all rows."""

    is_counted: np.ndarray | None
    fields: tuple[pa.DataType, ...] = (pa.int64(),)

    def empty(self, n: int) -> States:
        return (np.zeros(n, np.int64),)

    def reduce(self, rows: np.ndarray, start: np.ndarray, stop: np.ndarray) -> States:
        if self.is_counted is None:
            return (stop - start,)
        return (_groups(np.add, self.is_counted[rows].astype(np.int64), start, stop, 0),)

    def merge(self, before: States, after: States) -> States:
        return (before[0] + after[0],)

    def finish(self, states: States, errors: Errors | None = None) -> pa.Array:
        return as_arrow(states[0])


class IntegerSum(_Vectorised):
    """SUM of integers. The states are the sum modulo 2^64, a count, and how often the sum has wrapped around. So the
    sum is exact, and whether it exceeds 64 bits does not depend on the portions in which rows arrive."""

    fields = (pa.int64(), pa.int64(), pa.int64())

    def __init__(self, values: Values, *, is_ansi: bool, place: Place | None):
        self.values, self.valid = _or_zero(values, np.int64)
        self.is_ansi, self.place = is_ansi, place

    def empty(self, n: int) -> States:
        return np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)

    def reduce(self, rows: np.ndarray, start: np.ndarray, stop: np.ndarray) -> States:
        values = self.values[rows]
        total, wraps = _groups(np.add, values, start, stop, 0), np.zeros(len(start), np.int64)
        size = _groups(np.add, np.abs(values.astype(np.float64)), start, stop, 0)
        for i in np.flatnonzero(size > 2.0**62).tolist():  # only these can exceed 64 bits
            wraps[i] = (sum(values[start[i] : stop[i]].tolist()) - int(total[i])) >> 64
        return total, _groups(np.add, self.valid[rows], start, stop, 0), wraps

    def merge(self, before: States, after: States) -> States:
        total = before[0] + after[0]
        is_wrapped = ((before[0] ^ total) & (after[0] ^ total)) < 0
        wraps = np.where(is_wrapped, np.where(before[0] < 0, -1, 1), 0)
        return total, before[1] + after[1], before[2] + after[2] + wraps

    def finish(self, states: States, errors: Errors | None = None) -> pa.Array:
        total, count, wraps = states
        is_valid = count > 0
        if self.is_ansi:
            for i in np.flatnonzero(wraps).tolist():
                error = DataError("ARITHMETIC_OVERFLOW", "a sum exceeds 64 bits", hint="sum CAST(x AS DECIMAL(38,0)).")
                report(error.with_(place=self.place), i, errors)
            is_valid = is_valid & (wraps == 0)
        return as_arrow(total, is_valid)


class FloatSum(_Vectorised):
    """SUM of floats, and AVG, which adds up floats. The states are the sum and a count."""

    fields = (pa.float64(), pa.int64())

    def __init__(self, values: Values, *, is_average: bool):
        self.values, self.valid = _or_zero(values, np.float64)
        self.is_average = is_average

    def empty(self, n: int) -> States:
        return np.zeros(n), np.zeros(n, np.int64)

    def reduce(self, rows: np.ndarray, start: np.ndarray, stop: np.ndarray) -> States:
        values, valid = self.values[rows], self.valid[rows]
        return _groups(np.add, values, start, stop, 0), _groups(np.add, valid, start, stop, 0)

    def merge(self, before: States, after: States) -> States:
        return before[0] + after[0], before[1] + after[1]

    def finish(self, states: States, errors: Errors | None = None) -> pa.Array:
        total, count = states
        return as_arrow(total / np.maximum(count, 1) if self.is_average else total, count > 0)


def _or_zero(values: Values, kind: type) -> tuple[np.ndarray, np.ndarray]:
    """The values, with 0 in place of NULL; and an array with 1 for each value that is not NULL, 0 for NULL."""
    return np.where(values.is_valid, values.values, 0).astype(kind), values.is_valid.astype(np.int64)


class Extreme(_Vectorised):
    """MIN and MAX of numbers and times; NaN is the largest number. The states are the value and a count."""

    def __init__(self, values: Values, kind: pa.DataType, *, is_max: bool):
        numbers, valid = values.values, values.is_valid
        self.operation: np.ufunc
        if numbers.dtype.kind == "f":
            self.of_none = -np.inf if is_max else np.nan
            self.operation = np.maximum if is_max else np.fmin
        else:
            limits = np.iinfo(np.int64)
            self.of_none = limits.min if is_max else limits.max
            self.operation = np.maximum if is_max else np.minimum
        self.values, self.valid, self.kind = np.where(valid, numbers, self.of_none), valid.astype(np.int64), kind
        self.fields = (pa.from_numpy_dtype(self.values.dtype), pa.int64())

    def empty(self, n: int) -> States:
        return np.full(n, self.of_none, self.values.dtype), np.zeros(n, np.int64)

    def reduce(self, rows: np.ndarray, start: np.ndarray, stop: np.ndarray) -> States:
        value = _groups(self.operation, self.values[rows], start, stop, self.of_none)
        return value, _groups(np.add, self.valid[rows], start, stop, 0)

    def merge(self, before: States, after: States) -> States:
        return self.operation(before[0], after[0]), before[1] + after[1]

    def finish(self, states: States, errors: Errors | None = None) -> pa.Array:
        return to_arrow(Values(states[0], states[1] > 0), self.kind)


class General:
    """Any other aggregate. A state is the state of the aggregator of `sqlext.expressions`, or a DataError."""

    fields = (pa.binary(),)

    def __init__(self, call: FiringAggregate, columns: Columns, kept: np.ndarray | None, settings: ExecutionSettings):
        self.aggregator = call.call.aggregator(settings)
        self.result, self.kept, self.place = call.call.result, kept, call.place
        self.columns = [from_arrow(columns[name], kind) for name, kind in zip(call.columns, call.call.column_types)]

    def empty(self, n: int) -> States:
        return (_objects([self.aggregator.empty] * n),)

    def reduce(self, rows: np.ndarray, start: np.ndarray, stop: np.ndarray) -> States:
        return (_objects([self._state(rows[lo:hi].tolist()) for lo, hi in zip(start.tolist(), stop.tolist())]),)

    def _state(self, rows: list[int]) -> Any:
        add, state = self.aggregator.add, self.aggregator.empty
        try:
            for row in rows:
                if self.kept is None or self.kept[row]:
                    state = add(state, *(column[row] for column in self.columns))
        except DataError as error:
            return error
        return state

    def merge(self, before: States, after: States) -> States:
        return (_objects([self._merged(a, b) for a, b in zip(before[0], after[0])]),)

    def running(self, states: States, rank: np.ndarray) -> States:
        values = list(states[0])
        for i in np.flatnonzero(rank).tolist():
            values[i] = self._merged(values[i - 1], values[i])
        return (_objects(values),)

    def _merged(self, before: Any, after: Any) -> Any:
        for state in (before, after):
            if isinstance(state, DataError):
                return state
        try:
            return self.aggregator.merge(before, after)
        except DataError as error:
            return error

    def finish(self, states: States, errors: Errors | None = None) -> pa.Array:
        return values_to_arrow([self._value(state, i, errors) for i, state in enumerate(states[0])], self.result)

    def _value(self, state: Any, i: int, errors: Errors | None) -> Any:
        try:
            if isinstance(state, DataError):
                raise state
            return self.aggregator.value(state)
        except DataError as error:
            report(error.with_(place=self.place), i, errors)
            return None


def report(error: DataError, group: int, errors: Errors | None) -> None:
    if errors is None:
        raise error from None
    errors[group] = error


def _objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), object)
    for i, value in enumerate(values):  # `array[:] = values` would unpack lists
        array[i] = value
    return array


# states in Arrow


def stored(states: States, fields: tuple[pa.DataType, ...]) -> list[pa.Array]:
    """States as Arrow columns of these types."""
    return [
        pa.array(list(write_states(column)), pa.binary()) if kind == pa.binary() else as_arrow(column)
        for column, kind in zip(states, fields)
    ]


def restored(columns: list[pa.Array]) -> States:
    """The inverse of `stored`. Raises DataError STATE_CONTENT for columns that `stored` has not written."""
    return tuple(
        _objects([read_state(value.as_py()) for value in column])
        if pa.types.is_binary(column.type)
        else as_numpy(column).copy()
        for column in columns
    )
