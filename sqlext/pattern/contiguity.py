"""Runs tasks whose pattern skips rows, or whose AFTER MATCH is NO SKIP (strategy `nfa`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sqlext.pattern import matcher, reference
from sqlext.pattern.contiguity_plain import plain_task, satisfier, without_gaps
from sqlext.pattern.contiguity_program import plain_program
from sqlext.pattern.task import MatchTask, Rows, Spans


def find(task: MatchTask, rows: Rows) -> Iterator[Spans]:
    """All matches of all partitions, in blocks; after a failure nothing more.

    Raises DataError: STEP_BUDGET, and what conditions raise.
    """
    assert task.nfa is not None
    plain = plain_program(task.nfa)
    made, made_rows, is_complete = plain_task(task, rows)
    if is_complete:
        found = matcher.match(made, made_rows)
    else:
        found = reference.find(made, made_rows, satisfier(task, rows, plain))
    blocks = (block for spans in found for block in without_gaps(spans, plain))
    yield from _with_unmatched(blocks, len(rows.mask)) if task.output.shows_unmatched else blocks


def _with_unmatched(blocks: Iterator[Spans], n: int) -> Iterator[Spans]:
    """The rows that no match maps or begins at, behind the last match: skipped rows are among them."""
    is_matched, failure = np.zeros(n, np.bool_), None
    for block in blocks:
        is_matched[block.start] = True
        is_matched[block.row] = True
        failure = block.failure
        yield block
    if failure is None and not is_matched.all():
        nothing = np.zeros(0, np.int64)
        yield Spans(
            nothing, nothing, np.zeros(1, np.int64), np.zeros(0, np.int16), None, np.flatnonzero(~is_matched), row=nothing
        )
