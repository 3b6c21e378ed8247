"""A program as tables, which the compiled matchers read instead of instructions.

A *position* is a MatchLabel instruction; positions are numbered 0, 1, … in program order. After the row taken at a
position, the program passes instructions that take no row (the *closure*) and reaches further positions, its *targets*,
or the end of the pattern (DONE).

Whether `^` and `$` hold depends on the boundary between two rows. In the middle of a partition neither holds. `^` holds
only before the first row, where only a search that starts there can be. `$` holds after the last row, and all that
matters there is whether DONE is reached.

Spark's driver loads this module, so it imports no Numba; `closure` follows closures inside kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sqlext.pattern.program.program import (
    Done,
    Jump,
    MatchEnd,
    MatchLabel,
    MatchStart,
    Program,
    Split,
    reaches_done,
    successors,
)

MAX_SET_POSITIONS = 64  # a set of positions is the bits of one integer
MAX_LISTED_POSITIONS, MAX_LISTED_TARGETS = 4096, 1 << 20
DONE, DEAD = -1, -2  # as targets: the end of the pattern; no further target
TAKES_ROW, STARTS, ENDS, BRANCHES, IS_DONE = 0, 1, 2, 3, 4  # Graph.kind

_KINDS = {MatchLabel: TAKES_ROW, MatchStart: STARTS, MatchEnd: ENDS, Jump: BRANCHES, Split: BRANCHES, Done: IS_DONE}


class Graph(NamedTuple):
    """The instructions as arrays: x is the number of instructions, m the number of positions.

    - `kind: int8[x]`; `first, second: int32[x]`: targets of BRANCHES (both targets of a jump are equal);
    - `position: int32[x]`: the position of an instruction of kind TAKES_ROW, otherwise -1;
      `instruction: int32[m]`: its inverse;
    - `bit: int64[m]`: the mask bit that a row must have to be taken at the position, -1 if it needs none;
    - `accepts_at_end: bool[m]`: DONE is reached after the partition's last row;
    - `branches: int32[·]`: the instructions of kind BRANCHES, last first;
    - `sweeps`: how many passes over `branches` it takes to pull a value back through all closures. One is enough where
      every backward target takes a row; otherwise it takes two, because in a structured program a path that visits no
      instruction twice goes backward at most once.
    """

    kind: np.ndarray
    first: np.ndarray
    second: np.ndarray
    position: np.ndarray
    instruction: np.ndarray
    bit: np.ndarray
    accepts_at_end: np.ndarray
    branches: np.ndarray
    sweeps: int


@dataclass(frozen=True, kw_only=True)
class PositionAutomaton:
    """A program with its tables; `label: int16[m]` and `is_hidden: bool[m]` describe each position."""

    program: Program
    label: np.ndarray
    is_hidden: np.ndarray
    graph: Graph

    @property
    def size(self) -> int:
        """The number of positions, m."""
        return len(self.label)


def count_positions(program: Program) -> int:
    """The number of MatchLabel instructions."""
    return sum(isinstance(x, MatchLabel) for x in program.instructions)


@lru_cache(maxsize=16)
def position_automaton(program: Program, bits: tuple[int | None, ...]) -> PositionAutomaton:
    """The tables of a program whose label l needs mask bit `bits[l]` (None: none), in time linear in the program.

    >>> program = Program((Split(1, 3), MatchLabel(0), Split(1, 3), Done()), ("A",))
    >>> position_automaton(program, (0,)).graph.instruction.tolist()
    [1]
    """
    taking = [(i, x) for i, x in enumerate(program.instructions) if isinstance(x, MatchLabel)]
    needed_bits = [bits[x.label] for _, x in taking]
    return PositionAutomaton(
        program=program,
        label=np.array([x.label for _, x in taking], np.int16),
        is_hidden=np.array([x.is_hidden for _, x in taking], np.bool_),
        graph=_graph(program, [i for i, _ in taking], [-1 if bit is None else bit for bit in needed_bits]),
    )


def _graph(program: Program, taking: list[int], bit: list[int]) -> Graph:
    instructions = program.instructions
    branches = {i: successors(x, i) for i, x in enumerate(instructions) if isinstance(x, (Split, Jump))}
    instruction = np.array(taking, np.int32)
    position = np.full(len(instructions), -1, np.int32)
    position[instruction] = np.arange(len(instruction))
    goes_back = any(t <= i and position[t] < 0 for i, targets in branches.items() for t in targets)
    accepts = reaches_done(instructions, blocking=(MatchLabel, MatchStart))
    return Graph(
        kind=np.array([_KINDS[type(x)] for x in instructions], np.int8),
        first=np.array([branches.get(i, (i,))[0] for i in range(len(instructions))], np.int32),
        second=np.array([branches.get(i, (i,))[-1] for i in range(len(instructions))], np.int32),
        position=position,
        instruction=instruction,
        bit=np.array(bit, np.int64),
        accepts_at_end=np.array([accepts[i + 1] for i in taking], np.bool_),
        branches=np.array(list(branches)[::-1], np.int32),
        sweeps=2 if goes_back else 1,
    )


def targets_after(graph: Graph) -> list[list[int]]:
    """For each position its targets after it has taken a row, as `targets_from` lists them."""
    return [targets_from(graph, int(i) + 1, at_start=False) for i in graph.instruction]


def targets_from(graph: Graph, instruction: int, *, at_start: bool) -> list[int]:
    """The targets of the closure that begins at `instruction`, most preferred first, at a row of the partition.

    `at_start`: that row is the partition's first one. The list ends with DONE where it is reached, because everything
    after it is less preferred.

    >>> program = Program((Split(1, 3), MatchLabel(0), Split(1, 3), Done()), ("A",))
    >>> targets_from(position_automaton(program, (0,)).graph, 0, at_start=True)
    [0, -1]
    """
    kinds, first, second, position = graph.kind.data, graph.first.data, graph.second.data, graph.position.data
    targets: list[int] = []
    visited: set[int] = set()
    stack = [instruction]
    while stack:
        i = stack.pop()
        if i in visited:
            continue
        visited.add(i)
        kind = kinds[i]
        if kind == TAKES_ROW:
            targets.append(position[i])
        elif kind == BRANCHES:
            stack += [second[i], first[i]]
        elif kind == STARTS and at_start:
            stack.append(i + 1)
        elif kind == IS_DONE:
            targets.append(DONE)
            break
    return targets


def has_more_targets(graph: Graph, most: int) -> bool:
    """Return True if all positions together have more than `most` targets. It takes time linear in `most`."""
    total = 0
    for i in graph.instruction.tolist():
        total += len(targets_from(graph, i + 1, at_start=False))
        if total > most:
            return True
    return False


@lru_cache(maxsize=16)
def listed_targets(program: Program, bits: tuple[int | None, ...]) -> list[list[int]] | None:
    """The targets after each position, then the targets of a search, then the targets of a search from the partition's
    first row; None if there are too many positions or targets to list.

    >>> listed_targets(Program((MatchLabel(0), Split(0, 2), Done()), ("A",)), (0,))
    [[0, -1], [0], [0]]
    """
    tables = position_automaton(program, bits)
    if tables.size > MAX_LISTED_POSITIONS:
        return None
    beginnings = [*((int(i) + 1, False) for i in tables.graph.instruction), (0, False), (0, True)]
    lists, total = [], 0
    for instruction, at_start in beginnings:
        lists.append(targets_from(tables.graph, instruction, at_start=at_start))
        total += len(lists[-1])
        if total > MAX_LISTED_TARGETS:
            return None
    return lists
