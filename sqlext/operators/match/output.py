"""The columns of the result as Arrow: the values of each slot of the plan for a block of matches. Loads Numba."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.operators.match.fold_rows import FoldProgress, fold_column, is_growing
from sqlext.operators.match.plan import AGGREGATE_SLOTS, MatchOperatorPlan, Slot
from sqlext.operators.match.read_rows import frame_ends, time_columns
from sqlext.operators.match.slot_values import failed_results, mapped_values, member_values
from sqlext.operators.rows.arrow import (
    Taken,
    are_valid,
    as_arrow,
    limited_batches,
    lists,
    shown_key,
    strings,
    taken,
    to_arrow,
    to_values,
)
from sqlext.operators.rows.columns import CLASSIFIER_FIELD, IS_MATCHED
from sqlext.operators.rows.failed_arguments import failed_aggregate
from sqlext.operators.rows.long_columns import byte_ranges, concatenated
from sqlext.pattern.measures import navigation
from sqlext.pattern.measures.navigation import OutputRows
from sqlext.pattern.measures.window_rows import in_frames
from sqlext.pattern.stream.rowtime import result_times
from sqlext.pattern.task.event_time import NEVER
from sqlext.pattern.task.skip import NO_TARGET, failure_text
from sqlext.pattern.task.task import MAPPED, Rows, Spans, Values
from sqlext.pattern.task.within import floats_in_order

MEMBER_ROWS = 1 << 20  # the total over all arrays in a batch of the result


@dataclass(frozen=True, kw_only=True)
class MatchBlock:
    """Matches, the rows in which they were found with their `columns`, and `out`, the result rows made of them.

    `mapped`: by slot, the values of an argument for each mapped row, computed once for all result rows. `progress`: by
    slot, how far an aggregate has read the match of the last result row; the next result rows may see more of this
    match. `errors`: the list in which to note, with its row and match, a measure that cannot be computed and therefore
    is NULL; None: raise DataError.
    """

    plan: MatchOperatorPlan
    columns: dict[str, pa.Array]
    rows: Rows
    spans: Spans
    out: OutputRows
    mapped: dict[str, pa.Array] = field(default_factory=dict)
    progress: dict[str, FoldProgress] = field(default_factory=dict)
    errors: list[tuple[int, int, DataError]] | None = None


def result_batches(
    columns: dict[str, pa.Array], rows: Rows, spans: Spans, plan: MatchOperatorPlan
) -> Iterator[pa.RecordBatch]:
    """The result rows of a block of matches. Raises DataError where AFTER MATCH SKIP failed."""
    out = navigation.output_rows(spans, plan.task.output)
    yield from block_batches(MatchBlock(plan=plan, columns=columns, rows=rows, spans=spans, out=out))
    check_skip(columns, spans, plan)


def check_skip(columns: dict[str, pa.Array], spans: Spans, plan: MatchOperatorPlan) -> None:
    """Raise DataError where AFTER MATCH SKIP failed."""
    if spans.failure is not None:
        raise _skip_error(columns, spans, plan)


def block_batches(block: MatchBlock) -> Iterator[pa.RecordBatch]:
    """The result rows `block.out` with all their columns."""
    for lo, hi in _slices(block):
        yield from _results(replace(block, out=block.out.slice(lo, hi)))


def _slices(block: MatchBlock) -> Iterator[tuple[int, int]]:
    """Ranges of result rows whose columns are computed at once.

    Where matches have tails the ranges are long, because navigation reads all labels of the block for each range.
    """
    n = len(block.out.row)
    most = block.plan.limits.rows if block.spans.tails is None else n
    arrays = [s for s in block.plan.slots if s.kind in ("array", "members") or is_growing(s)]
    if not arrays:
        yield from ((lo, min(lo + most, n)) for lo in range(0, n, most))
        return
    counts = [navigation.member_count(s.aggregate, block.spans, block.out) for s in arrays]
    sizes = np.sum([count * _member_bytes(slot, block) for slot, count in zip(arrays, counts)], axis=0)
    members = np.sum(counts, axis=0) + 1
    yield from byte_ranges(np.maximum(members, sizes * (MEMBER_ROWS / block.plan.limits.bytes)), most, MEMBER_ROWS)


def _member_bytes(slot: Slot, block: MatchBlock) -> float:
    """The bytes of an average row of the arguments of an aggregate."""
    columns = [block.columns[name] for name in slot.columns if name != CLASSIFIER_FIELD]
    return sum(c.nbytes for c in columns) / max(1, len(block.rows.mask))


def _results(block: MatchBlock) -> Iterator[pa.RecordBatch]:
    """The result rows in batches of limited length."""
    plan, n = block.plan, len(block.out.row)
    columns: list[tuple[str, pa.Array | Taken]] = []
    columns += [(name, Taken(block.columns[name], block.out.row)) for name in plan.carried]
    columns += [(s.name, _value(s, block) if s.kind == "value" else _slot_column(s, block)) for s in plan.slots]
    if plan.task.output.has_unmatched:
        columns.append((IS_MATCHED, as_arrow(block.out.match >= 0)))
    if not columns:  # a match without a column still counts as a row
        columns = [("__nothing", pa.nulls(n, pa.bool_()))]
    yield from limited_batches(columns, n, plan.limits.rows, plan.limits.bytes)


def _slot_column(slot: Slot, block: MatchBlock) -> pa.Array:
    if block.errors is None:
        return SLOT_COLUMNS[slot.kind](slot, block)
    try:
        column = SLOT_COLUMNS[slot.kind](slot, block)
    except DataError:
        column = _computable(slot, block)
    return _whole(column, slot, block) if slot.kind in AGGREGATE_SLOTS else column


def _whole(column: pa.Array, slot: Slot, block: MatchBlock) -> pa.Array:
    """The aggregates, with NULL where an argument could not be computed on one of the rows."""
    failed = failed_results(slot, block.columns, block.spans, block.out)
    if not len(failed):
        return column
    assert block.errors is not None
    error = failed_aggregate(slot.aggregate.function)
    places = zip(block.out.row[failed].tolist(), block.out.match[failed].tolist())
    block.errors.extend((row, match, error) for row, match in places)
    kept = np.arange(len(column))
    kept[failed] = -1
    return taken(column, kept)


def _computable(slot: Slot, block: MatchBlock) -> pa.Array:
    """The column, computed row by row, with NULL where it cannot be computed."""
    assert block.errors is not None
    make = SLOT_COLUMNS[slot.kind]
    parts = [make(slot, _alone(block, 0, 0))]
    for i in range(len(block.out.row)):
        try:
            parts.append(make(slot, _alone(block, i, i + 1)))
        except DataError as error:
            parts.append(pa.nulls(1, parts[0].type))
            block.errors.append((int(block.out.row[i]), int(block.out.match[i]), error))
    return concatenated(parts)


def _alone(block: MatchBlock, lo: int, hi: int) -> MatchBlock:
    """The block with some of its result rows, and without what was computed for the others."""
    return replace(block, out=block.out.slice(lo, hi), mapped={}, progress={})


# one function for each kind of slot


def _value(slot: Slot, block: MatchBlock) -> Taken:
    row = navigation.navigate(slot.navigation, block.spans, block.out, block.rows.bounds)
    if block.plan.task.frame is not None and slot.navigation.step:
        row = in_frames(row, block.out, frame_ends(block.rows, block.plan))
    return Taken(block.columns[slot.columns[0]], row)


def _classifier(slot: Slot, block: MatchBlock) -> pa.Array:
    return _label_names(navigation.classify(slot.navigation, block.spans, block.out, block.rows.bounds), block)


def _label_names(labels: np.ndarray, block: MatchBlock) -> pa.Array:
    return taken(strings(block.plan.task.program.labels), labels.astype(np.int64))


def _match_number(slot: Slot, block: MatchBlock) -> pa.Array:
    return _integers(*navigation.match_numbers(block.spans, block.out))


def _sequence_number(slot: Slot, block: MatchBlock) -> pa.Array:
    return _integers(*navigation.sequence_numbers(block.spans, block.out))


def _integers(values: np.ndarray, valid: np.ndarray | None) -> pa.Array:
    return as_arrow(values.astype(np.int64), valid)


def _timed_out(slot: Slot, block: MatchBlock) -> pa.Array:
    return as_arrow(*navigation.are_timed_out(block.spans, block.out))


def _rowtime(slot: Slot, block: MatchBlock) -> pa.Array:
    reads = [slot.navigation for slot in block.plan.slots if slot.kind == "value"]
    time = result_times(block.spans, block.out, reads, block.rows.bounds, time_columns(block.columns)[0])
    return as_times(time, block.columns[slot.columns[0]].type)


def as_times(time: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Times, as int64 in their order, in a column of type `kind`; NULL for NEVER.

    >>> as_times(np.array([5, NEVER]), pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    [5, None]
    """
    valid = time != NEVER
    known = np.where(valid, time, 0)
    return to_arrow(Values(floats_in_order(known) if pa.types.is_floating(kind) else known, valid), kind)


