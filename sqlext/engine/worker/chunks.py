"""What runs in a Python worker where the rows of one partition are spread over many tasks (see `ranges`). No pyspark.

A *chunk* is the range of the sorted rows that one task gets. It is matched in pieces, as its rows come, between its
first cut and its last one. What is before and behind them are *leftovers*; those behind the last cut of one chunk and
before the first one of a later chunk are a *seam*, which one task matches as a whole. A chunk without a cut is part of
a seam, so if nothing can be cut one task matches all rows, as without ranges.

Between the two steps rows travel as *parcels*: Arrow streams in a binary column. So results and leftovers have one
schema, and Spark need not take them apart.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sqlext.engine.worker.arrow import as_arrow, as_numpy
from sqlext.engine.worker.match_rows import CHUNK_ROWS, WorkerPlan, marked, one_chunk, read_rows
from sqlext.pattern.batch import parts
from sqlext.pattern.strategy import match
from sqlext.pattern.task import Call, Condition, Navigation, Operand, Rows
from sqlext.rewriter.match.match_plan import PARTITION_START

# What a parcel holds: rows of the result; leftovers; the first ones of a seam, behind `around` rows that only its
# neighbours are read of; the last ones of a seam, before `around` such rows.
RESULT, LEFT, FIRST, LAST = 0, 1, 2, 3
_NUMBERS = ("task", "chunk", "number", "kind", "around")
PARCEL_BYTES = 1 << 16  # about; Spark puts 10,000 parcels into one batch
PARCELS = pa.schema([*((name, pa.int32()) for name in _NUMBERS), ("rows", pa.binary())])

Parcel = tuple[int, int, pa.RecordBatch]  # kind, around, rows


def match_chunk(
    batches: Iterator[pa.RecordBatch], plan: WorkerPlan, chunk: int | None = None, piece_rows: int = CHUNK_ROWS
) -> Iterator[pa.RecordBatch]:
    """The parcels of a chunk in sorted batches; `chunk`: how many chunks precede it, by default as many as tasks.

    Raises DataError for what only the rows can show.
    """
    chunk = _task_number() if chunk is None else chunk
    for number, (kind, around, rows) in enumerate(_parcels(batches, plan, piece_rows)):
        task = chunk + 1 if kind == RESULT else 0  # all leftovers to one task
        numbers = (as_arrow(np.array([x], np.int32)) for x in (task, chunk, number, kind, around))
        columns = [*numbers, _packed(rows)]
        yield pa.RecordBatch.from_arrays(columns, schema=PARCELS)


def _task_number() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "not in a Spark task"
    return context.partitionId()


def _parcels(batches: Iterator[pa.RecordBatch], plan: WorkerPlan, piece_rows: int) -> Iterator[Parcel]:
    pieces = Pieces(plan, piece_rows)
    for batch in marked(batches, plan.partition_by):
        yield from pieces.push(batch)
    yield from pieces.rest()


def _packed(rows: pa.RecordBatch) -> pa.Array:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    packed = sink.getvalue()
    ends = np.array([0, packed.size], np.int32)
    return pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(ends), packed])


class Pieces:
    """Collects the rows of a chunk, and gives out what is certain whenever there are about `piece_rows` more."""

    def __init__(self, plan: WorkerPlan, piece_rows: int = CHUNK_ROWS):
        self.plan, self.piece_rows = plan, piece_rows
        self.behind, self.ahead = reach(plan)
        self.pending: list[pa.Table] = []
        self.rows, self.wanted = 0, piece_rows
        self.is_cut = False  # before row `behind` of the pending ones? Else they are the first of the chunk

    def push(self, batch: pa.RecordBatch) -> Iterator[Parcel]:
        if batch.num_rows:
            self.pending.append(pa.Table.from_batches([batch]))
            self.rows += batch.num_rows
        if self.rows >= self.wanted:
            yield from self._match()

    def rest(self) -> Iterator[Parcel]:
        """What is there is the end of the chunk."""
        if self.rows:
            yield from self._match()
        if self.pending:
            left = list(_split(pa.concat_tables(self.pending)))
            yield (FIRST if self.is_cut else LEFT), self.behind, left[0]
            yield from ((LEFT, 0, rows) for rows in left[1:])

    def _match(self) -> Iterator[Parcel]:
        from sqlext.pattern.batch.cuts import find_cuts

        table, n = pa.concat_tables(self.pending), self.rows
        columns, rows = _read(table, self.plan)
        lo, hi = self.behind, n - self.ahead
        cuts = find_cuts(self.plan.task, rows, lo, hi, is_fresh=self.is_cut) if lo <= hi else None
        if cuts is not None:
            first, last = cuts
            if not self.is_cut:
                *left, end = _split(table.slice(0, first + self.ahead))
                yield from ((LEFT, 0, part) for part in left)
                yield LAST, self.ahead, end
            for found in _matches(columns, rows, first, last, self.plan):
                yield from ((RESULT, 0, part) for part in _in_parcels(pa.Table.from_batches([found])))
            self.pending, self.rows, self.is_cut = [table.slice(last - lo)], n - last + lo, True
        self.wanted = max(self.piece_rows, 2 * self.rows)


def _split(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Rows in parcels, at least one, without the marks that `marked` made."""
    table = table.drop_columns([PARTITION_START])
    yield from _in_parcels(table) or [pa.RecordBatch.from_pylist([], table.schema)]


