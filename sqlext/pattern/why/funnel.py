"""The counts of EXPLAIN MATCH ANALYZE: at which element of the pattern, and by what, start rows are lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlext.pattern.batch.recorder import Attempt, Step
from sqlext.pattern.program import ast
from sqlext.pattern.program.elements import elements, elements_of

Steps = Mapping[Step, tuple[int, int]]  # see `steps_of`


def steps_of(pattern: ast.Pattern, is_contiguous: bool) -> Steps:
    """For each step of the recorder that maps a row: the number of its element in `elements(pattern)`, and which copy
    of the element it is, from 1. `A{2,3}` has three copies, one for each row.

    >>> a, b = ast.Variable("A", place=(0, 1)), ast.Variable("B", place=(7, 8))
    >>> pattern = ast.Concatenation((ast.Quantified(item=a, at_least=2, at_most=None), b))
    >>> steps_of(pattern, True), steps_of(pattern, False)
    ({0: (0, 1), 1: (0, 2), 3: (1, 1)}, {(0, 1): (0, 1), (7, 8): (1, 1)})
    """
    if is_contiguous:
        return {i: found for i, found in enumerate(elements_of(pattern)) if found is not None}
    return {element.place: (number, 1) for number, element in enumerate(elements(pattern))}


@dataclass
class Funnel:
    """Counts of start rows, over any number of partitions; they can be merged.

    `tried`: start rows at which the search began; AFTER MATCH SKIP jumps over the others. `reached[e, 0]`: those from
    which it mapped a row to element e of the pattern; `reached[e, k]`: to the k-th copy of it. `endings`: how the
    attempts ended. `matches`, `empty`: matches, and those of them that map no row. `tests[l, v]`: how often the
    condition of label l had the value v when the search tested it.
    """

    tried: int = 0
    reached: Counter[tuple[int, int]] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    matches: int = 0
    empty: int = 0
    steps: int = 0
    tests: Counter[tuple[int, bool | None]] = field(default_factory=Counter)

    def add(self, attempt: Attempt, steps: Steps) -> None:
        self.tried += 1
        self.steps += attempt.steps
        self.endings[attempt.ending] += 1
        self.matches += len(attempt.matches)
        self.empty += sum(not match for match in attempt.matches)
        found = {steps[step] for step in attempt.reached}
        self.reached.update(found | {(element, 0) for element, _ in found})

    def merge(self, other: Funnel) -> None:
        self.tried += other.tried
        self.reached += other.reached
        self.endings += other.endings
        self.matches += other.matches
        self.empty += other.empty
        self.steps += other.steps
        self.tests += other.tests
