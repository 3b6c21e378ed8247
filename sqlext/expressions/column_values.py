"""Scalar expressions on whole columns: by NumPy where it computes the same as Spark, otherwise value by value.

An expression over one column that repeats its values (a city, a status) is evaluated once for each distinct value.
A row on which an expression cannot be computed (a division by zero under ANSI) has NULL, and is noted as failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlext.errors import DataError
from sqlext.expressions.calendars import DAY_US, UTC_NAMES
from sqlext.expressions.effort import Allowance
from sqlext.expressions.faults import value_of_type
from sqlext.expressions.scalar_tree import Column, Constant, Scalar, ScalarCall, call, columns_in, evaluate
from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, TIME_TYPES, TIMESTAMPS, decimal_of, is_day_time
from sqlext.expressions.values import arrow_type, computable, from_arrow, to_arrow

_SAFE = float(1 << 62)
_TEXTS = ("string", "binary")
_NULL_TESTS = ("IS NULL", "IS NOT NULL")
_COMPARED_BY_ARROW: dict[str, Callable[..., pa.Array]] = {
    "=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal,
}  # fmt: skip
_FEW = 8  # rows are few if they are less than one in this many


class Vector(NamedTuple):
    """`values[n]` of int64, float64, bool or Python objects; `valid: bool[n]`: which values are not NULL;
    `failed: bool[n]`: which values could not be computed and therefore are NULL, None if all could be computed."""

    values: np.ndarray
    valid: np.ndarray
    failed: np.ndarray | None = None


@dataclass(kw_only=True)
class ColumnValues:
    """Evaluates expressions over the rows of one table; equal expressions, and equal parts of them, only once."""

    columns: Mapping[str, pa.Array]
    rows: int
    _whole: tuple[ColumnValues, np.ndarray] | None = None
    _failures: dict[Scalar, DataError] = field(default_factory=dict)
    _vectors: dict[Scalar, Vector] = field(default_factory=dict)
    _lists: dict[tuple[str, str], list] = field(default_factory=dict)
    _codes: dict[str, tuple[np.ndarray, pa.Array]] = field(default_factory=dict)
    _numbers: dict[str, dict[str, int]] = field(default_factory=dict)

    def array(self, scalar: Scalar, at: np.ndarray | None = None) -> pa.Array:
        """The values of all rows, or of the rows `at`, as an Arrow array.

        >>> from sqlext.expressions.function import ExecutionSettings
        >>> from sqlext.expressions.scalar_tree import call
        >>> plus = call("+", (Column("x", "int"), Constant(1, "int")), ExecutionSettings(is_ansi=True, time_zone="UTC"))
        >>> table = ColumnValues(columns={"x": pa.array([1, None, 2**31 - 1], pa.int32())}, rows=3)
        >>> table.array(plus).to_pylist(), table.failure(plus).error_class
        ([2, None, None], 'SQLEXT_ARITHMETIC_OVERFLOW')
        """
        if isinstance(scalar, Column):
            whole = self.columns[scalar.name]
            return whole if at is None else whole.take(pa.array(at))
        vector = self.vector(scalar)
        try:
            return _to_arrow(vector if at is None else _taken(vector, at), scalar.type)
        except DataError:
            self._vectors[scalar] = vector = self._of_type(scalar, vector)
            return _to_arrow(vector if at is None else _taken(vector, at), scalar.type)

    def _of_type(self, scalar: Scalar, vector: Vector) -> Vector:
        """The vector with NULL for the values that do not fit the type."""
        values = (v if is_valid else None for v, is_valid in zip(vector.values.tolist(), vector.valid.tolist()))
        kept, errors = computable(list(values), scalar.type)
        return self._noted(scalar, _vector(scalar.type, kept)._replace(failed=vector.failed), errors)

    def _noted(self, scalar: Scalar, vector: Vector, errors: dict[int, DataError]) -> Vector:
        """The vector with the rows of `errors`, which could not be computed, marked as failed."""
        if not errors:
            return vector
        self._failures.setdefault(scalar, next(iter(errors.values())))
        failed = np.zeros(len(vector.values), np.bool_) if vector.failed is None else vector.failed.copy()
        failed[list(errors)] = True
        return vector._replace(failed=failed)

    def truth(self, scalar: Scalar) -> np.ndarray:
        """`bool[n]`: where a condition is true."""
        return _truth(self.vector(scalar))

    def truth_at(self, scalar: Scalar, at: np.ndarray) -> np.ndarray:
        """`bool[k]`: where a condition is true among the rows `at: int64[k]`.

        If these are few rows and the condition cannot fail, it is evaluated on them alone.

        >>> from sqlext.expressions.function import ExecutionSettings
        >>> from sqlext.expressions.scalar_tree import call
        >>> settings = ExecutionSettings(is_ansi=True, time_zone="UTC")
        >>> large = call(">", (Column("x", "int"), Constant(1, "int")), settings)
        >>> table = ColumnValues(columns={"x": pa.array(range(20), pa.int32())}, rows=20)
        >>> table.truth_at(large, np.array([1, 5])).tolist(), table.is_evaluated(large)
        ([False, True], False)
        """
        if len(at) * _FEW >= self.rows or self.is_evaluated(scalar) or not cannot_fail(scalar):
            return self.truth(scalar)[at]
        return ColumnValues(columns=self.columns, rows=len(at), _whole=(self, at)).truth(scalar)

    def vector(self, scalar: Scalar) -> Vector:
        known = self._vectors.get(scalar)
        if known is None:
            known = self._vectors[scalar] = self._evaluated(scalar)
        return known

    def is_evaluated(self, scalar: Scalar) -> bool:
        """True if the expression has been evaluated."""
        return scalar in self._vectors

    def has_failed(self, scalar: Scalar) -> bool:
        """True if the expression has been evaluated, and could not be computed on some row."""
        vector = self._vectors.get(scalar)
        return vector is not None and vector.failed is not None

    def cannot_fail(self, scalar: Scalar) -> bool:
        """True if NumPy computes the expression on every row of this table, as in `x + 1` where no x is large.

        Nothing that may fail on a row is evaluated to find this out.

        >>> from sqlext.expressions.function import ExecutionSettings
        >>> from sqlext.expressions.scalar_tree import call
        >>> plus = call("+", (Column("x", "int"), Constant(1, "int")), ExecutionSettings(is_ansi=True, time_zone="UTC"))
        >>> tables = [ColumnValues(columns={"x": pa.array([x], pa.int32())}, rows=1) for x in (1, 2**31 - 1)]
        >>> [table.cannot_fail(plus) for table in tables], [table.is_evaluated(plus) for table in tables]
        ([True, False], [True, False])
        """
        known = self._vectors.get(scalar)
        if known is not None:
            return known.failed is None
        if cannot_fail(scalar):
            return True
        if not isinstance(scalar, ScalarCall) or scalar.python or not all(map(self.cannot_fail, scalar.arguments)):
            return False
        if scalar.function in _NEVER_FAIL or (scalar.function == "CASE" and _is_cheap_choice(scalar)):
            return True
        if scalar.function == "BETWEEN":
            return self.cannot_fail(without_between(scalar))
        kernel = _KERNELS.get(scalar.function)
        vector = kernel and kernel(scalar, [self.vector(argument) for argument in scalar.arguments])
        if vector is None:
            return False
        self._vectors[scalar] = vector
        return True

    def failure(self, scalar: Scalar) -> DataError | None:
        """An error that an evaluated expression had on one of the rows; None if all rows could be computed."""
        if self.vector(scalar).failed is None or not isinstance(scalar, ScalarCall):
            return None
        parts = (self.failure(a) for a in scalar.arguments if a in self._vectors)
        return self._failures.get(scalar) or next(filter(None, parts), None)

    def _evaluated(self, scalar: Scalar) -> Vector:
        if isinstance(scalar, Column):
            return self._column(scalar)
        if isinstance(scalar, Constant):
            return _constant(scalar, self.rows)
        assert isinstance(scalar, ScalarCall)  # a table has no path to Read
        if scalar.function in ("AND", "OR"):
            return _junction(*(self.vector(a) for a in scalar.arguments), is_or=scalar.function == "OR")
        if scalar.function == "CASE" and _is_cheap_choice(scalar):
            return _chosen([self.vector(argument) for argument in scalar.arguments])
        kernel, has_numbers = _KERNELS.get(scalar.function), all(_dtype(a.type) is not None for a in scalar.arguments)
        if scalar.function == "BETWEEN" and (has_numbers or cannot_fail(scalar)):
            return self.vector(without_between(scalar))
        if kernel is not None and has_numbers and _dtype(scalar.type):
            vectors = [self.vector(a) for a in scalar.arguments]
            vector = kernel(scalar, vectors)
            if vector is not None:
                return _failing(vector, *(v.failed for v in vectors))
        return self._text_search(scalar) or self._by_arrow(scalar) or self._by_value(scalar)

    def _column(self, column: Column) -> Vector:
        if self._whole is not None:
            whole, at = self._whole
            return _taken(whole.vector(column), at)
        array, dtype = self.columns[column.name], _dtype(column.type)
        has_nulls = array.null_count > 0
        valid = array.is_valid().to_numpy(zero_copy_only=False) if has_nulls else np.ones(len(array), np.bool_)
        if dtype is None:
            return Vector(_objects(self._list(column)), valid)
        if pa.types.is_temporal(array.type):
            array = array.view(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
        zero = False if dtype == np.bool_ else 0
        filled = array.fill_null(zero) if array.null_count else array
        return Vector(filled.to_numpy(zero_copy_only=False).astype(dtype, copy=False), valid)

    def _list(self, column: Column) -> list:
        key = column.name, column.type
        if key not in self._lists:
            self._lists[key] = from_arrow(self.columns[column.name], column.type)
        return self._lists[key]

    def _text_search(self, scalar: ScalarCall) -> Vector | None:
        """`text = 'constant'` or `text IN ('constant', …)`, by the numbers of the distinct texts; None for others."""
        search = text_search(scalar)
        if search is None:
            return None
        code, number = self.coded(search.column)
        wanted = [number[text] for text in search.texts if text in number]
        is_equal = reduce(np.logical_or, (code == w for w in wanted), np.zeros(self.rows, np.bool_))
        return Vector(is_equal, code < len(number))

    def _by_arrow(self, scalar: ScalarCall) -> Vector | None:
        """A comparison of `is_compared_by_arrow`; None for others."""
        if not is_compared_by_arrow(scalar):
            return None
        operands = [self._operand(_without_widening(argument)) for argument in scalar.arguments]
        if scalar.function in _NULL_TESTS:
            held = _booleans(operands[0].is_valid())
            return Vector(held if scalar.function == "IS NOT NULL" else ~held, np.ones(self.rows, np.bool_))
        compared = _COMPARED_BY_ARROW[scalar.function](*operands)
        return Vector(_booleans(pc.fill_null(compared, fill_value=False)), _booleans(compared.is_valid()))

    def _operand(self, scalar: Scalar) -> pa.Array | pa.Scalar:
        """The values of a column or a constant, texts as bytes, whose order is that of Spark."""
        is_text, stored = scalar.type in _TEXTS, arrow_type(scalar.type)
        if isinstance(scalar, Constant):
            value = scalar.value.encode() if isinstance(scalar.value, str) else scalar.value
            return pa.scalar(value, pa.binary() if is_text else stored)
        assert isinstance(scalar, Column)
        values = self.array(scalar) if self._whole is None else self._whole[0].array(scalar, self._whole[1])
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        return values.cast(pa.binary()) if is_text and pa.types.is_string(values.type) else values

    def coded(self, name: str) -> tuple[np.ndarray, dict[str, int]]:
        """The number of each row's text, and the numbers of the distinct texts; NULL has the number after the last."""
        if self._whole is not None:
            whole, at = self._whole
            code, number = whole.coded(name)
            return code[at], number
        code, distinct = self._coded(name)
        if name not in self._numbers:
            self._numbers[name] = {text: i for i, text in enumerate(distinct.to_pylist())}
        return code, self._numbers[name]

    # value by value

    def _by_value(self, scalar: ScalarCall) -> Vector:
        columns = list(dict.fromkeys(columns_in(scalar)))
        if len(columns) == 1 and columns[0].type == "string":
            code, distinct = self._coded(columns[0].name)
            if 4 * len(distinct) <= self.rows:
                return _taken(self._computed(scalar, columns, [[*from_arrow(distinct, "string"), None]]), code)
        return self._computed(scalar, columns, [self._list(c) for c in columns])

    def _coded(self, name: str) -> tuple[np.ndarray, pa.Array]:
        """The number of each row's value among the distinct values, and these; NULL has the number after the last."""
        if name not in self._codes:
            encoded = self.columns[name].dictionary_encode()
            code = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
            self._codes[name] = code, encoded.dictionary
        return self._codes[name]

    def _computed(self, scalar: ScalarCall, columns: list[Column], lists: list[list]) -> Vector:
        """The values of an expression on rows that have only `columns`, whose values are `lists`."""
        names, values = [c.name for c in columns], []
        errors: dict[int, DataError] = {}
        with Allowance() as allowance:
            for i, row in enumerate(zip(*lists) if lists else ((),) * self.rows):
                allowance.next_row()
                try:
                    values.append(evaluate(scalar, dict(zip(names, row))))
                except DataError as error:
                    errors[i] = error
                    values.append(None)
        try:
            vector = _vector(scalar.type, values)
        except (OverflowError, TypeError, ValueError):
            values, others = computable(values, scalar.type)
            vector, errors = _vector(scalar.type, values), {**others, **errors}
        return self._noted(scalar, vector, errors)


