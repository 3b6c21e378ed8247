"""The meaning of matching, written down slowly and obviously: the oracle of every other strategy.

`search` finds the match that starts at one row by plain backtracking over the program, `find` is the driver around
it: which rows a match may start at, numbers, empty matches, unmatched rows, AFTER MATCH SKIP. Time may be exponential,
therefore steps are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.program import Done, Jump, MatchEnd, MatchLabel, MatchStart, Program, Split
from sqlext.pattern.skip import numbered, resume_row
from sqlext.pattern.task import MatchTask, Rows, SkipFailure, Spans

MAX_STEPS = 5_000_000  # of one search
BLOCK_ROWS = 1 << 16  # mapped rows, and also matches, after which a block is given out

Found = list[tuple[int, bool]]
Satisfies = Callable[[int, int, list[int], int], bool]


def search(
    program: Program,
    start: int,
    bounds: tuple[int, int],
    limit: int,
    satisfies: Callable[[int, list[int]], bool],
    max_steps: int = MAX_STEPS,
) -> Found | None:
    """The match that starts at row `start`, as (label, is_hidden) of each mapped row, or None.

    The partition is rows `bounds[0]` to `bounds[1]` (exclusive), only rows below `limit` are mapped.
    `satisfies(label, path)`: may row `start + len(path)` be mapped to `label` behind `path`, the labels taken so far?

    Raises DataError: STEP_BUDGET.

    Source: Program's docstring; TR 19075-5 §4.14.

    >>> from sqlext.pattern.program import Done, MatchLabel
    >>> program = Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B"))
    >>> search(program, 0, (0, 2), 2, lambda label, path: "AB"[len(path)] == program.labels[label])
    [(0, False), (1, False)]
    """
    labels: list[int] = []
    hidden: list[bool] = []
    # What is still to be tried, most preferred last: (instruction, rows taken, instructions met since the last row).
    stack: list[tuple[int, int, frozenset[int]]] = [(0, 0, frozenset())]
    for _ in range(max_steps):
        if not stack:
            return None
        i, taken, met = stack.pop()
        del labels[taken:], hidden[taken:]
        if i in met:
            continue
        row, instruction = start + taken, program.instructions[i]
        if isinstance(instruction, Done):
            return list(zip(labels, hidden))
        if isinstance(instruction, MatchLabel):
            if row < min(limit, bounds[1]) and satisfies(instruction.label, labels):
                labels.append(instruction.label)
                hidden.append(instruction.is_hidden)
                stack.append((i + 1, taken + 1, frozenset()))
        elif isinstance(instruction, Split):
            met = met | {i}
            stack += [(instruction.second, taken, met), (instruction.first, taken, met)]
        elif isinstance(instruction, Jump):
            stack.append((instruction.target, taken, met | {i}))
        elif row == bounds[0] if isinstance(instruction, MatchStart) else row == bounds[1]:
            assert isinstance(instruction, (MatchStart, MatchEnd))
            stack.append((i + 1, taken, met | {i}))
    raise DataError(
        "STEP_BUDGET",
        f"the search for a match from row {start - bounds[0] + 1} of its partition took more than {max_steps:,} steps",
        hint="the reference strategy backtracks, choose another one; or let the variables exclude each other.",
    )


def mask_satisfies(task: MatchTask, rows: Rows) -> Satisfies:
    """Row-local conditions only: does the bit in the mask of row `start + len(labels)` say so?"""

    def satisfies(start: int, number: int, labels: list[int], label: int) -> bool:
        bit = task.bits[label]
        return bit is None or bool(rows.mask[start + len(labels), bit // 8] >> (bit % 8) & 1)

    return satisfies


def find(
    task: MatchTask,
    rows: Rows,
    satisfies: Satisfies | None = None,
    *,
    block_rows: int = BLOCK_ROWS,
    max_steps: int = MAX_STEPS,
) -> Iterator[Spans]:
    """All matches of all partitions, in blocks; after a failure nothing more.

    `satisfies(start, number, labels, label)`: may row `start + len(labels)` be mapped to `label` in match `number`
    that begins at row `start` and has `labels` so far? Default: `mask_satisfies`.

    Raises DataError: STEP_BUDGET, and whatever `satisfies` raises.

    Source: Trino, PatternRecognitionPartition.
    """
    asks = satisfies or mask_satisfies(task, rows)
    block = Block()
    for bounds in zip(rows.bounds[:-1].tolist(), rows.bounds[1:].tolist()):
        row, matched_end, number = bounds[0], bounds[0], 1
        while row < bounds[1]:
            limit = bounds[1] if rows.limit is None else int(rows.limit[row])

            def ask(label: int, labels: list[int], start: int = row, number: int = number) -> bool:
                return asks(start, number, labels, label)

            found = search(task.program, row, bounds, limit, ask, max_steps)
            if found is None:
                if task.output.shows_unmatched and row >= matched_end:
                    block.unmatched.append(row)
                row += 1
            else:
                block.add(row, number, found)
                matched_end = max(matched_end, row + len(found))
                resume = resume_row(task.skip, row, numbered(row, [label for label, _ in found]))
                if isinstance(resume, str):
                    yield block.spans(task, SkipFailure(resume, row, number))
                    return
                row, number = resume, number + 1
            if max(block.offset[-1], len(block.start), len(block.unmatched)) >= block_rows:
                yield block.spans(task)
                block = Block()
    if block.start or block.unmatched:
        yield block.spans(task)


@dataclass
class Block:
    """Matches found, in order; `offset` and `found` as Spans has offset, label and is_hidden."""

    start: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=lambda: [0])
    found: Found = field(default_factory=list)
    unmatched: list[int] = field(default_factory=list)

    def add(self, start: int, number: int, found: Found) -> None:
        self.start.append(start)
        self.number.append(number)
        self.found += found
        self.offset.append(len(self.found))

    def spans(self, task: MatchTask, failure: SkipFailure | None = None) -> Spans:
        hides = any(isinstance(x, MatchLabel) and x.is_hidden for x in task.program.instructions)
        return Spans(
            start=np.array(self.start, np.int64),
            number=np.array(self.number, np.int64),
            offset=np.array(self.offset, np.int64),
            label=np.array([label for label, _ in self.found], np.int16),
            is_hidden=np.array([is_hidden for _, is_hidden in self.found], np.bool_) if hides else None,
            unmatched=np.array(self.unmatched, np.int64),
            failure=failure,
        )
