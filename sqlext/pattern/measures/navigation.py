"""From Spans to row indexes and aggregate values: which rows the result has, and what its measures read.

`output_rows` says which rows are shown; the other functions answer one Navigation or Aggregate for each of them, or for
any part of them (`OutputRows.slice`). Nothing here knows the values of the columns but for the fast aggregates.

A *view* is what an output row sees of its match: with RUNNING the mapped rows up to its own, with FINAL (and in
ONE ROW PER MATCH) all. Hidden rows `{- -}` are never shown and always seen (ISO/IEC 19075-5, 4.14 and 5.5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.measures import mapped_rows, tails
from sqlext.pattern.measures import navigation_kernels as kernels
from sqlext.pattern.task import CLASSIFIER, Aggregate, Navigation, Output, Spans, Values

FAST_AGGREGATES = frozenset({"count", "sum", "avg", "min", "max"})  # those `aggregate` computes

_Views = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # what the kernels read first
_LABELS = 1 << 15  # labels are int16
GROUP_ROWS = 1 << 20  # mapped rows that are listed at once where no labels may be shared
_SAFE_IN_INT64 = 2.0**62  # magnitudes up to here add up to less than 64 bits, also with the error of a sum of floats
_WHOLE_IN_FLOAT64 = 2.0**52  # and here to numbers that float64 holds exactly, so none is rounded in any order
_FAR = 1 << 62  # beyond every row, and far enough from the end of int64 to be added to one


@dataclass(frozen=True)
class OutputRows:
    """The rows of the result, in their order.

    - `row: int64[o]`: the row of the chunk whose input columns are shown (ONE ROW: the first row of the match);
    - `match: int64[o]`: its match, an index into Spans, or -1 for an unmatched row;
    - `end: int64[o]`: RUNNING sees the mapped rows of the match below `end`, a position in the block as in Spans.label
      (of a match with a tail: where its rows would end if all were its own).
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
    """The rows of the result: matches in order with their rows in order, then the unmatched rows.

    ONE ROW PER MATCH shows empty matches whatever `output` says. An unmatched row, and an empty match in ALL ROWS
    (where `output` shows them), give one row each.

    >>> spans = Spans(np.array([1]), np.array([1]), np.array([0, 3]), np.array([0, 1, 1], "i2"),
    ...               np.array([False, True, False]), np.array([4]))
    >>> output_rows(spans, Output(is_all_rows=True, shows_unmatched=True))
    OutputRows(row=array([1, 3, 4]), match=array([ 0,  0, -1]), end=array([1, 3, 0]))
    """
    if not output.is_all_rows:
        return OutputRows(spans.start, np.arange(len(spans.start)), spans.offset[:-1] + spans.length)
    if spans.tails is not None:
        raise ValueError("matches with tails are shown whole")
    is_hidden = np.zeros(0, np.bool_) if spans.is_hidden is None else spans.is_hidden
    unmatched = spans.unmatched if output.shows_unmatched else np.zeros(0, np.int64)
    row, match, end = kernels.all_rows(
        mapped_rows.places(spans), spans.offset, is_hidden, unmatched, output.shows_empty
    )
    if spans.row is not None:
        row = mapped_rows.shown_rows(spans, row, match, end)
    return OutputRows(row, match, end)


def navigate(navigation: Navigation, spans: Spans, out: OutputRows, bounds: np.ndarray) -> np.ndarray:
    """`int64[o]`: the row of the chunk that each output row's navigation reads, -1 for NULL.

    `bounds` as in Rows. An empty match and an unmatched row have no mapped row to start from, so even PREV and NEXT
    give NULL there. RUNNING bounds what LAST sees; FIRST sees the whole match even so, as in Trino (whose
    LogicalIndexNavigation looks forward through all labels). Linear in the mapped rows of the matches in `out`,
    whatever the offset.

    >>> spans = Spans(np.array([1]), np.array([1]), np.array([0, 3]), np.array([0, 1, 1], "i2"), None, np.array([4]))
    >>> out = output_rows(spans, Output(is_all_rows=True, shows_unmatched=True))
    >>> navigate(Navigation(0, labels=(1,)), spans, out, np.array([0, 5]))  # LAST(B.x)
    array([-1,  2,  3, -1])
    """
    row, step = _reach(navigation, spans, out), max(-_FAR, min(navigation.step, _FAR))
    row = row if spans.row is None else np.where(row < 0, -1, mapped_rows.rows_at(spans, row))
    return kernels.step_in_partition(row, bounds, step) if step else row