class TextSearch(NamedTuple):
    """The condition that a text column is one of some texts."""

    column: str
    texts: tuple[str, ...]


def text_search(scalar: Scalar) -> TextSearch | None:
    """The search that is `text = 'constant'` or `text IN ('constant', …)`; None for another expression."""
    if not isinstance(scalar, ScalarCall) or scalar.function not in ("=", "IN"):
        return None
    text, *choices = scalar.arguments
    if not isinstance(text, Column) or text.type != "string":
        return None
    texts = tuple(choice.value for choice in choices if isinstance(choice, Constant) and choice.value is not None)
    return TextSearch(text.name, texts) if len(texts) == len(choices) else None


def is_compared_by_arrow(scalar: Scalar) -> bool:
    """True for a comparison of columns and constants that are texts, binaries or decimals, which Arrow compares as
    Spark does, and for tests of any column for NULL.

    >>> from sqlext.expressions.function import ExecutionSettings
    >>> from sqlext.expressions.scalar_tree import call
    >>> settings = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> less = call("<", (Column("s", "string"), Constant("b", "string")), settings)
    >>> table = ColumnValues(columns={"s": pa.array(["a", None, "ä"])}, rows=3)
    >>> is_compared_by_arrow(less), table.array(less).to_pylist()
    (True, [True, None, False])
    """
    if not isinstance(scalar, ScalarCall):
        return False
    if scalar.function in _NULL_TESTS:
        return isinstance(scalar.arguments[0], Column)
    if scalar.function not in _COMPARED_BY_ARROW:
        return False
    types = {argument.type for argument in scalar.arguments}
    plain = [_without_widening(argument) for argument in scalar.arguments]
    are_plain = all(isinstance(p, (Column, Constant)) for p in plain) and any(isinstance(p, Column) for p in plain)
    return are_plain and len(types) == 1 and all(t in _TEXTS or decimal_of(t) for t in types)


