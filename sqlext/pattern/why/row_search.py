"""Searches about one row: the matches of its partition, and the partial match that came closest to one through it.

`closest` runs the search that defines what matches from every start row that can reach the row, and keeps, of all
paths that map the row or end before it, the one that lacks the fewest rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from sqlext.errors import DataError
from sqlext.pattern import strategy
from sqlext.pattern.batch import reference
from sqlext.pattern.batch.recorder import (
    ABSENCE,
    MATCH,
    PARTITION_END,
    POSSESSIVE,
    UNTIL,
    WITHIN,
    Attempt,
    Mapped,
    Recorder,
    Step,
    Stop,
)
from sqlext.pattern.cep import path_search
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.conditions.conditions import Satisfies, satisfier
from sqlext.pattern.program.program import Done, Jump, MatchLabel, MatchStart, Program, successors
from sqlext.pattern.task.task import MatchTask, Rows, SkipFailure, Spans, Task
from sqlext.pattern.why.attempts import recorded_matches

_ENDS = (WITHIN, ABSENCE, UNTIL, POSSESSIVE)  # the reasons why a search skips no further rows


@dataclass
class Budget:
    """The steps that are `left` for all searches about some rows, and the most steps of one search."""

    left: int
    of_search: int


@dataclass(frozen=True, kw_only=True)
class Match:
    """A match: the row that began its search, its number (0 of a partial one), and its mapped rows with their
    labels."""

    start: int
    number: int
    mapped: Mapped

    def maps(self, row: int) -> bool:
        return any(r == row for r, _ in self.mapped)


@dataclass(frozen=True)
class Matches:
    """Matches in order. `timed_out`: the partial matches of SHOW TIMEOUT MATCHES; `failure`: why the query ends after
    the last match, where AFTER MATCH SKIP has no row to go on at."""

    listed: list[Match]
    timed_out: list[Match] = field(default_factory=list)
    failure: SkipFailure | None = None


@dataclass(frozen=True, kw_only=True)
class Closest:
    """The partial match that came closest to a match through a row.

    It is a match that is not preferred if a stop has the reason MATCH.
    `missing`: how many rows at least a match needs after `path`; `stops`: the steps that the search could not take from
    there, those that need the fewest rows first. `is_complete`: False if the budget of steps ended before all ways were
    tried.
    """

    start: int
    path: Mapped
    missing: int
    stops: tuple[Stop, ...]
    is_complete: bool


def all_matches(task: Task, rows: Rows, budget: Budget) -> Matches | None:
    """The matches of all partitions; None if the budget of steps does not decide them.

    >>> import numpy as np
    >>> from sqlext.pattern.program.program import Done, MatchLabel, Program
    >>> a_b = Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B"))
    >>> task = MatchTask(program=a_b, bits=(0, 1), conditions=(None, None))
    >>> rows = Rows(bounds=np.array([0, 4]), mask=np.array([[1], [2], [1], [1]], np.uint8))
    >>> all_matches(task, rows, Budget(100, 100)).listed
    [Match(start=0, number=1, mapped=((0, 0), (1, 1)))]
    """
    try:
        return _of_blocks(recorded_matches(task, rows, _Counting(budget)))
    except (DataError, RecursionError):
        return None


def decided_matches(task: Task, rows: Rows, budget: Budget) -> Matches | None:
    """The value of `all_matches`; where its search takes too many steps, that of the strategy that runs the task."""
    matches = all_matches(task, rows, budget)
    if matches is None:
        with suppress(DataError):
            return _of_blocks(strategy.match(replace(task, strategy="auto"), rows))
    return matches


def _of_blocks(blocks: Iterable[Spans]) -> Matches:
    matches: list[Match] = []
    timed_out: list[Match] = []
    failure = None
    for spans in blocks:
        (matches if spans.timed_out is None else timed_out).extend(_listed(spans))
        failure = spans.failure
    return Matches(matches, timed_out, failure)


def _listed(spans: Spans) -> Iterator[Match]:
    mapped, bounds = list(zip(spans.mapped.tolist(), spans.label.tolist())), spans.offset.tolist()
    for start, number, lo, hi in zip(spans.start.tolist(), spans.number.tolist(), bounds, bounds[1:]):
        yield Match(start=start, number=number, mapped=tuple(mapped[lo:hi]))


def closest(task: Task, rows: Rows, row: int, budget: Budget, first: int = 0) -> Closest:
    """The partial match that came closest to a match through `row`. `rows` is one partition, whose rows before `first`
    begin no match.

    It lacks the fewest rows; of several one that the end of the partition did not end, then the one with the most
    rows, then one that maps the row, then the one whose start is nearest.

    >>> import numpy as np
    >>> from sqlext.pattern.program.program import Done, MatchLabel, Program
    >>> abc = Program((MatchLabel(0), MatchLabel(1), MatchLabel(2), Done()), ("A", "B", "C"))
    >>> task = MatchTask(program=abc, bits=(0, 1, 2), conditions=(None,) * 3)
    >>> rows = Rows(bounds=np.array([0, 4]), mask=np.array([[1], [2], [1], [1]], np.uint8))
    >>> found = closest(task, rows, 2, Budget(100, 100))
    >>> found.path, found.missing, found.stops
    (((0, 0), (1, 1)), 1, (Stop(step=2, label=2, row=2, reason='FALSE'),))
    """
    recorder = _NearRow(task, row, budget)
    starts = (start for start in range(row, first - 1, -1) if _reaches(task, rows, start, row))
    try:
        _try_all_ways(task, rows, starts, recorder)
        is_complete = True
    except (DataError, RecursionError):
        is_complete = False
    path, stops = recorder.path, sorted(recorder.stops, key=recorder.missing)
    missing = min(map(recorder.missing, stops), default=recorder.least[0])
    start = path[0][0] if path else row
    return Closest(start=start, path=path, missing=missing, stops=tuple(stops), is_complete=is_complete)


def _reaches(task: Task, rows: Rows, start: int, row: int) -> bool:
    """Whether the bound of a match from this start row may end at the row or after it, or rows may be skipped."""
    return rows.limit is None or isinstance(task, CepTask) or int(rows.limit[start]) >= row


def _try_all_ways(task: Task, rows: Rows, starts: Iterator[int], recorder: Recorder) -> None:
    """Search from start rows, and go on after each match. Raises DataError when the budget of steps is spent."""
    bounds = (0, int(rows.bounds[-1]))
    if isinstance(task, CepTask):
        paths = path_search.Paths(task, rows, recorder=recorder)
        for start in starts:
            for _ in paths.found(paths.search(start, bounds, 1), 1):
                pass
        return
    assert isinstance(task, MatchTask)
    satisfies, program = satisfier(task, rows), _endless(task.program)
    for start in starts:
        is_satisfied = _from(start, satisfies)
        limit = bounds[1] if rows.limit is None else int(rows.limit[start])
        reference.recorded_search(program, reference.Start(start, bounds, limit), 1, is_satisfied, recorder)


def _from(start: int, satisfies: Satisfies) -> Callable[[int, list[int]], bool | None]:
    return lambda label, labels: satisfies(start, 1, labels, label)


def _endless(program: Program) -> Program:
    """The program whose paths do not end in a match: an anchor that the recorder receives is in the place of Done."""
    instructions = program.instructions
    return replace(program, instructions=(*instructions[:-1], MatchStart(), Jump(len(instructions))))


class _Counting(Recorder):
    """A recorder that ends the search when its budget of steps is spent."""

    def __init__(self, budget: Budget):
        super().__init__(lambda attempt: None)
        self.budget, self.left = budget, min(budget.left, budget.of_search)

    def _step(self, depth: int) -> None:
        super()._step(depth)
        self.left -= 1
        self.budget.left -= 1
        if self.left < 0:
            raise DataError("STEP_BUDGET", "the search for a row took too many steps")


class _NearRow(_Counting):
    """Keeps the path that came closest to a match through a row, and the steps that it could not take."""

    def __init__(self, task: Task, row: int, budget: Budget):
        super().__init__(budget)
        self.task, self.row, self.end = task, row, len(task.program.instructions) - 1
        self.path: Mapped = ()
        self.stops: list[Stop] = []
        self.rank: tuple[int, bool, int, bool] | None = None
        self.least = rows_missing(task.program)
        self.after = _After(task.program)

    def test(self, step: Step, label: int, row: int, depth: int, *, verdict: bool | None, is_stop: bool = True) -> None:
        # a row that is skipped is of interest, too
        super().test(step, label, row, depth, verdict=verdict, is_stop=True)

    def found(self, match: Mapped) -> None:
        super().found(match)
        self._stop(Stop(self.end, None, match[-1][0] + 1 if match else -1, MATCH))

    def _stop(self, stop: Stop) -> None:
        if stop.step == self.end:
            stop = stop._replace(reason=MATCH)
        path = tuple(self._path)
        if not self._is_near(path, stop):
            return
        has_row = any(row == self.row for row, _ in path)
        rank = (self._missing(path, stop), stop.reason == PARTITION_END, -len(path), not has_row)
        if self.rank is None or rank < self.rank:
            if path != self.path:
                self.stops = []
            self.rank, self.path = rank, path
        if path == self.path and stop not in self.stops:
            self.stops.append(stop)

    def _is_near(self, path: Mapped, stop: Stop) -> bool:
        """Whether a path maps the row, or ends before it."""
        if (stop.row == self.row and stop.reason != MATCH) or any(row == self.row for row, _ in path):
            return True
        is_relaxed = isinstance(self.task, CepTask)
        return is_relaxed and stop.reason in _ENDS and bool(path) and path[-1][0] < self.row and stop.row <= self.row

    def missing(self, stop: Stop) -> int:
        return self._missing(self.path, stop)

    def _missing(self, path: Mapped, stop: Stop) -> int:
        if isinstance(stop.step, int):
            return self.least[stop.step]
        return min((self.least[i] for i in self.after(tuple(label for _, label in path))), default=self.least[0])


def rows_missing(program: Program) -> list[int]:
    """How many rows at least a match takes from each instruction on.

    >>> from sqlext.pattern.program.program import Split
    >>> rows_missing(Program((MatchLabel(0), Split(0, 2), MatchLabel(1), Done()), ("A", "B")))
    [2, 1, 1, 0]
    """
    instructions = program.instructions
    least = [len(instructions)] * len(instructions)
    least[-1] = 0
    changed = True
    while changed:
        changed = False
        for i in range(len(instructions) - 2, -1, -1):
            takes = isinstance(instructions[i], MatchLabel)
            best = min((least[j] for j in successors(instructions[i], i)), default=len(instructions)) + takes
            if best < least[i]:
                least[i], changed = best, True
    return least


def lacks_one_row(attempt: Attempt, least: list[int]) -> bool:
    """Whether an attempt mapped rows, and lacked one row for a match. `least`: the value of `rows_missing`."""
    if attempt.matches or not attempt.furthest:
        return False
    steps = [stop.step for stop in attempt.stops if isinstance(stop.step, int)]
    if not steps:
        return len(attempt.furthest) >= least[0] - 1
    return min(least[step] for step in steps) == 1


class _After:
    """The instructions at which the search can be after labels."""

    def __init__(self, program: Program):
        self.program = program
        self.known: dict[tuple[int, ...], frozenset[int]] = {(): self._closure({0})}

    def __call__(self, labels: tuple[int, ...]) -> frozenset[int]:
        prefix = len(labels)
        while labels[:prefix] not in self.known:
            prefix -= 1
        for end in range(prefix + 1, len(labels) + 1):
            before = self.known[labels[: end - 1]]
            taken = {i + 1 for i in before if self._takes(i, labels[end - 1])}
            self.known[labels[:end]] = self._closure(taken)
        return self.known[labels]

    def _takes(self, i: int, label: int) -> bool:
        instruction = self.program.instructions[i]
        return isinstance(instruction, MatchLabel) and instruction.label == label

    def _closure(self, instructions: set[int]) -> frozenset[int]:
        pending, reached = list(instructions), set(instructions)
        while pending:
            i = pending.pop()
            instruction = self.program.instructions[i]
            for j in () if isinstance(instruction, (MatchLabel, Done)) else successors(instruction, i):
                if j not in reached:
                    reached.add(j)
                    pending.append(j)
        return frozenset(reached)
