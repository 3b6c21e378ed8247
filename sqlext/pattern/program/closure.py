"""Closures followed inside kernels, on the instructions: lists of the targets of all positions could be quadratic.

`pull_back` carries values against the direction of the program, to the instructions that reach them; `begin` and
`next_target` go forward in order of preference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlext.pattern.program.jit import compiled, inlined
from sqlext.pattern.program.position_automaton import BRANCHES, DEAD, DONE, IS_DONE, STARTS, TAKES_ROW, Graph


class ClosureSearch(NamedTuple):
    """The state of a forward search: `stack[:top]` is still to be visited, `visited[i] == round` marks instruction i.

    - `stack: int32[2 x]`, `visited: int64[x]`;
    - `progress: int64[2]`: top and round.
    """

    stack: np.ndarray
    visited: np.ndarray
    progress: np.ndarray


def new_search(graph: Graph) -> ClosureSearch:
    """An empty search for programs of the size of `graph`."""
    x = len(graph.kind)
    return ClosureSearch(np.zeros(2 * x + 1, np.int32), np.zeros(x, np.int64), np.zeros(2, np.int64))


@inlined
def begin(search, instruction):
    """Start a search at an instruction."""
    search.stack[0] = instruction
    search.progress[0] = 1
    search.progress[1] += 1


@inlined
def next_target(graph, search, at_start):
    """The next target in order of preference, or DEAD; not for use after the partition's last row."""
    stack, visited = search.stack, search.visited
    top, now = search.progress[0], search.progress[1]
    target = DEAD
    while top > 0 and target == DEAD:
        top -= 1
        i = stack[top]
        if visited[i] == now:
            continue
        visited[i] = now
        kind = graph.kind[i]
        if kind == TAKES_ROW:
            target = graph.position[i]
        elif kind == IS_DONE:
            target = DONE
        elif kind == BRANCHES:
            stack[top], stack[top + 1] = graph.second[i], graph.first[i]
            top += 2
        elif kind == STARTS and at_start:
            stack[top] = i + 1
            top += 1
    search.progress[0] = top
    return target


@compiled
def write_targets(graph, search, instruction, at_start, targets):
    """Write the targets that `position_automaton.targets_from` returns, and return how many there are."""
    begin(search, instruction)
    count = 0
    while True:
        target = next_target(graph, search, at_start)
        if target == DEAD:
            return count
        targets[count] = target
        count += 1
        if target == DONE:
            return count


@inlined
def pull_back(graph, value, worst):
    """Make `value[i]` the least value that the closure of instruction i reaches, at a row inside the partition.

    The caller sets `value` of DONE and of the instructions that take a row. `worst` is larger than any of them; `^` and
    `$` have this value already. Graph.sweeps is the number of passes that this takes.
    """
    if graph.sweeps > 1:
        for i in graph.branches:
            value[i] = worst
    for _ in range(graph.sweeps):
        for i in graph.branches:
            value[i] = min(value[graph.first[i]], value[graph.second[i]])