def _without_widening(scalar: Scalar) -> Scalar:
    """The decimal whose cast to a wider decimal this is, which is the same number; otherwise the expression itself."""
    if not isinstance(scalar, ScalarCall) or scalar.function != "CAST":
        return scalar
    source, target = decimal_of(scalar.arguments[0].type), decimal_of(scalar.type)
    if source is None or target is None or target[1] < source[1] or target[0] - target[1] < source[0] - source[1]:
        return scalar
    return scalar.arguments[0]


@lru_cache(maxsize=1 << 16)
def cannot_fail(scalar: Scalar) -> bool:
    """True if `ColumnValues` computes the expression on every row by NumPy. False if it may fail on some row, or if
    that is not known.

    >>> from sqlext.expressions.function import ExecutionSettings
    >>> from sqlext.expressions.scalar_tree import call
    >>> settings, x = ExecutionSettings(is_ansi=True, time_zone="UTC"), Column("x", "int")
    >>> cannot_fail(call(">", (x, Constant(1.5, "double")), settings)), cannot_fail(call("/", (x, x), settings))
    (True, False)
    """
    if not isinstance(scalar, ScalarCall):
        return _dtype(scalar.type) is not None
    if text_search(scalar) is not None or is_compared_by_arrow(scalar):
        return True
    if scalar.function == "BETWEEN":
        return cannot_fail(without_between(scalar))
    if scalar.python is not None or not all(map(cannot_fail, scalar.arguments)):
        return False
    if scalar.function == "CAST":
        return _is_widening(scalar.arguments[0].type, scalar.type)
    return scalar.function in _NEVER_FAIL


