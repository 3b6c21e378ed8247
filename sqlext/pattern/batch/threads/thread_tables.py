"""From a task to the tables of the kernel: what follows each position, and which states of the search are equal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sqlext.errors import UnsupportedError
from sqlext.pattern.automaton import (
    BRANCHES,
    DONE,
    IS_DONE,
    STARTS,
    TAKES_ROW,
    Automaton,
    Graph,
    automaton,
    targets_from,
)
from sqlext.pattern.batch.threads.condition_code import KEY_LIMIT, KEY_NEVER, Code, KeyPart, assemble
from sqlext.pattern.batch.threads.thread_kernel import Tables
from sqlext.pattern.jit import allocating, compiled
from sqlext.pattern.program import Done, Instruction, Jump, MatchLabel, Split
from sqlext.pattern.task import MatchTask

MAX_FOLLOWERS = 1 << 25  # entries of the follow lists, 4 bytes each
_SMALL = 256  # instructions: Python follows them sooner than Numba has loaded a kernel


@lru_cache(maxsize=64)
def compile_task(task: MatchTask, is_limited: bool) -> tuple[Automaton, Code, Tables]:
    """Everything that does not depend on the rows; `is_limited`: Rows.limit is given.

    Raises UnsupportedError: PATTERN_TOO_LARGE.
    """
    code = assemble(task.conditions)
    positions = automaton(task.program, task.bits)
    graph = positions.graph
    follow_start, follow = _follow(graph)
    seen = _seen_behind(task.program.instructions, code.seen)
    keys = [_key(seen[at + 1], is_limited) for at in graph.instruction]
    tables = Tables(
        follow_start=follow_start,
        follow=follow,
        is_final=graph.accepts_at_end,
        label=positions.label,
        bit=graph.bit,
        code=code.code,
        code_start=code.code_start,
        result=np.array([code.result]),
        push_start=code.push_start,
        push=code.push,
        accumulators=code.accumulators,
        feeds=code.feeds,
        key_start=np.cumsum([0, *map(len, keys)], dtype=np.int64),
        key=np.array([part for key in keys for part in key], np.int32).reshape(-1, 4),
    )
    return positions, code, tables


def _follow(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """`follow_start` and `follow` of Tables."""
    find = _targets_in_small if len(graph.kind) <= _SMALL else _targets_in_large
    lists: list[np.ndarray] = []
    total = 0
    for begin, at_start in [*((int(at) + 1, False) for at in graph.instruction), (0, False), (0, True)]:
        lists.append(find(graph, begin, at_start))
        total += len(lists[-1])
        if total > MAX_FOLLOWERS:
            raise UnsupportedError(
                "PATTERN_TOO_LARGE",
                "PATTERN has too many ways from one row to the next",
                hint="bound quantifiers lower, or write a loop instead of many optional elements.",
            )
    return np.cumsum([0, *map(len, lists)], dtype=np.int64), np.concatenate(lists)


def _targets_in_small(graph: Graph, begin: int, at_start: bool) -> np.ndarray:
    return np.array(targets_from(graph, begin, at_start), np.int32)


def _targets_in_large(graph: Graph, begin: int, at_start: bool) -> np.ndarray:
    targets = np.empty(len(graph.instruction) + 1, np.int32)
    count = _write_targets(graph.kind, graph.first, graph.second, graph.position, begin, at_start, targets)
    return targets[:count].copy()


@allocating
def _write_targets(kind, first, second, position, begin, at_start, targets):
    """`automaton.targets_from` for large programs; the number of targets written."""
    seen = np.zeros(kind.size, np.bool_)
    stack = np.empty(kind.size + 1, np.int64)
    stack[0] = begin
    top, count = 1, 0
    while top > 0:
        top -= 1
        at = stack[top]
        if seen[at]:
            continue
        seen[at] = True
        if kind[at] == TAKES_ROW:
            targets[count] = position[at]
            count += 1
        elif kind[at] == IS_DONE:
            targets[count] = DONE
            return count + 1
        elif kind[at] == BRANCHES:
            stack[top], stack[top + 1] = second[at], first[at]
            top += 2
        elif kind[at] == STARTS and at_start:
            stack[top] = at + 1
            top += 1
    return count


def _seen_behind(instructions: Sequence[Instruction], seen: Sequence[frozenset[KeyPart]]) -> list[frozenset[KeyPart]]:
    """For each instruction what the conditions that may be tested from it on can see of the path so far.

    `seen[l]` is that of label l. Backward to a fixed point; sets are bits of one integer.
    """
    parts = sorted(frozenset().union(*seen))
    bit = {part: 1 << k for k, part in enumerate(parts)}
    own = [sum(bit[part] for part in by_label) for by_label in seen]
    needs = [0] * len(instructions)
    changed = True
    while changed:
        changed = False
        for at in range(len(instructions) - 1, -1, -1):
            need = _need(instructions[at], at, own, needs)
            changed |= need != needs[at]
            needs[at] = need
    sets = {need: frozenset(part for part in parts if need & bit[part]) for need in set(needs)}
    return [sets[need] for need in needs]


def _need(instruction: Instruction, at: int, own: list[int], needs: list[int]) -> int:
    if isinstance(instruction, MatchLabel):
        return own[instruction.label] | needs[at + 1]
    if isinstance(instruction, Split):
        return needs[instruction.first] | needs[instruction.second]
    if isinstance(instruction, Jump):
        return needs[instruction.target]
    return 0 if isinstance(instruction, Done) else needs[at + 1]


def _key(parts: frozenset[KeyPart], is_limited: bool) -> list[KeyPart]:
    never = (KEY_NEVER, 0, 0, 0)
    if never in parts:
        return [never]
    return sorted(parts) + ([(KEY_LIMIT, 0, 0, 0)] if is_limited else [])


@compiled
def find_reach(bounds, mask, follow_start, follow, is_final, bit, ends, reach):
    """Write for each row where the shortest match that starts there ends (exclusive); past all rows if there is none.

    As far as the masks tell: conditions on the match so far are assumed to hold. `ends: int64[2, p]`: room.
    """
    size, never = bit.size, len(mask) + 1
    for partition in range(bounds.size - 1):
        lo, hi = bounds[partition], bounds[partition + 1]
        for row in range(hi - 1, lo - 1, -1):
            here, behind = ends[row & 1], ends[1 - (row & 1)]
            for p in range(size):
                here[p] = never
                if bit[p] >= 0 and not (mask[row, bit[p] >> 3] >> (bit[p] & 7)) & 1:
                    continue
                if row == hi - 1:
                    here[p] = hi if is_final[p] else never
                    continue
                for k in range(follow_start[p], follow_start[p + 1]):
                    here[p] = min(here[p], row + 1 if follow[k] == DONE else behind[follow[k]])
            reach[row] = never
            start = size + (row == lo)
            for k in range(follow_start[start], follow_start[start + 1]):
                reach[row] = min(reach[row], row if follow[k] == DONE else here[follow[k]])
