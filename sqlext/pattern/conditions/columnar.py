"""Conditions on a row and its neighbours, evaluated for all rows at once.

`v < PREV(v)` does not depend on the match: the current row counts as mapped, and PREV is a shift inside the partition.
Evaluating it here spares Spark a window over all rows.

The Kleene functions use NumPy. With the conversions to and from its bit-packed arrays, `pyarrow.compute.and_kleene`
took 12 times as long for 10,000 rows, and `pattern` needs pyarrow for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.conditions.condition_reads import is_interpreted
from sqlext.pattern.task.task import Condition, Literal, LiteralValue, MachineCall, Navigation, Operand, Rows, Values

NullableValues = tuple[np.ndarray, np.ndarray]  # values, valid: bool[n]


def is_columnar(condition: Condition) -> bool:
    """True if `truth` can evaluate this condition.

    >>> current, before = Operand(Navigation(argument=0), "int"), Operand(Navigation(argument=0, step=-1), "int")
    >>> is_columnar(MachineCall(function="less", arguments=(current, before), kind="bool"))
    True
    >>> is_columnar(Operand(Navigation(argument=0, offset=1), "int"))
    False
    """
    if is_interpreted(condition):
        return False
    if isinstance(condition, Operand):
        source = condition.source
        return isinstance(source, Navigation) and source.argument >= 0 and not source.from_first and source.offset == 0
    if isinstance(condition, MachineCall):
        is_known = (
            condition.function in _CALLS and condition.digits <= 18 and (condition.is_ansi or condition.kind != "int")
        )
        return is_known and all(map(is_columnar, condition.arguments))
    return True


def truth(condition: Condition, rows: Rows) -> np.ndarray:
    """`bool[n]`: the rows for which the condition is true, where every navigation starts from the row itself.

    Raises DataError (ARITHMETIC_OVERFLOW).

    >>> rows = Rows(bounds=np.array([0, 3]), mask=np.zeros((3, 1), np.uint8), columns=(Values(np.array([5, 4, 6])),))
    >>> current, before = Operand(Navigation(argument=0), "int"), Operand(Navigation(argument=0, step=-1), "int")
    >>> truth(MachineCall(function="less", arguments=(current, before), kind="bool"), rows).tolist()
    [False, True, False]
    """
    return verdicts(condition, rows) == 1


def verdicts(condition: Condition, rows: Rows) -> np.ndarray:
    """`int8[n]`: 1 on the rows where the condition of `truth` is TRUE, 0 where it is FALSE, -1 where it is NULL.

    >>> rows = Rows(bounds=np.array([0, 3]), mask=np.zeros((3, 1), np.uint8), columns=(Values(np.array([5, 4, 6])),))
    >>> current, before = Operand(Navigation(argument=0), "int"), Operand(Navigation(argument=0, step=-1), "int")
    >>> verdicts(MachineCall(function="less", arguments=(current, before), kind="bool"), rows).tolist()
    [-1, 1, 0]
    """
    with np.errstate(all="ignore"):  # infinity minus infinity is NaN, without a warning
        values, valid = _evaluate(condition, rows)
    return np.where(valid, values.astype(np.int8), np.int8(-1))


def _evaluate(condition: Condition, rows: Rows) -> NullableValues:
    if isinstance(condition, Literal):
        return _constant(condition.value, len(rows.mask))
    if isinstance(condition, Operand):
        return _operand(condition, rows)
    assert isinstance(condition, MachineCall)  # see is_columnar
    arguments = [_evaluate(a, rows) for a in condition.arguments]
    return _CALLS[condition.function](condition, *arguments)


def _constant(value: LiteralValue, n: int) -> NullableValues:
    return np.full(n, 0 if value is None else value), np.full(n, value is not None)


def _operand(operand: Operand, rows: Rows) -> NullableValues:
    assert isinstance(operand.source, Navigation)
    column: Values = rows.columns[operand.source.argument]
    step = operand.source.step
    if step == 0:
        return column.values, column.is_valid
    values, valid = np.roll(column.values, -step), np.roll(column.is_valid, -step)
    for row in _rows_without_neighbour(rows.bounds, step):
        values[row] = 0 if operand.missing is None else operand.missing
        valid[row] = operand.missing is not None
    return values, valid


def _rows_without_neighbour(bounds: np.ndarray, step: int):
    """Yield index arrays of the rows whose neighbour, `step` rows away, is outside their partition."""
    first, stop = bounds[:-1], bounds[1:]
    for distance in range(min(abs(step), int((stop - first).max(initial=0)))):
        row = first + distance if step < 0 else stop - 1 - distance
        yield row[(row >= first) & (row < stop)]


# one function for each kind of call: (call, argument columns…) -> column


def _comparison(compare: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., NullableValues]:
    def compared(call: MachineCall, left: NullableValues, right: NullableValues) -> NullableValues:
        return compare(left[0], right[0]), left[1] & right[1]

    return compared


def _is_less(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Whether left is less than right in Spark's order, where NaN is above all numbers."""
    if left.dtype.kind == "f" or right.dtype.kind == "f":
        return (left < right) | (np.isnan(right) & ~np.isnan(left))
    return left < right


