"""The decisions of a stream, written slowly and obviously: the search of `batch.reference` with a third outcome.

Tests compare `walk` with it, and it runs conditions that depend on the path. `event_time` defines the three outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Protocol, Union

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.batch.reference import MAX_STEPS, MappedRows, MatchLists
from sqlext.pattern.conditions.conditions import satisfier
from sqlext.pattern.program.program import Done, Jump, MatchLabel, MatchStart, Program, Split
from sqlext.pattern.task.event_time import BEGINNING, Decisions, EventTimes, Failure, SearchPosition, StreamFacts
from sqlext.pattern.task.skip import numbered, resume_row
from sqlext.pattern.task.task import MatchTask, Rows, SkipFailure


class Verdict(NamedTuple):
    """Whether a row may be taken.

    `holds`: None if later rows decide; `last`: the last row that was looked at; `until`: the time that had to pass, or
    BEGINNING if none had to pass.
    """

    holds: bool | None
    last: int = -1
    until: int = BEGINNING


UNKNOWN = Verdict(None)


class Request(NamedTuple):
    """A search from row `start`.

    `partition`: its first row and the end of the rows that passed; `is_first`: `^` may hold at `partition[0]`;
    `number`: the MATCH_NUMBER() of the match.
    """

    start: int
    number: int
    partition: tuple[int, int]
    is_first: bool


class Outcome(NamedTuple):
    """`match`: its mapped rows, None if there is no match; `looked_at`: the last row that was needed to decide it;
    `until`: the latest end of a bound that was needed, or BEGINNING; `error`: why the search was given up."""

    match: MappedRows | None
    looked_at: int
    until: int
    error: DataError | None = None


Searcher = Callable[[Request], Union[Outcome, None]]  # None: unknown


class Facts(Protocol):
    """The facts that the rows that have passed decide for a search."""

    def bound(self, start: int, labels: list[int]) -> tuple[int, int] | None:
        """(the first row that may not be used after `labels`, when the bound ended); None while it has not ended."""

    def verdict(self, request: Request, labels: list[int], label: int) -> Verdict:
        """Whether row `request.start + len(labels)` may be taken by `label`."""


def search(program: Program, request: Request, facts: Facts, max_steps: int = MAX_STEPS) -> Outcome | None:
    """The outcome of one search, None for unknown; after `max_steps` it ends with the error STEP_BUDGET."""
    first, stop = request.partition
    labels: list[int] = []
    hidden: list[bool] = []
    looked_at, until = request.start, BEGINNING
    stack: list[tuple[int, int, frozenset[int]]] = [(0, 0, frozenset())]
    for _ in range(max_steps):
        if not stack:
            return Outcome(None, looked_at, until)
        i, taken, visited = stack.pop()
        del labels[taken:], hidden[taken:]
        if i in visited:
            continue
        row, instruction = request.start + taken, program.instructions[i]
        if isinstance(instruction, Done):
            return Outcome(list(zip(labels, hidden)), looked_at, until)
        if isinstance(instruction, MatchLabel):
            ended = facts.bound(request.start, labels)
            if ended is not None and row >= ended[0]:
                until = max(until, ended[1])
                continue
            verdict = facts.verdict(request, labels, instruction.label) if row < stop else UNKNOWN
            if verdict.holds is None:
                return None
            looked_at, until = max(looked_at, verdict.last), max(until, verdict.until)
            if verdict.holds:
                labels.append(instruction.label)
                hidden.append(instruction.is_hidden)
                stack.append((i + 1, taken + 1, frozenset()))
        elif isinstance(instruction, Split):
            visited = visited | {i}
            stack += [(instruction.second, taken, visited), (instruction.first, taken, visited)]
        elif isinstance(instruction, Jump):
            stack.append((instruction.target, taken, visited | {i}))
        elif isinstance(instruction, MatchStart):
            if row == first and request.is_first:
                stack.append((i + 1, taken, visited | {i}))
        elif row >= stop:  # $: a later row may come
            return None
        else:
            looked_at = max(looked_at, row)
    error = DataError(
        "STEP_BUDGET",
        f"the search for a match from one row took more than {max_steps:,} steps",
        hint="add WITHIN, let the variables exclude each other, or replace conditions on the match so far "
        "by conditions on the row or on PREV.",
    )
    return Outcome(None, looked_at, until, error)


class RowFacts:
    """The facts of a contiguous task."""

    def __init__(self, task: MatchTask, rows: Rows, event_times: EventTimes):
        self.rows, self.event_times = rows, event_times
        self.satisfies = satisfier(task, rows)

    def bound(self, start: int, labels: list[int]) -> tuple[int, int] | None:
        end = self.event_times.end
        if end is None or self.rows.limit is None or end[start] > self.event_times.watermark:
            return None
        return int(self.rows.limit[start]), int(end[start])

    def verdict(self, request: Request, labels: list[int], label: int) -> Verdict:
        row = request.start + len(labels)
        needed = row if self.event_times.need is None else int(self.event_times.need[label, row])
        if needed >= request.partition[1]:
            return UNKNOWN
        return Verdict(self.satisfies(request.start, request.number, labels, label) is True, needed)


def decide(
    task: MatchTask, rows: Rows, event_times: EventTimes, position: SearchPosition, facts: StreamFacts
) -> Decisions:
    """Decide a contiguous task, as `strategy.decide` does."""
    searcher = partial(search, task.program, facts=RowFacts(task, rows, event_times))
    return decide_with(searcher, task, rows, event_times, position, facts)


def decide_with(
    searcher: Searcher,
    task: MatchTask,
    rows: Rows,
    event_times: EventTimes,
    position: SearchPosition,
    facts: StreamFacts,
) -> Decisions:
    """Decide the matches that the searches, one after the other, find; after a failure of SKIP nothing more.

    Raises DataError: STEP_BUDGET, unless `rows.errors` notes what fails.
    """
    driver = _Driver(searcher=searcher, task=task, rows=rows, event_times=event_times, needs_failed=facts.needs_failed)
    resumed = []
    for p in range(len(rows.bounds) - 1):
        if driver.block.failure is None:
            resumed.append(driver.partition(position, p))
        else:
            row, number, matched_end, time = position.row, position.number, position.matched_end, position.time
            resumed.append((int(row[p]), int(number[p]), int(matched_end[p]), int(time[p])))
    columns, block = np.array(resumed, np.int64).reshape(-1, 4).T, driver.block
    return Decisions(
        spans=block.spans(task, block.failure),
        time=np.array(block.time, np.int64),
        unmatched_time=np.array(block.unmatched_time, np.int64),
        position=replace(position, row=columns[0], number=columns[1], matched_end=columns[2], time=columns[3]),
        failures=tuple(driver.failures),
    )


@dataclass
class _TimedBlock(MatchLists):
    """A block with the times at which its matches and unmatched rows are decided, and the failure that ended it."""

    time: list[int] = field(default_factory=list)
    unmatched_time: list[int] = field(default_factory=list)
    failure: SkipFailure | None = None


@dataclass(kw_only=True)
class _Driver:
    """Searches from start row to start row."""

    searcher: Searcher
    task: MatchTask
    rows: Rows
    event_times: EventTimes
    needs_failed: bool
    block: _TimedBlock = field(default_factory=_TimedBlock)
    failures: list[Failure] = field(default_factory=list)

    def partition(self, position: SearchPosition, p: int) -> tuple[int, int, int, int]:
        """Search partition p; return the next row, number, matched_end and time."""
        task, block = self.task, self.block
        bounds = int(self.rows.bounds[p]), int(self.rows.bounds[p + 1])
        row, number = int(position.row[p]), int(position.number[p])
        matched_end, time = int(position.matched_end[p]), int(position.time[p])
        while row < bounds[1]:
            request = Request(start=row, number=number, partition=bounds, is_first=bool(position.is_first[p]))
            if self.rows.errors:
                self.rows.errors.clear()
            outcome = self.searcher(request)
            if outcome is None:
                self._note({row: int(self.event_times.key[row]) for row in self.rows.errors or ()})
                break
            time = max(time, int(self.event_times.key[outcome.looked_at]), outcome.until)
            self._give_up(row, time, outcome.error)
            self._note(dict.fromkeys(self.rows.errors or (), time))
            if outcome.match is None:
                if self.needs_failed or (task.output.shows_unmatched and row >= matched_end):
                    block.unmatched.append(row)
                    block.unmatched_time.append(time)
                row += 1
                continue
            block.add(row, number, outcome.match)
            block.time.append(time)
            matched_end = max(matched_end, row + len(outcome.match))
            resume = resume_row(task.skip, row, numbered(row, [label for label, _ in outcome.match]))
            if isinstance(resume, str):
                block.failure = SkipFailure(resume, row, number)
                break
            row, number = resume, number + 1
        return row, number, matched_end, time

    def _give_up(self, start: int, time: int, error: DataError | None) -> None:
        if error is not None and self.rows.errors is None:
            raise error
        if error is not None:
            self.failures.append(Failure(start, time, error))

    def _note(self, times: dict[int, int]) -> None:
        """Note the errors of a search, each with the time of the decision, or of its row while it is undecided."""
        errors = self.rows.errors or {}
        self.failures += [Failure(row, time, errors[row]) for row, time in times.items()]
