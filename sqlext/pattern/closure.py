"""Closures of big programs, followed on the instructions themselves (a list of targets a position would be quadratic).

`pull_back` carries values against the direction of the program, to the instructions that reach them; `begin` and
`next_target` go forward in order of preference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlext.pattern.automaton import BRANCHES, DEAD, DONE, IS_DONE, STARTS, TAKES_ROW, Graph
from sqlext.pattern.jit import inlined


class Search(NamedTuple):
    """Where a forward search stands: `stack[:top]` is still to be met, `met[i] == round` where i has been met.

    - `stack: int32[2 x]`, `met: int64[x]`;
    - `place: int64[2]`: top and round.
    """

    stack: np.ndarray
    met: np.ndarray
    place: np.ndarray


def new_search(graph: Graph) -> Search:
    """For programs of the size of `graph`."""
    x = len(graph.kind)
    return Search(np.zeros(2 * x + 1, np.int32), np.zeros(x, np.int64), np.zeros(2, np.int64))


@inlined
def begin(search, instruction):
    """Start at an instruction."""
    search.stack[0] = instruction
    search.place[0] = 1
    search.place[1] += 1


@inlined
def next_target(graph, search, at_start):
    """The next target in order of preference, or DEAD; not behind the partition's last row."""
    stack, met = search.stack, search.met
    top, now = search.place[0], search.place[1]
    target = DEAD
    while top > 0 and target == DEAD:
        top -= 1
        i = stack[top]
        if met[i] == now:
            continue
        met[i] = now
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
    search.place[0] = top
    return target


@inlined
def pull_back(graph, value, worst):
    """Make `value[i]` the least value that the closure of instruction i reaches, not behind the last row.

    Given: `value` of the instructions that take a row, and of DONE. `worst` is larger than any of them; `^` and `$`
    have it already. See Graph.sweeps.
    """
    if graph.sweeps > 1:
        for i in graph.branches:
            value[i] = worst
    for _ in range(graph.sweeps):
        for i in graph.branches:
            value[i] = min(value[graph.first[i]], value[graph.second[i]])