def _reach(navigation: Navigation, spans: Spans, out: OutputRows) -> np.ndarray:
    """`int64[o]`: the row, or its place in Spans.row where that is given, before PREV and NEXT; -1 without one."""
    end = _view_end(spans, out, navigation.is_final or navigation.from_first)
    n = min(navigation.offset, _FAR)
    if navigation.labels is None:
        row = kernels.reach_any(out.match, end, mapped_rows.places(spans), spans.offset, navigation.from_first, n)
    elif spans.tails is not None:
        is_member = _membership(navigation.labels, spans, out)
        row = tails.reach_member(spans, out.match, is_member, navigation.from_first, n)
    else:
        is_member = _membership(navigation.labels, spans, out)
        row = kernels.reach_member(
            out.match, end, mapped_rows.places(spans), spans.offset, is_member, navigation.from_first, n
        )
    return row


def classify(navigation: Navigation, spans: Spans, out: OutputRows, bounds: np.ndarray) -> np.ndarray:
    """`int16[o]`: the label of the row that `navigate` reaches, -1 (NULL) where the match does not map that row.

    RUNNING hides no labels, as in Trino.

    >>> spans = Spans(np.array([1]), np.array([1]), np.array([0, 3]), np.array([0, 1, 1], "i2"), None, np.array([4]))
    >>> out = output_rows(spans, Output(is_all_rows=True, shows_unmatched=True))
    >>> classify(Navigation(CLASSIFIER, step=-1), spans, out, np.array([0, 5]))  # PREV(CLASSIFIER())
    array([-1,  0,  1, -1], dtype=int16)
    """
    row = navigate(navigation, spans, out, bounds)
    if spans.row is not None:
        return mapped_rows.labels_at(spans, out.match, row)
    if spans.tails is not None:
        return tails.labels_at(spans, out.match, row)
    end = _view_end(spans, out, is_final=True)
    return kernels.labels_at(row, out.match, end, spans.start, spans.offset, spans.label)


def match_numbers(spans: Spans, out: OutputRows) -> tuple[np.ndarray, np.ndarray]:
    """MATCH_NUMBER() as `(int64[o], valid: bool[o])`, NULL on unmatched rows and partial matches.

    >>> spans = Spans(np.array([1]), np.array([7]), np.array([0, 1]), np.array([0], "i2"), None, np.array([4]))
    >>> match_numbers(spans, output_rows(spans, Output(is_all_rows=True, shows_unmatched=True)))
    (array([7, 0]), array([ True, False]))
    """
    valid = out.match >= 0
    numbers = np.zeros(len(out), np.int64)
    numbers[valid] = spans.number[out.match[valid]]
    return numbers, valid if spans.timed_out is None else valid & ~spans.timed_out[out.match]


def are_timed_out(spans: Spans, out: OutputRows) -> tuple[np.ndarray, np.ndarray]:
    """MATCH_TIMED_OUT() as `(bool[o], valid: bool[o])`: is it a partial match? NULL on unmatched rows.

    >>> spans = Spans(np.array([1]), np.array([7]), np.array([0, 1]), np.array([0], "i2"), None, np.array([4]))
    >>> are_timed_out(spans, output_rows(spans, Output(is_all_rows=True, shows_unmatched=True)))
    (array([False, False]), array([ True, False]))
    """
    valid = out.match >= 0
    if spans.timed_out is None:
        return np.zeros(len(out), np.bool_), valid
    return spans.timed_out[out.match] & valid, valid


