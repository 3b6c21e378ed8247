"""The partial matches of a stream that later rows may still continue, and what each of them waits for.

They are found by `cep_reference.Search`, over the rows that have passed the watermark. The rows of one key are few, and
the search is slow but obvious; its steps are limited, because somebody waits for the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlext.pattern.cep.cep_reference import Absent, Path, Possessive, Search, SearchState
from sqlext.pattern.cep.nfa import NOW
from sqlext.pattern.program.ast import Pattern

MAX_STEPS = 200_000  # steps for one start row


@dataclass(frozen=True)
class OpenPath:
    """A partial match: its mapped rows, and in words what it waits for, most preferred first.

    `is_match`: the pattern is complete, so it is a match unless a more preferred one follows from later rows.
    """

    path: Path
    waits: tuple[str, ...]
    is_match: bool


@dataclass(kw_only=True)
class OpenSearch(Search):
    """A search that notes, for each path that has seen all its rows, what it waits for."""

    waits: dict[Path, dict[str, None]] = field(default_factory=dict)
    complete: set[Path] = field(default_factory=set)

    def run_out(self, label: int, state: SearchState, last: int) -> None:
        if self.is_open is None or self.is_open(state.path[0][0], last):
            self.waits.setdefault(state.path, {}).setdefault(self._wait(label, state))

    def decided(self, state: SearchState) -> int | None:
        when = super().decided(state)
        if state.path and when == NOW:
            self.complete.add(state.path)
        elif state.path and self._is_pending(state):
            self.waits.setdefault(state.path, {}).setdefault(self._absences(state))
        return when

    def count_step(self, label: int) -> None:
        if self.steps >= MAX_STEPS:
            raise SearchGivenUp
        self.steps += 1

    def _is_pending(self, state: SearchState) -> bool:
        """Whether only rows that are still to come can forbid the end of the match here."""
        first, last = state.path[0][0], state.path[-1][0]
        limit = min(self.bounds[1], self.limit(first, last))
        absences = [p for p in state.pending if isinstance(p, Absent)]
        if self.is_open is not None and not self.is_open(first, last):
            return False
        return not any(
            self.satisfies(state.path, row, absent.label)
            for absent in absences
            for row in range(last + 1, limit if absent.operator == "!->" else min(last + 2, limit))
        )

    def _wait(self, label: int, state: SearchState) -> str:
        first, last = state.path[0][0], state.path[-1][0]
        is_next = last + 1 >= min(self.bounds[1], self.limit(first, last))
        names = [f"{state.operator} {self._name(label)}".strip()]
        for pending in state.pending:
            if isinstance(pending, Possessive):
                names.append(f"no {' or '.join(map(self._name, pending.labels))} up to it")
            elif pending.operator == "!->":
                names.append(f"no {self._name(pending.label)} before it")
            elif is_next:
                names.append(f"the next row is not {self._name(pending.label)}")
        names += [f"no {self._name(label)} (UNTIL) up to it" for label, _ in state.scopes]
        return ", ".join(names)

    def _absences(self, state: SearchState) -> str:
        absences = (p for p in state.pending if isinstance(p, Absent))
        return ", ".join(
            f"a next row that is not {self._name(p.label)}"
            if p.operator == "!"
            else f"no {self._name(p.label)} until WITHIN ends"
            for p in absences
        )

    def _name(self, label: int) -> str:
        return next(name for name, known in self.label_of.items() if known == label)


class SearchGivenUp(Exception):
    """The search from a start row has taken MAX_STEPS."""


def open_paths(base: Search, pattern: Pattern, is_open: Callable[[int, int], bool]) -> list[OpenPath] | None:
    """The partial matches of a search from one start row, most preferred first; None if it took too many steps.

    `is_open(first, last)`: whether the bound of a match from row `first` to row `last` is still open.
    """
    search = OpenSearch(**{**vars(base), "is_open": is_open})
    try:
        for _ in search.paths(pattern):
            pass
    except SearchGivenUp:
        return None
    return [OpenPath(path, tuple(waits), path in search.complete) for path, waits in search.waits.items()]
