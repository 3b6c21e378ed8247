"""MATCH_ROWTIME(): when the rows of a result are decided, in batch and in streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.event_time import NEVER, Decisions, EventTimes, first_position
from sqlext.pattern.measures import navigation
from sqlext.pattern.measures.navigation import OutputRows
from sqlext.pattern.task import CLASSIFIER, NO_SKIP, Navigation, Rows, Spans, Task, Values

_LAST = NEVER - 1  # in batch: behind all times, and yet not the end of the input


@dataclass(frozen=True)
class Times:
    """When what batch finds in whole partitions is decided.

    Match k = 1, 2, … of partition j has `match[first[j] + k - 1]`, if that is below `first[j + 1]`; all else is decided
    by the end of the input only. `unmatched: int64[n]` is by row, NEVER where it is not decided; so is `partial` for
    partial matches, by their first row or, `by_last`, by the last one.
    """

    match: np.ndarray
    first: np.ndarray
    unmatched: np.ndarray
    partial: np.ndarray
    by_last: bool = False

    def of(self, spans: Spans, bounds: np.ndarray) -> Spans:
        """The block with the times of its matches and unmatched rows; partial matches are a block of their own."""
        if spans.timed_out is not None:
            time = self.partial[spans.end - 1 if self.by_last else spans.start]
            return replace(spans, time=time, unmatched_time=self.unmatched[spans.unmatched])
        partition = np.searchsorted(bounds, spans.start, side="right") - 1
        at = self.first[partition] + spans.number - 1
        is_known = at < self.first[partition + 1]
        time = np.full(len(at), NEVER)
        time[is_known] = self.match[at[is_known]]
        return replace(spans, time=time, unmatched_time=self.unmatched[spans.unmatched])


def batch_times(
    decide: Callable[..., Decisions],
    task: Task,
    rows: Rows,
    key: Values,
    end: Values | None,
    need: np.ndarray | None,
) -> Times:
    """The times of all results in whole partitions; `key`, `end`, `need`: see EventTimes; `decide`: that of streams.

    A NULL key never passes.

    >>> from sqlext.pattern.program import Done, MatchLabel, Program
    >>> from sqlext.pattern.task import MatchTask
    >>> from sqlext.pattern.stream.decisions import decide
    >>> a = MatchTask(program=Program((MatchLabel(0), Done()), ("A",)), bits=(0,), conditions=(None,))
    >>> rows = Rows(np.array([0, 2]), np.ones((2, 1), np.uint8))
    >>> batch_times(decide, a, rows, Values(np.array([5, 7])), None, None).match
    array([5, 7])
    """
    held, partition = _held_rows(rows, key)
    part, event_times = (
        rows,
        EventTimes(key=key.values, watermark=_LAST, end=None if end is None else end.values, need=need),
    )
    if len(held) < len(rows.mask):
        part, event_times = _taken(rows, event_times, held, partition)
    found = decide(task, part, event_times, first_position(part))
    spans, by_last = found.spans, isinstance(task, CepTask) and task.is_between and task.skip.mode == NO_SKIP
    is_partial = np.zeros(len(spans.start), np.bool_) if spans.timed_out is None else spans.timed_out
    owner = partition[np.searchsorted(part.bounds, spans.start[~is_partial], side="right") - 1]
    count = np.bincount(owner, minlength=len(rows.bounds) - 1)
    unmatched, partial = np.full((2, len(rows.mask)), NEVER)
    unmatched[held[spans.unmatched]] = found.unmatched_time
    partial[held[(spans.end - 1 if by_last else spans.start)[is_partial]]] = found.time[is_partial]
    return Times(found.time[~is_partial], np.concatenate([[0], np.cumsum(count)]), unmatched, partial, by_last)


def _held_rows(rows: Rows, key: Values) -> tuple[np.ndarray, np.ndarray]:
    """The rows before the first NULL key of their partition, and the partitions that have such rows."""
    p = len(rows.bounds) - 1
    if key.valid is None or key.valid.all():
        return np.arange(len(rows.mask)), np.arange(p)
    nulls = np.cumsum(~key.valid)
    before = np.concatenate([[0], nulls])[rows.bounds[:-1]]
    held = np.flatnonzero(nulls == np.repeat(before, np.diff(rows.bounds)))
    return held, np.unique(np.searchsorted(rows.bounds, held, side="right") - 1)


def _taken(rows: Rows, event_times: EventTimes, held: np.ndarray, partition: np.ndarray) -> tuple[Rows, EventTimes]:
    """Only the rows `held`, the first ones of the partitions `partition`."""
    owner = np.searchsorted(rows.bounds, held, side="right") - 1
    bounds = np.concatenate([np.searchsorted(owner, partition), [len(held)]]).astype(np.int64)
    shift = held - np.arange(len(held))  # the same for all rows of a partition
    part = Rows(
        bounds,
        np.ascontiguousarray(rows.mask[held]),
        None if rows.limit is None else rows.limit[held] - shift,
        tuple(Values(c.values[held], None if c.valid is None else c.valid[held]) for c in rows.columns),
        rows.classifiers,
        None if rows.key is None else rows.key[held],
        None if rows.end is None else rows.end[held],
    )
    end = None if event_times.end is None else event_times.end[held]
    need = None if event_times.need is None else event_times.need[:, held] - shift
    return part, EventTimes(key=event_times.key[held], watermark=event_times.watermark, end=end, need=need)


def result_times(
    spans: Spans, out: OutputRows, reads: Sequence[Navigation], bounds: np.ndarray, key: Values
) -> np.ndarray:
    """`int64[o]`: when each result row is decided, NEVER if the rows do not tell.

    `reads`: the navigations of the measures; those with NEXT wait for the row that they read.

    >>> spans = Spans(np.array([0]), np.array([1]), np.array([0, 1]), np.array([0], "i2"), None, np.zeros(0, np.int64),
    ...               time=np.array([5]), unmatched_time=np.zeros(0, np.int64))
    >>> out, key = navigation.output_rows(spans, navigation.Output()), Values(np.array([5, 9]))
    >>> [result_times(spans, out, [Navigation(0, step=n)], np.array([0, 2]), key).tolist() for n in (0, 1, 2)]
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
        is_there = row <= last
        if key.valid is not None:
            is_there &= key.valid[np.minimum(row, last)]
        known = np.where(is_there, key.values[np.minimum(row, last)], NEVER)
        time = np.where(base >= 0, np.maximum(time, known), time)
    return time


def _rows_ahead(spans: Spans, out: OutputRows, reads: Sequence[Navigation], bounds) -> Iterator[tuple]:
    """For each navigation with NEXT the rows from which it goes on (-1: none), and the rows that it reads."""
    for ahead in dict.fromkeys(replace(r, argument=0) for r in reads if r.step > 0 and r.argument != CLASSIFIER):
        base = navigation.navigate(replace(ahead, step=0), spans, out, bounds)
        yield base, base + ahead.step
