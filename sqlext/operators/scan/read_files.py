"""Reads files in pieces, on several threads, and computes the columns of a ScanPlan of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlext.expressions.column_values import ColumnValues
from sqlext.expressions.scalar_tree import Scalar, ScalarCall, columns_in
from sqlext.expressions.values import arrow_type
from sqlext.operators.rows.arrow import as_arrow
from sqlext.operators.rows.threads import one_after_another
from sqlext.operators.scan.delta_log import PATH, local_path, newest_files
from sqlext.operators.scan.footers import OtherFile, changed, names_in_file, open_file
from sqlext.operators.scan.key_lookup import key_lookup
from sqlext.operators.scan.plan import FileColumn, KeyValues, MaskColumn, ScanPlan
from sqlext.operators.scan.pruning import KeyRanges, Range, may_be_true, ranges_of

Lookups = Mapping[str, Callable[[pa.Array], np.ndarray]]  # see `key_lookup`
_CODED = pa.dictionary(pa.int32(), pa.string())
_ROWS_SEARCHED = 1 << 18  # at once, where few rows have one of the keys: so many rows stay in the processor's cache
_R = TypeVar("_R")


class Piece(NamedTuple):
    """A row group of a file. `constants`: the values of the partition columns, each an array of one value; `names`:
    the names of the columns in the file, None for those that it lacks; `ranges`: what is known of the columns by which
    pieces are chosen and ordered."""

    path: str
    group: int
    rows: int
    names: list[str | None]
    constants: dict[str, pa.Array]
    ranges: dict[str, Range]


def read_files(files: Iterable[pa.RecordBatch], plan: ScanPlan) -> Iterator[pa.RecordBatch]:
    """The rows of a list of files, in the order of the list. Its columns are PATH and the partition columns.

    Raises DataError for a file that changed since the plan was made, and what expressions raise.
    """
    yield from rows_of(pieces_of(files, plan), plan)


def pieces_of(files: Iterable[pa.RecordBatch], plan: ScanPlan) -> list[Piece]:
    """The pieces of a list of files (see `read_files`) that may hold rows of the result."""
    keys = KeyRanges(plan.keys)
    return [piece for path, constants in _listed(files, plan) for piece in _pieces(path, constants, plan, keys)]


def rows_of(pieces: Sequence[Piece], plan: ScanPlan) -> Iterator[pa.RecordBatch]:
    """The rows of the pieces, in their order."""
    pa.set_cpu_count(plan.threads)
    lookups = {key.column: key_lookup(key.values) for key in plan.keys}
    reading = (_rows_of(piece, plan, lookups, is_alone=len(pieces) == 1) for piece in pieces)
    yield from one_after_another(reading, plan.threads)


def _listed(files: Iterable[pa.RecordBatch], plan: ScanPlan) -> list[tuple[str, dict[str, pa.Array]]]:
    """The path of each file and its `constants`, see Piece.

    A list with partition columns is made by Spark when the result is computed, and is that of the newest version.
    """
    listed = [
        (local_path(path), {column.name: batch[column.name].slice(i, 1) for column in plan.constants})
        for batch in files
        for i, path in enumerate(batch[PATH].to_pylist())
    ]
    newest = None if plan.log is None else newest_files(plan.log, (path for path, _ in listed))
    if newest is not None and not plan.constants:
        return [(path, {}) for path in newest]
    return [(path, constants) for path, constants in listed if _may_have_rows(constants, plan)]


def _may_have_rows(constants: dict[str, pa.Array], plan: ScanPlan) -> bool:
    values = ColumnValues(columns=constants, rows=1)
    filters = (each for each in plan.filters if {column.name for column in columns_in(each)} <= constants.keys())
    keys = (key for key in plan.keys if key.column in constants)
    return all(_are_keys(constants[key.column], key)[0].as_py() for key in keys) and all(
        _checked(values, each, values.truth)[0] for each in filters
    )


def _pieces(path: str, constants: dict[str, pa.Array], plan: ScanPlan, keys: KeyRanges) -> Iterator[Piece]:
    """The row groups of a file that may hold rows of the keys on which the filters are true."""
    try:
        with open_file(path) as file:
            names = names_in_file(file, plan.columns)
            groups = range(file.metadata.num_row_groups)
            rows = [file.metadata.row_group(group).num_rows for group in groups]
            ranges = [ranges_of(file, group, _names_for_ranges(names, plan)) for group in groups]
    except OtherFile as error:
        raise changed(f"the file {path} {error}") from None
    except (OSError, pa.ArrowException) as error:
        raise changed(f"the file {path} cannot be read: {error}") from error
    for group, n, held in zip(groups, rows, ranges):
        if keys.may_be_in(held) and all(may_be_true(each, held) for each in plan.filters):
            yield Piece(path, group, n, names, constants, held)


def _names_for_ranges(names: list[str | None], plan: ScanPlan) -> dict[str, str]:
    """The names in the file of the columns by which pieces are chosen and ordered."""
    read = {column.name for each in plan.filters for column in columns_in(each)} | {key.column for key in plan.keys}
    return {c.name: name for c, name in zip(plan.columns, names) if name is not None and c.name in read | {plan.order}}


def _rows_of(piece: Piece, plan: ScanPlan, lookups: Lookups, *, is_alone: bool) -> Iterator[pa.RecordBatch]:
    """The rows of a piece. The columns of a piece that `is_alone` are read by several threads."""
    coded = [name for name, column in zip(piece.names, plan.columns) if name is not None and column.is_coded]
    read = [name for name in piece.names if name is not None]
    with open_file(piece.path, coded) as file:
        if not read:
            yield _computed(None, piece.rows, piece, plan, lookups)
            return
        at_once = min(plan.batch_rows, _ROWS_SEARCHED) if lookups else plan.batch_rows
        batches = file.iter_batches(at_once, [piece.group], read, use_threads=is_alone)
        found = (_computed(batch, batch.num_rows, piece, plan, lookups) for batch in batches)
        yield from _together(found) if lookups else found


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of the batches in one batch, because few of them have one of the keys."""
    if found := list(batches):
        yield from pa.Table.from_batches(found).combine_chunks().to_batches()


def _computed(
    batch: pa.RecordBatch | None, rows: int, piece: Piece, plan: ScanPlan, lookups: Lookups
) -> pa.RecordBatch:
    columns = {c.name: column_of(batch, name, c, rows) for c, name in zip(plan.columns, piece.names)}
    for constant in plan.constants:
        columns[constant.name] = piece.constants[constant.name].take(as_arrow(np.zeros(rows, np.int64)))
    for name, lookup in lookups.items():
        at = lookup(columns[name])
        columns, rows = {name: column.take(as_arrow(at)) for name, column in columns.items()}, len(at)
    return computed_rows(columns, rows, plan)


def _are_keys(column: pa.Array, key: KeyValues) -> pa.Array:
    return pc.is_in(column, value_set=key.values)


def column_of(batch: pa.RecordBatch | None, name: str | None, column: FileColumn, rows: int) -> pa.Array:
    """The values of a column, in the type in which Spark sends them; texts of `is_coded` columns as a dictionary."""
    wanted = _CODED if column.is_coded else arrow_type(column.spark_type)
    if batch is None or name is None:
        return pa.nulls(rows, wanted)
    values = batch.column(name)
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