def is_computed_at_once(scalar: Scalar) -> bool:
    """True if `ColumnValues` computes the expression by NumPy on all rows, except where an integer may overflow.

    >>> from sqlext.expressions.function import ExecutionSettings
    >>> from sqlext.expressions.scalar_tree import call
    >>> settings, x = ExecutionSettings(is_ansi=True, time_zone="UTC"), Column("x", "int")
    >>> is_computed_at_once(call("+", (x, x), settings)), is_computed_at_once(call("/", (x, x), settings))
    (True, False)
    """
    if cannot_fail(scalar):
        return True
    if not isinstance(scalar, ScalarCall) or scalar.python is not None:
        return False
    if not all(map(is_computed_at_once, scalar.arguments)):
        return False
    if scalar.function == "BETWEEN":
        return is_computed_at_once(without_between(scalar))
    if scalar.function == "CASE":
        return _is_cheap_choice(scalar)
    return scalar.function in _NEVER_FAIL or (scalar.function in _OPERATIONS and _is_plain_sum(scalar))


def _is_plain_sum(scalar: ScalarCall) -> bool:
    """True for a sum, difference or product of numbers of one type, and for a time that is shifted by less than a day
    or in a zone whose days are all of the same length."""
    types = [argument.type for argument in scalar.arguments]
    if scalar.type in TIMESTAMPS:
        shifts = [a for a in scalar.arguments if is_day_time(a.type)]
        is_short = all(isinstance(a, Constant) and abs(a.value or 0) < DAY_US for a in shifts)
        has_even_days = scalar.type != "timestamp" or scalar.settings.time_zone in UTC_NAMES
        return scalar.type in types and len(shifts) == 1 and (is_short or has_even_days)
    return scalar.type in (*INTEGER_BITS, "double") and types == [scalar.type] * 2


