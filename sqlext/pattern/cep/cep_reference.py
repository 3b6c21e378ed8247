"""The reference of CEP: skipped rows, absence, UNTIL, possessive loops and NO SKIP, slow and obvious.

`Search.paths` walks over the tree of the pattern and yields every candidate from one start row, most preferred first:
earlier alternatives before later ones, and for `->>` nearer rows before farther ones. All other rules follow
docs/cep.md literally. A search can take exponential time, so its steps are limited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from typing import Union

from sqlext.errors import DataError
from sqlext.pattern.batch.recorder import (
    ABSENCE,
    NOT_FIRST,
    NOT_LAST,
    PARTITION_END,
    POSSESSIVE,
    UNTIL,
    WITHIN,
    Recorder,
)
from sqlext.pattern.cep.nfa import BOUND, NEXT_ROW, NOW
from sqlext.pattern.cep.nfa_compile import first_variables
from sqlext.pattern.program import ast

MAX_STEPS = 5_000_000  # steps for one start row
_HINT = (
    "all ways are tried one after the other: bound them with WITHIN or UNTIL, replace ->> by ->, or let conditions "
    "depend on the row alone."
)

Taken = tuple[int, int, bool]  # row, label, is hidden
Path = tuple[Taken, ...]
Satisfies = Callable[[Path, int, int], Union[bool, None]]


@dataclass(frozen=True)
class Absent:
    operator: str
    label: int
    place: ast.Offsets = field(default=(0, 0), compare=False)


@dataclass(frozen=True)
class Possessive:
    """A loop that could begin another round with one of `labels`, unless a row satisfied one of `ends`."""

    labels: tuple[int, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class SearchState:
    """The state of a search: the `path` so far, the `operator` before the next row, and the absences and loops that
    are `pending` since the last row. `scopes`: (label, rows taken before it) for each enclosing UNTIL. `is_at_end`: the
    path has passed `$`, so no row can continue it."""

    path: Path = ()
    operator: str = ""
    pending: tuple[Absent | Possessive, ...] = ()
    scopes: tuple[tuple[int, int], ...] = ()
    is_hidden: bool = False
    is_at_end: bool = False

    @property
    def tests_only_takers(self) -> bool:
        """True if a row that its variable cannot take is skipped, whatever else the row is."""
        plain = SearchState(path=self.path, operator=self.operator, is_hidden=self.is_hidden)
        return bool(self.path) and bool(self.operator) and self == plain


@dataclass(kw_only=True)
class Search:
    """The search for the paths of a pattern from row `start`.

    `satisfies(path, row, label)` returns whether `row` may be mapped to `label` after `path`. `limit(first, last)` is
    the first row beyond the bound of a match from row `first` to row `last`. When `paths` is exhausted, `partial` has
    the paths that could still be continued when their bound ended. `is_whole`: `bounds[0]` is the first row of its
    partition, where `^` holds. For a stream, `is_open(first, last)` returns whether the bound of such a match is still
    open, and `is_alive` becomes true if later rows may continue or decide a path. `recorder` receives each step.
    """

    label_of: dict[str, int]
    start: int
    bounds: tuple[int, int]
    limit: Callable[[int, int], int]
    satisfies: Satisfies
    partial: dict[Path, None] = field(default_factory=dict)
    steps: int = 0
    is_whole: bool = True
    is_open: Callable[[int, int], bool] | None = None
    is_alive: bool = False
    recorder: Recorder | None = None
    max_steps: int = MAX_STEPS

    def paths(self, pattern: ast.Pattern) -> Iterator[tuple[Path, int]]:
        """Yield (path, what decides it) in order of preference; a path may come twice.

        Raises DataError: STEP_BUDGET.
        """
        try:
            for state in self.walk(pattern, SearchState()):
                decided = self.decided(state)
                if decided is not None:
                    yield state.path, decided
        except RecursionError:  # each round of a loop is one more generator
            raise DataError(
                "STEP_BUDGET",
                f"the search for matches from row {self.number} of its partition maps too many rows in its loops",
                hint=_HINT,
            ) from None

    def walk(self, node: ast.Pattern, state: SearchState) -> Iterator[SearchState]:
        if isinstance(node, ast.Variable):
            yield from self.take(self.label_of[node.name], state, node.place)
        elif isinstance(node, ast.Empty):
            yield state
        elif isinstance(node, ast.PartitionStart):
            if not state.path and self.start == self.bounds[0] and self.is_whole:
                yield state
            elif self.recorder is not None:
                self.recorder.refuse(node.place, None, self.after(state), len(state.path), NOT_FIRST)
        elif isinstance(node, ast.PartitionEnd):
            if state.path and state.path[-1][0] == self.bounds[1] - 1:
                yield replace(state, is_at_end=True)
            elif self.recorder is not None:
                self.recorder.refuse(node.place, None, self.after(state), len(state.path), NOT_LAST)
        elif isinstance(node, ast.Concatenation):
            yield from self.sequence(node.items, state)
        elif isinstance(node, ast.Alternation):
            for item in node.items:
                yield from self.walk(item, state)
        elif isinstance(node, ast.Permutation):
            for order in permutations(node.items):
                yield from self.sequence(order, state)
        elif isinstance(node, ast.Exclusion):
            for after in self.walk(node.item, replace(state, is_hidden=True)):
                yield replace(after, is_hidden=state.is_hidden)
        elif isinstance(node, ast.Quantified):
            yield from self.repeat(node, 0, state)
        elif isinstance(node, ast.Absence):
            absent = Absent(node.operator, self.label_of[node.variable.name], node.variable.place)
            yield replace(state, pending=(*state.pending, absent)) if state.path else state
        elif isinstance(node, ast.Until):
            scope = (self.label_of[node.variable.name], len(state.path))
            for after in self.walk(node.item, replace(state, scopes=(*state.scopes, scope))):
                yield replace(after, scopes=state.scopes)
        else:
            for after in self.walk(node.item, replace(state, operator=state.operator or node.operator)):
                yield after if len(after.path) > len(state.path) else replace(after, operator=state.operator)

    def after(self, state: SearchState) -> int:
        """The row after the last one of the path."""
        return state.path[-1][0] + 1 if state.path else self.start

    def sequence(self, items: tuple[ast.Pattern, ...], state: SearchState) -> Iterator[SearchState]:
        if not items:
            yield state
            return
        for after in self.walk(items[0], state):
            yield from self.sequence(items[1:], after)

    def repeat(self, node: ast.Quantified, count: int, state: SearchState) -> Iterator[SearchState]:
        """Yield the states after the rounds from number `count` on; an empty round ends a loop without upper bound."""
        if node.mode == ast.RELUCTANT and count >= node.at_least:
            yield state
        if node.at_most is None or count < node.at_most:
            for after in self.walk(node.item, state):
                is_last = node.at_most is None and count + 1 >= node.at_least and len(after.path) == len(state.path)
                yield from [self.left(node, count + 1, after)] if is_last else self.repeat(node, count + 1, after)
        if node.mode != ast.RELUCTANT and count >= node.at_least:
            yield self.left(node, count, state)

    def left(self, node: ast.Quantified, count: int, state: SearchState) -> SearchState:
        """Return the state that follows a loop of `count` rounds."""
        if node.mode != ast.POSSESSIVE or count == node.at_most:
            return state
        ends = tuple(label for label, _ in state.scopes)
        guard = Possessive(tuple(self.label_of[name] for name in first_variables(node.item)[0]), ends)
        return replace(state, pending=(*state.pending, guard))

    def take(self, label: int, state: SearchState, place: ast.Offsets) -> Iterator[SearchState]:
        """Map the next row to the label of the variable at a place, or with an operator also a later row."""
        first, last = (state.path[0][0], state.path[-1][0]) if state.path else (self.start, self.start - 1)
        limit = min(self.bounds[1], self.limit(first, max(last, first)))
        for row in self.candidates(label, state, range(last + 1, limit)):
            self.count_step(label)
            holds = partial(self.satisfies, state.path, row)
            pending = [p for p in state.pending if not (isinstance(p, Possessive) and any(map(holds, p.ends)))]
            state = replace(state, pending=tuple(pending))
            if self.is_forbidden(pending, holds, is_next=row == last + 1 and bool(state.path)):
                if self.recorder is not None:
                    self.record_forbidden(pending, row, len(state.path), holds, place, label)
                return
            ends = next((end for end, _ in state.scopes if holds(end)), None)
            if self.recorder is not None and ends is not None:
                self.recorder.refuse(place, ends, row, len(state.path), UNTIL)
            elif self.recorder is not None:
                is_last = not state.path or not state.operator
                self.recorder.test(place, label, row, len(state.path), verdict=holds(label), is_stop=is_last)
            if holds(label) and ends is None:
                yield replace(state, path=(*state.path, (row, label, state.is_hidden)), operator="", pending=())
            if not state.path or not state.operator or (state.operator == "->" and holds(label)):
                return
            absences = [p for p in pending if isinstance(p, Absent) and p.operator == "!->"]
            absent = next((p for p in absences if holds(p.label)), None)
            if absent is not None:
                if self.recorder is not None:
                    self.recorder.refuse(absent.place, absent.label, row, len(state.path), ABSENCE)
                return
            if any(len(state.path) > before and holds(end) for end, before in state.scopes):
                return
        if self.recorder is not None:
            reason = PARTITION_END if limit == self.bounds[1] else WITHIN
            self.recorder.refuse(place, label, limit, len(state.path), reason)
        if state.path and not state.is_at_end:
            self.run_out(label, state, max(last, first))

    def run_out(self, label: int, state: SearchState, last: int) -> None:
        """Note that a path, which a row of `label` could continue, has seen all rows of its bound."""
        if self.is_open is not None and self.is_open(state.path[0][0], last):
            self.is_alive = True
        else:
            self.partial.setdefault(state.path)

    def candidates(self, label: int, state: SearchState, rows: range) -> Iterable[int]:
        """Return the rows that `take` has to try: all of them here, fewer in a subclass."""
        return rows

    def is_forbidden(self, pending, holds: Callable[[int], bool | None], *, is_next: bool) -> bool:
        """Return whether this row may be neither mapped nor skipped."""
        if any(isinstance(p, Possessive) and any(map(holds, p.labels)) for p in pending):
            return True
        return is_next and any(isinstance(p, Absent) and p.operator == "!" and holds(p.label) for p in pending)

    def record_forbidden(
        self, pending, row: int, depth: int, holds: Callable[[int], bool | None], place: ast.Offsets, label: int
    ) -> None:
        """Tell the recorder why a row may be neither mapped nor skipped: a possessive loop takes it, or an absence."""
        assert self.recorder is not None
        if any(isinstance(p, Possessive) and any(map(holds, p.labels)) for p in pending):
            self.recorder.refuse(place, label, row, depth, POSSESSIVE)
            return
        absent = next(p for p in pending if isinstance(p, Absent) and p.operator == "!" and holds(p.label))
        self.recorder.refuse(absent.place, absent.label, row, depth, ABSENCE)

    def decided(self, state: SearchState) -> int | None:
        """Return what decides a path at the end of the pattern, or None if it is not a match, or not yet."""
        if not state.path:
            return NOW
        first, last = state.path[0][0], state.path[-1][0]
        limit, when, is_sure = min(self.bounds[1], self.limit(first, last)), NOW, True
        is_open = self.is_open is not None and self.is_open(first, last)
        for absent in [p for p in state.pending if isinstance(p, Absent)]:
            reach = last + 2 if absent.operator == "!" else limit
            later = range(last + 1, min(reach, limit))
            hit = next((r for r in later if self.satisfies(state.path, r, absent.label)), None)
            if hit is not None:
                if self.recorder is not None:
                    self.recorder.refuse(absent.place, absent.label, hit, len(state.path), ABSENCE)
                return None
            if reach > limit and not is_open:
                if self.recorder is not None:
                    reason = PARTITION_END if limit == self.bounds[1] else WITHIN
                    self.recorder.refuse(absent.place, absent.label, limit, len(state.path), reason)
                return None
            is_sure = is_sure and not (is_open and (reach > limit or absent.operator == "!->"))
            when = max(when, NEXT_ROW if absent.operator == "!" else BOUND)
        self.is_alive = self.is_alive or not is_sure
        return when if is_sure else None

    def count_step(self, label: int) -> None:
        self.steps += 1
        if self.steps > self.max_steps:
            name = next(name for name, known in self.label_of.items() if known == label)
            raise DataError(
                "STEP_BUDGET",
                f"the search for matches from row {self.number} of its partition took more than {self.max_steps:,} "
                f"steps, the last of them for a row that {name} takes",
                hint=_HINT,
            )

    @property
    def number(self) -> int:
        """The number of the start row in its partition, from 1."""
        return self.start - self.bounds[0] + 1
