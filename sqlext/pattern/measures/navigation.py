"""From Spans to row indexes and aggregate values: which rows the result has, and which RUNNING and FINAL measures read.

`output_rows` lists the rows of the result. The other functions evaluate one Navigation or Aggregate for each of them,
or for any part of them (`OutputRows.slice`). Only the fast aggregates read the values of columns.

A *view* is the part of its match that an output row sees: with RUNNING the mapped rows up to its own, with FINAL (and
in ONE ROW PER MATCH) all of them. Hidden rows `{- -}` are never shown and always seen (ISO/IEC 19075-5, 4.14 and 5.5).

Where the rows of a match need not be neighbours, Spans.row lists them. The kernels add the index of a mapped row to the
`start` of its match; in that case `_starts` gives them places in Spans.row instead of rows, and `_rows_at` turns the
places that they return into rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.measures import navigation_kernels as kernels
from sqlext.pattern.measures import tails
from sqlext.pattern.program.jit import read_only
from sqlext.pattern.task.task import CLASSIFIER, MAPPED, Aggregate, Navigation, Output, Spans, Values

FAST_AGGREGATES = frozenset({"count", "sum", "avg", "min", "max"})  # the aggregates that `aggregate` computes

_Views = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # the first five arguments of the kernels
_LABELS = 1 << 15  # labels are int16
GROUP_ROWS = 1 << 20  # the number of mapped rows that are listed at once where labels may not be shared
_SAFE_IN_INT64 = 2.0**62  # magnitudes up to this sum fit int64, also with the rounding error of a sum of floats
_WHOLE_IN_FLOAT64 = 2.0**52  # whole numbers up to this sum are exact in float64, so no order of additions rounds any
_FAR = 1 << 62  # beyond every row, and small enough to be added to a row in int64


@dataclass(frozen=True)
class OutputRows:
    """The rows of the result, in order.

    - `row: int64[o]`: the row of the chunk whose input columns are shown (ONE ROW: the first row of the match);
    - `match: int64[o]`: its match, an index into Spans, or -1 for an unmatched row;
    - `end: int64[o]`: RUNNING sees the mapped rows of the match below `end`, an index in the block as in Spans.label
      (for a match with a tail: where its rows would end if all of them were its own).
    """

    row: np.ndarray
    match: np.ndarray
    end: np.ndarray

    def __len__(self) -> int:
        return len(self.row)

    def slice(self, low: int, high: int) -> OutputRows:
        """Output rows `low` to `high` (exclusive), without copying."""
        return OutputRows(self.row[low:high], self.match[low:high], self.end[low:high])


def output_rows(spans: Spans, output: Output) -> OutputRows:
    """The rows of the result: the rows of each match in order, then the unmatched rows.

    ONE ROW PER MATCH always shows empty matches. In ALL ROWS PER MATCH an unmatched row and an empty match, where
    `output` shows them, become one row each.

    >>> spans = Spans(start=np.array([1]), number=np.array([1]), offset=np.array([0, 3]), label=np.array([0, 1, 1],
    ...     "i2"),
    ...               is_hidden=np.array([False, True, False]), unmatched=np.array([4]))
    >>> output_rows(spans, Output(is_all_rows=True, shows_unmatched=True))
    OutputRows(row=array([1, 3, 4]), match=array([ 0,  0, -1]), end=array([1, 3, 0]))
    """
    if not output.is_all_rows:
        return OutputRows(spans.start, np.arange(len(spans.start)), spans.offset[:-1] + spans.length)
    if spans.tails is not None:
        raise ValueError("matches with tails are shown whole")
    is_hidden = np.zeros(0, np.bool_) if spans.is_hidden is None else spans.is_hidden
    unmatched = spans.unmatched if output.shows_unmatched else np.zeros(0, np.int64)
    row, match, end = kernels.all_rows(_starts(spans), spans.offset, is_hidden, unmatched, output.shows_empty)
    if spans.row is not None:
        is_mapped = (match >= 0) & (end > spans.offset[match])
        row[is_mapped] = _rows_at(spans, row[is_mapped])
        is_empty = (match >= 0) & ~is_mapped
        row[is_empty] = spans.start[match[is_empty]]
    return OutputRows(row, match, end)


def navigate(navigation: Navigation, spans: Spans, out: OutputRows, bounds: np.ndarray) -> np.ndarray:
    """`int64[o]`: the row of the chunk that each output row's navigation reads, -1 for NULL.

    `bounds` are as in Rows. An empty match and an unmatched row have no mapped row to start from, so even PREV and NEXT
    are NULL there. RUNNING bounds the rows that FIRST and LAST see (ISO/IEC 19075-5, 5.5), but not the row that NEXT
    reaches from there. Time is linear in the mapped rows of the matches in `out`, whatever the offset.

    >>> spans = Spans(start=np.array([1]), number=np.array([1]), offset=np.array([0, 3]), label=np.array([0, 1, 1],
    ...     "i2"), is_hidden=None, unmatched=np.array([4]))
    >>> out = output_rows(spans, Output(is_all_rows=True, shows_unmatched=True))
    >>> navigate(Navigation(argument=0, labels=(1,)), spans, out, np.array([0, 5]))  # LAST(B.x)
    array([-1,  2,  3, -1])
    """
    row, step = _reach(navigation, spans, out), max(-_FAR, min(navigation.step, _FAR))
    row = row if spans.row is None else np.where(row < 0, -1, _rows_at(spans, row))
    return kernels.step_in_partition(row, bounds, step) if step else row


def _reach(navigation: Navigation, spans: Spans, out: OutputRows) -> np.ndarray:
    """`int64[o]`: the row, or its place in Spans.row, from which PREV and NEXT start; -1 if there is none."""
    end = _view_end(spans, out, is_final=navigation.is_final)
    from_first, n = navigation.from_first, min(navigation.offset, _FAR)
    if navigation.labels is None:
        return kernels.reach_any(out.match, end, _starts(spans), spans.offset, from_first, n)
    is_member = _membership(navigation.labels, spans, out)
    if spans.tails is not None:
        return tails.reach_member(spans, out.match, is_member, n, from_first=from_first)
    return kernels.reach_member(out.match, end, _starts(spans), spans.offset, is_member, from_first, n)


def classify(navigation: Navigation, spans: Spans, out: OutputRows, bounds: np.ndarray) -> np.ndarray:
    """`int16[o]`: the label of the row that `navigate` returns, -1 (NULL) where the match does not map that row.

    RUNNING bounds the rows that `navigate` counts, and hides the label of no row that NEXT reaches.

    >>> spans = Spans(start=np.array([1]), number=np.array([1]), offset=np.array([0, 3]), label=np.array([0, 1, 1],
    ...     "i2"), is_hidden=None, unmatched=np.array([4]))
    >>> out = output_rows(spans, Output(is_all_rows=True, shows_unmatched=True))
    >>> classify(Navigation(argument=CLASSIFIER, step=-1), spans, out, np.array([0, 5]))  # PREV(CLASSIFIER())
    array([-1,  0,  1, -1], dtype=int16)
    """
    row = navigate(navigation, spans, out, bounds)
    if spans.row is not None:
        return _labels_of_listed_rows(spans, out.match, row)
    if spans.tails is not None:
        return tails.labels_at(spans, out.match, row)
    end = _view_end(spans, out, is_final=True)
    return kernels.labels_at(row, out.match, end, spans.start, spans.offset, spans.label)


def _starts(spans: Spans) -> np.ndarray:
    """The `start` of each match for the kernels: its first row, or with Spans.row the place of this row in it."""
    return spans.start if spans.row is None else spans.offset[:-1]


def _rows_at(spans: Spans, place: np.ndarray) -> np.ndarray:
    """The rows at places in Spans.row; any row for a place outside."""
    assert spans.row is not None
    return spans.row[place] if len(spans.row) else np.full(len(place), -1, np.int64)


def _labels_of_listed_rows(spans: Spans, match: np.ndarray, row: np.ndarray) -> np.ndarray:
    """`int16[o]`: the label that a match with Spans.row gives to a row, -1 if it does not map the row."""
    assert spans.row is not None
    if not len(spans.row):
        return np.full(len(row), -1, np.int16)
    width = int(spans.row.max()) + 2  # the rows of one match ascend, so (match, row) is in order
    keys = np.repeat(np.arange(len(spans.start)), np.diff(spans.offset)) * width + spans.row
    wanted = np.where(row < width - 1, match * width + row, -1)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where((row >= 0) & (keys[place] == wanted), spans.label[place], -1).astype(np.int16)


def match_numbers(spans: Spans, out: OutputRows) -> tuple[np.ndarray, np.ndarray]:
    """MATCH_NUMBER() as `(int64[o], valid: bool[o])`, NULL on unmatched rows and partial matches.

    >>> spans = Spans(start=np.array([1]), number=np.array([7]), offset=np.array([0, 1]), label=np.array([0], "i2"),
    ...     is_hidden=None, unmatched=np.array([4]))
    >>> match_numbers(spans, output_rows(spans, Output(is_all_rows=True, shows_unmatched=True)))
    (array([7, 0]), array([ True, False]))
    """
    valid = out.match >= 0
    numbers = np.zeros(len(out), np.int64)
    numbers[valid] = spans.number[out.match[valid]]
    return numbers, valid if spans.timed_out is None else valid & ~spans.timed_out[out.match]


def are_timed_out(spans: Spans, out: OutputRows) -> tuple[np.ndarray, np.ndarray]:
    """MATCH_TIMED_OUT() as `(bool[o], valid: bool[o])`: true for partial matches, NULL on unmatched rows.

    >>> spans = Spans(start=np.array([1]), number=np.array([7]), offset=np.array([0, 1]), label=np.array([0], "i2"),
    ...     is_hidden=None, unmatched=np.array([4]))
    >>> are_timed_out(spans, output_rows(spans, Output(is_all_rows=True, shows_unmatched=True)))
    (array([False, False]), array([ True, False]))
    """
    valid = out.match >= 0
    if spans.timed_out is None:
        return np.zeros(len(out), np.bool_), valid
    return spans.timed_out[out.match] & valid, valid


def sequence_numbers(spans: Spans, out: OutputRows) -> tuple[np.ndarray, np.ndarray]:
    """MATCH_SEQUENCE_NUMBER() as `(int64[o], valid: bool[o])`: 1, 2, … inside a match; hidden rows count.

    In ONE ROW PER MATCH it is the number of mapped rows. It is NULL on unmatched rows and empty matches.

    >>> spans = Spans(start=np.array([1]), number=np.array([7]), offset=np.array([0, 2]), label=np.array([0, 1],
    ...     "i2"), is_hidden=None, unmatched=np.array([4]))
    >>> sequence_numbers(spans, output_rows(spans, Output(is_all_rows=True, shows_unmatched=True)))
    (array([1, 2, 0]), array([ True,  True, False]))
    """
    numbers = _view_lengths(spans, out, out.end)
    return numbers, numbers > 0


def member_count(aggregate: Aggregate, spans: Spans, out: OutputRows) -> np.ndarray:
    """`int64[o]`: the number of rows that `members` lists for each output row; for cutting `out` to a budget.

    Takes linear time.

    >>> spans = Spans(start=np.array([1]), number=np.array([1]), offset=np.array([0, 3]), label=np.array([0, 1, 1],
    ...     "i2"), is_hidden=None, unmatched=np.array([4]))
    >>> member_count(Aggregate(function="array_agg", argument=0, labels=(1,)), spans, output_rows(spans,
    ...     Output(is_all_rows=True)))
    array([0, 1, 2])
    """
    end = _view_end(spans, out, is_final=aggregate.is_final)
    if aggregate.labels is None:
        return _view_lengths(spans, out, end)
    return _counts(spans, out, end, _membership(aggregate.labels, spans, out))


def members(aggregate: Aggregate, spans: Spans, out: OutputRows) -> tuple[np.ndarray, np.ndarray]:
    """The rows that each output row's aggregate covers, as a list column `(row: int64[t], offset: int64[o + 1])`.

    They are in row order; the caller handles NULLs and DISTINCT. Unmatched rows and empty matches have no members. With
    RUNNING a match of n rows lists up to n²/2 of them, so call it on slices of `out` (see `member_count`).

    >>> spans = Spans(start=np.array([1]), number=np.array([1]), offset=np.array([0, 3]), label=np.array([0, 1, 1],
    ...     "i2"), is_hidden=None, unmatched=np.array([4]))
    >>> members(Aggregate(function="array_agg", argument=0, labels=(1,)), spans, output_rows(spans,
    ...     Output(is_all_rows=True)))
    (array([2, 2, 3]), array([0, 0, 1, 3]))
    """
    list_bounds = np.zeros(len(out) + 1, np.int64)
    np.cumsum(member_count(aggregate, spans, out), out=list_bounds[1:])
    is_member = _membership(aggregate.labels, spans, out)
    if spans.tails is not None:
        return tails.list_members(spans, out.match, is_member, list_bounds), list_bounds
    end = _view_end(spans, out, is_final=aggregate.is_final)
    row = kernels.list_members(out.match, end, _starts(spans), spans.offset, is_member, list_bounds)
    return row if spans.row is None else _rows_at(spans, row), list_bounds


def member_labels(aggregate: Aggregate, spans: Spans, out: OutputRows) -> np.ndarray:
    """`int16[t]`: the labels of the rows that `members` lists, for ARRAY_AGG(CLASSIFIER()) and similar aggregates.

    >>> spans = Spans(start=np.array([1]), number=np.array([1]), offset=np.array([0, 3]), label=np.array([0, 1, 1],
    ...     "i2"), is_hidden=None, unmatched=np.array([4]))
    >>> member_labels(Aggregate(function="array_agg", argument=CLASSIFIER), spans, output_rows(spans, Output()))
    array([0, 1, 1], dtype=int16)
    """
    row, list_bounds = members(aggregate, spans, out)
    match = np.repeat(out.match, np.diff(list_bounds))
    if spans.row is not None:
        return _labels_of_listed_rows(spans, match, row)
    if spans.tails is not None:
        return tails.labels_at(spans, match, row)
    return spans.label[row - spans.start[match] + spans.offset[match]]


def aggregate(
    aggregate: Aggregate, values: Values | None, spans: Spans, out: OutputRows, *, is_ansi: bool = True
) -> Values:
    """The value of one of FAST_AGGREGATES for each output row, as Spark computes it.

    Time is linear in the mapped rows, or in the listed rows where matches have tails. The exceptions are DISTINCT, and
    sums that could be rounded or overflow, where the order of additions matters: they read every row of every match.

    `values` is the argument by row of the chunk, or None for COUNT(*) and COUNT(A.*). Where the argument is MAPPED,
    `values` is by mapped row of the block. Where it is CLASSIFIER, `values` is by *label*: ranks of the names for MIN
    and MAX, or None for COUNT, also with DISTINCT. Over no value COUNT is 0 and the others are NULL; on unmatched rows
    all are NULL. Sums keep the type (int64 or float64), floats are added in row order, averages are of float64 sums;
    NaN is the greatest value; Booleans are 0 and 1.

    Raises DataError SQLEXT_ARITHMETIC_OVERFLOW where a sum does not fit int64; without `is_ansi` it wraps.

    >>> spans = Spans(start=np.array([1]), number=np.array([1]), offset=np.array([0, 3]), label=np.array([0, 1, 1],
    ...     "i2"), is_hidden=None, unmatched=np.array([4]))
    >>> out = output_rows(spans, Output(is_all_rows=True, shows_unmatched=True))
    >>> aggregate(Aggregate(function="sum", argument=0, labels=(1,)), Values(np.array([1, 2, 4, 8, 16])), spans,
    ...     out)  # SUM(B.x)
    Values(values=array([ 0,  4, 12,  0]), valid=array([False,  True,  True, False]))
    """
    function = aggregate.function
    if function not in FAST_AGGREGATES:
        raise ValueError(f"{function} is not one of {sorted(FAST_AGGREGATES)}: list its members instead")
    if values is None and function != "count":
        raise ValueError(f"{function} needs an argument")
    if values is None and aggregate.argument is None and aggregate.labels is None:
        return Values(_view_lengths(spans, out, _view_end(spans, out, is_final=aggregate.is_final)), out.match >= 0)
    argument, start = _argument(aggregate, values, spans)
    is_member = _membership(aggregate.labels, spans, out, start, argument.valid)
    if spans.tails is not None:
        members = _Members(argument.values, start, is_member, not is_ansi)
        return _aggregate_with_tails(aggregate, members, spans, out) or _aggregate_unshared(
            aggregate, values, spans, out, is_ansi=is_ansi
        )
    if aggregate.is_distinct and len(argument.values):
        bits, is_float = argument.values.view(np.uint64), argument.values.dtype == np.float64
        kernels.keep_first_occurrences(is_member, out.match, start, spans.offset, bits, is_float)
    end = _view_end(spans, out, is_final=aggregate.is_final)
    if function == "count":
        return Values(_counts(spans, out, end, is_member), out.match >= 0)
    views = (out.match, end, start, spans.offset, is_member)
    if function in ("min", "max"):
        return Values(*kernels.extremes(*views, argument.values, function == "max"))
    if function == "avg":
        return Values(*kernels.float_sums(*views, argument.values, is_average=True))
    return _sums(views, argument.values, spans, is_ansi=is_ansi)


class _Members(NamedTuple):
    """The input of an aggregate: `values` by row or by mapped row, where the values of each match start, and which
    labels count."""

    values: np.ndarray
    start: np.ndarray
    is_member: np.ndarray
    wraps: bool  # sums beyond int64


def _aggregate_with_tails(aggregate: Aggregate, members: _Members, spans: Spans, out: OutputRows) -> Values | None:
    """The aggregate of matches with tails, or None where every row of every match must be read."""
    values, start, is_member, wraps = members
    if aggregate.function in ("min", "max"):
        return Values(*tails.extremes(spans, out.match, start, is_member, values, is_max=aggregate.function == "max"))
    if aggregate.is_distinct:
        return None
    count = tails.counts(spans, out.match, is_member)
    if aggregate.function == "count":
        return Values(count, out.match >= 0)
    total, magnitude = tails.whole_sums(spans, out.match, start, is_member, values)
    if aggregate.function == "sum" and values.dtype == np.int64:
        return Values(total, count > 0) if magnitude < _SAFE_IN_INT64 or wraps else None
    if magnitude > _WHOLE_IN_FLOAT64:
        total = tails.float_sums(spans, out.match, start, is_member, values)
    return Values(total / np.maximum(count, 1) if aggregate.function == "avg" else total.astype(np.float64), count > 0)


def _aggregate_unshared(
    one_aggregate: Aggregate, values: Values | None, spans: Spans, out: OutputRows, *, is_ansi: bool
) -> Values:
    """The aggregate computed match by match, each with all of its labels, about GROUP_ROWS labels at once."""
    ends, low = np.cumsum(spans.length[out.match]), 0
    results: list[Values] = []
    while low < len(out) or not results:
        before = ends[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + GROUP_ROWS, "right")))
        part, own = tails.unshared(spans, out.match[low:high]), values
        if one_aggregate.argument == MAPPED:
            assert values is not None
            own = values.take(tails.mapped_rows(spans, out.match[low:high])[0])
        results.append(aggregate(one_aggregate, own, part, output_rows(part, Output()), is_ansi=is_ansi))
        low = high
    valid = [result.valid for result in results if result.valid is not None]
    return Values(np.concatenate([result.values for result in results]), np.concatenate(valid))


def _sums(views: _Views, values: np.ndarray, spans: Spans, *, is_ansi: bool) -> Values:
    if values.dtype == np.float64:
        return Values(*kernels.float_sums(*views, values, is_average=False))
    sums, valid, overflow = kernels.integer_sums(*views, values)
    if overflow >= 0 and is_ansi:
        i = views[0][overflow]
        raise DataError(
            "ARITHMETIC_OVERFLOW",
            f"SUM leaves the 64 bits of BIGINT in match number {spans.number[i]} of its partition",
            hint="sum a wider type: SUM(CAST(… AS DECIMAL(38, 0))).",
        )
    return Values(sums, valid)


def _argument(aggregate: Aggregate, values: Values | None, spans: Spans) -> tuple[Values, np.ndarray]:
    """The aggregate's argument in the few array types for which kernels are compiled, and the `start` to read it by.

    Values of CLASSIFIER, which are by label, are spread over the mapped rows. COUNT(*) has no values and no NULLs.
    """
    if values is None and aggregate.argument == CLASSIFIER:
        values = Values(np.arange(_LABELS))  # labels differ where their names differ
    if values is None:
        return Values(np.zeros(0, np.int64)), spans.start
    start = spans.start
    if aggregate.argument == MAPPED:
        start = spans.offset[:-1]
    elif aggregate.argument == CLASSIFIER:
        values, start = values.take(spans.label), spans.offset[:-1]
    elif spans.row is not None:
        values, start = _of_mapped_rows(values, spans.row), _starts(spans)
    numbers, valid = values.values, values.valid
    if numbers.dtype == np.bool_:
        numbers = numbers.astype(np.int64)
    return Values(read_only(numbers), None if valid is None else read_only(valid)), start


def _of_mapped_rows(values: Values, row: np.ndarray) -> Values:
    """The values of `row`. COUNT has no values, but knows which of them are NULL."""
    numbers = values.values[row] if len(values.values) else values.values
    return Values(numbers, None if values.valid is None else values.valid[row])


def _view_end(spans: Spans, out: OutputRows, *, is_final: bool) -> np.ndarray:
    """`int64[o]`: each output row sees the mapped rows of its match below this index (void without a match)."""
    if spans.tails is not None:
        return spans.offset[out.match] + spans.tails.length[out.match]
    return spans.offset[out.match + 1] if is_final else out.end


def _counts(spans: Spans, out: OutputRows, end: np.ndarray, is_member: np.ndarray) -> np.ndarray:
    """`int64[o]`: the number of members that each output row sees."""
    if spans.tails is not None:
        return tails.counts(spans, out.match, is_member)
    return kernels.counts(out.match, end, spans.offset, is_member)


def _view_lengths(spans: Spans, out: OutputRows, end: np.ndarray) -> np.ndarray:
    """`int64[o]`: the number of mapped rows that each output row sees, 0 without a match."""
    return np.where(out.match >= 0, end - spans.offset[out.match], 0)


def _membership(
    labels: tuple[int, ...] | None,
    spans: Spans,
    out: OutputRows,
    start: np.ndarray | None = None,
    valid: np.ndarray | None = None,
) -> np.ndarray:
    """`bool[k]`: mapped row j has one of `labels` (None: any), and its value in `valid`, read by `start`, is not NULL.

    Without tails it is False outside the matches of `out`.
    """
    in_set = np.full(_LABELS, labels is None)
    if labels is not None:
        in_set[list(labels)] = True
    is_member = np.zeros(len(spans.label), np.bool_)
    start = spans.start if start is None else start
    valid = read_only(np.zeros(0, np.bool_)) if valid is None else valid
    match = out.match if spans.tails is None else np.array([0, len(spans.start) - 1])
    kernels.mark_members(is_member, match, start, spans.offset, spans.label, in_set, valid)
    return is_member
