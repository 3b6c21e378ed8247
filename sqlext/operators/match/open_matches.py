"""What MATCH_RECOGNIZE on a stream keeps for one key: its rows, the search position, and the partial matches that later
rows may still continue. Loads Numba."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sqlext.operators.match.step import RowSearch, search_rows
from sqlext.operators.match.stream_plan import NUMBER, StreamMatchPlan
from sqlext.operators.rows.arrow import as_arrow
from sqlext.operators.rows.row_order import sorted_rows
from sqlext.operators.stateful.arrivals import arrivals
from sqlext.operators.stateful.key_state import LAST_WATERMARK
from sqlext.operators.stateful.operator import State
from sqlext.pattern.batch.recorder import MATCH
from sqlext.pattern.cep.cep_task import CepTask, cep_task, local_truth, may_begin
from sqlext.pattern.cep.nfa_compile import compile_nfa
from sqlext.pattern.cep.open_paths import OpenPath, open_paths
from sqlext.pattern.cep.path_search import Paths
from sqlext.pattern.program.ast import Pattern
from sqlext.pattern.task.event_time import NEVER, EventTimes
from sqlext.pattern.task.task import Rows
from sqlext.pattern.why.row_search import Budget, Closest, closest

MAX_OPEN = 20  # partial matches that are described
MAX_REFUSED = 20  # rows in no match whose reason is searched
_STEPS = 300_000  # of all searches for reasons


@dataclass(frozen=True, kw_only=True)
class OpenMatch:
    """A partial match.

    `rows`: its mapped rows, as positions in `KeptKey.table`, with the names of their variables; `waits`: what it waits
    for, in words; `end`: the time at which WITHIN ends it, None without WITHIN; `is_match`: it is a match unless later
    rows make a more preferred one.
    """

    rows: tuple[tuple[int, str], ...]
    waits: tuple[str, ...]
    end: int | None
    is_match: bool


class Mapped(NamedTuple):
    """A row that a match maps to `variable`; the match of this `number` (0 of a partial one) is decided at `time`, and
    the row is its first one if `is_first`."""

    variable: str
    number: int
    time: int
    is_first: bool


@dataclass(frozen=True, kw_only=True)
class KeptKey:
    """What is kept for a key.

    - `table`: its rows in ORDER BY order, rows that the watermark has not passed included; `time: int64[n]`;
    - `passed`: how many of them the watermark has passed;
    - `start`: the next start row, `passed` if all start rows are decided; `number`: the MATCH_NUMBER() of the next
      match; `matched_end`: rows from `start` up to it are in an earlier match;
    - `open`: the partial matches; `is_cut`: there are more than these, or the search for them took too many steps;
    - `unknown`: the first row whose conditions read rows that are still to come, None if there is none;
    - `later`: for each row what becomes of it if no further row arrives, None if no match that is decided then maps it;
      `timed_out`: the same of partial matches of SHOW TIMEOUT MATCHES; `decided`: the first row that is still a start
      row then; `skips_past`: no match begins inside an earlier one;
    - `refused`: for the first rows that then are in no match, the partial match that came closest to one;
    - `end: int64[n]`: the time at which WITHIN ends a match that begins at each row, None without such a bound;
    - `labels`: the names of the variables, by the labels of `refused`;
    - `satisfied`: for each row the variables whose conditions on the row alone it satisfies.
    """

    table: pa.Table
    time: np.ndarray
    passed: int
    start: int
    number: int
    matched_end: int
    open: tuple[OpenMatch, ...]
    is_cut: bool
    unknown: int | None
    later: tuple[Mapped | None, ...]
    timed_out: tuple[Mapped | None, ...]
    decided: int
    skips_past: bool
    refused: Mapping[int, Closest]
    end: np.ndarray | None
    labels: tuple[str, ...]
    satisfied: tuple[tuple[str, ...], ...]


def kept_key(state: State, plan: StreamMatchPlan, pattern: Pattern, until: int = LAST_WATERMARK) -> KeptKey:
    """What the state, which is that of one key, holds. `pattern`: the pattern of the plan's task; `until`: the last
    watermark at which the clause decides something."""
    now, later = _searched(state, plan, state.watermark), _searched(state, plan, until)
    table, time = _ordered(state, plan, NEVER)
    passed = int((time <= state.watermark).sum())
    start = known = passed
    number, matched_end, found, is_cut = _next_number(state), 0, list[OpenMatch](), False
    if now is not None:
        position = now.position
        start, number, matched_end = int(position.row[0]), int(position.number[0]), int(position.matched_end[0])
        known = _known(now.event_times, passed)
        found, is_cut = _open(now, plan, pattern, start, known)
    mapped = _later(later, table.num_rows, is_partial=False)
    is_between = isinstance(plan.worker.task, CepTask) and plan.worker.task.is_between
    return KeptKey(
        table=table,
        time=time,
        passed=passed,
        start=start,
        number=number,
        matched_end=matched_end,
        open=tuple(found),
        is_cut=is_cut,
        unknown=known if known < passed else None,
        later=mapped,
        timed_out=_later(later, table.num_rows, is_partial=True),
        decided=0 if later is None else int(later.position.row[0]),
        skips_past=plan.worker.task.skip.mode.is_past_last,
        refused={} if later is None else _refused(later, mapped, max(start, matched_end) if now else 0),
        end=None if later is None or is_between else later.event_times.end,
        labels=plan.worker.task.program.labels,
        satisfied=_satisfied(later),
    )


def _next_number(state: State) -> int:
    """The number of the next match of a key of which no row has passed the watermark."""
    return int(state.keys.column(NUMBER)[0].as_py()) if state.keys.num_rows else 1


def _ordered(state: State, plan: StreamMatchPlan, watermark: int) -> tuple[pa.Table, np.ndarray]:
    """The rows of the state up to a time in ORDER BY order, and their times."""
    rows = arrivals(state, state.rows.slice(0, 0), state.watermark, time=plan.time, keys=plan.keys)
    order = sorted_rows(np.flatnonzero(rows.time <= watermark), rows.code, rows.time, rows.table, plan.sort)
    return rows.table.take(as_arrow(order)), rows.time[order]


def with_times(plan: StreamMatchPlan) -> StreamMatchPlan:
    """The plan that finds the time of each decision, also if the query does not show it."""
    return replace(plan, needs_times=True, matcher=None)


def _searched(state: State, plan: StreamMatchPlan, watermark: int) -> RowSearch | None:
    """The search in the rows up to a watermark, from the position in the state; None if there are no rows."""
    table, _ = _ordered(state, plan, watermark)
    if not table.num_rows:
        return None
    code, own = np.zeros(table.num_rows, np.int64), np.zeros(state.keys.num_rows, np.int64)
    return search_rows(table, code, own, state, watermark, with_times(plan))


def _known(times: EventTimes, passed: int) -> int:
    """The first row whose conditions read rows that are still to come, `passed` if there is none."""
    if times.need is None:
        return passed
    unknown = np.flatnonzero((times.need >= passed).any(axis=0))
    return int(unknown[0]) if len(unknown) else passed


def _open(
    now: RowSearch, plan: StreamMatchPlan, pattern: Pattern, start: int, known: int
) -> tuple[list[OpenMatch], bool]:
    """The partial matches of the start rows from `start` on, and whether there are more."""
    task, rows = plan.worker.task, replace(now.block.rows, errors={})
    cep = task if isinstance(task, CepTask) else cep_task(task, compile_nfa(pattern, task.program.labels))
    number, is_first = int(now.position.number[0]), bool(now.position.is_first[0])
    end, watermark = now.event_times.end, now.event_times.watermark

    def is_open(first: int, last: int) -> bool:
        return end is None or int(end[last if cep.is_between else first]) > watermark

    searches = Paths(cep, rows, np.array([is_first]))
    found: list[OpenMatch] = []
    for row in _starts(cep, rows, start, known):
        paths = open_paths(searches.search(row, (0, known), number), cep.nfa.pattern, is_open)
        if paths is None:
            return found, True
        found += [_open_match(path, cep, end) for path in paths]
        if len(found) > MAX_OPEN:
            return found[:MAX_OPEN], True
    return found, False


def _starts(task: CepTask, rows: Rows, start: int, known: int) -> Sequence[int]:
    return [row for row in np.flatnonzero(may_begin(task, rows)).tolist() if start <= row < known]


def _open_match(path: OpenPath, task: CepTask, end: np.ndarray | None) -> OpenMatch:
    names = task.program.labels
    mapped = tuple((row, names[label]) for row, label, _ in path.path)
    base = mapped[-1 if task.is_between else 0][0]
    at = None if end is None or int(end[base]) == NEVER else int(end[base])
    return OpenMatch(rows=mapped, waits=path.waits, end=at, is_match=path.is_match)


def _later(later: RowSearch | None, n: int, *, is_partial: bool) -> tuple[Mapped | None, ...]:
    """The value of `KeptKey.later` or, of partial matches, of `KeptKey.timed_out`; of several matches of a row the
    first one counts."""
    fates: list[Mapped | None] = [None] * n
    if later is None:
        return tuple(fates)
    spans, names = later.block.spans, later.plan.worker.task.program.labels
    assert spans.time is not None
    mapped = spans.mapped.tolist()
    for i in range(len(spans.start)):
        if is_partial != (spans.timed_out is not None and bool(spans.timed_out[i])):
            continue
        own = range(int(spans.offset[i]), int(spans.offset[i + 1]))
        for j in own:
            if fates[mapped[j]] is None:
                fates[mapped[j]] = Mapped(
                    names[int(spans.label[j])], int(spans.number[i]), int(spans.time[i]), j == own.start
                )
    return tuple(fates)


def _refused(later: RowSearch, mapped: Sequence[Mapped | None], first: int) -> dict[int, Closest]:
    """The value of `KeptKey.refused`; `first`: the first row that is neither decided nor in an earlier match."""
    task, rows = later.plan.worker.task, replace(later.block.rows, errors={})
    budget = Budget(_STEPS, _STEPS // MAX_REFUSED)
    wanted = [row for row in range(first, int(later.position.row[0])) if mapped[row] is None]
    found = {row: closest(task, rows, row, budget, first) for row in wanted[:MAX_REFUSED] if budget.left > 0}
    if not task.skip.mode.lists_all:
        return found
    # each way to match is a match of the result: if none is still to come, it has been emitted
    return {row: near for row, near in found.items() if all(stop.reason != MATCH for stop in near.stops)}


def _satisfied(search: RowSearch | None) -> tuple[tuple[str, ...], ...]:
    """The value of `KeptKey.satisfied`."""
    if search is None:
        return ()
    task = search.plan.worker.task
    truth = local_truth(task, search.block.rows)
    return tuple(tuple(name for name, holds in zip(task.program.labels, row) if holds) for row in truth.T.tolist())
