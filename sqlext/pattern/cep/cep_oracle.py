"""The strategy `reference` for patterns that skip rows and for NO SKIP: all candidates of every row, then the rules.

Which candidates there are is `contiguity.reference`'s; here is which of them are shown, in which order and with which
number, for each AFTER MATCH mode (semantics: language.md, "AFTER MATCH NO SKIP", "WITHIN").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from sqlext.pattern import conditions
from sqlext.pattern.cep.cep_reference import BOUND, NEXT_ROW, Path, Search
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.formulas import local_truth, own_limits
from sqlext.pattern.skip import resume_row
from sqlext.pattern.task import NO_SKIP, Rows, SkipFailure, Spans


@dataclass
class Found:
    """What one partition gives: (start, number, path) of each match, partial matches, rows in no match."""

    matches: list[tuple[int, int, Path]] = field(default_factory=list)
    partial: list[Path] = field(default_factory=list)
    unmatched: list[int] = field(default_factory=list)
    failure: SkipFailure | None = None


def find(task: CepTask, rows: Rows) -> Iterator[Spans]:
    """A block for each partition; after a failure nothing more.

    Raises DataError: STEP_BUDGET, and what conditions raise.
    """
    oracle = Oracle(task, rows)
    for bounds in zip(rows.bounds[:-1].tolist(), rows.bounds[1:].tolist()):
        found = oracle.every_match(bounds) if task.skip.mode == NO_SKIP else oracle.preferred(bounds)
        yield from spans_of(found, task)
        if found.failure is not None:
            return


class Oracle:
    """The candidates of one task. `is_first: bool[p]` (None: everywhere): is the first row of a partition its very
    first one, where `^` holds?"""

    def __init__(self, task: CepTask, rows: Rows, is_first: np.ndarray | None = None):
        self.task, self.rows = task, rows
        self.truth, self.limits = local_truth(task, rows), own_limits(task, rows)
        is_later = np.zeros(len(rows.bounds) - 1, np.bool_) if is_first is None else ~is_first
        self.later = frozenset(rows.bounds[:-1][is_later].tolist())

    def search(self, start: int, bounds: tuple[int, int], number: int) -> Search:
        def limit(first: int, last: int) -> int:
            return int(self.limits[last if self.task.is_between else first])

        def satisfies(path: Path, row: int, label: int) -> bool:
            condition = self.task.conditions[label]
            if condition is None or not self.truth[label, row]:
                return bool(self.truth[label, row])
            labels, taken = (*(x for _, x, _ in path), label), (*(r for r, _, _ in path), row)
            names = self.task.program.labels
            asked = conditions.Path(self.rows, names, bounds, taken[0], labels, number, taken)
            return conditions.evaluate(condition, asked) is True

        label_of = {name: label for label, name in enumerate(self.task.program.labels)}
        return Search(label_of, start, bounds, limit, satisfies, is_whole=bounds[0] not in self.later)

    def starts(self, bounds: tuple[int, int]) -> Iterable[int]:
        """The rows at which a match with NO SKIP may start: all of them."""
        return range(*bounds)

    def preferred(self, bounds: tuple[int, int]) -> Found:
        """SQL's modes: the most preferred match from each row that they try."""
        found, row, number = Found(), bounds[0], 1
        is_matched: set[int] = set()
        while row < bounds[1]:
            search = self.search(row, bounds, number)
            path = next((path for path, _ in search.paths(self.pattern)), None)
            if path is None:
                found.partial += search.partial
                row += 1
                continue
            found.matches.append((row, number, path))
            is_matched.update({row}, (r for r, _, _ in path))
            resume = resume_row(self.task.skip, row, [(r, label) for r, label, _ in path])
            if isinstance(resume, str):
                found.failure = SkipFailure(resume, row, number)
                return found
            row, number = resume, number + 1
        found.unmatched = [r for r in range(*bounds) if r not in is_matched]
        return found

    def every_match(self, bounds: tuple[int, int]) -> Found:
        """NO SKIP: each distinct match once, by the time it is decided, then last row, start row, preference."""
        found, decided = Found(), []
        for start in self.starts(bounds):
            search = self.search(start, bounds, 0)
            seen: dict[Path, int] = {}
            for path, when in search.paths(self.pattern):
                if path:
                    seen[path] = min(when, seen.get(path, when))
            for path, when in seen.items():
                last = path[-1][0]
                decided.append((decision_time(self.task, self.rows, start, last, when), last, path))
            found.partial += search.partial
        decided.sort(key=lambda match: (match[0], match[1], match[2][0][0]))  # stable, so by preference
        found.matches = [(path[0][0], number + 1, path) for number, (_, _, path) in enumerate(decided)]
        matched = {row for _, _, path in found.matches for row, _, _ in path}
        found.unmatched = [row for row in range(*bounds) if row not in matched]
        return found

    @property
    def pattern(self):
        return self.task.nfa.pattern


def decision_time(task: CepTask, rows: Rows, first: int, last: int, when: int) -> tuple[int, int]:
    """When a match is decided, comparable inside a partition: a time, or without Rows.key and Rows.end a row."""
    if when == BOUND:
        base = last if task.is_between else first
        return (int(rows.end[base]), 0) if rows.end is not None else (int(own_limits(task, rows)[base]) - 1, 1)
    row = last + 1 if when == NEXT_ROW else last
    return (int(rows.key[row]) if rows.key is not None else row, 0)


def spans_of(found: Found, task: CepTask) -> Iterator[Spans]:
    """The matches of a partition as a block, then its partial matches if they are shown, as another."""
    unmatched = found.unmatched if task.output.shows_unmatched else []
    if found.matches or unmatched:
        starts, numbers = [s for s, _, _ in found.matches], [n for _, n, _ in found.matches]
        yield as_spans(starts, numbers, [path for _, _, path in found.matches], unmatched, found.failure)
    if task.output.shows_timeouts and found.partial and found.failure is None:
        starts = [path[0][0] for path in found.partial]
        yield as_spans(starts, [0] * len(starts), found.partial, [], None, are_timed_out=True)


def as_spans(starts, numbers, paths: list[Path], unmatched, failure, are_timed_out: bool = False) -> Spans:
    """A block of matches from lists."""
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
        timed_out=np.ones(len(paths), np.bool_) if are_timed_out else None,
    )
