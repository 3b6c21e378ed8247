"""Match one partition whose rows are spread over many tasks, on the side of the workers (see `ranges`). Loads Numba.

Each task receives a *range* of the sorted rows. It matches them piece by piece as they arrive, between the first *cut*
of the range and the last one. The rows before the first cut and those after the last cut are *leftovers*. The leftovers
between the last cut of one range and the first cut of a later range are a *seam*, which one task matches as a whole. A
range without a cut belongs to a seam. So if there are no cuts at all, one task matches all rows, as without ranges.

Between the two steps rows travel as *parcels*: Arrow streams in a binary column. So results and leftovers have one
schema, and Spark need not separate them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sqlext.operators.match.match_rows import with_partition_starts
from sqlext.operators.match.output import result_batches
from sqlext.operators.match.plan import MatchOperatorPlan
from sqlext.operators.match.read_rows import columns_of, read_rows
from sqlext.operators.rows.arrow import as_arrow, as_numpy, stream_of
from sqlext.operators.rows.columns import PARTITION_START
from sqlext.operators.rows.held_rows import HeldRows
from sqlext.operators.rows.limits import Limits
from sqlext.operators.rows.long_columns import cut_batch
from sqlext.operators.rows.worker_memory import Held, check_memory, memory_errors
from sqlext.pattern.batch import parts
from sqlext.pattern.batch.cuts import find_cuts
from sqlext.pattern.conditions.condition_reads import rows_ahead, rows_back
from sqlext.pattern.strategy import match
from sqlext.pattern.task.task import Rows

# The content of a parcel: result rows; leftovers; the first leftovers of a seam, after `around` rows that are only read
# as neighbours; the last leftovers of a seam, before `around` such rows.
RESULT, LEFT, FIRST, LAST = 0, 1, 2, 3
_NUMBERS = ("task", "range_number", "number", "kind", "around")
PARCEL_BYTES = 1 << 16  # approximate; Spark puts 10,000 parcels into one batch
PARCELS = pa.schema([*((name, pa.int32()) for name in _NUMBERS), ("rows", pa.binary())])

Parcel = tuple[int, int, pa.RecordBatch]  # kind, around, rows


# the first step: matches within a range


def match_range(
    batches: Iterator[pa.RecordBatch], plan: MatchOperatorPlan, range_number: int
) -> Iterator[pa.RecordBatch]:
    """The parcels of a range, whose rows come in sorted batches; `range_number`: how many ranges precede it.

    Raises DataError for errors that can only be found in the rows, and for rows that do not fit in memory.
    """
    for number, (kind, around, rows) in enumerate(_parcels(batches, plan)):
        task = range_number + 1 if kind == RESULT else 0  # one task receives all leftovers
        numbers = (as_arrow(np.array([x], np.int32)) for x in (task, range_number, number, kind, around))
        yield pa.RecordBatch.from_arrays([*numbers, _binary(stream_of(rows))], schema=PARCELS)


def _parcels(batches: Iterator[pa.RecordBatch], plan: MatchOperatorPlan) -> Iterator[Parcel]:
    pieces = Pieces(plan)
    with memory_errors():
        for batch in with_partition_starts(batches, plan.partition_by):
            yield from pieces.push(batch)
        yield from pieces.rest()


def _binary(value: pa.Buffer) -> pa.Array:
    """A binary column of one value."""
    ends = np.array([0, value.size], np.int32)
    return pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(ends), value])


class Pieces:
    """Collects the rows of a range, and matches the rows between cuts whenever about as many rows or bytes have been
    added as the plan's limits allow."""

    def __init__(self, plan: MatchOperatorPlan):
        self.plan = plan
        self.before, self.after = reach(plan)
        self.pending: list[pa.Table] = []
        self.rows = self.bytes = 0
        self.wanted = plan.limits
        self.checked = plan.limits.held_bytes
        self.is_cut = False  # row `before` of the pending rows follows a cut; otherwise they begin the range

    def push(self, batch: pa.RecordBatch) -> Iterator[Parcel]:
        if batch.num_rows:
            self.pending.append(pa.Table.from_batches([batch]))
            self.rows, self.bytes = self.rows + batch.num_rows, self.bytes + batch.nbytes
        if self.bytes > self.checked:
            check_memory(self.bytes, self.plan.limits.free_bytes, Held(self.rows))
            self.checked = self.bytes + self.plan.limits.held_bytes
        if self.rows >= self.wanted.rows or self.bytes >= self.wanted.bytes:
            yield from self._match()

    def rest(self) -> Iterator[Parcel]:
        """The parcels of the rows collected so far, which are the last rows of the range."""
        if self.rows:
            yield from self._match()
        if self.pending:
            left = list(_split(pa.concat_tables(self.pending)))
            yield (FIRST if self.is_cut else LEFT), self.before, left[0]
            yield from ((LEFT, 0, rows) for rows in left[1:])

    def _match(self) -> Iterator[Parcel]:
        table, n = pa.concat_tables(self.pending), self.rows
        columns, rows = _read(table, self.plan)
        lo, hi = self.before, n - self.after
        cuts = find_cuts(self.plan.task, rows, lo, hi, is_fresh=self.is_cut) if lo <= hi else None
        if cuts is not None:
            first, last = cuts
            if not self.is_cut:
                *left, end = _split(table.slice(0, first + self.after))
                yield from ((LEFT, 0, part) for part in left)
                yield LAST, self.after, end
            for batch in _matches(columns, rows, first, last, self.plan):
                yield from ((RESULT, 0, part) for part in _in_parcels(pa.Table.from_batches([batch])))
            rest = table.slice(last - lo)
            self.pending, self.rows, self.bytes, self.is_cut = [rest], rest.num_rows, rest.nbytes, True
        limits = self.plan.limits
        self.wanted = Limits(max(limits.rows, 2 * self.rows), max(limits.bytes, 2 * self.bytes))


