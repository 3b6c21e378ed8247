"""Rows of files in blocks, if they are stored by a column, as those of a table are that is clustered by it or written
in its order. Who computes one value of the column after the other then holds the rows of one block at most.

Where the ranges of row groups do not overlap, one block ends and the next begins. Within a block the column is read by
itself first, up to the first value that is less than the one before it: if there is none, even fewer rows are held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from sqlext.operators.rows.blocks import Block
from sqlext.operators.rows.threads import in_threads
from sqlext.operators.scan.footers import open_file
from sqlext.operators.scan.plan import FileColumn, ScanPlan
from sqlext.operators.scan.read_files import Piece, column_of, pieces_of, rows_of

_BATCH_ROWS = 1 << 18  # so many rows stay in the processor's cache until they are matched


def read_blocks(files: Iterable[pa.RecordBatch], plan: ScanPlan, *, is_one: bool = False) -> Iterator[Block]:
    """The rows of a list of files (see `read_files`) in blocks, each with all rows of its values of `plan.order`: as
    small as footers tell, but of no fewer than `plan.batch_rows` rows, or in one block. The rows come in the order of
    `plan.order`, if they are stored so and there are more, and otherwise in the order of the list: to look for the
    order takes a twentieth of the time.

    Raises DataError for a file that changed since the plan was made; the rows also raise what expressions raise.
    """
    pieces = pieces_of(files, plan)
    column = next((column for column in plan.columns if column.name == plan.order), None)
    are_few = bool(plan.keys) or sum(piece.rows for piece in pieces) <= plan.batch_rows  # of some keys there are few
    if column is None or are_few or not _are_known(pieces, column.name):
        yield Block(rows_of(pieces, plan))
        return
    place = plan.columns.index(column)
    numbers = {(piece.path, piece.group): number for number, piece in enumerate(pieces)}
    ordered = sorted(pieces, key=lambda piece: piece.ranges[column.name])
    for block in [ordered] if is_one else _blocks(ordered, column.name, plan.batch_rows):
        if _are_ordered(block, column, place, plan.threads):
            yield Block(rows_of(block, replace(plan, batch_rows=min(plan.batch_rows, _BATCH_ROWS))), are_ordered=True)
        else:
            yield Block(rows_of(sorted(block, key=lambda piece: numbers[piece.path, piece.group]), plan))


def _are_known(pieces: Iterable[Piece], name: str) -> bool:
    ranges = (piece.ranges.get(name) for piece in pieces)
    return all(held is not None and not held.may_have_nulls for held in ranges)


def _blocks(pieces: Iterable[Piece], name: str, least: int) -> Iterator[list[Piece]]:
    """The pieces, which come in the order of their ranges, in blocks that have no value in common."""
    block: list[Piece] = []
    rows, most = 0, None
    for piece in pieces:
        held = piece.ranges[name]
        if most is not None and most < held.least and rows >= least:
            yield block
            block, rows = [], 0
        block.append(piece)
        rows, most = rows + piece.rows, held.most if most is None else max(most, held.most)
    if block:
        yield block


def _are_ordered(block: Sequence[Piece], column: FileColumn, place: int, threads: int) -> bool:
    ranges = [piece.ranges[column.name] for piece in block]
    if any(after.least < before.most for before, after in pairwise(ranges)):
        return False
    found = in_threads(partial(_ends, column, place), [(piece,) for piece in block], threads)
    ends = [each for each in found if each is not None]
    return len(ends) == len(block) and all(_is_in_order(before, after) for (_, before), (after, _) in pairwise(ends))


def _ends(column: FileColumn, place: int, piece: Piece) -> tuple[pa.Array, pa.Array] | None:
    """The first and the last value of a column in a piece, None if its values are not in order."""
    name = piece.names[place]
    first, last = None, None
    with open_file(piece.path) as file:
        for batch in file.iter_batches(_BATCH_ROWS, [piece.group], [name], use_threads=False):
            values = column_of(batch, name, column, batch.num_rows)
            is_after = last is None or _is_in_order(last, values[:1])
            if not is_after or not _is_in_order(values[:-1], values[1:]):
                return None
            first, last = values[:1] if first is None else first, values[-1:]
    return None if first is None or last is None else (first, last)


def _is_in_order(values: pa.Array, following: pa.Array) -> bool:
    return not pc.any(pc.less(following, values)).as_py()
