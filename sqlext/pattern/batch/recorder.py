"""What a search tried: the facts from which EXPLAIN MATCH ANALYZE and WHY are written.

The searches `reference` and `cep_reference` tell a Recorder of each step, if they are given one; otherwise they do not
know of it. `pattern.why.attempts` runs them over rows.

>>> from sqlext.pattern.batch.reference import Start, search
>>> from sqlext.pattern.program.program import Done, MatchLabel, Program
>>> program = Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B"))
>>> attempts: list[Attempt] = []
>>> recorder = Recorder(attempts.append)
>>> with recorder.attempt(0, 1, (0, 3), 3):
...     search(program, Start(0, (0, 3), 3), lambda label, path: "AAB"[len(path)] == "AB"[label], recorder=recorder)
>>> attempts[0].furthest, attempts[0].stops, attempts[0].ending, attempts[0].steps
(((0, 0),), [Stop(step=1, label=1, row=1, reason='FALSE')], 'CONDITION', 2)
>>> attempts[0].reached, dict(recorder.tests)
({0: 0}, {(0, True): 1, (1, False): 1})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Union

from sqlext.errors import DataError

# An instruction of the program or, in the pattern of a CepTask, the place of a variable
Step = Union[int, tuple[int, int]]
Bounds = tuple[int, int]  # the first row, and the row after the last one
Mapped = tuple[tuple[int, int], ...]  # (row, label) of each mapped row
Nulls = Mapping[int, bytes]  # by label: 0 or 1 for each row

# Stop.reason: the condition of the variable on the row; no row there; an anchor; what forbids a row to be taken
FALSE, NULL = "FALSE", "NULL"
WITHIN, PARTITION_END = "WITHIN", "PARTITION END"
NOT_FIRST, NOT_LAST = "^", "$"
ABSENCE, POSSESSIVE, UNTIL = "!", "POSSESSIVE", "UNTIL"
# Attempt.ending, besides WITHIN and PARTITION_END: a match, one of the others above, the budget of steps
MATCH, CONDITION, BUDGET = "MATCH", "CONDITION", "BUDGET"


class Stop(NamedTuple):
    """A step that the search could not take: `row` at `step` of the pattern, whose variable is `label` (None for
    an anchor).

    `row` may be the end of the partition or of the bound. With ABSENCE, `label` is the variable that must be absent
    and `row` the row that satisfies it.
    """

    step: Step
    label: int | None
    row: int
    reason: str


@dataclass
class Attempt:
    """The search from row `start` of the partition `bounds` for match `number`; rows from `limit` on are beyond WITHIN.

    `furthest`: the longest path that it tried, the first of several; `stops`: the steps that it could not take from
    there, most preferred first. `reached`: for each step that took a row, the first row that it took. `matches`: the
    mapped rows of each match (several only with NO SKIP).
    """

    start: int
    number: int
    bounds: Bounds
    limit: int
    furthest: Mapped = ()
    stops: list[Stop] = field(default_factory=list)
    reached: dict[Step, int] = field(default_factory=dict)
    matches: list[Mapped] = field(default_factory=list)
    steps: int = 0
    error: DataError | None = None

    @property
    def ending(self) -> str:
        """How the attempt ended: MATCH, BUDGET, WITHIN, PARTITION_END, CONDITION, or the one other reason."""
        if self.matches:
            return MATCH
        if self.error is not None:
            return BUDGET
        reasons = [stop.reason for stop in self.stops]
        for reason in (WITHIN, PARTITION_END, NULL, FALSE):
            if reason in reasons:
                return CONDITION if reason in (NULL, FALSE) else reason
        return reasons[0] if reasons else CONDITION


class Recorder:
    """Receives the steps of one search after the other, and hands each attempt to `consume`.

    `tests`: how often the condition of a label was True, False and None, over all attempts. `is_complete`: whether all
    rows have been searched. `nulls`: for labels whose condition the row decides, whether it is NULL on each row. Other
    labels have the verdicts of the search, which takes False for NULL where it reads `Rows.mask`.
    """

    def __init__(self, consume: Callable[[Attempt], None], nulls: Nulls | None = None):
        self.consume, self.nulls = consume, nulls or {}
        self.tests: Counter[tuple[int, bool | None]] = Counter()
        self.is_complete = False
        self._attempt = Attempt(-1, 0, (0, 0), 0)
        self._path: list[tuple[int, int]] = []
        self._is_furthest = True

    @contextmanager
    def attempt(self, start: int, number: int, bounds: Bounds, limit: int) -> Iterator[None]:
        """The search from a start row. An error ends it, and is kept in the attempt."""
        self._attempt = Attempt(start, number, bounds, limit)
        self._path, self._is_furthest = [], True
        try:
            yield
        except DataError as error:
            self._attempt.error = error
            raise
        finally:
            self.consume(self._attempt)

    def test(self, step: Step, label: int, row: int, depth: int, *, verdict: bool | None, is_stop: bool = True) -> None:
        """The condition of a label was tested on a row, after the first `depth` rows of the current path. `is_stop`:
        unless it is true, the search goes no further; otherwise it may skip the row."""
        attempt, path = self._attempt, self._path
        self._step(depth)
        if verdict is False and label in self.nulls and self.nulls[label][row]:
            verdict = None
        self.tests[label, verdict] += 1
        if not verdict:
            if is_stop:
                self._stop(Stop(step, label, row, NULL if verdict is None else FALSE))
            return
        path.append((row, label))
        attempt.reached.setdefault(step, row)
        if len(path) > len(attempt.furthest):
            attempt.furthest, attempt.stops, self._is_furthest = tuple(path), [], True

    def refuse(self, step: Step, label: int | None, row: int, depth: int, reason: str) -> None:
        """The search could not go on to `row` at `step` for another reason than the condition of its variable."""
        self._step(depth)
        self._stop(Stop(step, label, row, reason))

    def found(self, match: Mapped) -> None:
        self._attempt.matches.append(match)

    def _step(self, depth: int) -> None:
        self._attempt.steps += 1
        if len(self._path) > depth:
            del self._path[depth:]
            self._is_furthest = False

    def _stop(self, stop: Stop) -> None:
        if self._is_furthest and stop not in self._attempt.stops:
            self._attempt.stops.append(stop)
