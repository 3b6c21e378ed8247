"""Runs tasks whose pattern skips rows or speaks of absence, or whose AFTER MATCH is NO SKIP (strategy `nfa`).

| asked for | DEFINE | run by |
|---|---|---|
| the preferred match of each row that is tried | any | a plain program with gaps (`contiguity.plain`) |
| every match (NO SKIP) | row-local | the shared buffer (`every_match`) |
| every match | run-dependent | the search of the oracle, path by path (`contiguity.paths`) |
| partial matches (SHOW TIMEOUT MATCHES) | any | `contiguity.timeouts` |
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sqlext.pattern import strategy
from sqlext.pattern.batch import reference
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.desugared import plain_program
from sqlext.pattern.cep.desugared_task import plain_strategy, plain_task, satisfier, without_gaps
from sqlext.pattern.task import NO_SKIP, Rows, Spans


def reason(task: CepTask) -> str:
    """Why the strategy `nfa` runs a task, and how."""
    dependent = [name for name, condition in zip(task.program.labels, task.conditions) if condition is not None]
    if task.skip.mode != NO_SKIP:
        return (
            f"rows between may be skipped; as a plain program with gaps the pattern is run by {plain_strategy(task)}."
        )
    if dependent:
        return f"every match is asked for, path by path, as {', '.join(dependent)} depends on the rows matched so far."
    return "every match is asked for; partial matches in the same state are one in the shared buffer."


def find(task: CepTask, rows: Rows) -> Iterator[Spans]:
    """All matches of all partitions, in blocks; after a failure nothing more. Then partial matches, if asked for.

    Raises DataError: STEP_BUDGET, MATCH_BUDGET, and what conditions raise.
    """
    blocks = _matches(task, rows)
    if task.output.shows_unmatched:
        blocks = _with_unmatched(blocks, len(rows.mask))
    if task.output.shows_timeouts:
        from sqlext.pattern.cep import timeouts

        blocks = timeouts.with_timeouts(blocks, task, rows)
    yield from blocks


def _matches(task: CepTask, rows: Rows) -> Iterator[Spans]:
    if task.skip.mode != NO_SKIP:
        return _preferred(task, rows)
    from sqlext.pattern.cep import every_match, path_search

    if any(condition is not None for condition in task.conditions):
        return path_search.find(task, rows)
    return every_match.find(task, rows)


def _preferred(task: CepTask, rows: Rows) -> Iterator[Spans]:
    plain = plain_program(task.nfa)
    made, made_rows, is_complete = plain_task(task, rows)
    if is_complete:
        found = strategy.match(made, made_rows)
    else:
        found = reference.find(made, made_rows, satisfier(task, rows, plain))
    for spans in found:
        yield from without_gaps(spans, plain)


def _with_unmatched(blocks: Iterator[Spans], n: int) -> Iterator[Spans]:
    """The rows that no match maps or begins at, behind the last match: skipped rows are among them."""
    is_matched, failure = np.zeros(n, np.bool_), None
    for block in blocks:
        is_matched[block.start] = True
        is_matched[block.row] = True
        failure = block.failure
        yield block
    if failure is None and not is_matched.all():
        nothing, unmatched = np.zeros(0, np.int64), np.flatnonzero(~is_matched)
        yield Spans(nothing, nothing, np.zeros(1, np.int64), np.zeros(0, np.int16), None, unmatched, row=nothing)
