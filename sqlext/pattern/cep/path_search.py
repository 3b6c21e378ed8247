"""Matches path by path: the strategy `reference` for CEP tasks, and NO SKIP with conditions that depend on the path.

`cep_reference.Search` enumerates the candidates of a start row. Here the rules of AFTER MATCH determine which of them
are shown, in which order and with which number (docs/language.md, "AFTER MATCH NO SKIP", "WITHIN").
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace

import numpy as np

from sqlext.pattern.batch.recorder import Recorder
from sqlext.pattern.cep.cep_reference import MAX_STEPS, Path, Search, SearchState
from sqlext.pattern.cep.cep_task import CepTask, bound_ends, may_begin
from sqlext.pattern.cep.ends import decision_order, decision_times
from sqlext.pattern.cep.path_conditions import MappedPath, PathEvaluator
from sqlext.pattern.task.skip import resume_row
from sqlext.pattern.task.task import Rows, SkipFailure, Spans


@dataclass(kw_only=True)
class PartitionResult:
    """The results of one partition: (start, number, path) of each match, partial matches, rows in no match."""

    matches: list[tuple[int, int, Path]] = field(default_factory=list)
    partial: list[Path] = field(default_factory=list)
    unmatched: list[int] = field(default_factory=list)
    failure: SkipFailure | None = None


def find(task: CepTask, rows: Rows, recorder: Recorder | None = None, max_steps: int = MAX_STEPS) -> Iterator[Spans]:
    """All results, slowly and obviously: a block for each partition; after a failure nothing more. `recorder` receives
    an attempt for each start row that is tried.

    Raises DataError: STEP_BUDGET, and what conditions raise.
    """
    paths = Paths(task, rows, recorder=recorder, max_steps=max_steps)
    for bounds in zip(rows.bounds[:-1].tolist(), rows.bounds[1:].tolist()):
        result = paths.every_match(bounds) if task.skip.mode.lists_all else paths.preferred(bounds)
        yield from _spans_of(result, task)
        if result.failure is not None:
            return


def find_matches(task: CepTask, rows: Rows) -> Iterator[Spans]:
    """All matches with NO SKIP, a block for each partition, looking only at rows that a path may take.

    Raises DataError: STEP_BUDGET, and what conditions raise.
    """
    only_matches = replace(task, output=replace(task.output, shows_unmatched=False, shows_timeouts=False))
    paths = FastPaths(only_matches, rows)
    for bounds in zip(rows.bounds[:-1].tolist(), rows.bounds[1:].tolist()):
        yield from _spans_of(paths.every_match(bounds), only_matches)


class Paths:
    """The candidates of one task.

    `is_first: bool[p]` (None: everywhere): whether the first row of a partition is its very first one, where `^` holds.
    `max_steps`: of the search from one start row.
    """

    def __init__(
        self,
        task: CepTask,
        rows: Rows,
        is_first: np.ndarray | None = None,
        recorder: Recorder | None = None,
        max_steps: int = MAX_STEPS,
    ):
        self.task, self.rows, self.recorder, self.max_steps = task, rows, recorder, max_steps
        self.evaluator, self.limits = PathEvaluator(task, rows), bound_ends(rows)
        is_later = np.zeros(len(rows.bounds) - 1, np.bool_) if is_first is None else ~is_first
        self.later = frozenset(rows.bounds[:-1][is_later].tolist())

    def search(self, start: int, bounds: tuple[int, int], number: int) -> Search:
        """The search from a start row of the partition `bounds`."""

        truth, dependent = self.evaluator.truth, self.task.conditions

        def limit(first: int, last: int) -> int:
            return int(self.limits[last if self.task.is_between else first])

        def satisfies(path: Path, row: int, label: int) -> bool | None:
            if dependent[label] is None or not truth[label, row]:
                return bool(truth[label, row])
            taken, labels, _ = zip(*path) if path else ((), (), ())
            return self.evaluator.evaluate(MappedPath(taken, labels, bounds, number), label, row)

        label_of = {name: label for label, name in enumerate(self.task.program.labels)}
        return Search(
            label_of=label_of,
            start=start,
            bounds=bounds,
            limit=limit,
            satisfies=satisfies,
            is_whole=bounds[0] not in self.later,
            recorder=self.recorder,
            max_steps=self.max_steps,
        )

    def found(self, search: Search, number: int) -> Generator[tuple[Path, int], None, None]:
        """The paths of a search; the recorder receives its steps."""
        if self.recorder is None:
            yield from search.paths(self.task.nfa.pattern)
            return
        limit = int(self.limits[search.start])
        with self.recorder.attempt(search.start, number, search.bounds, limit):
            for path, when in search.paths(self.task.nfa.pattern):
                self.recorder.found(tuple((row, label) for row, label, _ in path))
                yield path, when

    def starts(self, bounds: tuple[int, int]) -> Iterable[int]:
        """The rows at which a match with NO SKIP may start: all of them."""
        return range(*bounds)

    def preferred(self, bounds: tuple[int, int]) -> PartitionResult:
        """SQL's own modes: the most preferred match from each start row that is tried."""
        result, row, number = PartitionResult(), bounds[0], 1
        is_matched: set[int] = set()
        while row < bounds[1]:
            search = self.search(row, bounds, number)
            with closing(self.found(search, number)) as paths:
                path, _ = next(paths, (None, 0))
            if path is None:
                result.partial += search.partial
                row += 1
                continue
            result.matches.append((row, number, path))
            is_matched.update({row}, (r for r, _, _ in path))
            resume = resume_row(self.task.skip, row, [(r, label) for r, label, _ in path])
            if isinstance(resume, str):
                result.failure = SkipFailure(resume, row, number)
                return result
            row, number = resume, number + 1
        result.unmatched = [r for r in range(*bounds) if r not in is_matched]
        return result

    def every_match(self, bounds: tuple[int, int]) -> PartitionResult:
        """NO SKIP: each distinct match once, by the time that decides it, last row, start row and preference."""
        result, decided = PartitionResult(), list[tuple[Path, int]]()
        for start in self.starts(bounds):
            search = self.search(start, bounds, 0)
            decided += earliest(self.found(search, 0))
            result.partial += search.partial
        first, last, decided_by = as_arrays(decided)
        time = decision_times(self.task, self.rows, first, last, decided_by)
        order = decision_order(self.rows, first, last, time)
        in_order = [decided[i][0] for i in order.tolist()]
        result.matches = [(path[0][0], number + 1, path) for number, path in enumerate(in_order)]
        matched = {row for _, _, path in result.matches for row, _, _ in path}
        result.unmatched = [row for row in range(*bounds) if row not in matched]
        return result


