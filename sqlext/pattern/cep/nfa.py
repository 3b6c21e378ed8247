"""The states of a pattern with skipped rows, absences, UNTIL or possessive loops: what a partial match waits for.

A *position* is a place of the pattern that takes a row; positions are numbered in program order. After a path has taken
a row at a position, it has *targets*, most preferred first: it waits for the row of a next position (Wait), or the
pattern is complete (Final). In Flink's words, a Wait is a normal state with the transitions TAKE (`takes`) and IGNORE
(`skips`), and it is the stop state where a row allows neither. A Final with conditions is a pending state. PROCEED has
no counterpart, because the targets already include what it leads to.

A transition is open for a row that satisfies its formula: an AND of clauses, each an OR of (label, is_satisfied).

Source: Agrawal et al., Efficient Pattern Matching over Event Streams, SIGMOD 2008; Flink's NFACompiler.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Union

from sqlext.pattern.program.ast import Pattern

Clause = tuple[tuple[int, bool], ...]
Formula = tuple[Clause, ...]

NEXT, FOLLOWED_BY = "", "->"
NOW, NEXT_ROW, BOUND = 0, 1, 2  # what decides a match: its last row, the row after it, or the end of its bound


@dataclass(frozen=True)
class Guard:
    """The condition after a possessive loop: up to and including the next mapped row, no row satisfies one of
    `labels`, with which a round begins. A row that satisfies one of `ends` (UNTIL) ends the loop and the guard."""

    labels: tuple[int, ...]
    ends: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Wait:
    """A state that waits for the row of `position`, which takes rows that satisfy `label`.

    `operator` is the operator of the element: "" (the very next row), "->" or "->>". The next row must satisfy no label
    of `not_next`, a skipped row no label of `absent` or `until_skipped`, and the taken row no label of `until`.
    """

    position: int
    label: int
    operator: str = NEXT
    not_next: tuple[int, ...] = ()
    absent: tuple[int, ...] = ()
    guards: tuple[Guard, ...] = ()
    until: tuple[int, ...] = ()
    until_skipped: tuple[int, ...] = ()

    @property
    def outline(self) -> list[Any]:
        """All fields, for the fingerprint of a query on a stream; see `Nfa.outline`."""
        guards = [[guard.labels, guard.ends] for guard in self.guards]
        skipped = [self.not_next, self.absent, guards, self.until, self.until_skipped]
        return ["wait", self.position, self.label, self.operator, *skipped]


@dataclass(frozen=True, kw_only=True)
class Final:
    """The end of the pattern. No row up to the bound satisfies a label of `absent`.

    With `needs_next`, a next row exists within the bound and satisfies no label of `not_next`. With `at_end`, the last
    mapped row is the last row of its partition."""

    needs_next: bool = False
    not_next: tuple[int, ...] = ()
    absent: tuple[int, ...] = ()
    at_end: bool = False

    @property
    def outline(self) -> list[Any]:
        """All fields, for the fingerprint of a query on a stream; see `Nfa.outline`."""
        return ["final", self.needs_next, self.not_next, self.absent, self.at_end]

    @property
    def is_pending(self) -> bool:
        """Whether rows after the match decide it."""
        return self.decided_by != NOW

    @property
    def decided_by(self) -> int:
        """The last thing that a match with this end waits for: NOW, NEXT_ROW or BOUND."""
        return BOUND if self.waits_for_bound else NEXT_ROW if self.needs_next else NOW

    @property
    def waits_for_bound(self) -> bool:
        """Whether a match with this end is certain only when its bound has ended."""
        return bool(self.absent)

    @property
    def forbidden(self) -> tuple[int, ...]:
        """The labels that rows after the match are tested for."""
        return (*self.not_next, *self.absent)

    def tests(self, row: int, bound: int) -> Iterator[tuple[int, int]]:
        """Yield each (label, row after the match) where the row must not satisfy the label, for a match that ends with
        `row` and whose bound ends before row `bound`.

        >>> list(Final(needs_next=True, not_next=(0,), absent=(1,)).tests(5, 8))
        [(0, 6), (1, 6), (1, 7)]
        """
        yield from ((label, row + 1) for label in self.not_next)
        yield from ((label, later) for later in range(row + 1, bound) for label in self.absent)


Target = Union[Wait, Final]


@dataclass(frozen=True, kw_only=True)
class Nfa:
    """The states of `pattern`, whose variables are `labels`.

    `positions[p]` is (label, is_hidden), and `after[p]` are its targets. `start` are the targets before the first row
    of a match, and `partition_start` the targets where that row is the first of its partition, so that `^` holds.

    >>> from sqlext.pattern.cep.nfa_compile import compile_nfa
    >>> from sqlext.pattern.program.ast import Absence, Concatenation, Relaxed, Variable
    >>> pattern = Concatenation((Variable("A"), Absence("!->", Variable("N")), Relaxed("->", Variable("B"))))
    >>> print(compile_nfa(pattern, ("A", "B", "N")))
    start: next A
    0 A: -> B, no N skipped
    1 B: final
    """

    pattern: Pattern
    labels: tuple[str, ...]
    positions: tuple[tuple[int, bool], ...]
    start: tuple[Target, ...]
    partition_start: tuple[Target, ...]
    after: tuple[tuple[Target, ...], ...]

    @property
    def outline(self) -> list[Any]:
        """All that decides matches, as values that JSON can hold.

        Checkpoints contain its digest, so tags and order must not change. A new field is added at the end, and only
        where its value differs from the value that patterns had before.
        """
        targets = (self.start, self.partition_start, *self.after)
        return [self.labels, self.positions, [[target.outline for target in options] for options in targets]]

    @property
    def ends(self) -> tuple[Final, ...]:
        """The distinct ends of the pattern."""
        return tuple(dict.fromkeys(t for targets in self.after for t in targets if isinstance(t, Final)))

    def __str__(self) -> str:
        lines = [f"start: {self._targets(self.start)}"]
        if self.partition_start != self.start:
            lines.append(f"start of the partition: {self._targets(self.partition_start)}")
        for p, (label, is_hidden) in enumerate(self.positions):
            hidden = " hidden" if is_hidden else ""
            lines.append(f"{p} {self.labels[label]}{hidden}: {self._targets(self.after[p])}")
        return "\n".join(lines)

    def _targets(self, targets: tuple[Target, ...]) -> str:
        return "; ".join(map(self._target, targets)) or "stop"

    def _target(self, target: Target) -> str:
        if isinstance(target, Final):
            parts = ["pending" if target.is_pending else "final"]
            parts += ["at the partition's end"] * target.at_end
            parts += [f"next row exists{self._but(target.not_next)}"] * target.needs_next
            parts += [f"no {self._names(target.absent)} up to the bound"] * bool(target.absent)
            return ", ".join(parts)
        parts = [f"{target.operator or 'next'} {self.labels[target.label]}"]
        if [p for p, (label, _) in enumerate(self.positions) if label == target.label] != [target.position]:
            parts[0] += f" at {target.position}"
        parts += [f"next row not {self._names(target.not_next)}"] * bool(target.not_next)
        parts += [f"no {self._names(target.absent)} skipped"] * bool(target.absent)
        for guard in target.guards:
            ends = f" until {self._names(guard.ends)}" if guard.ends else ""
            parts.append(f"no {self._names(guard.labels)} up to it{ends}")
        parts += [f"until {self._names(target.until)}"] * bool(target.until)
        return ", ".join(parts)

    def _but(self, labels: tuple[int, ...]) -> str:
        return f" and is not {self._names(labels)}" if labels else ""

    def _names(self, labels: tuple[int, ...]) -> str:
        return " or ".join(self.labels[label] for label in labels)


def takes(wait: Wait) -> Formula:
    """Return the formula that a row must satisfy to be taken.

    >>> takes(Wait(position=1, label=1, operator="->", absent=(2,), guards=(Guard((0,), (3,)),)))
    (((1, True),), ((0, False), (3, True)))
    """
    return (((wait.label, True),), *_none(wait.not_next), *_none(wait.until), *_guarded(wait.guards))


def skips(wait: Wait) -> Iterator[tuple[Formula, Wait]]:
    """Yield the formulas of rows that are skipped, each with the next state; the formulas exclude each other.

    >>> list(skips(Wait(position=1, label=1, operator="->", not_next=(2,)))) == [((((2, False),), ((1, False),)),
    ...     Wait(position=1, label=1, operator="->"))]
    True
    """
    if wait.operator == NEXT:
        return
    always = (*_none(wait.not_next), *_none(wait.absent), *_none(wait.until_skipped))
    if wait.operator == FOLLOWED_BY:
        always = (*always, ((wait.label, False),))
    ending = [g for g in wait.guards if g.ends]
    lasting = tuple(g for g in wait.guards if not g.ends)
    for have_ended in product((False, True), repeat=len(ending)):
        formula: Formula = (*always, *_guarded(lasting))
        for guard, has_ended in zip(ending, have_ended):
            if has_ended:
                formula = (*formula, tuple((label, True) for label in guard.ends))
            else:
                formula = (*formula, *_none(guard.ends), *_none(guard.labels))
        remainder = (*lasting, *(g for g, has_ended in zip(ending, have_ended) if not has_ended))
        yield formula, replace(wait, not_next=(), guards=remainder)


def _none(labels: tuple[int, ...]) -> Formula:
    return tuple(((label, False),) for label in labels)


def _guarded(guards: tuple[Guard, ...]) -> Formula:
    return tuple(((label, False), *((end, True) for end in g.ends)) for g in guards for label in g.labels)
