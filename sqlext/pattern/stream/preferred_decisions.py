"""Decisions of patterns that skip rows, with SQL's own AFTER MATCH modes.

A skipped row is a row that a path of the desugared program takes. So a path that waits is alive after the last row that
passed, and a match is not decided as long as a preferred match may still replace it.

Rows in no match, and partial matches, follow from the start rows that were tried and the start rows that gave no match.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from sqlext.pattern.cep import timeouts
from sqlext.pattern.cep.cep_task import CepTask, evaluate, local_part, local_truth
from sqlext.pattern.cep.desugared_program import DesugaredProgram, desugared_program
from sqlext.pattern.cep.desugared_task import desugared_task, inner_facts, needs_failed
from sqlext.pattern.cep.preferred_match import drop_gaps
from sqlext.pattern.stream.end_search import EndSearch
from sqlext.pattern.stream.path_verdicts import PathFacts, needed_by_formulas
from sqlext.pattern.stream.stream_reference import Searcher, decide_with, search
from sqlext.pattern.task.event_time import Decisions, EventTimes, SearchPosition, StreamFacts
from sqlext.pattern.task.task import MatchTask, Rows

Decide = Callable[[MatchTask, Rows, EventTimes, SearchPosition, StreamFacts], Decisions]


def by_desugared_task(
    task: CepTask, rows: Rows, event_times: EventTimes, position: SearchPosition, facts: StreamFacts, decide: Decide
) -> Decisions:
    """Decide with the inner task; `decide` runs the matcher that is chosen for it."""
    inner, inner_rows = desugared_task(task, rows)
    inner = replace(inner, strategy=task.strategy)  # "reference", or no effect
    need = _needed(task, desugared_program(task.nfa), rows, event_times.need)
    decisions = decide(inner, inner_rows, replace(event_times, need=need), position, inner_facts(task, facts))
    return _completed(decisions, task, rows, position)


def by_end_search(
    task: CepTask, rows: Rows, event_times: EventTimes, position: SearchPosition, facts: StreamFacts
) -> Decisions:
    """Decide with the compiled search, which supports ends that wait for rows after the match."""
    return _by_search(EndSearch(task, rows, event_times).outcome, task, rows, event_times, position)


def by_path_verdicts(
    task: CepTask, rows: Rows, event_times: EventTimes, position: SearchPosition, facts: StreamFacts
) -> Decisions:
    """Decide with the search in Python, which evaluates conditions on the path without its gaps."""
    path_facts = PathFacts(task, rows, event_times)
    searcher = partial(search, path_facts.program.program, facts=path_facts)
    return _by_search(searcher, task, rows, event_times, position)


def _by_search(
    searcher: Searcher, task: CepTask, rows: Rows, event_times: EventTimes, position: SearchPosition
) -> Decisions:
    inner, _ = desugared_task(task, rows)
    facts = StreamFacts(needs_failed=needs_failed(task))
    decisions = decide_with(searcher, inner, rows, event_times, position, facts)
    return _completed(decisions, task, rows, position)


def _needed(task: CepTask, program: DesugaredProgram, rows: Rows, need: np.ndarray | None) -> np.ndarray | None:
    """EventTimes.need of the variants: each reads all labels of its formula, and the next row for `!N` at the end."""
    waiting = [i for i, v in enumerate(program.variants) if v.final is not None]
    if need is None and not waiting:
        return None
    n, truth = len(rows.mask), local_truth(task, rows)
    if need is None:
        need = np.tile(np.arange(n), (len(task.bits), 1))
    needed = needed_by_formulas([v.formula for v in program.variants], need)
    for i in waiting:
        final = program.variants[i].final
        assert final is not None
        read = np.vstack([need[list(final.not_next)][:, 1:], np.arange(1, n)]).max(axis=0)
        later = np.maximum(needed[i], np.append(read, n))
        needed[i] = np.where(evaluate(local_part(task, program.variants[i].formula), truth), later, needed[i])
    return needed


def _completed(decisions: Decisions, task: CepTask, rows: Rows, position: SearchPosition) -> Decisions:
    """Drop the gaps of matches; turn the start rows that failed into the results that follow from them."""
    (spans,) = drop_gaps(decisions.spans, desugared_program(task.nfa))
    decisions = replace(decisions, spans=spans)
    if not needs_failed(task):
        return decisions
    failed, failed_time = spans.unmatched, decisions.unmatched_time
    decisions = replace(decisions, spans=replace(spans, unmatched=failed[:0]), unmatched_time=failed_time[:0])
    if task.output.shows_unmatched:
        decisions = _with_unmatched(decisions, failed, failed_time, rows, position)
    if task.output.shows_timeouts:
        decisions = _with_partial(decisions, failed, failed_time, task, rows, position)
    return decisions


def _with_unmatched(
    decisions: Decisions, failed: np.ndarray, failed_time: np.ndarray, rows: Rows, position: SearchPosition
) -> Decisions:
    """Add the rows that no match maps or begins at: known when all start rows up to them are decided.

    A match that maps rows after the next start row must be found again by the next step, which needs to know that these
    rows are mapped. So the next step resumes at the first such match; results that it finds again carry a time that has
    passed, and are filtered out.
    """
    spans, after = decisions.spans, decisions.position
    is_matched = np.zeros(len(rows.mask), np.bool_)
    is_matched[spans.start] = True
    is_matched[spans.row] = True
    partition = np.repeat(np.arange(len(after.row)), np.diff(rows.bounds))
    own = np.arange(len(is_matched))
    unmatched = np.flatnonzero(~is_matched & (own >= position.row[partition]) & (own < after.row[partition]))
    starts, times = np.concatenate([failed, spans.start]), np.concatenate([failed_time, decisions.time])
    order = np.argsort(starts, kind="stable")
    time = times[order[np.searchsorted(starts[order], unmatched, side="right") - 1]]
    row, number, began = after.row.copy(), after.number.copy(), after.time.copy()
    reaching = np.flatnonzero(spans.end > after.row[partition[spans.start]])
    for i in reaching[np.unique(partition[spans.start[reaching]], return_index=True)[1]].tolist():
        p = partition[spans.start[i]]
        row[p], number[p], began[p] = spans.start[i], spans.number[i], decisions.time[i]
    return Decisions(
        spans=replace(spans, unmatched=unmatched),
        time=decisions.time,
        unmatched_time=time,
        position=replace(after, row=row, number=number, time=began),
    )


def _with_partial(
    decisions: Decisions,
    failed: np.ndarray,
    failed_time: np.ndarray,
    task: CepTask,
    rows: Rows,
    position: SearchPosition,
) -> Decisions:
    """Add the partial matches of the start rows that failed; all matches are then in the order of their start rows."""
    paths = timeouts.partial_matches(task, rows, failed, position.is_first)
    if not paths:
        return decisions
    first = np.array([path[0][0] for path in paths], np.int64)
    over = failed_time[np.searchsorted(failed, first)]
    partition = np.searchsorted(rows.bounds, first, side="right") - 1
    begins = np.searchsorted(decisions.spans.start, rows.bounds[partition])
    number = position.number[partition] + np.searchsorted(decisions.spans.start, first) - begins
    spans = timeouts.joined(decisions.spans, paths, number)
    order = np.argsort(spans.start, kind="stable")
    time = np.concatenate([decisions.time, over])[order]
    return replace(decisions, spans=timeouts.in_order(spans, order), time=time)
