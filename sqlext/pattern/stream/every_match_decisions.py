"""AFTER MATCH NO SKIP on streams: every match that the rows that have passed decide, and the time of its decision.

No match waits for another one: it is decided by its last row, by the row after it (`!N` at the end), or by the end of
its bound (`!-> N` at the end). The rows are kept from the first start row on from which a match may still come, and
each step reads all of them again; it emits the matches whose time has come since the previous step.

In a SearchPosition, `row` is that first start row, `number` is the number of the next match, and all matches with times
up to `time` have been emitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.cep import every_match, path_search, shared_buffer, timeouts
from sqlext.pattern.cep.cep_reference import Path, Search
from sqlext.pattern.cep.cep_task import CepTask, local_truth
from sqlext.pattern.cep.ends import decision_order, decision_times, waits
from sqlext.pattern.cep.every_match import MatchList, Numbering, joined_matches
from sqlext.pattern.cep.every_match_tables import NfaStates, RowBits, row_bits, start_ranges, states_of
from sqlext.pattern.cep.nfa import NEXT_ROW, Final
from sqlext.pattern.cep.path_search import FastPaths
from sqlext.pattern.cep.shared_buffer import Buffer
from sqlext.pattern.task.event_time import NEVER, Decisions, EventTimes, Failure, SearchPosition, StreamFacts
from sqlext.pattern.task.task import Rows, Spans


@dataclass(kw_only=True)
class _Step:
    """The inputs of a step; `partition: int64[n]` of each row; `open_from: int64[p]`: the first row whose bound has not
    ended, without bounds the partition's first row."""

    task: CepTask
    rows: Rows
    event_times: EventTimes
    position: SearchPosition
    partition: np.ndarray = field(init=False)
    open_from: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        p, bounds = len(self.rows.bounds) - 1, self.rows.bounds
        self.partition = np.repeat(np.arange(p), np.diff(bounds))
        self.open_from = bounds[:-1].astype(np.int64)
        if self.event_times.end is not None:
            is_open = self.event_times.end > self.event_times.watermark
            self.open_from = bounds[1:] - np.bincount(self.partition[is_open], minlength=p)

    def is_new(self, time: np.ndarray, row: np.ndarray) -> np.ndarray:
        """`bool[k]`: whether the time has come since the previous step, in the partitions of the rows."""
        return (time > self.position.time[self.partition[row]]) & (time <= self.event_times.watermark)


def by_shared_buffer(
    task: CepTask, rows: Rows, event_times: EventTimes, position: SearchPosition, facts: StreamFacts
) -> Decisions:
    """Decide a row-local task from the shared buffer. Raises DataError: MATCH_BUDGET."""
    step = _Step(task=task, rows=rows, event_times=event_times, position=position)
    spans, time, live = _by_states(step)
    return _decisions(step, spans, time, live, _partial_by_states(step) if task.output.shows_timeouts else [])


def by_path_search(
    task: CepTask, rows: Rows, event_times: EventTimes, position: SearchPosition, facts: StreamFacts
) -> Decisions:
    """Decide path by path. Raises DataError: STEP_BUDGET, and what conditions raise, unless `rows.errors` notes it."""
    step = _Step(task=task, rows=rows, event_times=event_times, position=position)
    decisions = _decisions(step, *_by_paths(step))
    errors = (rows.errors or {}).items()
    return replace(decisions, failures=tuple(Failure(row, int(event_times.key[row]), e) for row, e in errors))


def _decisions(step: _Step, spans: Spans, time: np.ndarray, live: np.ndarray, partial: list[Path]) -> Decisions:
    """`live: int64[p]`: the first row from which a match may still come; `partial`: the partial matches."""
    position = step.position
    count = np.bincount(step.partition[spans.start], minlength=len(live))
    if step.task.output.shows_timeouts and partial:
        spans, time = _with_partial(step, spans, time, partial)
    return Decisions(
        spans=spans,
        time=time,
        unmatched_time=time[:0],
        position=replace(
            position,
            row=live,
            number=position.number + count,
            matched_end=live,
            time=np.full(len(live), step.event_times.watermark),
        ),
    )


