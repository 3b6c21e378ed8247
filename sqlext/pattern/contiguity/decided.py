"""Streams of patterns that skip rows: the plain program with gaps, decided as any other program is (`streams.decided`).

A skipped row is a row that the path takes, so a path that waits is alive behind the last row that passed, and what
may still be preferred is not given out. What looks behind the match's last row is not known in a stream and refused.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sqlext.pattern.contiguity.nfa import Final
from sqlext.pattern.contiguity.plain import outline, plain_task, without_gaps
from sqlext.pattern.contiguity.plain_program import GAP, PlainProgram, Variant, plain_program
from sqlext.pattern.streams.decided import Decided, Passed, Place
from sqlext.pattern.streams.decided import decide as decide_plain
from sqlext.pattern.task import NO_SKIP, MatchTask, Rows


def objection(task: MatchTask) -> str | None:
    """What of a task no stream can answer yet, None if all can be; `task.nfa` is given.

    >>> from sqlext.pattern.program import Done, MatchLabel, Program
    >>> from sqlext.pattern.task import Skip
    >>> objection(MatchTask(Program((MatchLabel(0), Done()), ("A",)), (0,), (None,), Skip(NO_SKIP)))
    'AFTER MATCH NO SKIP'
    """
    if task.skip.mode == NO_SKIP:
        return "AFTER MATCH NO SKIP"
    if task.output.shows_timeouts:
        return "SHOW TIMEOUT MATCHES"
    if task.is_between:
        return "WITHIN … BETWEEN ROWS"
    if task.output.shows_unmatched:
        return "WITH UNMATCHED ROWS over skipped rows"
    assert task.nfa is not None
    if any(isinstance(t, Final) and t.is_pending for targets in task.nfa.after for t in targets):
        return "an absence at the end of a pattern"
    if outline(task) is None:
        return "an aggregate or FIRST(…, n) in a condition that skipped rows are tested with"
    return None


def lasting_task(task: MatchTask) -> MatchTask:
    """The plain program for `can_be_decided`: a gap that nothing but its own variable ends takes every row."""
    assert task.nfa is not None
    plain = plain_program(task.nfa)
    bits = tuple(None if _lasts(v) or task_bit(task, v) is None else i for i, v in enumerate(plain.variants))
    return MatchTask(plain.program, bits, (None,) * len(bits), task.skip, is_within=task.is_within)


def _lasts(variant: Variant) -> bool:
    return variant.origin == GAP and len(variant.formula) <= 1


def task_bit(task: MatchTask, variant: Variant) -> int | None:
    """None for a variant of a variable without any condition."""
    label = variant.origin
    if label == GAP or len(variant.formula) > 1 or task.conditions[label] is not None:
        return 0
    return task.bits[label]


def decide(task: MatchTask, rows: Rows, passed: Passed, place: Place, tells_times: bool = True) -> Decided:
    """As `streams.decided.decide`, for a task with `nfa` to which there is no objection."""
    assert task.nfa is not None
    plain = plain_program(task.nfa)
    made, made_rows, _ = plain_task(task, rows)
    if task.strategy == "reference":
        made = replace(made, strategy="reference")
    if passed.need is not None:
        passed = replace(passed, need=_needed(plain, passed.need))
    found = decide_plain(made, made_rows, passed, place, tells_times)
    (spans,) = without_gaps(found.spans, plain)
    return replace(found, spans=spans)


def _needed(plain: PlainProgram, need: np.ndarray) -> np.ndarray:
    """Passed.need of the variants: all labels of a formula are read."""
    rows = [need[sorted({label for clause in v.formula for label, _ in clause})] for v in plain.variants]
    own = np.arange(need.shape[1])
    needed = [np.max(np.vstack([row, own]), axis=0) for row in rows]
    return np.array(needed, np.int64).reshape(len(rows), len(own))
