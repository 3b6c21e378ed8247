"""Rows of files that come in the order of a column, as those of a table do that is clustered by it, or written event by
event. Who computes one value of the column after the other then holds few rows at once.

The footers tell of most other tables that they are not in order. Of the rest the column is read by itself first, up to
the first value that is less than the one before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from sqlext.operators.rows.threads import in_threads
from sqlext.operators.scan.footers import open_file
from sqlext.operators.scan.plan import FileColumn, ScanPlan
from sqlext.operators.scan.read_files import Piece, column_of, pieces_of, rows_of

_BATCH_ROWS = 1 << 18  # so many rows stay in the processor's cache until they are matched


def read_in_order(files: Iterable[pa.RecordBatch], plan: ScanPlan) -> tuple[Iterator[pa.RecordBatch], bool]:
    """The rows of a list of files (see `read_files`), and whether they come in the order of `plan.order`, which is then
    never NULL. If not, they come in the order of the list.

    Raises DataError for a file that changed since the plan was made; the rows also raise what expressions raise.
    """
    pieces = pieces_of(files, plan)
    ordered = None if plan.order is None else _ordered(pieces, plan.order, plan)
    if ordered is None:
        return rows_of(pieces, plan), False
    return rows_of(ordered, replace(plan, batch_rows=min(plan.batch_rows, _BATCH_ROWS))), True


def _ordered(pieces: Sequence[Piece], name: str, plan: ScanPlan) -> list[Piece] | None:
    """The pieces in the order in which all of their rows are in the order of a column, None if they are in none."""
    place = next((i for i, column in enumerate(plan.columns) if column.name == name), None)
    if place is None or any(name not in piece.ranges for piece in pieces):
        return None
    ordered = sorted(pieces, key=lambda piece: piece.ranges[name])
    if any(after.ranges[name].least < before.ranges[name].most for before, after in pairwise(ordered)):
        return None
    found = in_threads(partial(_ends, plan.columns[place], place), [(piece,) for piece in ordered], plan.threads)
    ends = [each for each in found if each is not None]
    are_ordered = all(_is_in_order(before, after) for (_, before), (after, _) in pairwise(ends))
    return ordered if are_ordered and len(ends) == len(ordered) else None


def _ends(column: FileColumn, place: int, piece: Piece) -> tuple[pa.Array, pa.Array] | None:
    """The first and the last value of a column in a piece, None if its values are not in order, or one is NULL."""
    name = piece.names[place]
    first, last = None, None
    with open_file(piece.path) as file:
        for batch in file.iter_batches(_BATCH_ROWS, [piece.group], [name], use_threads=False):
            values = column_of(batch, name, column, batch.num_rows)
            is_after = last is None or _is_in_order(last, values[:1])
            if values.null_count or not is_after or not _is_in_order(values[:-1], values[1:]):
                return None
            first, last = values[:1] if first is None else first, values[-1:]
    return None if first is None or last is None else (first, last)


def _is_in_order(values: pa.Array, following: pa.Array) -> bool:
    return not pc.any(pc.less(following, values)).as_py()
