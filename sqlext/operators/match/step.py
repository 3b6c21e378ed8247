"""One step of MATCH_RECOGNIZE on a stream: arriving rows and a watermark in, results and the next state out.

    order    discard late rows, keep rows above the watermark for later, sort the others by key and time
    match    resume the search of each key for which something is new (`pattern.strategy.decide`)
    measure  compute the columns of the decided matches, as batch does (`worker.output`)

A step is pure: it uses neither Spark nor a clock, and the same rows in any portions give the same results. A result row
is emitted in the step whose watermark first reaches its time. So the rows emitted earlier are exactly the rows with a
time up to the previous watermark, and need not be stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.operators.match.output import MatchBlock, block_batches
from sqlext.operators.match.read_rows import columns_of, read_rows, rows_needed, time_columns
from sqlext.operators.match.stream_plan import BACK, DUE, FIRST, MATCHED, NUMBER, TIME, StreamMatchPlan
from sqlext.operators.rows.arrow import as_arrow, shown_value
from sqlext.operators.rows.columns import PARTITION_START
from sqlext.operators.rows.row_order import sorted_rows
from sqlext.operators.stateful.arrivals import arrivals, times
from sqlext.operators.stateful.operator import KEYS, ROWS, Change, State, Step
from sqlext.operators.stateful.side_rows import failures_of_keys
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.measures import navigation
from sqlext.pattern.strategy import decide
from sqlext.pattern.stream.rowtime import result_times
from sqlext.pattern.task.event_time import BEGINNING, NEVER, Decisions, EventTimes, Failure, SearchPosition
from sqlext.pattern.task.task import Rows, Spans, Task


def advance(state: State, arrived: pa.Table, watermark: int, plan: StreamMatchPlan) -> Step:
    """Run one step. `watermark`: int64 microseconds; no row up to it will arrive any more, and it never goes back.

    Raises DataError as conditions and aggregates do, unless `plan.skips_failures`.
    """
    rows = arrivals(state, arrived, watermark, time=plan.time, keys=plan.keys)
    is_active = rows.are_active(times(state.keys, DUE) <= rows.watermark)
    searched = np.flatnonzero(~rows.is_waiting & is_active[rows.code])
    keeps_row, keeps_key = np.ones(rows.table.num_rows, np.bool_), np.ones(state.keys.num_rows, np.bool_)
    results: list[tuple[np.ndarray, pa.RecordBatch]] = []
    failures, new_keys = [rows.failed], plan.key_schema.empty_table()
    if len(searched):
        searched = sorted_rows(searched, rows.code, rows.time, rows.table, plan.sort)
        found = rows.table.take(as_arrow(searched))
        search = search_rows(found, rows.code[searched], rows.key_code, state, rows.watermark, plan)
        results = search.results()
        keeps_row[searched] = search.keeps_row()
        keeps_key = ~is_active[rows.key_code]
        new_keys = search.keys()
        failures.append(search.failed())
    return Step(
        results=results,
        late=rows.late,
        failures=pa.concat_tables(failures),
        changes={ROWS: rows.kept(keeps_row), KEYS: Change(keeps_key, new_keys)},
        watermark=rows.watermark,
    )


@dataclass(frozen=True, kw_only=True)
class RowSearch:
    """The outcome of the search in the rows of the active keys.

    `block`: the decided matches; `time: int64[o]` of each of its result rows; `position`: where the next step resumes;
    `failures`: the failures of conditions, with their times.
    """

    plan: StreamMatchPlan
    state: State
    block: MatchBlock
    event_times: EventTimes
    time: np.ndarray
    position: SearchPosition
    failures: list[Failure]

    def results(self) -> list[tuple[np.ndarray, pa.RecordBatch]]:
        """The result rows that are decided in this step and were not decided before."""
        is_new, out = (self.time > self.state.watermark) & (self.time != NEVER), self.block.out
        out = navigation.OutputRows(out.row[is_new], out.match[is_new], out.end[is_new])
        times, at, results = self.time[is_new], 0, []
        for batch in block_batches(replace(self.block, out=out)):
            results.append((times[at : at + batch.num_rows], batch))
            at += batch.num_rows
        return results

    def failed(self) -> pa.Table:
        """The expressions that could not be computed, with the columns FAILURES; to be called after `results`."""
        spans, errors = self.block.spans, self.block.errors or []
        assert spans.time is not None
        measures = [Failure(row, int(spans.time[match]), error) for row, match, error in errors]
        decided = [f for f in self.failures if self.state.watermark < f.time]
        failures = sorted([*decided, *measures], key=lambda f: (f.time, f.row))
        keys = [[shown_value(self.block.columns[k][f.row]) for k in self.plan.keys] for f in failures]
        return failures_of_keys([f.time for f in failures], [f.error for f in failures], keys)

    @property
    def bounds(self) -> np.ndarray:
        return self.block.rows.bounds

    @property
    def first_kept(self) -> np.ndarray:
        """`int64[p]`: the first row of each partition that may still be read."""
        return np.maximum(self.position.row - self.plan.back, self.bounds[:-1])

    def keeps_row(self) -> np.ndarray:
        """`bool[n]`: the rows that may still be read."""
        first = np.repeat(self.first_kept, np.diff(self.bounds))
        return np.arange(len(first)) >= first

    def _due(self) -> np.ndarray:
        """`int64[p]`: the earliest end of a WITHIN that began at a row which is still searched, or NEVER if there is
        none."""
        due, end = np.full(len(self.position.row), NEVER), self.event_times.end
        if end is None:
            return due
        partition = np.repeat(np.arange(len(due)), np.diff(self.bounds))
        is_open = (np.arange(len(end)) >= self.position.row[partition]) & (end > self.event_times.watermark)
        np.minimum.at(due, partition[is_open], end[is_open])
        return due

    def keys(self) -> pa.Table:
        """The search positions of the keys that must be kept."""
        bounds, position = self.bounds, self.position
        columns = (
            position.row - self.first_kept,
            position.number,
            np.maximum(position.matched_end - position.row, 0),
            position.time,
            self._due(),
            (position.is_first & (self.first_kept == bounds[:-1])).astype(np.int64),
        )
        is_needed = self.first_kept < bounds[1:]
        if self.plan.counts_matches:
            is_needed |= position.number > 1
        is_needed |= self.plan.keeps_all_keys
        at = bounds[:-1][is_needed]
        keys = [self.block.columns[k].take(as_arrow(at)) for k in self.plan.keys]
        return pa.Table.from_arrays([*keys, *(as_arrow(c[is_needed]) for c in columns)], schema=self.plan.key_schema)


def search_rows(
    table: pa.Table, code: np.ndarray, key_code: np.ndarray, state: State, watermark: int, plan: StreamMatchPlan
) -> RowSearch:
    """Resume the search in sorted rows. `code: int64[n]`: the keys of the rows; `key_code: int64[k]`: the keys of the
    state."""
    worker, columns = plan.worker, columns_of(table)
    columns[PARTITION_START] = as_arrow(np.concatenate([[True], np.diff(code) != 0]))
    key, end = time_columns(columns)
    event_times = EventTimes(
        key=key.values,
        watermark=watermark,
        end=None if end is None else end.values,
        need=rows_needed(columns, worker),
    )
    rows, before, decisions, failures = _decide(columns, code, key_code, event_times, state, plan)
    reads = [slot.navigation for slot in worker.slots if slot.kind == "value"]
    spans = replace(decisions.spans, time=decisions.time, unmatched_time=decisions.unmatched_time)
    out = navigation.output_rows(spans, worker.task.output)
    time = result_times(spans, out, reads, rows.bounds, key)
    resume = _before_pending_of_all if worker.task.skip.mode.lists_all else _before_pending
    return RowSearch(
        plan=plan,
        state=state,
        block=MatchBlock(
            plan=worker, columns=columns, rows=rows, spans=spans, out=out, errors=[] if plan.skips_failures else None
        ),
        event_times=event_times,
        time=time,
        position=resume(before, decisions.position, spans, out.match[time == NEVER], rows.bounds),
        failures=failures,
    )


def _decide(
    columns: dict[str, pa.Array],
    code: np.ndarray,
    key_code: np.ndarray,
    event_times: EventTimes,
    state: State,
    plan: StreamMatchPlan,
) -> tuple[Rows, SearchPosition, Decisions, list[Failure]]:
    """The rows as matchers read them, where the search began, what it decided, and the failures.

    If a condition fails, or may read a row that could not be computed, or a budget is spent, the matcher that can skip
    failures decides the step instead.
    """
    worker = plan.worker
    try:
        rows = read_rows(columns, worker)
        if not rows.has_failed:
            before = _positions(rows.bounds, code, key_code, state)
            return rows, before, decide(worker.task, rows, event_times, before, plan.facts, plan.matcher), []
    except DataError:
        if not plan.skips_failures:
            raise
    errors: dict[int, DataError] = {}
    rows = replace(read_rows(columns, worker, errors), errors={})
    before = _positions(rows.bounds, code, key_code, state)
    decisions = decide(worker.task, rows, event_times, before, plan.facts, _tolerant_matcher(worker.task))
    neighbours = [Failure(row, int(event_times.key[row]), error) for row, error in errors.items()]
    return rows, before, decisions, [*neighbours, *decisions.failures]


def _tolerant_matcher(task: Task) -> str:
    """The name of the matcher for streams that notes failures in `Rows.errors` instead of raising them."""
    if not isinstance(task, CepTask):
        return "reference"
    return "path_search" if task.skip.mode.lists_all else "path_verdicts"


def _positions(bounds: np.ndarray, code: np.ndarray, key_code: np.ndarray, state: State) -> SearchPosition:
    """The position from which the search in each key resumes; a new key is searched from its first row."""
    own = code[bounds[:-1]]
    at = np.full(int(max(own.max(initial=-1), key_code.max(initial=-1))) + 1, -1)
    at[key_code] = np.arange(len(key_code))
    in_state = at[own]
    is_new = in_state < 0

    def column(name: str, first: int) -> np.ndarray:
        values = np.full(len(own), first)
        values[~is_new] = times(state.keys, name)[in_state[~is_new]]
        return values

    row = bounds[:-1] + column(BACK, 0)
    return SearchPosition(
        row=row,
        number=column(NUMBER, 1),
        matched_end=row + column(MATCHED, 0),
        time=column(TIME, BEGINNING),
        is_first=column(FIRST, 1) == 1,
    )


def _before_pending(
    before: SearchPosition, after: SearchPosition, spans: Spans, pending: np.ndarray, bounds: np.ndarray
) -> SearchPosition:
    """The position from which the next step resumes: where this step ended, or at the first match with a result row
    that waits for NEXT.

    `pending: int64[k]`: the matches with such rows. Later matches are found again in the next step, which does not emit
    the result rows that were emitted before.
    """
    pending = np.unique(pending[pending >= 0])
    if not len(pending):
        return after
    assert spans.time is not None
    partition = np.searchsorted(bounds, spans.start, side="right") - 1
    _, first = np.unique(partition[pending], return_index=True)
    row, number, matched_end, time = (a.copy() for a in (after.row, after.number, after.matched_end, after.time))
    ends = spans.end
    for i in pending[first].tolist():
        p = partition[i]
        if spans.start[i] >= row[p]:
            continue  # the search already resumes further back
        row[p], number[p], time[p] = spans.start[i], spans.number[i], spans.time[i]
        matched_end[p] = max([before.matched_end[p], *ends[:i][partition[:i] == p].tolist()])
    return replace(after, row=row, number=number, matched_end=matched_end, time=time)


def _before_pending_of_all(
    before: SearchPosition, after: SearchPosition, spans: Spans, pending: np.ndarray, bounds: np.ndarray
) -> SearchPosition:
    """The same as `_before_pending` for AFTER MATCH NO SKIP: matches whose time is that of the first pending match, or
    later, are found again."""
    pending = np.unique(pending[pending >= 0])
    if not len(pending):
        return after
    assert spans.time is not None
    partition = np.searchsorted(bounds, spans.start, side="right") - 1
    time = after.time.copy()
    np.minimum.at(time, partition[pending], spans.time[pending] - 1)
    again = spans.time > time[partition]
    row, number = after.row.copy(), after.number.copy()
    np.minimum.at(row, partition[again], spans.start[again])
    counts = again if spans.timed_out is None else again & ~spans.timed_out
    np.minimum.at(number, partition[counts], spans.number[counts])
    return replace(after, row=row, number=number, matched_end=row, time=time)