def _split(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows in parcels, at least one, without PARTITION_START."""
    table = table.drop_columns([PARTITION_START])
    yield from _in_parcels(table) or [pa.RecordBatch.from_pylist([], table.schema)]


def _in_parcels(table: pa.Table) -> list[pa.RecordBatch]:
    return [parcel for batch in table.to_batches() for parcel in cut_batch(batch, PARCEL_BYTES)]


def reach(plan: MatchOperatorPlan) -> tuple[int, int]:
    """The number of rows before and after a match, or a row, that measures and conditions may read as neighbours."""
    steps = [slot.navigation.step for slot in plan.slots if slot.kind in ("value", "classifier")]
    conditions = [condition for _, condition in plan.neighbours]
    before = max([0, *(-step for step in steps), *map(rows_back, conditions)])
    return before, max([0, *steps, *map(rows_ahead, conditions)])


def _read(table: pa.Table, plan: MatchOperatorPlan) -> tuple[dict[str, pa.Array], Rows]:
    columns = columns_of(table)
    starts = as_numpy(columns[PARTITION_START]).copy()
    starts[0] = True  # the first row of this range, even if its partition began earlier
    columns[PARTITION_START] = as_arrow(starts)
    return columns, read_rows(columns, plan)


def _matches(
    columns: dict[str, pa.Array], rows: Rows, lo: int, hi: int, plan: MatchOperatorPlan
) -> Iterator[pa.RecordBatch]:
    """The result rows of the matches in rows lo to hi (exclusive), between two cuts."""
    if lo < hi:
        for spans in match(plan.task, parts.part_of(rows, lo, hi)):
            yield from result_batches(columns, rows, parts.moved(spans, lo), plan)


# the second step: matches across ranges


def match_seams(batches: Iterator[pa.RecordBatch], plan: MatchOperatorPlan) -> Iterator[pa.RecordBatch]:
    """The result rows in the parcels, and the result rows of the seams that the leftovers form; parcels come in order
    of ranges.

    Raises DataError for errors that can only be found in the rows, and for rows that do not fit in memory.
    """
    begin = 0
    with memory_errors() as held:
        seam = HeldRows(plan.limits, held=held)
        for kind, around, rows in _unpacked(batches):
            if kind == RESULT:
                yield from rows
                continue
            begin = around if kind == FIRST else begin
            for batch in rows:
                seam.add(batch)
            if kind == LAST:
                yield from _match_seam(seam.take(), begin, around, plan)
                begin = 0
        yield from _match_seam(seam.take(), begin, 0, plan)


def _unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, int, list[pa.RecordBatch]]]:
    for batch in batches:
        for kind, around, rows in zip(batch["kind"], batch["around"], batch["rows"]):
            with pa.ipc.open_stream(rows.as_buffer()) as stream:
                yield kind.as_py(), around.as_py(), list(stream)


def _match_seam(
    seam: list[pa.RecordBatch], begin: int, around: int, plan: MatchOperatorPlan
) -> Iterator[pa.RecordBatch]:
    """The result rows of a seam, whose first `begin` rows and last `around` rows are only read as neighbours."""
    if seam:
        table = pa.Table.from_batches(list(with_partition_starts(iter(seam), plan.partition_by)))
        columns, rows = _read(table, plan)
        yield from _matches(columns, rows, begin, table.num_rows - around, plan)