def _with_partial(step: _Step, spans: Spans, time: np.ndarray, partial: list[Path]) -> tuple[Spans, np.ndarray]:
    """The matches and the partial ones whose time has come, in the order of their partitions."""
    base = np.array([path[-1 if step.task.is_between else 0][0] for path in partial], np.int64)
    assert step.event_times.end is not None
    over = step.event_times.end[base]
    is_new = step.is_new(over, base)
    chosen = [path for path, new in zip(partial, is_new) if new]
    both = timeouts.joined(spans, chosen, np.zeros(len(chosen), np.int64))
    order = np.argsort(step.partition[both.start], kind="stable")
    return timeouts.in_order(both, order), np.concatenate([time, over[is_new]])[order]


# row-local DEFINE: the shared buffer


def _by_states(step: _Step) -> tuple[Spans, np.ndarray, np.ndarray]:
    """The new matches with their times, and the first live row of each partition."""
    task, rows = step.task, step.rows
    states, truth = states_of(task.nfa, is_between=task.is_between), local_truth(task, rows)
    bits = row_bits(states, truth, rows, step.position.is_first)
    begins = np.arange(len(rows.mask)) >= step.position.row[step.partition]
    bits = bits._replace(may_start=bits.may_start & begins)
    ranges = start_ranges(states, truth, rows, bits)
    ranges = [_decided_range(step, end, *r) for end, r in zip(states.ends, ranges)]
    if len(states.ends) == 1:  # with several ends, one end may decide again a match that another end has emitted
        ranges = [_new_range(step, end, *r) for end, r in zip(states.ends, ranges)]
    numbering, matches = Numbering(task, rows, states), [_no_match()]
    for buffer, hits in every_match.advance(states, bits, Buffer.empty(len(states.states)), 0, len(rows.mask)):
        matches += every_match.matches_of(states, buffer, hits, ranges)
    spans, time = _numbered(step, numbering, joined_matches(matches))
    return spans, time, _first_live(step, states, truth, bits)


def _no_match() -> MatchList:
    nothing = np.zeros(0, np.int64)
    return MatchList(row=nothing, state=np.zeros(0, np.int16), end=nothing, final=nothing)


