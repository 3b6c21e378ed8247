"""The meaning of run-dependent conditions, written slowly and obviously, with Spark's NULL, NaN, overflow and division.

`threads` evaluates the same conditions as compiled code and is tested against this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from itertools import islice
from typing import Any, NamedTuple, Protocol, Union

import numpy as np

from sqlext.errors import DataError
from sqlext.expressions.effort import of_one_row
from sqlext.expressions.scalar_tree import Read, Scalar, evaluate_with
from sqlext.pattern.conditions.condition_reads import columns_read
from sqlext.pattern.task.task import (
    CLASSIFIER_NAME,
    CLASSIFIERS,
    MATCH_NUMBER,
    Aggregate,
    Condition,
    InterpretedAggregate,
    Literal,
    MachineCall,
    MatchTask,
    Navigation,
    Operand,
    Rows,
    Values,
)

Value = Any  # bool, int or float; for interpreted parts as in `expressions.values`
Satisfies = Callable[[int, int, list[int], int], Union[bool, None]]  # see `satisfier`

_FAULTS = {
    "ARITHMETIC_OVERFLOW": ("integer overflow", "cast to a wider type, or set spark.sql.ansi.enabled to false"),
    "NUMERIC_VALUE_OUT_OF_RANGE": ("decimal overflow", "cast to fewer digits, or to DOUBLE"),
    "ARGUMENT_FAILED": ("an aggregate is over a row that could not be computed", "guard its argument"),
    "DIVIDE_BY_ZERO": ("division by zero", "test the divisor first, for example with nullif(x, 0)"),
}


class LabelledRows(Protocol):
    """The rows around a path, and their labels."""

    @property
    def rows(self) -> Rows: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def number(self) -> int: ...

    @property
    def tested(self) -> str: ...

    def label_at(self, row: int) -> int | None: ...


class Tested(Protocol):
    """The path as the evaluation of a condition needs it: the values of its operands, and a name for its errors."""

    def operand(self, operand: Operand | Read) -> Value | None: ...

    @property
    def tested(self) -> str:
        """The variable whose condition is evaluated."""


class Path(NamedTuple):
    """A path through the pattern while its last label is tested.

    Row `taken[j]` (by default row `start + j`) is mapped to label `labels[j]`, an index of `names`; the last of these
    rows is the current one. The partition is rows `partition[0]` to `partition[1]` (exclusive). `number` is the value
    of MATCH_NUMBER().
    """

    rows: Rows
    names: tuple[str, ...]
    partition: tuple[int, int]
    start: int
    labels: tuple[int, ...]
    number: int
    taken: tuple[int, ...] | None = None

    @property
    def tested(self) -> str:
        return self.names[self.labels[-1]]

    def operand(self, operand: Operand | Read) -> Value | None:
        if isinstance(operand.source, Aggregate):
            return _aggregate(operand.source, self)
        if isinstance(operand.source, InterpretedAggregate):
            return _interpreted_aggregate(operand.source, self)
        return _navigate(operand.source, operand.missing if isinstance(operand, Operand) else None, self)

    def mapped(self, labels: tuple[int, ...] | None) -> list[int]:
        """The rows with one of `labels` (None: any), in order."""
        taken = self.taken or range(self.start, self.start + len(self.labels))
        return [row for row, label in zip(taken, self.labels) if labels is None or label in labels]

    def row_at(self, labels: tuple[int, ...] | None, offset: int, *, from_first: bool) -> int | None:
        """The row that is `offset` rows after the first one with one of `labels` (None: any), or before the last one;
        None if there is no such row."""
        ordered = self.labels if from_first else self.labels[::-1]
        at: int | None
        if labels is None:
            at = offset if offset < len(ordered) else None
        elif offset == 0:  # without a loop in Python: the path may be long, and each row of it is tested
            at = min((ordered.index(label) for label in labels if label in ordered), default=None)
        else:
            at = next(islice((j for j, label in enumerate(ordered) if label in labels), offset, None), None)
        if at is None:
            return None
        at = at if from_first else len(ordered) - 1 - at
        return self.taken[at] if self.taken else self.start + at

    def label_at(self, row: int) -> int | None:
        """The label of a row, or None if the path does not map it."""
        if self.taken is not None:
            return dict(zip(self.taken, self.labels)).get(row)
        return self.labels[row - self.start] if 0 <= row - self.start < len(self.labels) else None


class RowOfPath(NamedTuple):
    """One row of a path or around it, for conditions that read nothing but this row, its label and the match number."""

    path: LabelledRows
    row: int

    @property
    def tested(self) -> str:
        return self.path.tested

    def operand(self, operand: Operand | Read) -> Value | None:
        assert isinstance(operand.source, Navigation)
        return read(operand.source, self.row, self.path)


def fault(error_class: str, label: str) -> DataError:
    """The run-time error of the condition of variable `label`.

    >>> print(fault("DIVIDE_BY_ZERO", "A").message)
    division by zero in the condition that DEFINE gives for A
    """
    problem, hint = _FAULTS[error_class]
    return DataError(error_class, f"{problem} in the condition that DEFINE gives for {label}", hint=hint)


def evaluate(condition: Condition, path: Tested) -> Value | None:
    """The value of a condition for a path, None for NULL.

    The order of evaluation is Spark's, because it decides which errors are raised: AND, OR, IF and COALESCE evaluate a
    later argument only if they need it. All other functions that propagate NULL stop at the first NULL; `/` and `%`
    evaluate the divisor first.

    Raises DataError: ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO, and what functions of Spark raise.

    >>> arguments = Literal(None, "bool"), Literal(True, "bool")
    >>> evaluate(MachineCall(function="or", arguments=arguments, kind="bool"), None)
    True
    """
    if isinstance(condition, Literal):
        return condition.value
    if isinstance(condition, Operand):
        return path.operand(condition)
    if not isinstance(condition, MachineCall):
        return _interpreted(condition, path)
    lazy = _LAZY.get(condition.function)
    if lazy is not None:
        return lazy(condition.arguments, path)
    return _strict(condition, path)


def holds(condition: Condition, path: Path) -> bool:
    """Whether the condition is true for a path."""
    return verdict(condition, path) is True


def verdict(condition: Condition, path: Path) -> bool | None:
    """The value of the condition for a path; False if it cannot be computed and `Rows.errors` notes errors."""
    errors = path.rows.errors
    if errors is None:
        return of_one_row(evaluate, condition, path)[0]
    try:
        return of_one_row(evaluate, condition, path)[0]
    except DataError as error:
        row = path.taken[-1] if path.taken else path.start + len(path.labels) - 1
        errors.setdefault(row, error)
        return False


def _interpreted(condition: Scalar, path: Tested) -> Value | None:
    """The value of an interpreted condition."""
    try:
        return evaluate_with(condition, path.operand)
    except DataError as e:
        raise _in_condition(e, path.tested) from None


def _in_condition(error: DataError, label: str) -> DataError:
    """The error of a function, extended by the variable whose condition calls it."""
    where = " in the condition that DEFINE gives for "
    if where in error.message:
        return error
    return DataError(error.error_class.removeprefix("SQLEXT_"), f"{error.message}{where}{label}", hint=error.hint)


def satisfier(task: MatchTask, rows: Rows, seen: tuple[int, int] | None = None) -> Satisfies:
    """The function `satisfies(start, number, labels, label)` that evaluates the conditions of a task.

    It returns whether row `start + len(labels)` satisfies `label` in match number `number`, where the rows from `start`
    on are mapped to `labels`; None if a condition that depends on the path is NULL. PREV and NEXT reach rows `seen[0]`
    to `seen[1]` (exclusive), by default the partition.
    """

    def satisfies(start: int, number: int, labels: list[int], label: int) -> bool | None:
        row = start + len(labels)
        bit = task.bits[label]
        if bit is not None and not rows.mask[row, bit // 8] >> (bit % 8) & 1:
            return False
        condition = task.conditions[label]
        if condition is None:
            return True
        k = int(np.searchsorted(rows.bounds, start, side="right")) - 1
        partition = seen or (int(rows.bounds[k]), int(rows.bounds[k + 1]))
        path = Path(
            rows=rows,
            names=task.program.labels,
            partition=partition,
            start=start,
            labels=(*labels, label),
            number=number,
        )
        return verdict(condition, path)

    return satisfies


# --- operands ---------------------------------------------------------------------------------------------------------


def _navigate(navigation: Navigation, missing: Value | None, path: Path) -> Value | None:
    if navigation.argument == MATCH_NUMBER:
        return path.number
    base = path.row_at(navigation.labels, navigation.offset, from_first=navigation.from_first)
    if base is None:
        return missing
    row = base + navigation.step
    if not path.partition[0] <= row < path.partition[1]:
        return missing
    return read(navigation, row, path)


def read(navigation: Navigation, row: int, path: LabelledRows) -> Value | None:
    """The value of the argument of a navigation on the row that it reaches."""
    if navigation.expression is not None:
        return evaluate(navigation.expression, RowOfPath(path, row))
    if navigation.argument == MATCH_NUMBER:
        return path.number
    if navigation.by_label:
        label = path.label_at(row)
        return cell(path.rows.columns[navigation.by_label[-1 if label is None else label]], row)
    return _read(navigation.argument, row, path)


def _read(argument: int, row: int, path: LabelledRows) -> Value | None:
    if argument in CLASSIFIERS:
        label = path.label_at(row)
        return None if label is None else classifier(argument, label, path.rows, path.names)
    return cell(path.rows.columns[argument], row)


def classifier(argument: int, label: int, rows: Rows, names: tuple[str, ...]) -> Value:
    """The value of CLASSIFIER() on a row with this label: its rank or its name."""
    if argument == CLASSIFIER_NAME:
        return names[label]
    assert rows.classifiers is not None
    return rows.classifiers[label].item()


def cell(column: Values, row: int) -> Value | None:
    if column.valid is not None and not column.valid[row]:
        return None
    value = column.values[row]
    return value if column.values.dtype == np.object_ else value.item()


def _aggregate(aggregate: Aggregate, path: Path) -> Value | None:
    mapped = path.mapped(aggregate.labels)
    if aggregate.argument is None:
        return len(mapped)
    if path.rows.has_failed:
        for row in mapped:
            _check_computed(aggregate.argument, row, path)
    values = [v for row in mapped if (v := _read(aggregate.argument, row, path)) is not None]
    return aggregate_of(aggregate, values, path)


def _check_computed(argument: int, row: int, path: LabelledRows) -> None:
    """Raise DataError if a column that an aggregate reads could not be computed on the row."""
    failed = path.rows.failed[argument] if 0 <= argument < len(path.rows.failed) else None
    if failed is not None and failed[row]:
        raise fault("ARGUMENT_FAILED", path.tested)


def aggregate_of(aggregate: Aggregate, values: list[Value], path: Tested) -> Value | None:
    """An aggregate of the values that are not NULL, in the order of their rows."""
    if aggregate.is_distinct:  # keep the first of equal values, in row order: a sum of floats depends on the order
        first: dict[tuple[bool, Value], Value] = {}
        for value in values:
            first.setdefault(_order(value), value)
        values = list(first.values())
    if aggregate.function == "count":
        return len(values)
    if not values:
        return None
    if aggregate.function == "sum":
        if aggregate.digits:
            return _within_digits(sum(values), aggregate.digits, path, is_ansi=aggregate.is_ansi)
        return reduce(lambda x, y: _bounded(x + y, 64, path, is_ansi=True) if isinstance(x, int) else x + y, values)
    if aggregate.function == "avg":
        return reduce(lambda x, y: x + y, map(float, values)) / len(values)
    return (min if aggregate.function == "min" else max)(values, key=_order)


def _interpreted_aggregate(source: InterpretedAggregate, path: Path) -> Value | None:
    aggregator = source.aggregator
    state = aggregator.empty
    for row in path.mapped(source.labels):
        state = with_row(source, state, RowOfPath(path, row))
    return aggregator.value(state)


def with_row(source: InterpretedAggregate, state: Any, row: RowOfPath) -> Any:
    """The state of an aggregate with one more row."""
    if source.filter is not None and evaluate(source.filter, row) is not True:
        return state
    if row.path.rows.has_failed:
        for column in columns_read(source, row.path.label_at(row.row)):
            _check_computed(column, row.row, row.path)
    return source.aggregator.add(state, *(evaluate(argument, row) for argument in source.arguments))


# --- functions --------------------------------------------------------------------------------------------------------


def _order(value: Value) -> tuple[bool, Value]:
    """A sort key in which NaN equals itself and is above all other values."""
    return (True, 0) if value != value else (False, value)


def _and(arguments: tuple[Condition, ...], path: Tested) -> Value | None:
    left = evaluate(arguments[0], path)
    if left is False:
        return False
    right = evaluate(arguments[1], path)
    return False if right is False else None if left is None or right is None else True


def _or(arguments: tuple[Condition, ...], path: Tested) -> Value | None:
    left = evaluate(arguments[0], path)
    if left is True:
        return True
    right = evaluate(arguments[1], path)
    return True if right is True else None if left is None or right is None else False


def _if(arguments: tuple[Condition, ...], path: Tested) -> Value | None:
    return evaluate(arguments[1] if evaluate(arguments[0], path) is True else arguments[2], path)


def _coalesce(arguments: tuple[Condition, ...], path: Tested) -> Value | None:
    left = evaluate(arguments[0], path)
    return evaluate(arguments[1], path) if left is None else left


def _null_safe_equal(arguments: tuple[Condition, ...], path: Tested) -> Value | None:
    left, right = (evaluate(argument, path) for argument in arguments)
    return left is right if left is None or right is None else _order(left) == _order(right)


def _is_null(arguments: tuple[Condition, ...], path: Tested) -> Value | None:
    return evaluate(arguments[0], path) is None


def _extreme(least_or_greatest: Callable) -> Callable:
    def extreme(arguments: tuple[Condition, ...], path: Tested) -> Value | None:
        values = [v for argument in arguments if (v := evaluate(argument, path)) is not None]
        return least_or_greatest(values, key=_order) if values else None

    return extreme


_LAZY: dict[str, Callable[[tuple[Condition, ...], Tested], Value | None]] = {
    "and": _and,
    "or": _or,
    "if": _if,
    "coalesce": _coalesce,
    "null_safe_equal": _null_safe_equal,
    "is_null": _is_null,
    "least": _extreme(min),
    "greatest": _extreme(max),
}


def _strict(call: MachineCall, path: Tested) -> Value | None:
    """The value of a function that is NULL if any argument is NULL."""
    reads_right_first = call.function in ("divide", "remainder")
    values: list[Value] = []
    for argument in reversed(call.arguments) if reads_right_first else call.arguments:
        value = evaluate(argument, path)
        if value is None:
            return None
        if reads_right_first and not values and value == 0 and not call.is_ansi:
            return None
        values.append(value)
    if reads_right_first:
        return _divide(call, values[1], values[0], path)
    result = _STRICT[call.function](*values)
    if call.digits:
        return _within_digits(result, call.digits, path, is_ansi=call.is_ansi)
    return _bounded(result, call.bits, path, is_ansi=call.is_ansi) if call.kind == "int" else result


def _divide(call: MachineCall, dividend: Value, divisor: Value, path: Tested) -> Value:
    if divisor == 0:
        raise fault("DIVIDE_BY_ZERO", path.tested)
    if call.function == "divide":
        return dividend / divisor
    if call.kind == "float":
        with np.errstate(invalid="ignore"):
            return float(np.fmod(dividend, divisor))
    return int(math.copysign(1, dividend)) * (abs(dividend) % abs(divisor))  # the sign of the dividend, as in Java


def _bounded(value: Value, bits: int, path: Tested, *, is_ansi: bool) -> Value:
    """An integer result in `bits` bits; a result that does not fit is an error if `is_ansi`, otherwise it wraps."""
    half = 1 << (bits - 1)
    wrapped = (int(value) + half) % (2 * half) - half
    if wrapped != value and is_ansi:
        raise fault("ARITHMETIC_OVERFLOW", path.tested)
    return wrapped


def _within_digits(value: Value, digits: int, path: Tested, *, is_ansi: bool) -> Value | None:
    """The unscaled value of a decimal; a value with more digits is an error if `is_ansi`, otherwise NULL."""
    if abs(value) < 10**digits:
        return value
    if is_ansi:
        raise fault("NUMERIC_VALUE_OUT_OF_RANGE", path.tested)
    return None


_STRICT: dict[str, Callable] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "negate": lambda x: -x,
    "abs": abs,
    "float": float,
    "not": lambda x: not x,
    "less": lambda x, y: _order(x) < _order(y),
    "less_equal": lambda x, y: _order(x) <= _order(y),
    "equal": lambda x, y: _order(x) == _order(y),
    "not_equal": lambda x, y: _order(x) != _order(y),
}