def _to_arrow(vector: Vector, spark_type: str) -> pa.Array:
    """The vector as an Arrow array. Raises DataError VALUE_OF_TYPE."""
    stored = arrow_type(spark_type)
    if vector.values.dtype == np.object_:
        return to_arrow(vector.values.tolist(), spark_type)
    numbers = pa.array(vector.values, mask=None if vector.valid.all() else ~vector.valid)
    try:
        if pa.types.is_date32(stored):
            return numbers.cast(pa.int32()).view(stored)
        return numbers.view(stored) if pa.types.is_temporal(stored) else numbers.cast(stored)
    except pa.ArrowException as error:
        raise value_of_type(spark_type, error) from error


def _truth(vector: Vector) -> np.ndarray:
    return (vector.values & vector.valid) if vector.values.dtype == np.bool_ else vector.values == np.True_


def _booleans(column: pa.BooleanArray) -> np.ndarray:
    return column.to_numpy(zero_copy_only=False)


def _objects(values: list) -> np.ndarray:
    array = np.empty(len(values), np.object_)
    array[:] = values
    return array


def _dtype(spark_type: str) -> type | None:
    """The dtype in which NumPy stores values of a type; None if there is none."""
    if spark_type in INTEGER_BITS or spark_type in TIME_TYPES or is_day_time(spark_type):
        return np.int64
    return np.float64 if spark_type in FLOATS else np.bool_ if spark_type == "boolean" else None


def _constant(constant: Constant, n: int) -> Vector:
    dtype, is_null = _dtype(constant.type), constant.value is None
    if dtype is None:
        return Vector(_objects([constant.value] * n), np.full(n, not is_null))
    return Vector(_repeated(0 if is_null else constant.value, dtype, n), _repeated(not is_null, np.bool_, n))


def _repeated(value: Any, dtype: type, n: int) -> np.ndarray:
    """A constant that is repeated without using memory, as by `np.broadcast_to`, in a tenth of its time."""
    array: np.ndarray = np.ndarray((n,), dtype, np.array(value, dtype), strides=(0,))
    array.flags.writeable = False  # all rows are one value in memory
    return array


def _vector(spark_type: str, values: list) -> Vector:
    """The vector of Python values."""
    dtype = _dtype(spark_type)
    valid = np.fromiter((v is not None for v in values), np.bool_, len(values))
    if dtype is None:
        return Vector(_objects(values), valid)
    return Vector(np.fromiter((0 if v is None else v for v in values), dtype, len(values)), valid)


def _taken(vector: Vector, at: np.ndarray) -> Vector:
    return Vector(vector.values[at], vector.valid[at], None if vector.failed is None else vector.failed[at])


