"""What runs in a Python worker: sorted Arrow batches in, matches out. No pyspark, no SQL.

The rows of a partition may come in many batches, a batch may hold many partitions; the column PARTITION_START marks
their first rows, else a change of the keys does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlext.engine.arrow import (
    are_valid,
    as_arrow,
    as_numpy,
    differs,
    int_column,
    lists,
    mask_bytes,
    ranks,
    strings,
    taken,
    to_arrow,
    to_values,
)
from sqlext.errors import DataError
from sqlext.pattern import navigation
from sqlext.pattern.columnar import truth
from sqlext.pattern.matcher import match
from sqlext.pattern.task import CLASSIFIER, Condition, MatchTask, Rows, Spans, Values
from sqlext.pattern.within import limits
from sqlext.rewriter.plan import IS_MATCHED, PARTITION_START, Bound, Slot
from sqlext.rewriter.spark_types import kind_of

CHUNK_ROWS = 1 << 16  # partitions are collected until there are so many rows to match at once
OUTPUT_ROWS = 1 << 16  # and results leave in batches of so many
MEMBER_ROWS = 1 << 20  # or of so many rows in arrays


@dataclass(frozen=True)
class WorkerPlan:
    """The part of a MatchPlan that workers need; `masks` name the integer columns that hold the bits, 64 in each;
    `neighbours` are (bit, what must hold besides)."""

    task: MatchTask
    masks: tuple[str, ...]
    neighbours: tuple[tuple[int, Condition], ...]
    operands: tuple[tuple[str, str], ...]
    carried: tuple[str, ...]
    partition_by: tuple[str, ...]
    slots: tuple[Slot, ...]
    bounds: tuple[Bound, ...]
    is_ansi: bool


def match_batches(batches: Iterator[pa.RecordBatch], plan: WorkerPlan) -> Iterator[pa.RecordBatch]:
    """The result rows of all partitions in a sorted stream of batches.

    Raises DataError for what only the rows can show.
    """
    for chunk in whole_partitions(marked(batches, plan.partition_by)):
        yield from match_chunk(chunk, plan)


def marked(batches: Iterator[pa.RecordBatch], keys: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The batches with PARTITION_START, from where the keys change if Spark did not say."""
    before: pa.RecordBatch | None = None
    for batch in batches:
        if PARTITION_START in batch.schema.names or not batch.num_rows:
            yield batch
            continue
        starts = np.zeros(batch.num_rows, np.bool_)
        starts[0] = before is None or any(differs(batch[k].slice(0, 1), before[k])[0] for k in keys)
        for key in keys:
            starts[1:] |= differs(batch[key].slice(1), batch[key].slice(0, batch.num_rows - 1))
        before = batch.slice(batch.num_rows - 1)
        yield batch.append_column(PARTITION_START, as_arrow(starts))


def whole_partitions(batches: Iterator[pa.RecordBatch], chunk_rows: int = CHUNK_ROWS) -> Iterator[pa.Table]:
    """Tables that begin and end with a partition."""
    buffer = PartitionBuffer(chunk_rows)
    for batch in batches:
        yield from buffer.push(batch)
    yield from buffer.rest()


