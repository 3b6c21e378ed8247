"""Run the search that defines what matches once for each *word*, and count how many start rows have it.

What a search from a start row tries depends on the rows that it looks at alone, as far as conditions are decided by the
row: on the word of their masks, and of where conditions are NULL. Few words are different, so millions of start rows
take few searches. Start rows from which a search evaluates a condition that depends on the match are searched one by
one, as far as the budget goes.

The start rows themselves follow from the matches, which the strategy that runs the task finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern import strategy
from sqlext.pattern.batch import reference
from sqlext.pattern.batch.recorder import Attempt, Bounds, Nulls, Recorder, Step
from sqlext.pattern.cep import cep_reference, path_search
from sqlext.pattern.cep.cep_task import CepTask, as_mask, local_truth
from sqlext.pattern.conditions.conditions import satisfier
from sqlext.pattern.program import ast
from sqlext.pattern.program.program import MatchEnd, MatchStart
from sqlext.pattern.task.event_time import NEVER
from sqlext.pattern.task.skip import resume_row
from sqlext.pattern.task.task import MatchTask, Output, Rows, Spans, Task

Consume = Callable[[Attempt, int], None]  # an attempt, and how many start rows have the same one
MAX_LENGTH = 64  # of a word; start rows whose search looks further are searched one by one


def applies(task: Task) -> bool:
    """Whether `attempts_by_word` can count a task: no path depends on where in its partition or window a row is, and
    the start row alone decides where WITHIN ends."""
    if isinstance(task, CepTask):
        nodes = ast.walk(task.nfa.pattern)
        return not task.is_between and not any(isinstance(x, (ast.PartitionStart, ast.PartitionEnd)) for x in nodes)
    return task.frame is None and not any(
        isinstance(instruction, (MatchStart, MatchEnd)) for instruction in task.program.instructions
    )


@dataclass
class WordCounts:
    """`tests`: how often the condition of a label was True, False and None; `steps`: of the searches that were run;
    `left_out`: start rows whose search was left out, because the budget of steps ended."""

    tests: Counter[tuple[int, bool | None]] = field(default_factory=Counter)
    steps: int = 0
    left_out: int = 0


class StartRows(NamedTuple):
    """The rows at which a search begins, and the number of the match that each of them would have: `int64[t]` twice.
    `matches`: how many there are."""

    row: np.ndarray
    number: np.ndarray
    matches: int


def attempts_by_word(
    task: Task, rows: Rows, starts: StartRows, consume: Consume, max_steps: int, nulls: Nulls | None = None
) -> WordCounts:
    """Search from all start rows that the task tries, for at most about `max_steps` steps. `nulls`: see `Recorder`.

    >>> from sqlext.pattern.program.program import Done, MatchLabel, Program
    >>> a_b = Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B"))
    >>> task = MatchTask(program=a_b, bits=(0, 1), conditions=(None, None))
    >>> rows = Rows(bounds=np.array([0, 6]), mask=np.array([[1], [2], [1], [1], [1], [0]], np.uint8))
    >>> starts = start_rows(task, rows)
    >>> counts = attempts_by_word(task, rows, starts, lambda attempt, times: print(attempt.ending, times), 99)
    CONDITION 1
    CONDITION 2
    CONDITION 1
    MATCH 1
    >>> counts.steps
    7
    """
    if isinstance(task, CepTask):
        run = _run_skipping(task, rows, max_steps)
    else:
        assert isinstance(task, MatchTask)
        run = _run_contiguous(task, rows, max_steps)
    words = _Words(rows, run, consume, max_steps, nulls or {})
    if len(rows.mask):
        words.count(starts.row, starts.number)
    return words.counts


def start_rows(task: Task, rows: Rows) -> StartRows:
    """The start rows of a task that `applies`, found by the strategy that runs it."""
    n, matches = len(rows.mask), 0
    is_start, change = np.zeros(n, np.int64), np.zeros(n + 2, np.int64)  # change: of how many matches jump over a row
    whole = replace(
        task, strategy="auto", output=Output(is_all_rows=True)
    )  # so no match shares labels with another one
    for spans in strategy.match(whole, rows):
        is_start[spans.start] = 1
        matches += len(spans.start)
        resume = _resume_rows(task, spans)
        np.add.at(change, spans.start + 1, 1)
        np.add.at(change, resume, -1)
    before = np.cumsum(is_start) - is_start
    number = before - np.repeat(before[rows.bounds[:-1][np.diff(rows.bounds) > 0]], _lengths(rows)) + 1
    if task.skip.mode.lists_all:  # a search does not know how many matches come before
        number[:] = 0
    start = np.flatnonzero(np.cumsum(change)[:n] == 0)
    return StartRows(start, number[start], matches)


def _lengths(rows: Rows) -> np.ndarray:
    lengths = np.diff(rows.bounds)
    return lengths[lengths > 0]


def _resume_rows(task: Task, spans: Spans) -> np.ndarray:
    """`int64[m]`: the row at which the search goes on after each match."""
    if task.skip.mode.tries_every_row:
        return spans.start + 1
    if task.skip.mode.is_past_last and spans.row is None:
        return spans.start + np.maximum(spans.length, 1)
    mapped, bounds, resumed = list(zip(spans.mapped.tolist(), spans.label.tolist())), spans.offset.tolist(), []
    for start, lo, hi in zip(spans.start.tolist(), bounds, bounds[1:]):
        resume = resume_row(task.skip, start, mapped[lo:hi])
        resumed.append(resume if isinstance(resume, int) else start + 1)
    return np.array(resumed, np.int64)


class _Search(Recorder):
    """The search from one start row. `result`: its attempt; `looked`: how many rows from the start row on it looked at;
    `dependent`: how many rows after it a condition that depends on the match was first evaluated."""

    def __init__(self, start: int, nulls: Nulls):
        super().__init__(self._keep, nulls)
        self.start, self.looked, self.dependent = start, 0, NEVER

    def _keep(self, attempt: Attempt) -> None:
        self.result = attempt

    def look(self, row: int) -> None:
        self.looked = max(self.looked, row - self.start + 1)

    def depend(self, row: int) -> None:
        """A condition that depends on the match is evaluated on a row."""
        self.dependent = min(self.dependent, row - self.start)

    def refuse(self, step: Step, label: int | None, row: int, depth: int, reason: str) -> None:
        self.look(row)
        super().refuse(step, label, row, depth, reason)


Run = Callable[[_Search, int, Bounds], None]  # runs a search, for the match of a number in a partition


class _Words:
    """The start rows, in groups with the same beginning of their words. `run` raises DataError."""

    def __init__(self, rows: Rows, run: Run, consume: Consume, max_steps: int, nulls: Nulls):
        self.run, self.consume, self.max_steps, self.nulls = run, consume, max_steps, nulls
        self.counts = WordCounts()
        is_null = [np.frombuffer(of_rows, np.bool_) for of_rows in nulls.values()]
        self.codes = _codes(np.hstack([rows.mask, as_mask(is_null, len(rows.mask))]) if is_null else rows.mask)
        self.begins = np.repeat(rows.bounds[:-1], np.diff(rows.bounds))
        self.ends = np.repeat(rows.bounds[1:], np.diff(rows.bounds))  # of the partition of each row
        self.limits = self.ends if rows.limit is None else np.minimum(rows.limit, self.ends)

    def count(self, start: np.ndarray, number: np.ndarray) -> None:
        """Count the attempts from these start rows, with the numbers of their matches."""
        group, known = np.zeros(len(start), np.int64), dict[int, _Search]()
        for length in range(1, MAX_LENGTH + 1):
            group, first, size = _numbered(group, self._symbols(start, length - 1))
            is_open, is_apart = np.zeros(len(first), np.bool_), np.zeros(len(first), np.bool_)
            for g in np.argsort(-size, kind="stable").tolist():  # the words that most rows have come first
                row = int(start[first[g]])
                if row not in known and self.counts.steps >= self.max_steps:
                    self.counts.left_out += int(size[g])
                    continue
                search = known.get(row) or self._search(row, int(number[first[g]]))
                if search.dependent < length and size[g] > 1:
                    is_apart[g], known[row] = True, search
                elif search.looked <= length or size[g] == 1:
                    self._consume(search, int(size[g]))
                else:
                    is_open[g], known[row] = True, search
            self._one_by_one(start[is_apart[group]], number[is_apart[group]], known)
            stays = is_open[group]
            start, number, group = start[stays], number[stays], group[stays]
            if not len(start):
                return
        self._one_by_one(start, number, known)

    def _symbols(self, start: np.ndarray, at: int) -> np.ndarray:
        """`int64[t]`: what a search sees `at` rows after its start row: a mask, or an end of the rows."""
        row = start + at
        ends = np.where(row >= self.ends[start], -1, np.where(row >= self.limits[start], -2, 0))
        return np.where(ends < 0, ends, self.codes[np.minimum(row, len(self.codes) - 1)]) + 2

    def _one_by_one(self, start: np.ndarray, number: np.ndarray, known: dict[int, _Search]) -> None:
        for row, match in zip(start.tolist(), number.tolist()):
            if row not in known and self.counts.steps >= self.max_steps:
                self.counts.left_out += 1
            else:
                self._consume(known.get(row) or self._search(row, match), 1)

    def _consume(self, search: _Search, times: int) -> None:
        self.consume(search.result, times)
        for test, count in search.tests.items():
            self.counts.tests[test] += count * times

    def _search(self, start: int, number: int) -> _Search:
        search = _Search(start, self.nulls)
        with suppress(DataError):
            self.run(search, number, (int(self.begins[start]), int(self.ends[start])))
        self.counts.steps += search.result.steps
        return search


def _run_contiguous(task: MatchTask, rows: Rows, max_steps: int) -> Run:
    slow, truth = satisfier(task, rows), local_truth(task, rows)
    is_satisfied = [truth[label].tobytes() for label in range(len(task.bits))]
    is_dependent = [condition is not None for condition in task.conditions]

    def run(search: _Search, number: int, bounds: Bounds) -> None:
        start = search.start

        def satisfies(label: int, labels: list[int]) -> bool | None:
            row = start + len(labels)
            search.look(row)
            if not is_satisfied[label][row]:
                return False
            if not is_dependent[label]:
                return True
            search.depend(row)
            return slow(start, number, labels, label)

        limit = bounds[1] if rows.limit is None else min(int(rows.limit[start]), bounds[1])
        begin = reference.Start(start, bounds, limit)
        reference.recorded_search(task.program, begin, number, satisfies, search, max_steps)

    return run


def _run_skipping(task: CepTask, rows: Rows, max_steps: int) -> Run:
    lists_all = task.skip.mode.lists_all

    def run(search: _Search, number: int, bounds: Bounds) -> None:
        own = paths.search(search.start, bounds, number)

        def satisfies(path: cep_reference.Path, row: int, label: int) -> bool | None:
            search.look(row)
            if is_dependent[label] and truth[label, row]:
                search.depend(row)
            return own.satisfies(path, row, label)

        looking = _LookingSearch(**{**vars(own), "satisfies": satisfies, "recorder": search})
        with search.attempt(search.start, number, bounds, int(paths.limits[search.start])):
            for path, _ in looking.paths(task.nfa.pattern):
                search.found(tuple((row, label) for row, label, _ in path))
                if not lists_all:
                    return

    paths = path_search.Paths(task, rows, max_steps=max_steps)
    truth, is_dependent = paths.evaluator.truth, [condition is not None for condition in task.conditions]
    return run


@dataclass(kw_only=True)
class _LookingSearch(cep_reference.Search):
    """A search whose recorder also learns that it looked at the end of the bound."""

    def decided(self, state: cep_reference.SearchState) -> int | None:
        if state.path and state.pending:  # an absence may hold up to there
            assert isinstance(self.recorder, _Search)
            self.recorder.look(min(self.bounds[1], self.limit(state.path[0][0], state.path[-1][0])))
        return super().decided(state)


def _codes(mask: np.ndarray) -> np.ndarray:
    """`int64[n]`: a number of the mask of each row, `mask: uint8[n, bytes]`.

    >>> _codes(np.array([[3, 0], [1, 0], [3, 0]], np.uint8)).tolist()
    [1, 0, 1]
    """
    if mask.shape[1] == 1:
        return mask[:, 0].astype(np.int64)
    return np.unique(mask, axis=0, return_inverse=True)[1].reshape(-1)


def _numbered(group: np.ndarray, symbol: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The groups divided by a further symbol, numbered from 0; the first index and the size of each.

    >>> _numbered(np.array([0, 0, 0, 1]), np.array([5, 7, 5, 5]))
    (array([0, 1, 0, 2]), array([0, 1, 3]), array([2, 1, 1]))
    """
    key = group * (int(symbol.max(initial=0)) + 1) + symbol
    is_used = np.zeros(int(key.max(initial=-1)) + 1, np.bool_)
    is_used[key] = True
    number = (np.cumsum(is_used) - 1)[key]
    size = np.bincount(number)
    first = np.zeros(len(size), np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    return number, first, size
