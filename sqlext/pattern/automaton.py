"""A program as tables: what the compiled matchers read instead of instructions.

A *position* is a MatchLabel instruction; positions are numbered 0, 1, … in program order. Behind the row taken at a
position the program goes on over instructions that take no row (the *closure*) to the next positions, its *targets*,
or to the end of the pattern (DONE). At a *boundary* in the middle of a partition neither `^` nor `$` holds; `^` holds
only before the first row, which only a search that starts there meets; behind the last row `$` holds, and all that
matters there is whether DONE is reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sqlext.pattern.program import Done, Jump, MatchEnd, MatchLabel, MatchStart, Program, Split

DONE, DEAD = -1, -2  # as targets: the end of the pattern, no way on
TAKES_ROW, STARTS, ENDS, BRANCHES, IS_DONE = 0, 1, 2, 3, 4  # Graph.kind

_KINDS = {MatchLabel: TAKES_ROW, MatchStart: STARTS, MatchEnd: ENDS, Jump: BRANCHES, Split: BRANCHES, Done: IS_DONE}


class Graph(NamedTuple):
    """The instructions as arrays, x = number of instructions, m = number of positions.

    - `kind: int8[x]`; `first, second: int32[x]`: targets of BRANCHES (a jump has two equal ones);
    - `position: int32[x]`: of TAKES_ROW, else -1; `instruction: int32[m]`: its inverse;
    - `bit: int64[m]`: the mask bit that a row needs to be taken at the position, -1 for none;
    - `accepts_at_end: bool[m]`: DONE is reached behind the partition's last row;
    - `branches: int32[·]`: the instructions of kind BRANCHES, last first;
    - `sweeps`: how often one must go through `branches` to pull a value back through all of the closures. Once where
      backward targets take a row; else twice: in a structured program a path that visits no instruction twice goes
      backward at most once.
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


@dataclass(frozen=True)
class Automaton:
    """`label: int16[m]`, `is_hidden: bool[m]`: of each position."""

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
def automaton(program: Program, bits: tuple[int | None, ...]) -> Automaton:
    """The tables of a program whose label l needs mask bit `bits[l]` (None: none), in time linear in the program.

    >>> program = Program((Split(1, 3), MatchLabel(0), Split(1, 3), Done()), ("A",))
    >>> automaton(program, (0,)).graph.instruction.tolist()
    [1]
    """
    taking = [(i, x) for i, x in enumerate(program.instructions) if isinstance(x, MatchLabel)]
    needs = [bits[x.label] for _, x in taking]
    graph = _graph(program, [i for i, _ in taking], [-1 if bit is None else bit for bit in needs])
    labels = np.array([x.label for _, x in taking], np.int16)
    return Automaton(program, labels, np.array([x.is_hidden for _, x in taking], np.bool_), graph)


def _graph(program: Program, taking: list[int], bit: list[int]) -> Graph:
    instructions = program.instructions
    targets = [_targets(x, i) if isinstance(x, (Split, Jump)) else (i, i) for i, x in enumerate(instructions)]
    instruction = np.array(taking, np.int32)
    position = np.full(len(instructions), -1, np.int32)
    position[instruction] = np.arange(len(instruction))
    branches = [i for i, x in enumerate(instructions) if isinstance(x, (Split, Jump))]
    goes_back = any(t <= i and position[t] < 0 for i in branches for t in targets[i])
    accepts = _accepts_at_end(program)
    return Graph(
        kind=np.array([_KINDS[type(x)] for x in instructions], np.int8),
        first=np.array([first for first, _ in targets], np.int32),
        second=np.array([second for _, second in targets], np.int32),
        position=position,
        instruction=instruction,
        bit=np.array(bit, np.int64),
        accepts_at_end=np.array([accepts[i + 1] for i in taking], np.bool_),
        branches=np.array(branches[::-1], np.int32),
        sweeps=2 if goes_back else 1,
    )


def _targets(instruction: Split | Jump, i: int) -> tuple[int, int]:
    if isinstance(instruction, Split):
        return instruction.first, instruction.second
    return instruction.target, instruction.target


def _accepts_at_end(program: Program) -> list[bool]:
    """For each instruction: is DONE reached from it behind the last row, where `$` holds?"""
    sources: list[list[int]] = [[] for _ in program.instructions]
    for i, x in enumerate(program.instructions):
        for target in _targets(x, i) if isinstance(x, (Split, Jump)) else (i + 1,) if isinstance(x, MatchEnd) else ():
            sources[target].append(i)
    accepts = [False] * len(sources)
    stack = [len(sources) - 1]
    while stack:
        i = stack.pop()
        if not accepts[i]:
            accepts[i] = True
            stack.extend(sources[i])
    return accepts


def targets_behind(graph: Graph) -> list[list[int]]:
    """For each position the targets once it has taken its row, as `targets_from`."""
    return [targets_from(graph, int(i) + 1, at_start=False) for i in graph.instruction]


def targets_from(graph: Graph, instruction: int, at_start: bool) -> list[int]:
    """The targets of a closure that begins at `instruction`, most preferred first, not behind the last row.

    `at_start`: before the first row of the partition. Behind DONE nothing is preferred less, the list ends there.

    >>> program = Program((Split(1, 3), MatchLabel(0), Split(1, 3), Done()), ("A",))
    >>> targets_from(automaton(program, (0,)).graph, 0, at_start=True)
    [0, -1]
    """
    found: list[int] = []
    met: set[int] = set()
    stack = [instruction]
    while stack:
        i = stack.pop()
        if i in met:
            continue
        met.add(i)
        kind = graph.kind[i]
        if kind == TAKES_ROW:
            found.append(int(graph.position[i]))
        elif kind == BRANCHES:
            stack += [int(graph.second[i]), int(graph.first[i])]
        elif kind == STARTS and at_start:
            stack.append(i + 1)
        elif kind == IS_DONE:
            found.append(DONE)
            break
    return found