def sequence_numbers(spans: Spans, out: OutputRows) -> tuple[np.ndarray, np.ndarray]:
    """MATCH_SEQUENCE_NUMBER() as `(int64[o], valid: bool[o])`: 1, 2, … inside a match, hidden rows counted.

    ONE ROW gives the number of mapped rows. NULL on unmatched rows and empty matches.

    >>> spans = Spans(np.array([1]), np.array([7]), np.array([0, 2]), np.array([0, 1], "i2"), None, np.array([4]))
    >>> sequence_numbers(spans, output_rows(spans, Output(is_all_rows=True, shows_unmatched=True)))
    (array([1, 2, 0]), array([ True,  True, False]))
    """
    numbers = _view_lengths(spans, out, out.end)
    return numbers, numbers > 0


def member_count(aggregate: Aggregate, spans: Spans, out: OutputRows) -> np.ndarray:
    """`int64[o]`: how many rows `members` would list for each output row; linear, for cutting `out` to a budget.

    >>> spans = Spans(np.array([1]), np.array([1]), np.array([0, 3]), np.array([0, 1, 1], "i2"), None, np.array([4]))
    >>> member_count(Aggregate("array_agg", 0, (1,)), spans, output_rows(spans, Output(is_all_rows=True)))
    array([0, 1, 2])
    """
    end = _view_end(spans, out, aggregate.is_final)
    if aggregate.labels is None:
        return _view_lengths(spans, out, end)
    return _counts(spans, out, end, _membership(aggregate.labels, spans, out))


def members(aggregate: Aggregate, spans: Spans, out: OutputRows) -> tuple[np.ndarray, np.ndarray]:
    """The rows that each output row's aggregate covers, as a list column `(row: int64[t], offset: int64[o + 1])`.

    In row order; NULLs and DISTINCT are left to whoever reads the values. Unmatched rows and empty matches have none.
    With RUNNING a match of n rows lists up to n²/2 of them, so call it on slices of `out` (see `member_count`).

    >>> spans = Spans(np.array([1]), np.array([1]), np.array([0, 3]), np.array([0, 1, 1], "i2"), None, np.array([4]))
    >>> members(Aggregate("array_agg", 0, (1,)), spans, output_rows(spans, Output(is_all_rows=True)))
    (array([2, 2, 3]), array([0, 0, 1, 3]))
    """
    list_bounds = np.zeros(len(out) + 1, np.int64)
    np.cumsum(member_count(aggregate, spans, out), out=list_bounds[1:])
    is_member = _membership(aggregate.labels, spans, out)
    if spans.tails is not None:
        return tails.list_members(spans, out.match, is_member, list_bounds), list_bounds
    end = _view_end(spans, out, aggregate.is_final)
    row = kernels.list_members(out.match, end, mapped_rows.places(spans), spans.offset, is_member, list_bounds)
    return row if spans.row is None else mapped_rows.rows_at(spans, row), list_bounds


def member_labels(aggregate: Aggregate, spans: Spans, out: OutputRows) -> np.ndarray:
    """`int16[t]`: the labels of the rows that `members` lists, for ARRAY_AGG(CLASSIFIER()) and its like.

    >>> spans = Spans(np.array([1]), np.array([1]), np.array([0, 3]), np.array([0, 1, 1], "i2"), None, np.array([4]))
    >>> member_labels(Aggregate("array_agg", CLASSIFIER), spans, output_rows(spans, Output()))
    array([0, 1, 1], dtype=int16)
    """
    row, list_bounds = members(aggregate, spans, out)
    match = np.repeat(out.match, np.diff(list_bounds))
    if spans.row is not None:
        return mapped_rows.labels_at(spans, match, row)
    if spans.tails is not None:
        return tails.labels_at(spans, match, row)
    return spans.label[row - spans.start[match] + spans.offset[match]]