def _failing(vector: Vector, *masks: np.ndarray | None) -> Vector:
    """The vector, NULL and failed where one of the masks is true; None is a mask that is nowhere true."""
    known = [mask for mask in (vector.failed, *masks) if mask is not None]
    if not known:
        return vector
    failed = reduce(np.logical_or, known)
    return Vector(vector.values, vector.valid & ~failed, failed) if failed.any() else vector


def _junction(left: Vector, right: Vector, *, is_or: bool) -> Vector:
    """AND, or its mirror image OR. A failure on the right counts only where the left does not decide."""
    first, second = ((v.values.astype(np.bool_) == is_or) & v.valid for v in (left, right))
    is_decided = first | second
    vector = Vector(is_decided == is_or, is_decided | (left.valid & right.valid))
    return _failing(vector, left.failed, None if right.failed is None else right.failed & ~first)


def _is_cheap_choice(scalar: ScalarCall) -> bool:
    """True for `CASE WHEN … THEN … ELSE … END` with numbers and sums, each of which may be computed on every row."""
    if len(scalar.arguments) != 3 or any(_dtype(a.type) is None for a in scalar.arguments):
        return False
    condition, *values = scalar.arguments
    parts = [a for v in (condition, *values) for a in (v.arguments if isinstance(v, ScalarCall) else (v,))]
    is_sum = all(not isinstance(v, ScalarCall) or v.function in ("+", "-") for v in values)
    same = all(v.type == scalar.type for v in values)
    return is_sum and same and all(isinstance(part, (Column, Constant)) for part in parts)


def _chosen(vectors: list[Vector]) -> Vector:
    """The second vector where the first is true, otherwise the third. A failure counts only where it is chosen."""
    condition, *both = vectors
    is_true = condition.values.astype(np.bool_) & condition.valid
    first, second = both
    vector = Vector(np.where(is_true, first.values, second.values), np.where(is_true, first.valid, second.valid))
    of_first = None if first.failed is None else is_true & first.failed
    of_second = None if second.failed is None else ~is_true & second.failed
    return _failing(vector, condition.failed, of_first, of_second)


# kernels: None where NumPy does not compute what Spark does


def _both(vectors: list[Vector]) -> np.ndarray:
    return reduce(np.logical_and, (v.valid for v in vectors))