@dataclass
class FastSearch(Search):
    """A search in which a wait passes over rows that its variable cannot take.

    `satisfying[l]`: the rows that satisfy the row-local part of label l, in order.
    """

    satisfying: tuple[np.ndarray, ...] = ()

    def candidates(self, label: int, state: SearchState, rows: range) -> Iterable[int]:
        if not state.tests_only_takers:
            return rows
        satisfying = self.satisfying[label]
        low, high = np.searchsorted(satisfying, (rows.start, rows.stop))
        return satisfying[low:high].tolist()


class FastPaths(Paths):
    """The candidates of a task, searched only where the rows alone allow them."""

    def __init__(self, task: CepTask, rows: Rows, is_first: np.ndarray | None = None):
        super().__init__(task, rows, is_first)
        self.satisfying = tuple(np.flatnonzero(satisfied) for satisfied in self.evaluator.truth)
        self.starting = np.flatnonzero(may_begin(task, rows))

    def search(self, start: int, bounds: tuple[int, int], number: int) -> Search:
        return FastSearch(**vars(super().search(start, bounds, number)), satisfying=self.satisfying)

    def starts(self, bounds: tuple[int, int]) -> Iterable[int]:
        low, high = np.searchsorted(self.starting, bounds)
        return self.starting[low:high].tolist()


def earliest(paths: Iterable[tuple[Path, int]]) -> list[tuple[Path, int]]:
    """Each path that is not empty, once, with the earliest time that decides it, in order of preference."""
    times: dict[Path, int] = {}
    for path, when in paths:
        if path:
            times[path] = min(when, times.get(path, when))
    return list(times.items())


def as_arrays(decided: list[tuple[Path, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`(first, last, decided_by: int64[k])` of paths: their first and last rows, and what decides them."""
    table = [(path[0][0], path[-1][0], decided_by) for path, decided_by in decided]
    first, last, decided_by = np.array(table, np.int64).reshape(-1, 3).T
    return first, last, decided_by


def _spans_of(result: PartitionResult, task: CepTask) -> Iterator[Spans]:
    """The matches of a partition as a block, then its partial matches if they are shown, as another."""
    unmatched = result.unmatched if task.output.shows_unmatched else []
    if result.matches or unmatched:
        starts, numbers = [start for start, _, _ in result.matches], [number for _, number, _ in result.matches]
        yield as_spans(starts, numbers, [path for _, _, path in result.matches], unmatched, result.failure)
    if task.output.shows_timeouts and result.partial and result.failure is None:
        yield partial_spans(result.partial)


def partial_spans(paths: list[Path]) -> Spans:
    """Partial matches as a block."""
    block = as_spans([path[0][0] for path in paths], [0] * len(paths), paths)
    return replace(block, timed_out=np.ones(len(paths), np.bool_))


def as_spans(starts, numbers, paths: list[Path], unmatched=(), failure: SkipFailure | None = None) -> Spans:
    """Matches as a block."""
    taken = [x for path in paths for x in path]
    return Spans(
        start=np.array(starts, np.int64),
        number=np.array(numbers, np.int64),
        offset=np.cumsum([0, *map(len, paths)], dtype=np.int64),
        label=np.array([label for _, label, _ in taken], np.int16),
        is_hidden=np.array([is_hidden for _, _, is_hidden in taken], np.bool_),
        unmatched=np.array(unmatched, np.int64),
        failure=failure,
        row=np.array([row for row, _, _ in taken], np.int64),
    )