def _aggregate(slot: Slot, block: MatchBlock) -> pa.Array:
    values = None
    if slot.columns:
        column = _argument_column(slot, block)
        is_count = slot.aggregate.function == "count" and not slot.aggregate.is_distinct
        values = Values(np.empty(0), are_valid(column)) if is_count else to_values(column)
    one_aggregate = replace(slot.aggregate, argument=MAPPED) if slot.by_label else slot.aggregate
    result = navigation.aggregate(one_aggregate, values, block.spans, block.out, is_ansi=block.plan.settings.is_ansi)
    keeps_type = slot.aggregate.function in ("min", "max")
    return to_arrow(result, block.columns[slot.columns[0]].type if keeps_type else None)


def _argument_column(slot: Slot, block: MatchBlock) -> pa.Array:
    """The argument by row of the chunk, or by mapped row if it depends on labels."""
    if not slot.by_label:
        return block.columns[slot.columns[0]]
    if slot.name not in block.mapped:
        block.mapped[slot.name] = mapped_values(slot, block.columns, block.spans)
    return block.mapped[slot.name]


def _array(slot: Slot, block: MatchBlock) -> pa.Array:
    """array_agg, which leaves NULLs out."""
    row, offset = navigation.members(slot.aggregate, block.spans, block.out)
    if slot.columns:
        values = member_values(slot, 0, block.columns, row, _member_labels(slot, block))
    else:
        values = _label_names(navigation.member_labels(slot.aggregate, block.spans, block.out), block)
    if values.null_count:
        valid = are_valid(values)
        offset = np.concatenate([[0], np.cumsum(valid)])[offset]
        values = values.filter(as_arrow(valid))
    return lists(offset, values)