class PartitionBuffer:
    """Collects sorted batches until whole partitions of at least `chunk_rows` rows are there."""

    def __init__(self, chunk_rows: int = CHUNK_ROWS):
        self.chunk_rows = chunk_rows
        self.pending: list[pa.RecordBatch] = []
        self.rows = 0

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        cut = _last_start(batch) if self.rows + batch.num_rows >= self.chunk_rows else -1
        if cut >= 0:
            self._add(batch.slice(0, cut))
            yield from self.rest()
            batch = batch.slice(cut)
        self._add(batch)

    def rest(self) -> Iterator[pa.Table]:
        """What is there, if anything, taken to be whole."""
        if self.rows:
            pending, self.pending, self.rows = self.pending, [], 0
            yield pa.Table.from_batches(pending)

    def _add(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self.pending.append(batch)
            self.rows += batch.num_rows


def _last_start(batch: pa.RecordBatch) -> int:
    """The index of the last row that begins a partition, -1 without one."""
    starts = np.flatnonzero(as_numpy(batch.column(PARTITION_START)))
    return int(starts[-1]) if len(starts) else -1


def match_chunk(chunk: pa.Table, plan: WorkerPlan) -> Iterator[pa.RecordBatch]:
    """The result rows of whole partitions."""
    columns = {name: one_chunk(chunk.column(name)) for name in chunk.column_names}
    rows = read_rows(columns, chunk.num_rows, plan)
    for spans in match(plan.task, rows):
        yield from results(columns, rows, spans, plan)


def results(columns: dict[str, pa.Array], rows: Rows, spans: Spans, plan: WorkerPlan) -> Iterator[pa.RecordBatch]:
    """The result rows of a block of matches."""
    out = navigation.output_rows(spans, plan.task.output)
    for lo, hi in _slices(out, spans, plan):
        result = _result(columns, rows, spans, out.slice(lo, hi), plan)
        yield from (result.slice(at, OUTPUT_ROWS) for at in range(0, hi - lo, OUTPUT_ROWS))
    if spans.failure is not None:
        raise _skip_error(columns, spans, plan)


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def read_rows(columns: dict[str, pa.Array], n: int, plan: WorkerPlan) -> Rows:
    """What the matcher reads of the columns."""
    starts = np.flatnonzero(as_numpy(columns[PARTITION_START]))
    bounds = np.append(starts, n).astype(np.int64)
    limit = _limit(columns, bounds, plan)
    operands, classifiers = _operands(columns, plan)
    rows = Rows(bounds, mask_bytes([columns[m] for m in plan.masks], n), limit, operands, classifiers)
    return replace(rows, mask=_with_neighbours(rows, plan)) if plan.neighbours else rows


def _limit(columns: dict[str, pa.Array], bounds: np.ndarray, plan: WorkerPlan) -> np.ndarray | None:
    """Rows.limit: the nearest of the plan's bounds."""
    found = [
        limits(bounds, to_values(columns[b.key]), to_values(columns[b.end]), b.is_inclusive, b.admits_start)
        for b in plan.bounds
    ]
    return reduce(np.minimum, found) if found else None


def _with_neighbours(rows: Rows, plan: WorkerPlan) -> np.ndarray:
    """The mask without the bits that a row loses because of its neighbours."""
    mask = rows.mask.copy()
    for bit, condition in plan.neighbours:
        mask[:, bit // 8] &= np.where(truth(condition, rows), np.uint8(255), np.uint8(255 - (1 << bit % 8)))
    return mask


def _operands(columns: dict[str, pa.Array], plan: WorkerPlan) -> tuple[tuple[Values, ...], np.ndarray | None]:
    """Columns that conditions read, strings as ranks in the order of all strings at hand, labels' names among them."""
    if not plan.operands:
        return (), None
    names = strings(plan.task.program.labels)
    texts = [columns[name] for name, spark_type in plan.operands if kind_of(spark_type) == "rank"]
    ranked = iter(ranks([names, *texts]))
    classifiers = next(ranked).values
    values = tuple(
        next(ranked) if kind_of(spark_type) == "rank" else to_values(columns[name])
        for name, spark_type in plan.operands
    )
    return values, classifiers


def _slices(out, spans: Spans, plan: WorkerPlan) -> Iterator[tuple[int, int]]:
    """Ranges of output rows whose columns are made at once.

    Where matches have tails these are long, since for each of them navigation looks at all labels of the block.
    """
    n = len(out.row)
    most = OUTPUT_ROWS if spans.tails is None else n
    arrays = [s.aggregate for s in plan.slots if s.kind in ("array", "members")]
    if not arrays:
        yield from ((lo, min(lo + most, n)) for lo in range(0, n, most))
        return
    sizes = np.sum([navigation.member_count(a, spans, out) for a in arrays], axis=0)
    ends = np.cumsum(sizes + 1)
    lo = 0
    while lo < n:
        before = ends[lo - 1] if lo else 0
        hi = min(max(lo + 1, int(np.searchsorted(ends, before + MEMBER_ROWS, "right"))), lo + most)
        yield lo, hi
        lo = hi


def result_names(plan: WorkerPlan) -> list[str]:
    """The columns of the result, in order."""
    names = [*plan.carried, *(slot.name for slot in plan.slots)]
    return [*names, IS_MATCHED] if plan.task.output.shows_unmatched else names or ["__nothing"]


def _result(columns, rows: Rows, spans: Spans, out, plan: WorkerPlan) -> pa.RecordBatch:
    made = [taken(columns[name], out.row) for name in plan.carried]
    made += [MAKERS[slot.kind](slot, columns, rows, spans, out, plan) for slot in plan.slots]
    if plan.task.output.shows_unmatched:
        made.append(as_arrow(out.match >= 0))
    if not made:  # a match without a column still counts as a row
        made = [pa.nulls(len(out.row), pa.bool_())]
    return pa.RecordBatch.from_arrays(made, names=result_names(plan))


# one maker a kind of slot


def _value(slot: Slot, columns, rows: Rows, spans: Spans, out, plan: WorkerPlan) -> pa.Array:
    return taken(columns[slot.columns[0]], navigation.navigate(slot.navigation, spans, out, rows.bounds))


def _classifier(slot: Slot, columns, rows: Rows, spans: Spans, out, plan: WorkerPlan) -> pa.Array:
    labels = navigation.classify(slot.navigation, spans, out, rows.bounds)
    return taken(strings(plan.task.program.labels), labels.astype(np.int64))


def _match_number(slot: Slot, columns, rows: Rows, spans: Spans, out, plan: WorkerPlan) -> pa.Array:
    return int_column(*navigation.match_numbers(spans, out))


def _sequence_number(slot: Slot, columns, rows: Rows, spans: Spans, out, plan: WorkerPlan) -> pa.Array:
    return int_column(*navigation.sequence_numbers(spans, out))


def _aggregate(slot: Slot, columns, rows: Rows, spans: Spans, out, plan: WorkerPlan) -> pa.Array:
    values = None
    if slot.columns:
        column = columns[slot.columns[0]]
        is_count = slot.aggregate.function == "count" and not slot.aggregate.is_distinct
        values = Values(np.empty(0), are_valid(column)) if is_count else to_values(column)
    made = navigation.aggregate(slot.aggregate, values, spans, out, is_ansi=plan.is_ansi)
    return to_arrow(made, columns[slot.columns[0]].type if slot.aggregate.function in ("min", "max") else None)


def _array(slot: Slot, columns, rows: Rows, spans: Spans, out, plan: WorkerPlan) -> pa.Array:
    """array_agg, which leaves NULLs out."""
    row, offset = navigation.members(slot.aggregate, spans, out)
    if slot.aggregate.argument == CLASSIFIER:
        labels = navigation.member_labels(slot.aggregate, spans, out)
        values = taken(strings(plan.task.program.labels), labels.astype(np.int64))
    else:
        values = taken(columns[slot.columns[0]], row)
    if values.null_count:
        valid = are_valid(values)
        offset = np.concatenate([[0], np.cumsum(valid)])[offset]
        values = values.filter(as_arrow(valid))
    return lists(offset, values)


def _members(slot: Slot, columns, rows: Rows, spans: Spans, out, plan: WorkerPlan) -> pa.Array:
    row, offset = navigation.members(slot.aggregate, spans, out)
    names = [f"a{i}" for i in range(len(slot.columns))]
    structs = pa.StructArray.from_arrays([taken(columns[c], row) for c in slot.columns], names=names)
    return lists(offset, structs)


MAKERS: dict[str, Callable[..., pa.Array]] = {
    "value": _value,
    "classifier": _classifier,
    "match number": _match_number,
    "sequence number": _sequence_number,
    "aggregate": _aggregate,
    "array": _array,
    "members": _members,
}


def _skip_error(columns: dict[str, pa.Array], spans: Spans, plan: WorkerPlan) -> DataError:
    """The run-time error of AFTER MATCH SKIP, which names the variable, the partition and the match."""
    failure, skip, labels = spans.failure, plan.task.skip, plan.task.program.labels
    assert failure is not None
    name = " or ".join(labels[i] for i in skip.labels)
    shown = [pc.cast(columns[c].slice(failure.start, 1), pa.string())[0].as_py() for c in plan.partition_by]
    keys = ["NULL" if key is None else key for key in shown]
    where = f"in match {failure.number}" + (f" of partition ({', '.join(keys)})" if keys else "")
    if failure.reason == "no row":
        return DataError(
            "SKIP_TO_MISSING_ROW",
            f"AFTER MATCH SKIP {skip.mode} {name}: no row is mapped to {name} {where}",
            hint="write ELSE NEXT ROW behind it to go on at the next row instead.",
        )
    return DataError(
        "SKIP_TO_FIRST_ROW",
        f"AFTER MATCH SKIP {skip.mode} {name}: that is the first row of the match {where}, matching would never go on",
        hint="write ELSE NEXT ROW behind it to go on at the next row instead.",
    )
