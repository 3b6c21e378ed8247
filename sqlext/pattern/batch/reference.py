"""The meaning of matching, written slowly and obviously: the oracle of every other strategy.

`search` finds the match that starts at one row by backtracking over the program. `find` is the driver around it: it
decides at which rows a match may start, and it handles match numbers, empty matches, unmatched rows and AFTER MATCH
SKIP. A search may take exponential time, therefore its steps are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Union

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.batch.recorder import NOT_FIRST, NOT_LAST, PARTITION_END, WITHIN, Recorder
from sqlext.pattern.conditions.conditions import Satisfies, satisfier
from sqlext.pattern.program.program import Done, Jump, MatchEnd, MatchLabel, MatchStart, Program, Split
from sqlext.pattern.task.skip import numbered, resume_row
from sqlext.pattern.task.task import MatchTask, Rows, SkipFailure, Spans

MAX_STEPS = 5_000_000  # steps of one search
BLOCK_ROWS = 1 << 16  # mapped rows, and also matches, that complete a block

MappedRows = list[tuple[int, bool]]  # (label, is_hidden) for each mapped row of a match, in order
Bounds = tuple[int, int]  # the first row, and the row after the last one
# (start row, match number, partition, limit, rows that PREV and NEXT reach) -> the mapped rows of the preferred match,
# or None if there is none
Searcher = Callable[[int, int, Bounds, int, Bounds], Union[MappedRows, None]]


class Start(NamedTuple):
    """The first row of a match. The partition is rows `bounds[0]` to `bounds[1]` (exclusive); only rows below `limit`
    are mapped."""

    row: int
    bounds: Bounds
    limit: int


def search(
    program: Program,
    start: Start,
    satisfies: Callable[[int, list[int]], bool | None],
    max_steps: int = MAX_STEPS,
    recorder: Recorder | None = None,
) -> MappedRows | None:
    """The mapped rows of the match that starts there, or None if there is no match.

    `satisfies(label, path)` returns whether row `start.row + len(path)` may be mapped to `label` after `path`, the
    labels taken so far. `recorder` receives each test.

    Raises DataError: STEP_BUDGET.

    Source: Program's docstring; TR 19075-5 §4.14.

    >>> from sqlext.pattern.program.program import Done, MatchLabel
    >>> program = Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B"))
    >>> search(program, Start(0, (0, 2), 2), lambda label, path: "AB"[len(path)] == program.labels[label])
    [(0, False), (1, False)]
    """
    first, bounds, limit = start
    labels: list[int] = []
    hidden: list[bool] = []
    # Still to be tried, most preferred last: (instruction, rows taken, instructions visited since the last row)
    stack: list[tuple[int, int, frozenset[int]]] = [(0, 0, frozenset())]
    for _ in range(max_steps):
        if not stack:
            return None
        i, taken, visited = stack.pop()
        del labels[taken:], hidden[taken:]
        if i in visited:
            continue
        row, instruction = first + taken, program.instructions[i]
        if isinstance(instruction, Done):
            return list(zip(labels, hidden))
        if isinstance(instruction, MatchLabel):
            has_row = row < min(limit, bounds[1])
            verdict = has_row and satisfies(instruction.label, labels)
            if recorder is not None and has_row:
                recorder.test(i, instruction.label, row, taken, verdict=verdict)
            elif recorder is not None:
                recorder.refuse(i, instruction.label, row, taken, PARTITION_END if row >= bounds[1] else WITHIN)
            if verdict:
                labels.append(instruction.label)
                hidden.append(instruction.is_hidden)
                stack.append((i + 1, taken + 1, frozenset()))
        elif isinstance(instruction, Split):
            visited = visited | {i}
            stack += [(instruction.second, taken, visited), (instruction.first, taken, visited)]
        elif isinstance(instruction, Jump):
            stack.append((instruction.target, taken, visited | {i}))
        elif row == bounds[0] if isinstance(instruction, MatchStart) else row == bounds[1]:
            assert isinstance(instruction, (MatchStart, MatchEnd))
            stack.append((i + 1, taken, visited | {i}))
        elif recorder is not None:
            recorder.refuse(i, None, row, taken, NOT_FIRST if isinstance(instruction, MatchStart) else NOT_LAST)
    raise DataError(
        "STEP_BUDGET",
        f"the search for a match from row {first - bounds[0] + 1} of its partition took more than {max_steps:,} steps",
        hint="the reference strategy backtracks: choose another one, or let the variables exclude each other.",
    )


def recorded_search(
    program: Program,
    start: Start,
    number: int,
    satisfies: Callable[[int, list[int]], bool | None],
    recorder: Recorder,
    max_steps: int = MAX_STEPS,
) -> MappedRows | None:
    """The value of `search`, for match `number`; the recorder receives the attempt."""
    with recorder.attempt(start.row, number, start.bounds, start.limit):
        mapped = search(program, start, satisfies, max_steps, recorder)
        if mapped is not None:
            recorder.found(tuple(numbered(start.row, [label for label, _ in mapped])))
    return mapped


def find(
    task: MatchTask,
    rows: Rows,
    satisfies: Satisfies | None = None,
    *,
    block_rows: int = BLOCK_ROWS,
    max_steps: int = MAX_STEPS,
    recorder: Recorder | None = None,
) -> Iterator[Spans]:
    """All matches of all partitions, in blocks; a block with a failure is the last one.

    `satisfies` evaluates the conditions; by default it is the `satisfier` of the task. `recorder` receives an attempt
    for each start row that is tried.

    Raises DataError: STEP_BUDGET, and whatever `satisfies` raises.

    Source: Trino, PatternRecognitionPartition.
    """
    evaluate = satisfies or satisfier(task, rows)
    sees_frame = task.frame is not None and task.frame.is_seen

    def search_from(start: int, number: int, bounds: Bounds, limit: int, seen: Bounds) -> MappedRows | None:
        satisfies = satisfier(task, rows, seen) if sees_frame else evaluate

        def is_satisfied(label: int, labels: list[int]) -> bool | None:
            return satisfies(start, number, labels, label)

        begin = Start(start, bounds, limit)
        if recorder is None:
            return search(task.program, begin, is_satisfied, max_steps)
        return recorded_search(task.program, begin, number, is_satisfied, recorder, max_steps)

    return find_with(search_from, task, rows, block_rows)


def find_with(
    searcher: Searcher,
    task: MatchTask,
    rows: Rows,
    block_rows: int = BLOCK_ROWS,
    begin: tuple[int, int, int] = (0, 1, 0),
) -> Iterator[Spans]:
    """All matches of all partitions, as `find`, with another search for the match that starts at one row.

    `begin`: the first start row, the number of its match, and the end of the rows that are in earlier matches.
    """
    block = MatchLists()
    for bounds in zip(rows.bounds[:-1].tolist(), rows.bounds[1:].tolist()):
        if bounds[1] <= begin[0]:
            continue
        row, number, matched_end = begin if begin[0] > bounds[0] else (bounds[0], 1, bounds[0])
        while row < bounds[1]:
            limit = bounds[1] if rows.limit is None else int(rows.limit[row])
            start, mapped = _match_of(row, searcher, task, number, bounds, limit)
            if mapped is None:
                if task.output.shows_unmatched and row >= matched_end:
                    block.unmatched.append(row)
                row += 1
            else:
                block.add(start, number, mapped, row)
                matched_end = max(matched_end, start + len(mapped))
                resume = resume_row(task.skip, start, numbered(start, [label for label, _ in mapped]), row)
                if isinstance(resume, str):
                    yield block.spans(task, SkipFailure(resume, start, number))
                    return
                row, number = resume, number + 1
            if max(block.offset[-1], len(block.start), len(block.unmatched)) >= block_rows:
                yield block.spans(task)
                block = MatchLists()
    if block.start or block.unmatched:
        yield block.spans(task)


def _match_of(
    row: int, searcher: Searcher, task: MatchTask, number: int, bounds: Bounds, limit: int
) -> tuple[int, MappedRows | None]:
    """The match of a row. It begins at this row or, with SEEK, at the first row below `limit` where one can begin."""
    seeks = task.frame is not None and task.frame.seeks
    seen = (row, limit) if task.frame is not None and task.frame.is_seen else bounds
    for start in range(row, limit if seeks else row + 1):
        mapped = searcher(start, number, bounds, limit, seen)
        if mapped is not None:
            return start, mapped
    return row, None


@dataclass(kw_only=True)
class MatchLists:
    """A block of matches, in order, as lists; `offset` and `mapped` become offset, label and is_hidden of Spans."""

    current: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=lambda: [0])
    mapped: MappedRows = field(default_factory=list)
    unmatched: list[int] = field(default_factory=list)

    def add(self, start: int, number: int, mapped: MappedRows, current: int = -1) -> None:
        self.current.append(current)
        self.start.append(start)
        self.number.append(number)
        self.mapped += mapped
        self.offset.append(len(self.mapped))

    def spans(self, task: MatchTask, failure: SkipFailure | None = None) -> Spans:
        hides = any(isinstance(x, MatchLabel) and x.is_hidden for x in task.program.instructions)
        return Spans(
            start=np.array(self.start, np.int64),
            number=np.array(self.number, np.int64),
            offset=np.array(self.offset, np.int64),
            label=np.array([label for label, _ in self.mapped], np.int16),
            is_hidden=np.array([is_hidden for _, is_hidden in self.mapped], np.bool_) if hides else None,
            unmatched=np.array(self.unmatched, np.int64),
            failure=failure,
            current=np.array(self.current, np.int64) if task.frame is not None and task.frame.seeks else None,
        )
