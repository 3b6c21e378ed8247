"""One step of MATCH_RECOGNIZE on a stream: rows that arrive and a watermark in, results and the next state out.

    order    drop late rows, hold back those that have not passed, sort the others by key and time
    match    go on with the search of each key that has something new (`pattern.streams.decided`)
    measure  the columns of what became decided, as batch makes them (`output`)

Pure: no Spark, no clock, and the same rows in any portions give the same results. A result row is given out in the step
whose watermark first reaches its time, so what has been given out before need not be remembered: it is what has a time
up to the watermark of the step before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sqlext.engine.stream.row_order import key_codes, sorted_rows
from sqlext.engine.stream.stream_plan import BACK, DUE, FIRST, MATCHED, NUMBER, TIME, State, StreamPlan
from sqlext.engine.worker.arrow import are_valid, as_arrow, as_numpy
from sqlext.engine.worker.match_rows import one_chunk, read_rows
from sqlext.engine.worker.output import shown
from sqlext.engine.worker.row_times import rows_needed, time_columns
from sqlext.pattern.event_time import BEGINNING, NEVER, Decisions, EventTimes, SearchPosition
from sqlext.pattern.measures import navigation
from sqlext.pattern.stream.decisions import decide
from sqlext.pattern.stream.rowtime import result_times
from sqlext.pattern.task import NO_SKIP, Rows, Spans
from sqlext.rewriter.match.match_plan import LATE_ROW as ROW
from sqlext.rewriter.match.match_plan import PARTITION_START


@dataclass(frozen=True)
class Step:
    """`results`: (times, columns) of the rows of the result that became decided; `late`: rows that came too late.

    The next state is made of those rows and keys of the state before that `keeps_row` and `keeps_key` say, and of the
    new ones.
    """

    results: list[tuple[np.ndarray, pa.RecordBatch]]
    late: pa.Table
    keeps_row: np.ndarray
    new_rows: pa.Table
    keeps_key: np.ndarray
    new_keys: pa.Table
    watermark: int

    def after(self, state: State) -> State:
        rows = pa.concat_tables([state.rows.filter(pa.array(self.keeps_row)), self.new_rows])
        keys = pa.concat_tables([state.keys.filter(pa.array(self.keeps_key)), self.new_keys])
        return State(rows, keys, self.watermark)


def advance(state: State, arrived: pa.Table, watermark: int, plan: StreamPlan) -> Step:
    """One step. `watermark`: int64 microseconds, rows up to it have passed; it never goes back.

    Raises DataError as conditions and aggregates do.
    """
    watermark = max(watermark, state.watermark)
    is_late = _is_late(arrived, state.watermark, plan)
    late, arrived = arrived.filter(pa.array(is_late)), arrived.filter(pa.array(~is_late))
    rows = pa.concat_tables([state.rows, _without_text(arrived)])
    time = _times(rows.column(plan.time))
    code, key_code = key_codes([rows, state.keys], plan.keys)
    is_active = _active_keys(code, time, key_code, state, watermark)
    chosen = np.flatnonzero((time <= watermark) & is_active[code])
    keeps, kept_key = np.ones(rows.num_rows, np.bool_), np.ones(state.keys.num_rows, np.bool_)
    results: list[tuple[np.ndarray, pa.RecordBatch]] = []
    new_keys = plan.key_schema.empty_table()
    if len(chosen):
        ties = rows.select([key.column for key in plan.sort]).take(as_arrow(chosen))
        chosen = chosen[sorted_rows(code[chosen], time[chosen], ties, plan.sort)]
        search = _Search.of(rows.take(as_arrow(chosen)), code[chosen], key_code, state, watermark, plan)
        results = search.results()
        keeps[chosen] = search.keeps()
        kept_key = ~is_active[key_code]
        new_keys = search.keys()
    old = state.rows.num_rows
    new_rows = rows.slice(old).filter(pa.array(keeps[old:]))
    return Step(results, late, keeps[:old], new_rows, kept_key, new_keys, watermark)


def _without_text(arrived: pa.Table) -> pa.Table:
    """Only late rows are shown whole: see `streams.late`."""
    if ROW not in arrived.column_names:
        return arrived
    at = arrived.schema.get_field_index(ROW)
    return arrived.set_column(at, arrived.schema.field(at), pa.nulls(arrived.num_rows, pa.string()))


def _is_late(arrived: pa.Table, watermark: int, plan: StreamPlan) -> np.ndarray:
    """Rows that had passed before they came; a row without a time never passes."""
    column = one_chunk(arrived.column(plan.time))
    return ~are_valid(column) | (_times(column) <= watermark)


def _times(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    if isinstance(column, pa.ChunkedArray):
        column = one_chunk(column)
    return as_numpy(column.view(pa.int64()))


def _active_keys(code, time, key_code, state: State, watermark: int) -> np.ndarray:
    """`bool[codes]`: keys of which rows have passed since the last step, or for which time alone decides something."""
    is_active = np.zeros(int(max(code.max(initial=-1), key_code.max(initial=-1))) + 1, np.bool_)
    is_active[code[(time > state.watermark) & (time <= watermark)]] = True
    is_active[key_code[_times(state.keys.column(DUE)) <= watermark]] = True
    return is_active


@dataclass(frozen=True)
class _Search:
    """The search in the rows of the active keys, and what it found."""

    plan: StreamPlan
    state: State
    watermark: int
    columns: dict[str, pa.Array]
    rows: Rows
    event_times: EventTimes
    found: Decisions
    spans: Spans
    out: navigation.OutputRows
    time: np.ndarray  # of each row of `out`
    position: SearchPosition  # where the next step goes on

    @staticmethod
    def of(table: pa.Table, code: np.ndarray, key_code: np.ndarray, state: State, watermark: int, plan: StreamPlan):
        worker = plan.worker
        columns = {name: one_chunk(table.column(name)) for name in table.column_names}
        columns[PARTITION_START] = as_arrow(np.concatenate([[True], np.diff(code) != 0]))
        rows = read_rows(columns, table.num_rows, worker)
        key, end = time_columns(columns)
        need = rows_needed(columns, table.num_rows, worker)
        event_times = EventTimes(
            key=key.values, watermark=watermark, end=None if end is None else end.values, need=need
        )
        before = _places(rows.bounds, code, key_code, state)
        reads = [slot.navigation for slot in worker.slots if slot.kind == "value"]
        tells_times = plan.tells_times or any(read.step > 0 for read in reads)
        found = decide(worker.task, rows, event_times, before, tells_times)
        spans = replace(found.spans, time=found.time, unmatched_time=found.unmatched_time)
        out = navigation.output_rows(spans, worker.task.output)
        time = result_times(spans, out, reads, rows.bounds, key)
        go_back = _before_pending if worker.task.skip.mode != NO_SKIP else _before_pending_of_all
        position = go_back(before, found.position, spans, out.match[time == NEVER], rows.bounds)
        return _Search(plan, state, watermark, columns, rows, event_times, found, spans, out, time, position)

    def results(self) -> list[tuple[np.ndarray, pa.RecordBatch]]:
        """The rows of the result that are decided now and were not before."""
        is_new = (self.time > self.state.watermark) & (self.time != NEVER)
        out = navigation.OutputRows(self.out.row[is_new], self.out.match[is_new], self.out.end[is_new])
        times, at, found = self.time[is_new], 0, []
        for batch in shown(self.columns, self.rows, self.spans, out, self.plan.worker):
            found.append((times[at : at + batch.num_rows], batch))
            at += batch.num_rows
        return found

    @property
    def _first_kept(self) -> np.ndarray:
        """`int64[p]`: rows of the partition before it are of no use any more."""
        return np.maximum(self.position.row - self.plan.back, self.rows.bounds[:-1])

    def keeps(self) -> np.ndarray:
        """`bool[n]`: which of the rows are still of use."""
        first = np.repeat(self._first_kept, np.diff(self.rows.bounds))
        return np.arange(len(first)) >= first

    def _due(self) -> np.ndarray:
        """`int64[p]`: when the next bound ends that begins at one of the rows still searched, NEVER without one."""
        due, end = np.full(len(self.position.row), NEVER), self.event_times.end
        if end is None:
            return due
        partition = np.repeat(np.arange(len(due)), np.diff(self.rows.bounds))
        is_open = (np.arange(len(end)) >= self.position.row[partition]) & (end > self.watermark)
        np.minimum.at(due, partition[is_open], end[is_open])
        return due

    def keys(self) -> pa.Table:
        """Where the keys stand that have to be remembered."""
        bounds, position = self.rows.bounds, self.position
        columns = (
            position.row - self._first_kept,
            position.number,
            np.maximum(position.matched_end - position.row, 0),
            position.time,
            self._due(),
            (position.is_first & (self._first_kept == bounds[:-1])).astype(np.int64),
        )
        is_needed = self._first_kept < bounds[1:]
        if self.plan.counts_matches:
            is_needed |= position.number > 1
        is_needed |= self.plan.knows_first
        at = bounds[:-1][is_needed]
        keys = [self.columns[k].take(as_arrow(at)) for k in self.plan.keys]
        return pa.Table.from_arrays([*keys, *(as_arrow(c[is_needed]) for c in columns)], schema=self.plan.key_schema)


def _places(bounds: np.ndarray, code: np.ndarray, key_code: np.ndarray, state: State) -> SearchPosition:
    """Where the search in each key stands; new keys are at their beginning."""
    own = code[bounds[:-1]]
    at = np.full(int(max(own.max(initial=-1), key_code.max(initial=-1))) + 1, -1)
    at[key_code] = np.arange(len(key_code))
    known = at[own]
    is_new = known < 0

    def column(name: str, first: int) -> np.ndarray:
        values = np.full(len(own), first)
        values[~is_new] = _times(state.keys.column(name))[known[~is_new]]
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
    """Where the next step goes on: where this one ended, or at the first match of which a row waits for NEXT.

    `pending`: the matches that have such a row; what else is found again then has been given out.
    """
    pending = np.unique(pending[pending >= 0])
    if not len(pending):
        return after
    partition = np.searchsorted(bounds, spans.start, side="right") - 1
    _, first = np.unique(partition[pending], return_index=True)
    row, number, matched_end, time = (a.copy() for a in (after.row, after.number, after.matched_end, after.time))
    ends = spans.end
    for i in pending[first].tolist():
        p = partition[i]
        if spans.start[i] >= row[p]:
            continue  # it goes back further already
        row[p], number[p], time[p] = spans.start[i], spans.number[i], spans.time[i]  # type: ignore[index]
        matched_end[p] = max([before.matched_end[p], *ends[:i][partition[:i] == p].tolist()])
    return replace(after, row=row, number=number, matched_end=matched_end, time=time)


def _before_pending_of_all(
    before: SearchPosition, after: SearchPosition, spans: Spans, pending: np.ndarray, bounds: np.ndarray
) -> SearchPosition:
    """The same where every match is shown: what has a time from that of the first pending one on is found again."""
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