def _less(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """NaN is above all numbers."""
    if a.dtype != np.float64 or (_is_repeated(b) and not np.isnan(b[0])):
        return a < b
    return (a < b) | (np.isnan(b) & ~np.isnan(a))


def _is_repeated(values: np.ndarray) -> bool:
    """True if this is a constant that is repeated without using memory."""
    return values.strides == (0,) and len(values) > 0


def _equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a == b if a.dtype != np.float64 else (a == b) | (np.isnan(a) & np.isnan(b))


def _comparison(compare: Callable[[np.ndarray, np.ndarray], np.ndarray]):
    def kernel(scalar: ScalarCall, vectors: list[Vector]) -> Vector:
        return Vector(compare(vectors[0].values, vectors[1].values), _both(vectors))

    return kernel


def without_between(scalar: ScalarCall) -> Scalar:
    """`value >= low AND value <= high`: each bound is compared in a type of its own.

    >>> from sqlext.expressions.function import ExecutionSettings
    >>> is_small = (Column("x", "double"), Constant(None, "int"), Constant(100, "int"))
    >>> between = call("BETWEEN", is_small, ExecutionSettings(is_ansi=True, time_zone="UTC"))
    >>> table = ColumnValues(columns={"x": pa.array([float("nan"), 5.0], pa.float64())}, rows=2)
    >>> table.array(between).to_pylist()  # NaN is above 100
    [False, None]
    """
    value, low, high = scalar.arguments
    bounds = call(">=", (value, low), scalar.settings), call("<=", (value, high), scalar.settings)
    return call("AND", bounds, scalar.settings)


def _in(scalar: ScalarCall, vectors: list[Vector]) -> Vector | None:
    """None where a choice failed on a row: choices after the first equal one are not evaluated."""
    value, choices = vectors[0], vectors[1:]
    if any(c.failed is not None for c in choices):
        return None
    is_equal = reduce(np.logical_or, (_equal(value.values, c.values) & c.valid for c in choices))
    has_null = reduce(np.logical_or, (~c.valid for c in choices))
    return Vector(is_equal, value.valid & (is_equal | ~has_null))


def _not(scalar: ScalarCall, vectors: list[Vector]) -> Vector:
    return Vector(~vectors[0].values, vectors[0].valid)


def _is_null(scalar: ScalarCall, vectors: list[Vector]) -> Vector:
    is_null = ~vectors[0].valid
    return Vector(is_null if scalar.function == "IS NULL" else ~is_null, np.ones(len(is_null), np.bool_))


def _largest(vector: Vector) -> float:
    return float(np.abs(vector.values.astype(np.float64)).max(initial=0))


_OPERATIONS = {
    **dict.fromkeys(("+", "try_add"), np.add),
    **dict.fromkeys(("-", "try_subtract"), np.subtract),
    "*": np.multiply,
}


def _sum(scalar: ScalarCall, vectors: list[Vector]) -> Vector | None:
    """`+`, `-` and `*`; None where an integer may overflow."""
    a, b = vectors
    operate = _OPERATIONS[scalar.function]
    if scalar.type == "double":
        with np.errstate(all="ignore"):
            return Vector(operate(a.values, b.values), _both(vectors))
    if scalar.type not in INTEGER_BITS or any(x.type != scalar.type for x in scalar.arguments):
        return None
    left, right = map(_largest, vectors)
    most = left * right if scalar.function == "*" else left + right
    if most >= min(_SAFE, float(1 << (INTEGER_BITS[scalar.type] - 1))):
        return None
    return Vector(operate(a.values, b.values), _both(vectors))


def _shifted_time(scalar: ScalarCall, vectors: list[Vector]) -> Vector | None:
    """A timestamp plus or minus a time of days to seconds, which is a number of microseconds."""
    types = {a.type for a in scalar.arguments}
    if scalar.type not in TIMESTAMPS or not (scalar.type in types and any(map(is_day_time, types))):
        return _sum(scalar, vectors)
    if _OPERATIONS[scalar.function] is np.subtract and scalar.arguments[0].type != scalar.type:
        return None
    time, interval = vectors if scalar.arguments[0].type == scalar.type else vectors[::-1]
    most = DAY_US if scalar.type == "timestamp" and scalar.settings.time_zone not in UTC_NAMES else _SAFE / 2
    if _largest(interval) >= most or _largest(time) >= _SAFE / 2:  # the time zone determines the days
        return None
    operate = _OPERATIONS[scalar.function]
    return Vector(operate(vectors[0].values, vectors[1].values), _both(vectors))


def _is_widening(source: str, target: str) -> bool:
    """True for the casts of numbers that cannot fail."""
    if source in INTEGER_BITS:
        return target in FLOATS or (target in INTEGER_BITS and INTEGER_BITS[source] <= INTEGER_BITS[target])
    return (source, target) == ("float", "double")


def _cast(scalar: ScalarCall, vectors: list[Vector]) -> Vector | None:
    """Casts of numbers that cannot fail."""
    source, target = scalar.arguments[0].type, scalar.type
    if not _is_widening(source, target):
        return None
    if target in INTEGER_BITS:
        return vectors[0]
    if target == "double":
        return Vector(vectors[0].values.astype(np.float64), vectors[0].valid)
    return Vector(vectors[0].values.astype(np.float32).astype(np.float64), vectors[0].valid)


_KERNELS: dict[str, Callable[[ScalarCall, list[Vector]], Vector | None]] = {
    "=": _comparison(_equal),
    "<>": _comparison(lambda a, b: ~_equal(a, b)),
    "<": _comparison(_less),
    ">": _comparison(lambda a, b: _less(b, a)),
    "<=": _comparison(lambda a, b: ~_less(b, a)),
    ">=": _comparison(lambda a, b: ~_less(a, b)),
    "IN": _in,
    "NOT": _not,
    "IS NULL": _is_null,
    "IS NOT NULL": _is_null,
    "+": _shifted_time,
    "-": _shifted_time,
    "try_add": _shifted_time,
    "try_subtract": _shifted_time,
    "*": _sum,
    "CAST": _cast,
}
_COMPARISONS = ("=", "<>", "<", ">", "<=", ">=", "IN")
_NEVER_FAIL = ("AND", "OR", "NOT", "IS NULL", "IS NOT NULL", *_COMPARISONS)  # of numbers, times and Booleans
