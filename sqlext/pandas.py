"""`merge_asof` for pandas-on-Spark: `pyspark.pandas.merge_asof` without its quadratic join.

>>> import sqlext.pandas
>>> sqlext.pandas.merge_asof(trades, quotes, on="time", by="ticker")       # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyspark.pandas as ps
from pandas import CategoricalDtype, Timedelta
from pandas.errors import MergeError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.errors import UnsupportedError
from sqlext.frames.joins import Sides, join_sides
from sqlext.rewriter.text.composed import Argument
from sqlext.rewriter.text.names import quoted

__all__ = ["merge_asof"]

_DIRECTIONS = ("backward", "forward", "nearest")
_HINT = "convert them with to_pandas() and call pandas.merge_asof, or name columns in on and by."


def merge_asof(
    left: ps.DataFrame | ps.Series,
    right: ps.DataFrame | ps.Series,
    on: str | None = None,
    left_on: str | None = None,
    right_on: str | None = None,
    left_index: bool = False,  # noqa: FBT001  (the arguments of pandas)
    right_index: bool = False,  # noqa: FBT001
    by: str | Sequence[str] | None = None,
    left_by: str | Sequence[str] | None = None,
    right_by: str | Sequence[str] | None = None,
    suffixes: Sequence[str | None] = ("_x", "_y"),
    tolerance: Any = None,
    allow_exact_matches: bool = True,  # noqa: FBT001
    direction: str = "backward",
) -> ps.DataFrame:
    """Each row of `left` with the nearest row of `right`: pandas' `merge_asof` for pandas-on-Spark, as an ASOF JOIN.

    The arguments and the result are those of `pandas.merge_asof`: rows in the order of `left`, of several right rows
    with one key the last one, with `direction="forward"` the first one, and equal None and NaN in `by`. Neither side
    need be sorted. Times have microseconds, as Spark's.

    Columns of categories become columns of their values. Raises pandas' MergeError about arguments, as pandas does, and
    UnsupportedError (MERGE_ASOF, ASOF_TYPES) for what is not built: columns of several levels or with names that are no
    text, keys that are arrays, a time of type timedelta, and `direction="nearest"` without exact matches.
    """
    if isinstance(tolerance, np.generic):
        tolerance = Timedelta(tolerance) if isinstance(tolerance, np.timedelta64) else tolerance.item()
    if direction not in _DIRECTIONS:
        raise MergeError(f"direction invalid: {direction}")
    if not isinstance(allow_exact_matches, bool):
        raise MergeError(f"allow_exact_matches must be boolean, passed {allow_exact_matches}")
    lefts = _Side.of(left, "left", _one("left", on, left_on, is_index=left_index), _all("left", by, left_by))
    rights = _Side.of(right, "right", _one("right", on, right_on, is_index=right_index), _all("right", by, right_by))
    if len(lefts.by) != len(rights.by):
        raise MergeError("left_by and right_by must be the same length")
    _check_types(lefts, rights, tolerance)
    sides = Sides(
        left=lefts.rows,
        right=rights.rows,
        left_on=Argument.name("left_on", lefts.on),
        right_on=Argument.name("right_on", rights.on),
        keys=[(Argument.name("left_by", a), Argument.name("right_by", b)) for a, b in zip(lefts.by, rights.by)],
    )
    select, exact = sides.select((), ("", "")), allow_exact_matches
    joined = join_sides(sides, select, direction, tolerance, "left", allow_exact_matches=exact, equals="<=>")
    return _result(joined, lefts, rights, suffixes, keeps_index=left_index or right_index)


@dataclass(frozen=True)
class _Side:
    """A side as a Spark DataFrame, whose columns have names of ours: `names` has them by the names of the columns.

    `on`, `by`: the names of ours of the keys; `index`: those of the levels of the index; `order`: that of a column with
    the order of the rows, which comes first.
    """

    frame: ps.DataFrame
    rows: DataFrame
    names: dict[str, str]
    on: str
    by: list[str]
    index: list[str]
    order: str

    @classmethod
    def of(cls, frame: ps.DataFrame | ps.Series, side: str, on: str | None, by: list[str]) -> _Side:
        """`on`: the name of the time column, None for the index. Raises MergeError, KeyError and UnsupportedError."""
        frame = _frame(frame, side, [on, *by] if on else by)
        if on is None and frame.index.nlevels > 1:
            raise MergeError(f"{side} can only have one index")
        names = {name: f"{side}_{i}" for i, name in enumerate(frame.columns)}
        for name in (on, *by):
            if name is not None and name not in names:
                raise KeyError(name)
        index, order = [f"{side}_index_{i}" for i in range(frame.index.nlevels)], f"{side}_order"
        renamed = frame.rename(columns=names)
        assert renamed is not None  # it is of `inplace` only
        spark = renamed.to_spark(index_col=index)
        rows = spark.select(F.monotonically_increasing_id().alias(order), *map(quoted, spark.columns))
        return cls(frame, rows, names, names[on] if on else index[0], [names[name] for name in by], index, order)


def _frame(frame: Any, side: str, keys: list[str]) -> ps.DataFrame:
    """A side as a DataFrame, in which levels of its index that are keys are columns, and categories are values."""
    if isinstance(frame, ps.Series):
        frame = frame.to_frame()
    if not isinstance(frame, ps.DataFrame):
        raise TypeError(f"{side} is a pandas-on-Spark DataFrame, not {type(frame).__name__}")
    if frame.columns.nlevels > 1 or not all(isinstance(name, str) for name in frame.columns):
        raise _unsupported("columns of several levels, or with names that are no text")
    levels = [name for name in keys if name not in frame.columns and name in frame.index.names]
    if levels:
        frame = frame.reset_index(level=levels) if frame.index.nlevels > 1 else frame.reset_index()
    kinds = {name: kind for name, kind in frame.dtypes.items() if isinstance(kind, CategoricalDtype)}
    values = {name: str if kind.categories.dtype == object else kind.categories.dtype for name, kind in kinds.items()}
    return frame.astype(values) if values else frame


def _unsupported(what: str) -> UnsupportedError:
    return UnsupportedError("MERGE_ASOF", f"merge_asof of pandas-on-Spark has not built {what}", hint=_HINT)


def _one(side: str, both: Any, own: Any, *, is_index: bool) -> str | None:
    """The name of the time column of a side, None if its index is the time."""
    if both is not None and (own is not None or is_index):
        raise MergeError('Can only pass argument "on" OR "left_on" and "right_on", not a combination of both.')
    if is_index:
        if own is not None:
            raise MergeError(f'Can only pass argument "{side}_on" OR "{side}_index" not both.')
        return None
    names = _all(side, both, own)
    if len(names) != 1:
        raise MergeError(f"can only asof on a key for {side}")
    return names[0]


def _all(side: str, both: Any, own: Any) -> list[str]:
    """The names of columns of a side."""
    if both is not None and own is not None:
        raise MergeError(f"Can only pass by OR left_by and right_by: {side}_by")
    value = own if both is None else both
    if value is None:
        return []
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise _unsupported("keys that are no names of columns")
    return list(names)


def _check_types(left: _Side, right: _Side, tolerance: Any) -> None:
    """Raise MergeError for times that pandas does not compare, and for a tolerance of another kind."""
    kinds = [_kind(side.rows.schema[side.on].dataType) for side in (left, right)]
    for kind in kinds:
        if kind not in ("number", "timestamp", "timestamp_ntz", "date"):
            raise MergeError(f"Incompatible merge dtype, {kind}, both sides must have numeric dtype")
    if kinds[0] != kinds[1]:
        message = f"incompatible merge keys [{len(left.by)}] {kinds[0]} and {kinds[1]}, must be the same type"
        raise MergeError(message)
    if tolerance is None:
        return
    is_number = isinstance(tolerance, (int, float)) and not isinstance(tolerance, bool)
    is_whole = all(isinstance(side.rows.schema[side.on].dataType, T.IntegralType) for side in (left, right))
    if is_number != (kinds[0] == "number") or (is_whole and isinstance(tolerance, float)):
        raise MergeError(f"incompatible tolerance {type(tolerance)}, must be compat with type {kinds[0]}")
    if tolerance < type(tolerance)(0):
        raise MergeError("tolerance must be positive")


def _kind(type_: T.DataType) -> str:
    """The kind of a time, of which both sides have the same."""
    if isinstance(type_, T.DayTimeIntervalType):
        raise _unsupported("a time of type timedelta")
    return "number" if isinstance(type_, T.NumericType) else type_.typeName()


def _result(
    joined: DataFrame, left: _Side, right: _Side, suffixes: Sequence[str | None], *, keeps_index: bool
) -> ps.DataFrame:
    """The result with the names of its columns, in the order of the left rows."""
    pairs = set(zip((left.on, *left.by), (right.on, *right.by)))
    once = {name for name, own in left.names.items() if (own, right.names.get(name)) in pairs}
    columns = [(name, own, suffixes[0]) for name, own in left.names.items()]
    # as pandas has it, the column of the right time shows the left time if that is an index
    shown = {right.on: left.on} if left.on in left.index else {}
    columns += [(name, own, suffixes[1]) for name, own in right.names.items() if name not in once]
    both = set(left.names) & set(right.names) - once
    index = left.index if keeps_index else []
    values = (F.col(shown.get(own, own)).alias(own) for _, own, _ in columns)
    rows = joined.orderBy(left.order).select(*index, *values)
    result = rows.pandas_api(index_col=index or None)
    result.columns = [name + (suffix or "") if name in both else name for name, _, suffix in columns]
    result.index.names = left.frame.index.names if index else [None]
    return result
