"""Partitions that are matched in parts: whether they may be, and what a part is (where one ends: `cuts`)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sqlext.pattern.automaton import DONE, automaton, count_positions, targets_from
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.program import MatchEnd, MatchStart
from sqlext.pattern.task import (
    MATCH_NUMBER,
    SKIP_PAST_LAST_ROW,
    SKIP_TO_FIRST,
    SKIP_TO_NEXT_ROW,
    Call,
    Condition,
    Navigation,
    Operand,
    Rows,
    Spans,
    Task,
    Values,
)

MAX_POSITIONS = 64  # bits of one integer


def objection(task: Task) -> str | None:
    """Why the matches of a partition cannot be found in parts, as a sentence; None if they can.

    >>> from sqlext.pattern.program import Done, MatchLabel, Program
    >>> from sqlext.pattern.task import MatchTask
    >>> program = Program((MatchStart(), MatchLabel(0), Done()), ("A",))
    >>> objection(MatchTask(program=program, bits=(0,), conditions=(None,)))
    'PATTERN asks for the first or the last row of the partition.'
    """
    if isinstance(task, CepTask):
        return "the rows of a match need not be neighbours, or every match is asked for."
    positions = count_positions(task.program)
    if positions > MAX_POSITIONS:
        return f"PATTERN has {positions:,} positions, over {MAX_POSITIONS}."
    if any(isinstance(x, (MatchStart, MatchEnd)) for x in task.program.instructions):
        return "PATTERN asks for the first or the last row of the partition."
    for name, condition in zip(task.program.labels, task.conditions):
        reads = _reads_outside(condition)
        if reads:
            return f"the condition of {name} reads {reads}."
    if may_fail(task):
        return "AFTER MATCH SKIP may fail, and then says in which match, counted from the partition's first row."
    return None


def _reads_outside(condition: Condition | None) -> str:
    """What a run-dependent condition reads that the rows of its match do not say."""
    if isinstance(condition, Call):
        return next(filter(None, map(_reads_outside, condition.arguments)), "")
    if not isinstance(condition, Operand) or not isinstance(condition.source, Navigation):
        return ""
    if condition.source.argument == MATCH_NUMBER:
        return "MATCH_NUMBER()"
    return "PREV or NEXT of a row of the match" if condition.source.step else ""


def may_fail(task: Task) -> bool:
    """Is there a way through the pattern for which SKIP TO has no row to go to, or only the first one?"""
    if task.skip.mode in (SKIP_PAST_LAST_ROW, SKIP_TO_NEXT_ROW) or task.skip.else_next_row:
        return False
    tables = automaton(task.program, task.bits)
    is_target = np.isin(tables.label, task.skip.labels)
    ways = (targets_from(tables.graph, 0, at_start) for at_start in (False, True))
    begins = [p for p in {p for targets in ways for p in targets} if p != DONE]
    if task.skip.mode == SKIP_TO_FIRST and is_target[begins].any():
        return True
    met, stack = set(begins), list(begins)
    while stack:
        for q in targets_from(tables.graph, int(tables.graph.instruction[stack.pop()]) + 1, at_start=False):
            if q == DONE:
                return True
            if q not in met and not is_target[q]:
                met.add(q)
                stack.append(q)
    return False


def part_of(rows: Rows, lo: int, hi: int) -> Rows:
    """Rows `lo` to `hi` (exclusive; at least one), whose first and last partition may be parts of longer ones.

    >>> part_of(Rows(np.array([0, 2, 5]), np.zeros((5, 1), np.uint8), limit=np.array([2, 2, 4, 5, 5])), 1, 4)
    Rows(bounds=array([0, 1, 3]), mask=array([[0],
           [0],
           [0]], dtype=uint8), limit=array([1, 3, 3]), columns=(), classifiers=None, key=None, end=None)
    """
    inner = rows.bounds[(rows.bounds > lo) & (rows.bounds < hi)]
    return Rows(
        np.array([lo, *inner, hi]) - lo,
        rows.mask[lo:hi],
        None if rows.limit is None else np.minimum(rows.limit[lo:hi], hi) - lo,
        tuple(Values(c.values[lo:hi], None if c.valid is None else c.valid[lo:hi]) for c in rows.columns),
        rows.classifiers,
    )


def moved(spans: Spans, by: int) -> Spans:
    """Matches in a part of some rows as matches in these rows, of which `by` precede the part."""
    failure = spans.failure and replace(spans.failure, start=spans.failure.start + by)
    return replace(spans, start=spans.start + by, unmatched=spans.unmatched + by, failure=failure)
