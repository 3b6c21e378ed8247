"""The counts of EXPLAIN MATCH ANALYZE: at which element of the pattern, and by what, start rows are lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlext.pattern.batch.recorder import Attempt, Step
from sqlext.pattern.program import ast
from sqlext.pattern.program.elements import elements, elements_of

Steps = Mapping[Step, tuple[int, int]]  # see `steps_of`


def steps_of(pattern: ast.Pattern, *, is_contiguous: bool) -> Steps:
    """For each step of the recorder that maps a row: the number of its element in `elements(pattern)`, and which copy
    of the element it is, from 1. `A{2,3}` has three copies, one for each row.

    >>> a, b = ast.Variable("A", place=(0, 1)), ast.Variable("B", place=(7, 8))
    >>> pattern = ast.Concatenation((ast.Quantified(item=a, at_least=2, at_most=None), b))
    >>> steps_of(pattern, is_contiguous=True), steps_of(pattern, is_contiguous=False)
    ({0: (0, 1), 1: (0, 2), 3: (1, 1)}, {(0, 1): (0, 1), (7, 8): (1, 1)})
    """
    if is_contiguous:
        return {i: found for i, found in enumerate(elements_of(pattern)) if found is not None}
    return {element.place: (number, 1) for number, element in enumerate(elements(pattern))}


@dataclass
class Funnel:
    """Counts of start rows, over any number of partitions; they can be merged.

    `largest`: the rows of the largest partition; `left_out`: rows that were not searched, because the search had taken
    all its steps. `tried`: start rows at which the search began; AFTER MATCH SKIP jumps over the others.
    `reached[e, 0]`: start rows from which it mapped a row to element e of the pattern; `reached[e, k]`: to the k-th
    copy of it. `endings`: how the attempts ended. `lost[e, r]`: attempts without a match whose furthest path has rows
    and could not go on to element e for the reason r, see `Stop`. `matches`: matches of the search; `empty`: matches
    that map no row; `found`: matches in all rows, by the strategy that runs the task; `timed_out`: partial matches that
    it shows. `steps`: of the searches that were run; `tests[l, v]`: how often the condition of label l had the value v
    when the search tested it. `spark_s`: seconds in which workers waited for rows; `match_s`: seconds in which they
    read them and that strategy ran.
    """

    rows: int = 0
    partitions: int = 0
    largest: int = 0
    left_out: int = 0
    tried: int = 0
    reached: Counter[tuple[int, int]] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    lost: Counter[tuple[int, str]] = field(default_factory=Counter)
    matches: int = 0
    empty: int = 0
    found: int = 0
    timed_out: int = 0
    steps: int = 0
    tests: Counter[tuple[int, bool | None]] = field(default_factory=Counter)
    spark_s: float = 0.0
    match_s: float = 0.0

    def add(self, attempt: Attempt, times: int, steps: Steps) -> None:
        """Count an attempt, which `times` start rows had."""
        self.tried += times
        self.endings[attempt.ending] += times
        self.matches += len(attempt.matches) * times
        self.empty += sum(not match for match in attempt.matches) * times
        found = {steps[step] for step in attempt.reached}
        for key in found | {(element, 0) for element, _ in found}:
            self.reached[key] += times
        if attempt.furthest and not attempt.matches:
            for lost in {(steps[stop.step][0], stop.reason) for stop in attempt.stops if stop.step in steps}:
                self.lost[lost] += times

    @property
    def skipped(self) -> int:
        """Rows at which no search began, because AFTER MATCH SKIP jumped over them."""
        return self.rows - self.left_out - self.tried

    def renamed(self, names: Mapping[str, str]) -> Funnel:
        """The same counts with other names of some reasons; those of reasons with one name are added.

        >>> Funnel(endings=Counter({"A": 1, "B": 2, "D": 4})).renamed({"A": "C", "B": "C"}).endings
        Counter({'D': 4, 'C': 3})
        """
        endings, lost = Counter[str](), Counter[tuple[int, str]]()
        for reason, number in self.endings.items():
            endings[names.get(reason, reason)] += number
        for (element, reason), number in self.lost.items():
            lost[element, names.get(reason, reason)] += number
        return replace(self, endings=endings, lost=lost)

    def merge(self, other: Funnel) -> None:
        largest = max(self.largest, other.largest)
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        self.largest = largest

    def as_json(self) -> str:
        """
        >>> funnel = Funnel(rows=3, tried=2)
        >>> funnel.tests[0, None] += 1
        >>> Funnel.of_json(funnel.as_json()) == funnel
        True
        """
        counters = {name: list(value.items()) for name, value in vars(self).items() if isinstance(value, Counter)}
        return json.dumps({**vars(self), **counters})

    @staticmethod
    def of_json(text: str) -> Funnel:
        values = json.loads(text)
        for name, value in values.items():
            if isinstance(value, list):
                values[name] = Counter({tuple(k) if isinstance(k, list) else k: count for k, count in value})
        return Funnel(**values)
