"""Partitions that are matched in parts: the tasks that permit it, and the rows of a part (`cuts` finds the boundaries).

Spark's driver loads this module, so it imports no Numba.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sqlext.expressions.scalar_tree import Read, ScalarCall
from sqlext.pattern.conditions.condition_reads import reads_number
from sqlext.pattern.program.position_automaton import (
    DONE,
    MAX_SET_POSITIONS,
    count_positions,
    position_automaton,
    targets_from,
)
from sqlext.pattern.program.program import MatchEnd, MatchStart
from sqlext.pattern.task.task import Condition, MachineCall, MatchTask, Navigation, Operand, Rows, Spans, Task


def refusal(task: Task) -> str | None:
    """The reason why the matches of a partition cannot be found in parts, as a sentence; None if they can.

    >>> from sqlext.pattern.program.program import Done, MatchLabel, Program
    >>> program = Program((MatchStart(), MatchLabel(0), Done()), ("A",))
    >>> refusal(MatchTask(program=program, bits=(0,), conditions=(None,)))
    'PATTERN tests for the first or the last row of the partition.'
    """
    if not isinstance(task, MatchTask):
        return "the rows of a match need not be neighbours, or AFTER MATCH is NO SKIP."
    positions = count_positions(task.program)
    if positions > MAX_SET_POSITIONS:
        return f"PATTERN has {positions:,} positions, over {MAX_SET_POSITIONS}."
    if any(isinstance(x, (MatchStart, MatchEnd)) for x in task.program.instructions):
        return "PATTERN tests for the first or the last row of the partition."
    for name, condition in zip(task.program.labels, task.conditions):
        reads = _reads_outside(condition)
        if reads:
            return f"the condition of {name} reads {reads}."
    if may_fail(task):
        return "AFTER MATCH SKIP may fail, and its error counts matches from the partition's first row."
    return None


def _reads_outside(condition: Condition | None) -> str:
    """Name what a run-dependent condition reads outside the rows of its match, or return ""."""
    if isinstance(condition, (MachineCall, ScalarCall)):
        return next(filter(None, map(_reads_outside, condition.arguments)), "")
    if not isinstance(condition, (Operand, Read)):
        return ""
    if reads_number(condition):
        return "MATCH_NUMBER()"
    steps = isinstance(condition.source, Navigation) and condition.source.step
    return "PREV or NEXT of a row of the match" if steps else ""


def may_fail(task: Task) -> bool:
    """True if a match may have no row to which SKIP TO can go, or only its first row."""
    if not task.skip.mode.has_target or task.skip.else_next_row:
        return False
    tables = position_automaton(task.program, task.bits)
    is_target = np.isin(tables.label, task.skip.labels)
    ways = (targets_from(tables.graph, 0, at_start=at_start) for at_start in (False, True))
    begins = [p for p in {p for targets in ways for p in targets} if p != DONE]
    if task.skip.mode.to_first and is_target[begins].any():
        return True
    visited, stack = set(begins), list(begins)
    while stack:
        for q in targets_from(tables.graph, int(tables.graph.instruction[stack.pop()]) + 1, at_start=False):
            if q == DONE:
                return True
            if q not in visited and not is_target[q]:
                visited.add(q)
                stack.append(q)
    return False


def part_of(rows: Rows, lo: int, hi: int) -> Rows:
    """Rows `lo` to `hi` (exclusive; at least one row). The first and the last partition may be cut off.

    >>> part_of(Rows(bounds=np.array([0, 2, 5]), mask=np.zeros((5, 1), np.uint8), limit=np.array([2, 2, 4, 5, 5])), 1,
    ...     4)  # doctest: +NORMALIZE_WHITESPACE
    Rows(bounds=array([0, 1, 3]), mask=array([[0],
           [0],
           [0]], dtype=uint8), limit=array([1, 3, 3]), columns=(), classifiers=None, key=None, end=None, errors=None,
         failed=())
    """
    inner = rows.bounds[(rows.bounds > lo) & (rows.bounds < hi)]
    return Rows(
        bounds=np.array([lo, *inner, hi]) - lo,
        mask=rows.mask[lo:hi],
        limit=None if rows.limit is None else np.minimum(rows.limit[lo:hi], hi) - lo,
        columns=tuple(column.take(slice(lo, hi)) for column in rows.columns),
        classifiers=rows.classifiers,
    )


def moved(spans: Spans, by: int) -> Spans:
    """The matches of a part as matches of the whole rows, where `by` rows precede the part."""
    failure = spans.failure and replace(spans.failure, start=spans.failure.start + by)
    return replace(spans, start=spans.start + by, unmatched=spans.unmatched + by, failure=failure)
