"""The columns of a result: what navigation finds for a block of matches, as Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlext.engine.worker.arrow import are_valid, as_arrow, int_column, lists, strings, taken, to_arrow, to_values
from sqlext.engine.worker.match_rows import WorkerPlan
from sqlext.engine.worker.row_times import as_times, times_of
from sqlext.errors import DataError
from sqlext.pattern.measures import navigation
from sqlext.pattern.task import CLASSIFIER, Rows, Spans, Values
from sqlext.rewriter.match.match_plan import IS_MATCHED, Slot

OUTPUT_ROWS = 1 << 16  # results leave in batches of so many
MEMBER_ROWS = 1 << 20  # or of so many rows in arrays


def results(columns: dict[str, pa.Array], rows: Rows, spans: Spans, plan: WorkerPlan) -> Iterator[pa.RecordBatch]:
    """The result rows of a block of matches."""
    yield from shown(columns, rows, spans, navigation.output_rows(spans, plan.task.output), plan)
    if spans.failure is not None:
        raise _skip_error(columns, spans, plan)


def shown(
    columns: dict[str, pa.Array], rows: Rows, spans: Spans, out: navigation.OutputRows, plan: WorkerPlan
) -> Iterator[pa.RecordBatch]:
    """The rows `out` of the result."""
    for lo, hi in _slices(out, spans, plan):
        result = _result(columns, rows, spans, out.slice(lo, hi), plan)
        yield from (result.slice(at, OUTPUT_ROWS) for at in range(0, hi - lo, OUTPUT_ROWS))


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


def _timed_out(slot: Slot, columns, rows: Rows, spans: Spans, out, plan: WorkerPlan) -> pa.Array:
    return as_arrow(*navigation.are_timed_out(spans, out))


def _rowtime(slot: Slot, columns, rows: Rows, spans: Spans, out, plan: WorkerPlan) -> pa.Array:
    return as_times(times_of(columns, rows, spans, out, plan), columns[slot.columns[0]].type)


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
    "rowtime": _rowtime,
    "timed out": _timed_out,
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