def aggregate(
    aggregate: Aggregate, values: Values | None, spans: Spans, out: OutputRows, *, is_ansi: bool = True
) -> Values:
    """One of FAST_AGGREGATES for each output row, as Spark computes it.

    Linear in the mapped rows, or where matches have tails in the rows listed. But DISTINCT, and sums that could be
    rounded or leave 64 bits, so that the order of additions counts, always read every row of every match.

    `values` is the argument by row of the chunk, or None for COUNT(*) and COUNT(A.*). Where the argument is CLASSIFIER
    it is by *label*: ranks of the names for MIN and MAX, or None for COUNT, also DISTINCT. Over no value COUNT is 0
    and the others are NULL; on unmatched rows all are NULL. Sums keep the type (int64 or float64), floats are added in
    row order, averages are of float64 sums; NaN is the greatest value; Booleans are 0 and 1.

    Raises DataError SQLEXT_ARITHMETIC_OVERFLOW where a sum of int64 leaves 64 bits; without `is_ansi` it wraps.

    >>> spans = Spans(np.array([1]), np.array([1]), np.array([0, 3]), np.array([0, 1, 1], "i2"), None, np.array([4]))
    >>> out = output_rows(spans, Output(is_all_rows=True, shows_unmatched=True))
    >>> aggregate(Aggregate("sum", 0, (1,)), Values(np.array([1, 2, 4, 8, 16])), spans, out)  # SUM(B.x)
    Values(values=array([ 0,  4, 12,  0]), valid=array([False,  True,  True, False]))
    """
    function = aggregate.function
    if function not in FAST_AGGREGATES:
        raise ValueError(f"{function} is not one of {sorted(FAST_AGGREGATES)}: list its members instead")
    if values is None and function != "count":
        raise ValueError(f"{function} needs an argument")
    if values is None and aggregate.argument is None and aggregate.labels is None:
        return Values(_view_lengths(spans, out, _view_end(spans, out, aggregate.is_final)), out.match >= 0)
    argument, start = _argument(aggregate, values, spans)
    is_member = _membership(aggregate.labels, spans, out, start, argument.valid)
    if spans.tails is not None:
        known = _aggregate_with_tails(aggregate, argument.values, spans, out, start, is_member, is_ansi)
        return known or _aggregate_unshared(aggregate, values, spans, out, is_ansi)
    if aggregate.is_distinct and len(argument.values):
        bits, is_float = argument.values.view(np.uint64), argument.values.dtype == np.float64
        kernels.keep_first_occurrences(is_member, out.match, start, spans.offset, bits, is_float)
    end = _view_end(spans, out, aggregate.is_final)
    if function == "count":
        return Values(_counts(spans, out, end, is_member), out.match >= 0)
    views = (out.match, end, start, spans.offset, is_member)
    if function in ("min", "max"):
        return Values(*kernels.extremes(*views, argument.values, function == "max"))
    if function == "avg":
        return Values(*kernels.float_sums(*views, argument.values, True))
    return _sums(views, argument.values, spans, is_ansi)


def _aggregate_with_tails(
    aggregate: Aggregate,
    values: np.ndarray,
    spans: Spans,
    out: OutputRows,
    start: np.ndarray,
    is_member: np.ndarray,
    is_ansi: bool,
) -> Values | None:
    """What can be known without reading every row of every match."""
    if aggregate.function in ("min", "max"):
        return Values(*tails.extremes(spans, out.match, start, is_member, values, aggregate.function == "max"))
    if aggregate.is_distinct:
        return None
    count = tails.counts(spans, out.match, is_member)
    if aggregate.function == "count":
        return Values(count, out.match >= 0)
    total, magnitude = tails.whole_sums(spans, out.match, start, is_member, values)
    if aggregate.function == "sum" and values.dtype == np.int64:
        return Values(total, count > 0) if magnitude < _SAFE_IN_INT64 or not is_ansi else None
    if magnitude > _WHOLE_IN_FLOAT64:
        total = tails.float_sums(spans, out.match, start, is_member, values)
    return Values(total / np.maximum(count, 1) if aggregate.function == "avg" else total.astype(np.float64), count > 0)