def _is_equal(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Whether both are equal for Spark, where NaN equals NaN."""
    if left.dtype.kind == "f" or right.dtype.kind == "f":
        return (left == right) | (np.isnan(left) & np.isnan(right))
    return left == right


def _null_safe_equal(call: MachineCall, left: NullableValues, right: NullableValues) -> NullableValues:
    both = left[1] & right[1]
    return np.where(both, _is_equal(left[0], right[0]), left[1] == right[1]), np.ones_like(both)


def _and(call: MachineCall, left: NullableValues, right: NullableValues) -> NullableValues:
    a, b = left[0].astype(np.bool_), right[0].astype(np.bool_)
    is_false = (left[1] & ~a) | (right[1] & ~b)
    return ~is_false & a & b, is_false | (left[1] & right[1])


def _or(call: MachineCall, left: NullableValues, right: NullableValues) -> NullableValues:
    is_true = (left[1] & left[0].astype(np.bool_)) | (right[1] & right[0].astype(np.bool_))
    return is_true, is_true | (left[1] & right[1])


def _not(call: MachineCall, operand: NullableValues) -> NullableValues:
    return ~operand[0].astype(np.bool_), operand[1]


def _is_null(call: MachineCall, operand: NullableValues) -> NullableValues:
    return ~operand[1], np.ones_like(operand[1])


def _add(call: MachineCall, left: NullableValues, right: NullableValues) -> NullableValues:
    total = left[0] + right[0]
    valid = left[1] & right[1]
    if call.kind == "int":
        _check_fits(call, total, valid & ((left[0] ^ total) & (right[0] ^ total) < 0), valid)
    return total, valid


def _subtract(call: MachineCall, left: NullableValues, right: NullableValues) -> NullableValues:
    total = left[0] - right[0]
    valid = left[1] & right[1]
    if call.kind == "int":
        _check_fits(call, total, valid & ((left[0] ^ right[0]) & (left[0] ^ total) < 0), valid)
    return total, valid


def _check_fits(call: MachineCall, total: np.ndarray, has_wrapped: np.ndarray, valid: np.ndarray) -> None:
    limit = 1 << (call.bits - 1)
    is_outside = valid & ((total < -limit) | (total > limit - 1)) if call.bits < 64 else has_wrapped
    if is_outside.any():
        raise DataError(
            "ARITHMETIC_OVERFLOW",
            f"{call.function} in DEFINE does not fit {call.bits} bits",
            hint="CAST the operands to a wider type.",
        )


def _float(call: MachineCall, operand: NullableValues) -> NullableValues:
    return operand[0].astype(np.float64), operand[1]


_CALLS: dict[str, Callable[..., NullableValues]] = {
    "less": _comparison(_is_less),
    "less_equal": _comparison(lambda left, right: ~_is_less(right, left)),
    "equal": _comparison(_is_equal),
    "not_equal": _comparison(lambda left, right: ~_is_equal(left, right)),
    "null_safe_equal": _null_safe_equal,
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": _is_null,
    "add": _add,
    "subtract": _subtract,
    "float": _float,
}
