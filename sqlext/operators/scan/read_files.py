"""Reads files in pieces, on several threads, and computes the columns of a ScanPlan of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sqlext.expressions.column_values import ColumnValues
from sqlext.expressions.scalar_tree import Column, Scalar, ScalarCall, columns_in
from sqlext.expressions.values import arrow_type
from sqlext.operators.rows.arrow import as_arrow, one_chunk
from sqlext.operators.rows.threads import one_after_another
from sqlext.operators.scan.delta_log import check_log
from sqlext.operators.scan.footers import OtherFile, changed, names_in_file, open_file
from sqlext.operators.scan.plan import FileColumn, MaskColumn, ScanPlan
from sqlext.operators.scan.pruning import may_be_true, ranges_of

_CODED = pa.dictionary(pa.int32(), pa.string())
PATH = "path"  # the column with the paths of files in the list of files
_R = TypeVar("_R")


class Piece(NamedTuple):
    """A row group of a file. `constants`: the values of the partition columns, each an array of one value; `names`:
    the names of the columns in the file, None for those that it lacks."""

    path: str
    group: int
    names: list[str | None]
    constants: dict[str, pa.Array]


def read_files(files: Iterable[pa.RecordBatch], plan: ScanPlan) -> Iterator[pa.RecordBatch]:
    """The rows of a list of files, in the order of the list. Its columns are PATH and the partition columns.

    Raises DataError for a file that changed since the plan was made, and what expressions raise.
    """
    pa.set_cpu_count(plan.threads)
    if plan.log is not None:
        check_log(plan.log)
    found = [piece for batch in files for piece in _pieces(batch, plan)]
    reading = (_rows_of(piece, plan, is_alone=len(found) == 1) for piece in found)
    yield from one_after_another(reading, plan.threads)


def _pieces(files: pa.RecordBatch, plan: ScanPlan) -> Iterator[Piece]:
    for i, path in enumerate(files[PATH].to_pylist()):
        constants = {column.name: files[column.name].slice(i, 1) for column in plan.constants}
        path = local_path(path)
        try:
            with open_file(path) as file:
                names = names_in_file(file, plan.columns)
                groups = _groups(file, names, plan)
        except OtherFile as error:
            raise changed(f"the file {path} {error}") from None
        except (OSError, pa.ArrowException) as error:
            raise changed(f"the file {path} cannot be read: {error}") from error
        yield from (Piece(path, group, names, constants) for group in groups)


def _groups(file: pq.ParquetFile, names: list[str | None], plan: ScanPlan) -> list[int]:
    """The row groups that may hold rows on which the filters are true."""
    groups = range(file.metadata.num_row_groups)
    read = {column for each in plan.filters for column in columns_in(each)}
    stored = {
        c.name: name
        for c, name in zip(plan.columns, names)
        if name is not None and Column(c.name, c.spark_type) in read
    }
    if not stored:
        return list(groups)
    ranges = (ranges_of(file, group, stored) for group in groups)
    return [group for group, held in zip(groups, ranges) if all(may_be_true(each, held) for each in plan.filters)]


def local_path(path: str) -> str:
    """The path of a file, as Spark names it, on this machine.

    >>> local_path("file:/tmp/a b.parquet"), local_path("file:///tmp/x")
    ('/tmp/a b.parquet', '/tmp/x')
    """
    path = path.removeprefix("file:")
    return "/" + path.lstrip("/")


def _rows_of(piece: Piece, plan: ScanPlan, *, is_alone: bool) -> Iterator[pa.RecordBatch]:
    """The rows of a piece, in one batch. The columns of a piece that `is_alone` are read by several threads."""
    coded = [name for name, column in zip(piece.names, plan.columns) if name is not None and column.is_coded]
    with open_file(piece.path, coded) as file:
        rows = file.metadata.row_group(piece.group).num_rows
        read = [name for name in piece.names if name is not None]
        table = file.read_row_group(piece.group, columns=read, use_threads=is_alone).unify_dictionaries()
    columns = {c.name: _column(table, name, c, rows) for name, c in zip(piece.names, plan.columns)}
    for constant in plan.constants:
        columns[constant.name] = piece.constants[constant.name].take(as_arrow(np.zeros(rows, np.int64)))
    yield computed_rows(columns, rows, plan)


def _column(table: pa.Table, name: str | None, column: FileColumn, rows: int) -> pa.Array:
    """The values of a column, in the type in which Spark sends them; texts of `is_coded` columns as a dictionary."""
    wanted = _CODED if column.is_coded else arrow_type(column.spark_type)
    if name is None:
        return pa.nulls(rows, wanted)
    values = one_chunk(table.column(name))
    return values if values.type == wanted else values.cast(wanted)


def computed_rows(columns: dict[str, pa.Array], rows: int, plan: ScanPlan) -> pa.RecordBatch:
    """The columns of the plan's result, of the rows on which its filters are true. Raises DataError."""
    values = ColumnValues(columns=columns, rows=rows)
    for condition in plan.filters:
        at = np.flatnonzero(_checked(values, condition, values.truth))
        if len(at) < values.rows:
            kept = {name: column.take(as_arrow(at)) for name, column in values.columns.items()}
            values = ColumnValues(columns=kept, rows=len(at))
    computed = {name: _checked(values, scalar, values.array) for name, scalar in plan.computed}
    masks = {mask.name: _mask(values, mask) for mask in plan.masks}
    return pa.RecordBatch.from_pydict({**computed, **masks} or {"__one": as_arrow(np.ones(values.rows, np.int8))})


def _mask(values: ColumnValues, mask: MaskColumn) -> pa.Array:
    held = np.zeros(values.rows, f"u{mask.bits // 8}")
    for bit, condition in enumerate(mask.conditions):
        held |= _checked(values, condition, values.truth).astype(held.dtype) << held.dtype.type(bit)
    return as_arrow(held.view(f"i{mask.bits // 8}"))


def _checked(values: ColumnValues, scalar: Scalar, compute: Callable[[Scalar], _R]) -> _R:
    """What `compute` returns of an expression. Raises its DataError, if it cannot be computed on some row."""
    result = compute(scalar)
    if isinstance(scalar, ScalarCall) and (error := values.failure(scalar)) is not None:
        raise error
    return result
