"""The decided matches, slowly and obviously: the search of `reference` with a third outcome.

The oracle of `streams.walk`, and what runs conditions that depend on the match so far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.batch.reference import MAX_STEPS, Block, MappedRows
from sqlext.pattern.conditions import satisfier
from sqlext.pattern.event_time import BEGINNING, Decisions, EventTimes, SearchPosition
from sqlext.pattern.program import Done, Jump, MatchLabel, MatchStart, Program, Split
from sqlext.pattern.skip import numbered, resume_row
from sqlext.pattern.task import MatchTask, Rows, SkipFailure


@dataclass(frozen=True)
class Verdict:
    """May a row be taken? `holds`: None if later rows decide; `last`: the last row that was looked at; `until`: the
    time that had to pass besides, BEGINNING if none had to."""

    holds: bool | None
    last: int = -1
    until: int = BEGINNING


UNKNOWN = Verdict(None)


class Asks(Protocol):
    """What a search asks of the rows that have passed."""

    def bound(self, start: int, labels: list[int]) -> tuple[int, int] | None:
        """(the first row that may not be used behind `labels`, when the bound ended); None while no bound has ended."""

    def verdict(self, search: Search, labels: list[int], label: int) -> Verdict:
        """May row `search.start + len(labels)` be taken by `label`?"""


@dataclass(frozen=True)
class Search:
    """Where one search looks.

    `partition`: its first row and the one behind the last that passed; `is_first`: may `^` hold at `partition[0]`?
    `number`: the MATCH_NUMBER() of what is found.
    """

    start: int
    number: int
    partition: tuple[int, int]
    is_first: bool


@dataclass(frozen=True)
class Outcome:
    """`found`: the match, None if there is none; `looked_at`: the last row that was needed to know; `until`: the latest
    end of a bound that was needed, or BEGINNING."""

    found: MappedRows | None
    looked_at: int
    until: int


def search(program: Program, asked: Search, asks: Asks, max_steps: int = MAX_STEPS) -> Outcome | None:
    """The outcome of one search, None for unknown. Raises DataError: STEP_BUDGET."""
    first, behind = asked.partition
    labels: list[int] = []
    hidden: list[bool] = []
    looked_at, until = asked.start, BEGINNING
    stack: list[tuple[int, int, frozenset[int]]] = [(0, 0, frozenset())]
    for _ in range(max_steps):
        if not stack:
            return Outcome(None, looked_at, until)
        i, taken, met = stack.pop()
        del labels[taken:], hidden[taken:]
        if i in met:
            continue
        row, instruction = asked.start + taken, program.instructions[i]
        if isinstance(instruction, Done):
            return Outcome(list(zip(labels, hidden)), looked_at, until)
        if isinstance(instruction, MatchLabel):
            ended = asks.bound(asked.start, labels)
            if ended is not None and row >= ended[0]:
                until = max(until, ended[1])
                continue
            verdict = asks.verdict(asked, labels, instruction.label) if row < behind else UNKNOWN
            if verdict.holds is None:
                return None
            looked_at, until = max(looked_at, verdict.last), max(until, verdict.until)
            if verdict.holds:
                labels.append(instruction.label)
                hidden.append(instruction.is_hidden)
                stack.append((i + 1, taken + 1, frozenset()))
        elif isinstance(instruction, Split):
            met = met | {i}
            stack += [(instruction.second, taken, met), (instruction.first, taken, met)]
        elif isinstance(instruction, Jump):
            stack.append((instruction.target, taken, met | {i}))
        elif isinstance(instruction, MatchStart):
            if row == first and asked.is_first:
                stack.append((i + 1, taken, met | {i}))
        elif row >= behind:  # $: a later row may come
            return None
        else:
            looked_at = max(looked_at, row)
    raise DataError(
        "STEP_BUDGET",
        f"the search for a match from one row took more than {max_steps:,} steps",
        hint="add WITHIN, let the variables exclude each other, or replace conditions on the match so far "
        "by conditions on the row or on PREV.",
    )


class RowAsks:
    """The questions of a plain program, whose conditions say all."""

    def __init__(self, task: MatchTask, rows: Rows, event_times: EventTimes):
        self.rows, self.event_times = rows, event_times
        self.satisfies: Callable[[int, int, list[int], int], bool] = satisfier(task, rows)

    def bound(self, start: int, labels: list[int]) -> tuple[int, int] | None:
        end = self.event_times.end
        if end is None or self.rows.limit is None or end[start] > self.event_times.watermark:
            return None
        return int(self.rows.limit[start]), int(end[start])

    def verdict(self, search: Search, labels: list[int], label: int) -> Verdict:
        row = search.start + len(labels)
        needed = row if self.event_times.need is None else int(self.event_times.need[label, row])
        if needed >= search.partition[1]:
            return UNKNOWN
        return Verdict(self.satisfies(search.start, search.number, labels, label), needed)


@dataclass
class _TimedBlock(Block):
    """With the times since when its matches and unmatched rows are decided, and what ended the search."""

    time: list[int] = field(default_factory=list)
    unmatched_time: list[int] = field(default_factory=list)
    failure: SkipFailure | None = None


def decide(
    task: MatchTask,
    rows: Rows,
    event_times: EventTimes,
    position: SearchPosition,
    keeps_failed: bool = False,
    searches: Callable[[Search], Outcome | None] | None = None,
) -> Decisions:
    """As `streams.decided.decide`; after a failure of SKIP nothing more. `searches`: by default `search`, RowAsks."""
    if searches is None:
        searches = partial(search, task.program, asks=RowAsks(task, rows, event_times))
    driver = _Driver(task, rows, event_times, keeps_failed, searches)
    resumed = []
    for p in range(len(rows.bounds) - 1):
        if driver.block.failure is None:
            resumed.append(driver.partition(position, p))
        else:
            resumed.append(
                (int(position.row[p]), int(position.number[p]), int(position.matched_end[p]), int(position.time[p]))
            )
    columns = np.array(resumed, np.int64).reshape(-1, 4).T
    after = replace(position, row=columns[0], number=columns[1], matched_end=columns[2], time=columns[3])
    block = driver.block
    return Decisions(
        spans=block.spans(task, block.failure),
        time=np.array(block.time, np.int64),
        unmatched_time=np.array(block.unmatched_time, np.int64),
        position=after,
    )


@dataclass
class _Driver:
    task: MatchTask
    rows: Rows
    event_times: EventTimes
    keeps_failed: bool
    searches: Callable[[Search], Outcome | None]
    block: _TimedBlock = field(default_factory=_TimedBlock)

    def partition(self, position: SearchPosition, p: int) -> tuple[int, int, int, int]:
        task, block = self.task, self.block
        bounds = int(self.rows.bounds[p]), int(self.rows.bounds[p + 1])
        row, number = int(position.row[p]), int(position.number[p])
        matched_end, time = int(position.matched_end[p]), int(position.time[p])
        while row < bounds[1]:
            outcome = self.searches(Search(row, number, bounds, bool(position.is_first[p])))
            if outcome is None:
                break
            time = max(time, int(self.event_times.key[outcome.looked_at]), outcome.until)
            if outcome.found is None:
                if self.keeps_failed or (task.output.shows_unmatched and row >= matched_end):
                    block.unmatched.append(row)
                    block.unmatched_time.append(time)
                row += 1
                continue
            block.add(row, number, outcome.found)
            block.time.append(time)
            matched_end = max(matched_end, row + len(outcome.found))
            resume = resume_row(task.skip, row, numbered(row, [label for label, _ in outcome.found]))
            if isinstance(resume, str):
                block.failure = SkipFailure(resume, row, number)
                break
            row, number = resume, number + 1
        return row, number, matched_end, time