def _members(slot: Slot, block: MatchBlock) -> pa.Array:
    row, offset = navigation.members(slot.aggregate, block.spans, block.out)
    labels = _member_labels(slot, block)
    fields = [
        _label_names(navigation.member_labels(slot.aggregate, block.spans, block.out), block)
        if name == CLASSIFIER_FIELD
        else member_values(slot, i, block.columns, row, labels)
        for i, name in enumerate(slot.columns[:: len(slot.by_label) or 1])
    ]
    return lists(offset, pa.StructArray.from_arrays(fields, names=[f"a{i}" for i in range(len(fields))]))


def _member_labels(slot: Slot, block: MatchBlock) -> np.ndarray | None:
    """The labels of the rows that `navigation.members` lists, where the slot reads them."""
    if not slot.by_label:
        return None
    return navigation.member_labels(slot.aggregate, block.spans, block.out)


def _fold(slot: Slot, block: MatchBlock) -> pa.Array:
    before, settings = block.progress.get(slot.name), block.plan.settings
    column, after = fold_column(slot, block.columns, block.spans, block.out, before, settings)
    if after is not None:
        block.progress[slot.name] = after
    return column


SLOT_COLUMNS: dict[str, Callable[[Slot, MatchBlock], pa.Array]] = {
    "classifier": _classifier,
    "match number": _match_number,
    "sequence number": _sequence_number,
    "rowtime": _rowtime,
    "timed out": _timed_out,
    "aggregate": _aggregate,
    "array": _array,
    "fold": _fold,
    "members": _members,
}


def _skip_error(columns: dict[str, pa.Array], spans: Spans, plan: MatchOperatorPlan) -> DataError:
    """The run-time error of AFTER MATCH SKIP, which names the variable, the partition and the match."""
    failure, skip, labels = spans.failure, plan.task.skip, plan.task.program.labels
    assert failure is not None
    key = shown_key(columns, plan.partition_by, failure.start)
    match = f"match {failure.number}" + (f" of partition {key}" if key else "")
    hint = "write ELSE NEXT ROW after it to resume at the next row instead."
    text = failure_text(skip, labels, failure, match)
    if failure.reason == NO_TARGET:
        return DataError("SKIP_TO_MISSING_ROW", text, hint=hint)
    return DataError("SKIP_TO_FIRST_ROW", text, hint=hint)