def _decided_range(step: _Step, end: Final, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The starts whose match with this end is certain: for an absence, the starts whose bound has ended."""
    if not end.waits_for_bound:
        return low, high
    first_open = step.open_from[step.partition]
    if step.task.is_between:
        return low, np.where(np.arange(len(high)) < first_open, high, -1)
    return low, np.minimum(high, first_open - 1)


def _new_range(step: _Step, end: Final, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The starts whose match has not been emitted yet."""
    row, since, over = np.arange(len(low)), step.position.time[step.partition], step.event_times.end
    if end.waits_for_bound and over is None:
        return low, high  # no such match is decided
    if end.waits_for_bound and not step.task.is_between:
        is_old = over <= since
        first_new = step.rows.bounds[:-1] + np.bincount(step.partition[is_old], minlength=len(step.open_from))
        return np.maximum(low, first_new[step.partition]), high
    time = step.event_times.key[np.minimum(row + (end.decided_by == NEXT_ROW), len(row) - 1)]
    return low, np.where((over if end.waits_for_bound else time) <= since, -1, high)


def _numbered(step: _Step, numbering: Numbering, matches: MatchList) -> tuple[Spans, np.ndarray]:
    """The new matches with their times, in the order of their numbers."""
    order, time = numbering.in_order(matches)
    known = step.event_times.key[time] if step.rows.key is None else time
    chosen = step.is_new(known, matches.row[matches.start[order]])
    order = order[chosen]
    partition = step.partition[matches.row[matches.start[order]]]
    number = np.arange(len(order)) - np.searchsorted(partition, partition) + step.position.number[partition]
    return numbering.spans(matches, order, number), known[chosen]


def _first_live(step: _Step, states: NfaStates, truth: np.ndarray, bits: RowBits) -> np.ndarray:
    rows, live = step.rows, np.empty(len(step.open_from), np.int64)
    pending = np.zeros((len(rows.mask), max(len(states.ends), 1)), np.bool_)
    for i, end in enumerate(states.ends):
        pending[:, i] = waits(end, truth, rows.bounds)
    need = np.zeros((2, len(states.states)), np.int64)
    bounds, begin = np.array(rows.bounds, np.int64), np.array(step.position.row, np.int64)
    shared_buffer.first_live(states.tables, bits, bounds, begin, step.open_from.astype(np.int64), pending, need, live)
    return live


def _partial_by_states(step: _Step) -> list[Path]:
    """The partial matches whose bound has ended since the previous step; with BETWEEN ROWS also others."""
    assert step.event_times.end is not None
    row = np.arange(len(step.rows.mask))
    begins = row >= step.position.row[step.partition]
    if not step.task.is_between:
        begins &= step.is_new(step.event_times.end, row)
    starts = np.flatnonzero(begins)
    return timeouts.partial_matches(step.task, step.rows, starts, step.position.is_first, _is_open(step))


def _is_open(step: _Step) -> Callable[[int, int], bool]:
    """The function that returns whether the bound of a match from row `first` to row `last` has not ended."""

    def is_open(first: int, last: int) -> bool:
        end = step.event_times.end
        return end is None or bool(end[last if step.task.is_between else first] > step.event_times.watermark)

    return is_open


# DEFINE that depends on the match: path by path


class _OpenPaths(FastPaths):
    """Paths whose searches note which start rows are alive."""

    def __init__(self, step: _Step):
        super().__init__(step.task, step.rows, step.position.is_first)
        self.is_open = _is_open(step)

    def search(self, start: int, bounds: tuple[int, int], number: int) -> Search:
        return replace(super().search(start, bounds, number), is_open=self.is_open)


def _by_paths(step: _Step) -> tuple[Spans, np.ndarray, np.ndarray, list[Path]]:
    """As `_by_states`, and the partial matches of all start rows."""
    searcher, bounds, rows = _OpenPaths(step), step.rows.bounds, step.rows
    live, partial = bounds[1:].astype(np.int64), list[Path]()
    found: list[tuple[Path, int]] = []  # a path, and what decides it
    for p, (first_row, stop) in enumerate(zip(step.position.row.tolist(), bounds[1:].tolist())):
        for start in searcher.starts((first_row, stop)):
            search = searcher.search(start, (int(bounds[p]), stop), 0)
            found += _paths(step, search)
            partial += search.partial
            if search.is_alive:
                live[p] = min(live[p], start)
    first, last, decided_by = path_search.as_arrays(found)
    end = np.full(len(rows.mask), NEVER) if step.event_times.end is None else step.event_times.end
    time, _ = decision_times(step.task, replace(rows, key=step.event_times.key, end=end), first, last, decided_by)
    order = decision_order(rows, first, last, decision_times(step.task, rows, first, last, decided_by))
    order = order[step.is_new(time, first)[order]]
    partition = step.partition[first[order]]
    paths = [found[i][0] for i in order.tolist()]
    number = np.arange(len(paths)) - np.searchsorted(partition, partition) + step.position.number[partition]
    spans = path_search.as_spans([path[0][0] for path in paths], number, paths)
    return spans, time[order], live, partial


def _paths(step: _Step, search: Search) -> list[tuple[Path, int]]:
    """The paths from a start row. If the search spends its budget and this is only noted: no paths, now and later."""
    try:
        return list(path_search.earliest(search.paths(step.task.nfa.pattern)))
    except DataError as error:
        if step.rows.errors is None:
            raise
        step.rows.errors[search.start] = error
        search.is_alive = False
        return []
