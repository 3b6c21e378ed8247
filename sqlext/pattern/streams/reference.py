"""The decided matches, slowly and obviously: the search of `reference` with a third outcome.

The oracle of `streams.walk`, and what runs conditions that depend on the match so far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.conditions import satisfier
from sqlext.pattern.program import Done, Jump, MatchLabel, MatchStart, Split
from sqlext.pattern.reference import MAX_STEPS, Found, next_start
from sqlext.pattern.streams.decided import Decided, Passed, Place
from sqlext.pattern.task import MatchTask, Rows, SkipFailure, Spans


@dataclass(frozen=True)
class Search:
    """Where one search looks.

    `partition`: its first row and the one behind the last that passed; `limit`: the first row that may not be used,
    None if that is not known yet; `is_first`: may `^` hold at `partition[0]`? `need(label, row)`: the last row that a
    condition reads.
    """

    start: int
    partition: tuple[int, int]
    limit: int | None
    is_first: bool
    satisfies: Callable[[int, list[int]], bool]
    need: Callable[[int, int], int]


@dataclass(frozen=True)
class Outcome:
    """`found`: the match, None if there is none; `looked_at`: the last row that was needed to know; `ran_out`: did a
    path come to the limit?"""

    found: Found | None
    looked_at: int
    ran_out: bool


def search(task: MatchTask, asked: Search, max_steps: int = MAX_STEPS) -> Outcome | None:
    """The outcome of one search, None for unknown. Raises DataError: STEP_BUDGET."""
    first, behind = asked.partition
    labels: list[int] = []
    hidden: list[bool] = []
    looked_at, ran_out = asked.start, False
    stack: list[tuple[int, int, frozenset[int]]] = [(0, 0, frozenset())]
    for _ in range(max_steps):
        if not stack:
            return Outcome(None, looked_at, ran_out)
        i, taken, met = stack.pop()
        del labels[taken:], hidden[taken:]
        if i in met:
            continue
        row, instruction = asked.start + taken, task.program.instructions[i]
        if isinstance(instruction, Done):
            return Outcome(list(zip(labels, hidden)), looked_at, ran_out)
        if isinstance(instruction, MatchLabel):
            if asked.limit is not None and row >= asked.limit:
                ran_out = True
                continue
            needed = asked.need(instruction.label, row) if row < behind else behind
            if needed >= behind:
                return None
            looked_at = max(looked_at, needed)
            if asked.satisfies(instruction.label, labels):
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


@dataclass
class _Block:
    start: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=lambda: [0])
    found: Found = field(default_factory=list)
    unmatched: list[int] = field(default_factory=list)
    time: list[int] = field(default_factory=list)
    unmatched_time: list[int] = field(default_factory=list)
    failure: SkipFailure | None = None

    def add(self, start: int, number: int, found: Found, time: int) -> None:
        self.start.append(start)
        self.number.append(number)
        self.found += found
        self.offset.append(len(self.found))
        self.time.append(time)

    def spans(self, task: MatchTask) -> Spans:
        hides = any(isinstance(x, MatchLabel) and x.is_hidden for x in task.program.instructions)
        return Spans(
            start=np.array(self.start, np.int64),
            number=np.array(self.number, np.int64),
            offset=np.array(self.offset, np.int64),
            label=np.array([label for label, _ in self.found], np.int16),
            is_hidden=np.array([is_hidden for _, is_hidden in self.found], np.bool_) if hides else None,
            unmatched=np.array(self.unmatched, np.int64),
            failure=self.failure,
        )


def decide(task: MatchTask, rows: Rows, passed: Passed, place: Place) -> Decided:
    """As `streams.decided.decide`; after a failure of SKIP nothing more."""
    asks = satisfier(task, rows)
    block, resumed = _Block(), []
    for p in range(len(rows.bounds) - 1):
        if block.failure is None:
            resumed.append(_partition(task, rows, passed, place, p, asks, block))
        else:
            resumed.append((int(place.row[p]), int(place.number[p]), int(place.matched_end[p]), int(place.time[p])))
    columns = np.array(resumed, np.int64).reshape(-1, 4).T
    after = Place(columns[0], columns[1], columns[2], columns[3], place.is_first)
    return Decided(block.spans(task), np.array(block.time, np.int64), np.array(block.unmatched_time, np.int64), after)


def _partition(
    task, rows: Rows, passed: Passed, place: Place, p: int, asks, block: _Block
) -> tuple[int, int, int, int]:
    bounds = int(rows.bounds[p]), int(rows.bounds[p + 1])
    row, number = int(place.row[p]), int(place.number[p])
    matched_end, time = int(place.matched_end[p]), int(place.time[p])
    while row < bounds[1]:
        outcome = search(task, _asked(rows, passed, bounds, bool(place.is_first[p]), row, number, asks))
        if outcome is None:
            break
        time = max(time, int(passed.key[outcome.looked_at]))
        if outcome.ran_out:
            assert passed.end is not None
            time = max(time, int(passed.end[row]))
        if outcome.found is None:
            if task.output.shows_unmatched and row >= matched_end:
                block.unmatched.append(row)
                block.unmatched_time.append(time)
            row += 1
            continue
        block.add(row, number, outcome.found, time)
        matched_end = max(matched_end, row + len(outcome.found))
        resume = next_start(task.skip, row, [label for label, _ in outcome.found])
        if isinstance(resume, str):
            block.failure = SkipFailure(resume, row, number)
            break
        row, number = resume, number + 1
    return row, number, matched_end, time


def _asked(rows: Rows, passed: Passed, bounds, is_first: bool, start: int, number: int, asks) -> Search:
    has_run_out = passed.end is not None and passed.end[start] <= passed.watermark
    return Search(
        start,
        bounds,
        int(rows.limit[start]) if has_run_out and rows.limit is not None else None,
        is_first,
        lambda label, labels: asks(start, number, labels, label),
        lambda label, row: row if passed.need is None else int(passed.need[label, row]),
    )