def _aggregate_unshared(
    asked: Aggregate, values: Values | None, spans: Spans, out: OutputRows, is_ansi: bool
) -> Values:
    """Match by match, each with all of its labels, about GROUP_ROWS of them at once."""
    ends, low = np.cumsum(spans.length[out.match]), 0
    made: list[Values] = []
    while low < len(out) or not made:
        before = ends[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + GROUP_ROWS, "right")))
        part = tails.unshared(spans, out.match[low:high])
        made.append(aggregate(asked, values, part, output_rows(part, Output()), is_ansi=is_ansi))
        low = high
    valid = [value.valid for value in made if value.valid is not None]
    return Values(np.concatenate([value.values for value in made]), np.concatenate(valid))


def _sums(views: _Views, values: np.ndarray, spans: Spans, is_ansi: bool) -> Values:
    if values.dtype == np.float64:
        return Values(*kernels.float_sums(*views, values, False))
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
    """The aggregate's argument, in as few array types as the kernels are compiled for, and the `start` to read it by.

    What CLASSIFIER gives by label is spread over the mapped rows; COUNT(*) has no values and no NULLs.
    """
    if values is None and aggregate.argument == CLASSIFIER:
        values = Values(np.arange(_LABELS))  # labels differ where their names do
    if values is None:
        return Values(np.zeros(0, np.int64)), spans.start
    numbers, valid, start = values.values, values.valid, spans.start
    if numbers.dtype == np.bool_:
        numbers = numbers.astype(np.int64)
    if aggregate.argument == CLASSIFIER:
        numbers, start = numbers[spans.label], spans.offset[:-1]
        valid = None if valid is None else valid[spans.label]
    elif spans.row is not None:
        numbers, start = numbers[spans.row] if len(numbers) else numbers, mapped_rows.places(spans)
        valid = None if valid is None else valid[spans.row]
    return Values(_read_only(numbers), None if valid is None else _read_only(valid)), start


def _read_only(array: np.ndarray) -> np.ndarray:
    """A read-only view: Arrow's arrays are read-only, and numba would compile each kernel once more for other ones."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _view_end(spans: Spans, out: OutputRows, is_final: bool) -> np.ndarray:
    """`int64[o]`: each output row sees the mapped rows of its match below this position (void without a match)."""
    if spans.tails is not None:
        return spans.offset[out.match] + spans.tails.length[out.match]
    return spans.offset[out.match + 1] if is_final else out.end


def _counts(spans: Spans, out: OutputRows, end: np.ndarray, is_member: np.ndarray) -> np.ndarray:
    """`int64[o]`: how many members each output row sees."""
    if spans.tails is not None:
        return tails.counts(spans, out.match, is_member)
    return kernels.counts(out.match, end, spans.offset, is_member)


def _view_lengths(spans: Spans, out: OutputRows, end: np.ndarray) -> np.ndarray:
    """`int64[o]`: how many mapped rows each output row sees, 0 without a match."""
    return np.where(out.match >= 0, end - spans.offset[out.match], 0)


def _membership(
    labels: tuple[int, ...] | None,
    spans: Spans,
    out: OutputRows,
    start: np.ndarray | None = None,
    valid: np.ndarray | None = None,
) -> np.ndarray:
    """`bool[k]`: mapped row j has one of `labels` (None: any) and, given `valid` read by `start`, a value.

    False outside the matches of `out`, if no match has a tail.
    """
    in_set = np.full(_LABELS, labels is None)
    if labels is not None:
        in_set[list(labels)] = True
    is_member = np.zeros(len(spans.label), np.bool_)
    start = spans.start if start is None else start
    valid = _read_only(np.zeros(0, np.bool_)) if valid is None else valid
    match = out.match if spans.tails is None else np.array([0, len(spans.start) - 1])
    kernels.mark_members(is_member, match, start, spans.offset, spans.label, in_set, valid)
    return is_member
