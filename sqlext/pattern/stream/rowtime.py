"""MATCH_ROWTIME(): the time at which each row of a result is decided, in batch and in streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.measures import navigation
from sqlext.pattern.measures.navigation import OutputRows
from sqlext.pattern.task.event_time import NEVER, Decisions, EventTimes, StreamFacts, first_position
from sqlext.pattern.task.task import CLASSIFIER, Navigation, Rows, Spans, Task, Values

_LAST = NEVER - 1  # the watermark in batch: after all times, but not the end of the input


@dataclass(frozen=True, kw_only=True)
class Times:
    """The times at which the results of whole partitions are decided.

    - `match[first[j] + k - 1]` is the time of match k = 1, 2, … of partition j. It exists below `first[j + 1]`; only
      the end of the input decides later matches, which have NEVER.
    - `unmatched: int64[n]`: the time of an unmatched row, by row, or NEVER.
    - `partial: int64[n]`: the time of a partial match, by its first row, or by its last row if `by_last`, or NEVER.
    """

    match: np.ndarray
    first: np.ndarray
    unmatched: np.ndarray
    partial: np.ndarray
    by_last: bool = False

    def of(self, spans: Spans, bounds: np.ndarray) -> Spans:
        """The block with the times of its matches and unmatched rows; partial matches have blocks of their own."""
        if spans.timed_out is not None:
            time = self.partial[spans.end - 1 if self.by_last else spans.start]
            return replace(spans, time=time, unmatched_time=self.unmatched[spans.unmatched])
        partition = np.searchsorted(bounds, spans.start, side="right") - 1
        at = self.first[partition] + spans.number - 1
        is_decided = at < self.first[partition + 1]
        time = np.full(len(at), NEVER)
        time[is_decided] = self.match[at[is_decided]]
        return replace(spans, time=time, unmatched_time=self.unmatched[spans.unmatched])


def batch_times(
    decide: Callable[..., Decisions],
    task: Task,
    rows: Rows,
    key: Values,
    end: Values | None,
    need: np.ndarray | None,
) -> Times:
    """The times of all results in whole partitions.

    `decide` is the search of streams; `key`, `end`, `need`: see EventTimes. A row whose key is NULL or the last
    value of int64, and all rows after it, never pass the watermark.

    >>> from sqlext.pattern.program.program import Done, MatchLabel, Program
    >>> from sqlext.pattern.strategy import decide
    >>> from sqlext.pattern.task.task import MatchTask
    >>> a = MatchTask(program=Program((MatchLabel(0), Done()), ("A",)), bits=(0,), conditions=(None,))
    >>> rows = Rows(bounds=np.array([0, 2]), mask=np.ones((2, 1), np.uint8))
    >>> batch_times(decide, a, rows, Values(np.array([5, 7])), None, None).match
    array([5, 7])
    """
    kept, partition = _rows_that_pass(rows, key)
    end_values = None if end is None else end.values
    part, event_times = rows, EventTimes(key=key.values, watermark=_LAST, end=end_values, need=need)
    if len(kept) < len(rows.mask):
        part, event_times = first_rows(kept, partition, rows, event_times)
    decisions = decide(task, part, event_times, first_position(part), StreamFacts(reads_ahead=need is not None))
    spans, by_last = decisions.spans, isinstance(task, CepTask) and task.is_between and task.skip.mode.lists_all
    is_partial = np.zeros(len(spans.start), np.bool_) if spans.timed_out is None else spans.timed_out
    owner = partition[np.searchsorted(part.bounds, spans.start[~is_partial], side="right") - 1]
    count = np.bincount(owner, minlength=len(rows.bounds) - 1)
    unmatched, partial = np.full((2, len(rows.mask)), NEVER)
    unmatched[kept[spans.unmatched]] = decisions.unmatched_time
    partial[kept[(spans.end - 1 if by_last else spans.start)[is_partial]]] = decisions.time[is_partial]
    first = np.concatenate([[0], np.cumsum(count)])
    return Times(match=decisions.time[~is_partial], first=first, unmatched=unmatched, partial=partial, by_last=by_last)


def _rows_that_pass(rows: Rows, key: Values) -> tuple[np.ndarray, np.ndarray]:
    """The rows before the first key of their partition that is NULL or the last value of int64, and the partitions that
    have such rows."""
    p = len(rows.bounds) - 1
    never_passes = (key.values == NEVER) | ~key.is_valid
    if not never_passes.any():
        return np.arange(len(rows.mask)), np.arange(p)
    nulls = np.cumsum(never_passes)
    before = np.concatenate([[0], nulls])[rows.bounds[:-1]]
    kept = np.flatnonzero(nulls == np.repeat(before, np.diff(rows.bounds)))
    return kept, np.unique(np.searchsorted(rows.bounds, kept, side="right") - 1)


def first_rows(kept: np.ndarray, partition: np.ndarray, rows: Rows, event_times: EventTimes) -> tuple[Rows, EventTimes]:
    """The rows `kept`, which are the first rows of the partitions `partition`, and their event times."""
    owner = np.searchsorted(rows.bounds, kept, side="right") - 1
    bounds = np.concatenate([np.searchsorted(owner, partition), [len(kept)]]).astype(np.int64)
    shift = kept - np.arange(len(kept))  # the same for all rows of a partition
    part = Rows(
        bounds=bounds,
        mask=np.ascontiguousarray(rows.mask[kept]),
        limit=None if rows.limit is None else rows.limit[kept] - shift,
        columns=tuple(column.take(kept) for column in rows.columns),
        classifiers=rows.classifiers,
        key=None if rows.key is None else rows.key[kept],
        end=None if rows.end is None else rows.end[kept],
    )
    end = None if event_times.end is None else event_times.end[kept]
    need = None if event_times.need is None else event_times.need[:, kept] - shift
    return part, EventTimes(key=event_times.key[kept], watermark=event_times.watermark, end=end, need=need)


def result_times(
    spans: Spans, out: OutputRows, reads: Sequence[Navigation], bounds: np.ndarray, key: Values
) -> np.ndarray:
    """`int64[o]`: the time at which each result row is decided, NEVER if only the end of the input decides it.

    `reads`: the navigations of the measures; a navigation with NEXT waits for the row that it reads.

    >>> spans = Spans(start=np.array([0]), number=np.array([1]), offset=np.array([0, 1]), label=np.array([0], "i2"),
    ...     is_hidden=None, unmatched=np.zeros(0, np.int64),
    ...               time=np.array([5]), unmatched_time=np.zeros(0, np.int64))
    >>> out, key = navigation.output_rows(spans, navigation.Output()), Values(np.array([5, 9]))
    >>> [result_times(spans, out, [Navigation(argument=0, step=n)], np.array([0, 2]), key).tolist() for n in (0, 1, 2)]
    [[5], [9], [9223372036854775807]]
    """
    assert spans.time is not None and spans.unmatched_time is not None
    time = np.zeros(len(out), np.int64)
    is_matched = out.match >= 0
    time[is_matched] = spans.time[out.match[is_matched]]
    order = np.argsort(spans.unmatched, kind="stable")
    at = np.searchsorted(spans.unmatched, out.row[~is_matched], sorter=order)
    time[~is_matched] = spans.unmatched_time[order[at]]
    for base, row in _rows_ahead(spans, out, reads, bounds):
        last = bounds[np.searchsorted(bounds, np.maximum(base, 0), side="right")] - 1
        has_key = row <= last
        if key.valid is not None:
            has_key &= key.valid[np.minimum(row, last)]
        arrival = np.where(has_key, key.values[np.minimum(row, last)], NEVER)
        time = np.where(base >= 0, np.maximum(time, arrival), time)
    return time


def _rows_ahead(spans: Spans, out: OutputRows, reads: Sequence[Navigation], bounds) -> Iterator[tuple]:
    """Yield, for each navigation with NEXT, the rows from which it starts (-1: none) and the rows that it reads."""
    for ahead in dict.fromkeys(replace(r, argument=0) for r in reads if r.step > 0 and r.argument != CLASSIFIER):
        base = navigation.navigate(replace(ahead, step=0), spans, out, bounds)
        yield base, base + ahead.step