def _in_parcels(table: pa.Table) -> list[pa.RecordBatch]:
    rows = max(1, table.num_rows * PARCEL_BYTES // max(1, table.nbytes))
    return table.to_batches(max_chunksize=rows)


def reach(plan: WorkerPlan) -> tuple[int, int]:
    """How many rows before and behind a match, or a row, measures and conditions may read of its neighbours."""
    steps = [slot.navigation.step for slot in plan.slots if slot.kind in ("value", "classifier")]
    for _, condition in plan.neighbours:
        steps += _steps(condition)
    return max(0, -min(steps, default=0)), max(0, *steps, 0)


def _steps(condition: Condition) -> list[int]:
    if isinstance(condition, Call):
        return [step for argument in condition.arguments for step in _steps(argument)]
    if isinstance(condition, Operand) and isinstance(condition.source, Navigation):
        return [condition.source.step]
    return []


def _read(table: pa.Table, plan: WorkerPlan) -> tuple[dict[str, pa.Array], Rows]:
    columns = {name: one_chunk(table.column(name)) for name in table.column_names}
    starts = as_numpy(columns[PARTITION_START]).copy()
    starts[0] = True  # or part of a partition
    columns[PARTITION_START] = as_arrow(starts)
    return columns, read_rows(columns, table.num_rows, plan)


def _matches(columns: dict[str, pa.Array], rows: Rows, lo: int, hi: int, plan: WorkerPlan) -> Iterator[pa.RecordBatch]:
    """The result rows of the matches in rows lo to hi (exclusive), between two cuts."""
    if lo < hi:
        from sqlext.engine.worker.output import results  # with Numba, which the driver does not need

        for spans in match(plan.task, parts.part_of(rows, lo, hi)):
            yield from results(columns, rows, parts.moved(spans, lo), plan)


# the second step


def match_seams(batches: Iterator[pa.RecordBatch], plan: WorkerPlan) -> Iterator[pa.RecordBatch]:
    """The result rows in parcels, and those of the seams that the leftovers make; the parcels are in order of chunks.

    Raises DataError for what only the rows can show.
    """
    seam, begin = [], 0
    for kind, around, rows in _unpacked(batches):
        if kind == RESULT:
            yield from rows
            continue
        begin = around if kind == FIRST else begin
        seam += rows
        if kind == LAST:
            yield from _match_seam(seam, begin, around, plan)
            seam, begin = [], 0
    yield from _match_seam(seam, begin, 0, plan)


def _unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, int, list[pa.RecordBatch]]]:
    for batch in batches:
        for kind, around, rows in zip(batch["kind"], batch["around"], batch["rows"]):
            with pa.ipc.open_stream(rows.as_buffer()) as stream:
                yield kind.as_py(), around.as_py(), list(stream)


def _match_seam(seam: list[pa.RecordBatch], begin: int, around: int, plan: WorkerPlan) -> Iterator[pa.RecordBatch]:
    """`around`: rows behind the seam."""
    held = [batch for batch in seam if batch.num_rows]
    if held:
        table = pa.Table.from_batches(list(marked(iter(held), plan.partition_by)))
        columns, rows = _read(table, plan)
        yield from _matches(columns, rows, begin, table.num_rows - around, plan)
