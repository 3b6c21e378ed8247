"""An Nfa, and what rows decide of it, as the arrays that `shared_buffer.advance` reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sqlext.pattern.cep.cep_task import bound_ends, evaluate
from sqlext.pattern.cep.ends import horizon
from sqlext.pattern.cep.nfa import Final, Formula, Nfa, Target, Wait, skips, takes
from sqlext.pattern.task.task import Rows


class NfaTables(NamedTuple):
    """The states as arrays. Lists of lists are `x_first` and `x`: list i is `x[x_first[i]:x_first[i + 1]]`.

    - `position, take: int32[w]`: the position that state w waits for, and the column of RowBits.holds for its rows;
    - `skip_first: int32[w + 1]`, `skip_to, skip: int32[e]`: the states of a path that has skipped a row, and the
      columns for the rows that are skipped;
    - `start_first: int32[3]`, `start`: states before the first row, list 1 if that is the first of its partition;
    - `after_first: int32[q + 1]`, `after`: states after a position; `final_first`, `final`: ends there (`ends`);
    - `room`, `most_hits`: how many entries and ends one row may make.
    """

    position: np.ndarray
    take: np.ndarray
    skip_first: np.ndarray
    skip_to: np.ndarray
    skip: np.ndarray
    start_first: np.ndarray
    start: np.ndarray
    after_first: np.ndarray
    after: np.ndarray
    final_first: np.ndarray
    final: np.ndarray
    room: int
    most_hits: int
    is_between: bool


class RowBits(NamedTuple):
    """What the rows decide.

    - `holds: bool[n, f]`: which formulas each row satisfies;
    - `is_first: int8[n]`: not 0 for the first row of a partition (1: the very first one, 2: earlier rows are missing);
    - `may_start: bool[n]`: whether a match may start there;
    - `oldest: int64[n]`: no row before it has a bound that contains the row.
    """

    holds: np.ndarray
    is_first: np.ndarray
    may_start: np.ndarray
    oldest: np.ndarray


@dataclass(frozen=True, kw_only=True)
class NfaStates:
    """The states of an Nfa, numbered, with their tables.

    `states[w]` is (the wait at which its way began, its current wait); `formulas` are what rows decide; `ends` are the
    different ends of the pattern; `targets[q]` is what follows position q, most preferred first. Two more lists of
    targets follow: before the first row of a match, and before a first row that is the first of its partition.
    """

    labels: tuple[str, ...]
    states: tuple[tuple[Wait, Wait], ...]
    formulas: tuple[Formula, ...]
    ends: tuple[Final, ...]
    targets: tuple[tuple[Target, ...], ...]
    tables: NfaTables


@lru_cache(maxsize=64)
def states_of(nfa: Nfa, *, is_between: bool = False) -> NfaStates:
    """The states of an Nfa, numbered."""
    lists = (*nfa.after, nfa.start, nfa.partition_start)
    number: dict[tuple[Wait, Wait], int] = {}
    todo = [(t, t) for targets in lists for t in targets if isinstance(t, Wait)]
    edges: dict[tuple[Wait, Wait], list[tuple[Formula, tuple[Wait, Wait]]]] = {}
    while todo:
        state = todo.pop(0)
        if state not in number:
            number[state] = len(number)
            edges[state] = [(formula, (state[0], left)) for formula, left in skips(state[1])]
            todo += [to for _, to in edges[state]]
    ends = nfa.ends
    skip_lists = [[number[to] for _, to in edges[state]] for state in number]
    after = [_waits(targets, number) for targets in nfa.after]
    final = [[ends.index(t) for t in targets if isinstance(t, Final)] for targets in nfa.after]
    position = [state[1].position for state in number]
    formulas: dict[Formula, int] = {}
    take = [formulas.setdefault(takes(state[1]), len(formulas)) for state in number]
    skip = [formulas.setdefault(formula, len(formulas)) for state in number for formula, _ in edges[state]]
    tables = NfaTables(
        np.array(position, np.int32),
        np.array(take, np.int32),
        *_csr(skip_lists),
        np.array(skip, np.int32),
        *_csr([_waits(nfa.start, number), _waits(nfa.partition_start, number)]),
        *_csr(after),
        *_csr(final),
        room=3 * len(number) + sum(map(len, skip_lists)) + sum(len(after[q]) for q in position),
        most_hits=sum(len(final[q]) for q in position) + 2 * len(number),
        is_between=is_between,
    )
    return NfaStates(
        labels=nfa.labels, states=tuple(number), formulas=tuple(formulas), ends=ends, targets=lists, tables=tables
    )


def _waits(targets: tuple[Target, ...], number: dict[tuple[Wait, Wait], int]) -> list[int]:
    return [number[t, t] for t in targets if isinstance(t, Wait)]


def _csr(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.cumsum([0, *map(len, lists)], dtype=np.int32), np.array([x for xs in lists for x in xs], np.int32)


def row_bits(states: NfaStates, truth: np.ndarray, rows: Rows, is_first: np.ndarray | None = None) -> RowBits:
    """What the rows decide. `truth: bool[l, n]`: which rows satisfy each label; `is_first: bool[p]` (None: everywhere):
    whether the first row of a partition is its very first one."""
    n = truth.shape[1]
    holds = np.zeros((n, len(states.formulas)), np.bool_)
    for i, formula in enumerate(states.formulas):
        holds[:, i] = evaluate(formula, truth)
    starts = np.repeat(rows.bounds[:-1], np.diff(rows.bounds))
    limits, row = bound_ends(rows), np.arange(n)
    oldest = np.maximum(np.searchsorted(limits, row, side="right"), starts)
    begins = np.zeros(n, np.int8)
    begins[rows.bounds[:-1]] = 1 if is_first is None else np.where(is_first, 1, 2)
    return RowBits(holds, begins, limits > row, oldest)


def start_ranges(
    states: NfaStates, truth: np.ndarray, rows: Rows, bits: RowBits
) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each end `(low, high): int64[n]`: a match may end with row i and this end if it starts at rows low to high.

    Both rows are inclusive.

    With BETWEEN ROWS the start does not determine the bound: every start is in the range or none is.
    """
    n, limits, ranges = truth.shape[1], bound_ends(rows), []
    for end in states.ends:
        low, high = horizon(end, truth, rows.bounds)
        if states.tables.is_between:
            may_end = (low <= limits) & (limits <= high)
            ranges.append((np.where(may_end, 0, 1), np.where(may_end, np.arange(n), 0)))
        elif not end.is_pending:
            ranges.append((bits.oldest, np.where(high < 0, -1, n)))
        else:
            first = np.maximum(np.searchsorted(limits, low, side="left"), bits.oldest)
            ranges.append((first, np.searchsorted(limits, high, side="right") - 1))
    return ranges
