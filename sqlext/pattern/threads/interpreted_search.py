"""The strategy for tasks with interpreted conditions: the search of `threads`, in Python.

Conditions that call functions of Spark are not compiled. The search is the same ordered depth-first search: rows from
which the masks lead to no match are not entered, a failed state is not tried again, and a budget of steps bounds it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np

from sqlext.errors import DataError
from sqlext.expressions.effort import of_one_row
from sqlext.pattern.batch.reference import BLOCK_ROWS, Bounds, MappedRows, find_with
from sqlext.pattern.batch.two_pass import live_filter
from sqlext.pattern.conditions.conditions import evaluate
from sqlext.pattern.program.position_automaton import DONE, Graph, position_automaton, targets_from
from sqlext.pattern.task.task import Condition, MatchTask, Rows, Spans
from sqlext.pattern.threads.path_keys import KEY_NEVER, KeyPart, key_parts, seen_after
from sqlext.pattern.threads.walked_path import WalkedPath

FIRST_STEPS = 10_000  # every partition may take these steps
_MOST_STEPS, _STEPS_OF_MANY_ROWS = 5_000_000, 500  # a large partition may take the first, and the second for each row
_UNITS_OF_A_STEP = 20_000  # units of work of functions: a partition may thus use up a second for each of its rows


@dataclass(frozen=True, kw_only=True)
class SearchLimits:
    """Sizes that change how fast matches are returned, but never which: as in `thread_search.KernelLimits`."""

    block_rows: int = BLOCK_ROWS
    memo_keys: int = 1 << 18
    remember_after: int = 16
    steps_per_row: int = 5_000
    is_filtered: bool = True


def find(
    task: MatchTask, rows: Rows, limits: SearchLimits | None = None, begin: tuple[int, int, int] = (0, 1, 0)
) -> Iterator[Spans]:
    """All matches of a task, in blocks; `begin`: as in `reference.find_with`.

    Equal to `reference.find`. Raises DataError: STEP_BUDGET, and the errors of conditions.
    """
    limits = limits or SearchLimits()
    return find_with(_Searcher(task, rows, limits).search, task, rows, limits.block_rows, begin)


class _Searcher:
    """Searches from one row after the other."""

    def __init__(self, task: MatchTask, rows: Rows, limits: SearchLimits):
        self.task, self.rows, self.limits = task, rows, limits
        tables = position_automaton(task.program, task.bits)
        self.graph, self.size = tables.graph, len(tables.graph.instruction)
        self.label, self.is_hidden = tables.label.tolist(), tables.is_hidden.tolist()
        self.is_final = tables.graph.accepts_at_end.tolist()
        self.follow: dict[int, list[int]] = {}
        self.satisfied = [_satisfied(rows, bit) for bit in tables.graph.bit.tolist()]
        live = live_filter(task, rows) if limits.is_filtered else None
        self.live = None if live is None else live.tolist()
        self.path = WalkedPath(task, rows)
        self.keys = self._keys(tables.graph)
        self.memo: set[Hashable] = set()
        self.partition, self.steps = -1, 0

    def search(self, start: int, number: int, bounds: Bounds, limit: int, seen: Bounds) -> MappedRows | None:
        """The mapped rows of the preferred match from row `start`, None without a match: see `reference.Searcher`."""
        if bounds[0] != self.partition:
            self.partition, self.steps = bounds[0], 0
            self.memo.clear()
        elif seen != bounds:
            self.memo.clear()  # what failed in another frame may not fail in this one
        rows = bounds[1] - bounds[0]
        budget = FIRST_STEPS + min(self.limits.steps_per_row * rows, _MOST_STEPS + _STEPS_OF_MANY_ROWS * rows)
        path = self.path
        path.begin(start, number, seen, limit)
        node = self.size + (start == bounds[0])
        nodes, cursors, spent = [node], [0], [self.steps]  # by depth: the place, the next alternative, the steps so far
        while True:
            row = start + len(path.labels)
            if row == bounds[1]:
                position = DONE if node < self.size and self.is_final[node] else None
            else:
                position = self._next(node, cursors, row)
            if position == DONE:
                positions = nodes[1:]
                return [(self.label[p], self.is_hidden[p]) for p in positions]
            if self.steps > budget:
                raise budget_error(self.rows, start, self.steps)
            if position is not None:
                node = position
                nodes.append(node)
                cursors.append(0)
                spent.append(self.steps)
                continue
            if row == start:
                return None
            if self.steps - spent[-1] >= self.limits.remember_after:
                self._remember(node)
            path.give_back()
            nodes.pop(), cursors.pop(), spent.pop()
            node = nodes[-1]

    def _next(self, node: int, cursors: list[int], row: int) -> int | None:
        """Take `row` at the next position where that is possible; return the position, or DONE, or None without one."""
        path, follow = self.path, self._follow(node)
        at = cursors[-1]
        while at < len(follow):
            position = follow[at]
            at += 1
            if position == DONE:
                return DONE
            self.steps += 1
            if row >= path.limit or (self.live is not None and not self.live[row] >> position & 1):
                continue
            satisfied = self.satisfied[position]
            if satisfied is not None and not satisfied[row]:
                continue
            label = self.label[position]
            path.take(label)
            condition = self.task.conditions[label]
            if (condition is None or self._holds(condition)) and not self._has_failed(position):
                cursors[-1] = at
                return position
            path.give_back()
        cursors[-1] = at
        return None

    def _holds(self, condition: Condition) -> bool:
        value, units = of_one_row(evaluate, condition, self.path)
        self.steps += units // _UNITS_OF_A_STEP
        return value is True

    def _follow(self, node: int) -> list[int]:
        """The positions that the search tries at a node, in order; DONE among them is a match."""
        if node not in self.follow:
            begin = int(self.graph.instruction[node]) + 1 if node < self.size else 0
            self.follow[node] = targets_from(self.graph, begin, at_start=node == self.size + 1)
        return self.follow[node]

    # the memo of failed states

    def _has_failed(self, position: int) -> bool:
        parts = self.keys[position]
        return bool(self.memo) and parts is not None and self.path.key(position, parts) in self.memo

    def _remember(self, node: int) -> None:
        parts = self.keys[node]
        if parts is not None:
            if len(self.memo) >= self.limits.memo_keys:
                self.memo.clear()
            self.memo.add(self.path.key(node, parts))

    def _keys(self, graph: Graph) -> list[list[KeyPart] | None]:
        """The parts of the path that conditions after each position can see; None if there are too many."""
        seen = seen_after(self.task.program.instructions, self.path.seen)
        keys = [key_parts(seen[at + 1], is_limited=self.rows.limit is not None) for at in graph.instruction.tolist()]
        return [None if (KEY_NEVER, 0, 0, 0) in parts else parts for parts in keys]


def _satisfied(rows: Rows, bit: int) -> bytes | None:
    """For each row, whether it has the bit; None if there is no bit."""
    return None if bit < 0 else (rows.mask[:, bit // 8] >> (bit % 8) & 1).astype(np.uint8).tobytes()


def budget_error(rows: Rows, row: int, steps: int) -> DataError:
    first = rows.bounds[np.searchsorted(rows.bounds, row, side="right") - 1]
    return DataError(
        "STEP_BUDGET",
        f"the search for a match from row {row - first + 1} of its partition was given up after {steps:,} steps in "
        "this partition: the rows can be mapped in too many ways, or each row can begin a long way that leads to no "
        "match",
        hint="add WITHIN, let the variables exclude each other, or replace conditions on the match so far "
        "(aggregates, FIRST) by conditions on the row, on PREV or on LAST.",
    )
