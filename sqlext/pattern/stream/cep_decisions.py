"""Streams of patterns that skip rows: the plain program with gaps, decided as any other program is (`streams.decided`).

A skipped row is a row that the path takes, so a path that waits is alive behind the last row that passed, and what
may still be preferred is not given out.

| asked for | decided by |
|---|---|
| the preferred match, and no bound says how far to look behind a match | the engines of `streams.decided` |
| ends that wait for a bound, BETWEEN ROWS, row-local DEFINE | `end_search` |
| the same with other conditions; conditions that cannot be said of a path with gaps | `verdicts` |
| every match | `every_decided` |

Rows in no match and partial matches follow from the start rows that were tried and from those that gave no match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.desugared import GAP, PlainProgram, Variant, plain_program
from sqlext.pattern.cep.desugared_task import local_part, outline, plain_task, without_gaps
from sqlext.pattern.cep.formulas import evaluate, local_truth
from sqlext.pattern.cep.nfa import Final, Nfa
from sqlext.pattern.cep.span_blocks import in_order, joined
from sqlext.pattern.conditions import rows_ahead
from sqlext.pattern.event_time import Decisions, EventTimes, SearchPosition
from sqlext.pattern.stream.decisions import choose as choose_plain
from sqlext.pattern.stream.decisions import decide as decide_plain
from sqlext.pattern.stream.path_verdicts import PathAsks, needed_by_formulas
from sqlext.pattern.stream.stream_reference import Outcome, Search, search
from sqlext.pattern.stream.stream_reference import decide as decide_searched
from sqlext.pattern.task import NO_SKIP, Condition, MatchTask, Rows


def objection(task: CepTask, neighbours: Sequence[Condition | None] = ()) -> str | None:
    """What of a task no stream can answer, None if all can be; `task.nfa` is given, `neighbours` are what masks hold
    besides bits.

    >>> from sqlext.pattern.cep.nfa_compile import compile_nfa
    >>> from sqlext.pattern.ast import Variable
    >>> from sqlext.pattern.program import Done, MatchLabel, Program
    >>> from sqlext.pattern.task import Output, Skip
    >>> program, nfa = Program((MatchLabel(0), Done()), ("A",)), compile_nfa(Variable("A"), ("A",))
    >>> a = CepTask(program=program, bits=(0,), conditions=(None,), skip=Skip(NO_SKIP), nfa=nfa)
    >>> objection(a), objection(replace(a, output=Output(True, shows_unmatched=True)))
    (None, 'WITH UNMATCHED ROWS together with AFTER MATCH NO SKIP')
    """
    if task.skip.mode != NO_SKIP:
        return None
    if task.output.shows_unmatched:
        return "WITH UNMATCHED ROWS together with AFTER MATCH NO SKIP"
    if any(isinstance(t, Final) and t.at_end for targets in task.nfa.after for t in targets):
        return "$ together with AFTER MATCH NO SKIP"
    if any(rows_ahead(condition) for condition in (*task.conditions, *neighbours)):
        return "NEXT in DEFINE together with AFTER MATCH NO SKIP"
    return None


def choose(task: CepTask, event_times: EventTimes, tells_times: bool) -> tuple[str, str]:
    """As `streams.decided.choose`, for a task with `nfa`."""
    if task.skip.mode == NO_SKIP:
        if any(condition is not None for condition in task.conditions):
            return "paths", "every match is asked for, path by path, as conditions depend on the rows matched so far."
        return "buffer", "every match is asked for; partial matches in the same state are one in the shared buffer."
    why = _why_searched(task)
    if why is not None:
        is_compiled = _is_compiled(task, event_times)
        return "search" if is_compiled else "reference", why
    outlined = outline(task)
    assert outlined is not None
    return choose_plain(replace(outlined, strategy=task.strategy), event_times, tells_times or _needs_failed(task))


def _needs_failed(task: CepTask) -> bool:
    return task.output.shows_unmatched or task.output.shows_timeouts


def _why_searched(task: CepTask) -> str | None:
    """Why the plain program does not say all; None if it does."""
    if task.is_between:
        return "the bound begins anew with each row of a match."
    if any(end.absent or (end.needs_next and task.is_within) for end in _ends(task.nfa)):
        return "rows behind a match, up to the end of WITHIN, decide it."
    return None if outline(task) is not None else "a condition cannot be said of a path with gaps."


def _ends(nfa: Nfa) -> list[Final]:
    return [t for targets in nfa.after for t in targets if isinstance(t, Final)]


def _is_compiled(task: CepTask, event_times: EventTimes) -> bool:
    """Does `end_search` know the task's conditions, or only `verdicts`?"""
    is_local = event_times.need is None and all(condition is None for condition in task.conditions)
    return is_local and task.strategy != "reference"


def lasting_task(task: CepTask, lasts: bool = True) -> MatchTask:
    """The plain program for `can_be_decided`: a gap that nothing but its own variable ends takes every row if `lasts`,
    else none for ever."""
    plain = plain_program(task.nfa)
    bits = tuple(None if _takes_all(task, v, lasts) else i for i, v in enumerate(plain.variants))
    return MatchTask(
        program=plain.program, bits=bits, conditions=(None,) * len(bits), skip=task.skip, is_within=task.is_within
    )


def _takes_all(task: CepTask, variant: Variant, lasts: bool) -> bool:
    if variant.origin == GAP:
        return lasts and len(variant.formula) <= 1
    plain = len(variant.formula) <= 1 and variant.final is None and task.conditions[variant.origin] is None
    return plain and task.bits[variant.origin] is None


def decide(
    task: CepTask, rows: Rows, event_times: EventTimes, position: SearchPosition, tells_times: bool = True
) -> Decisions:
    """As `streams.decided.decide`, for a task with `nfa` to which there is no objection."""
    if task.skip.mode == NO_SKIP:
        from sqlext.pattern.stream import every_match_decisions

        return every_match_decisions.decide(task, rows, event_times, position)
    found = _preferred(task, rows, event_times, position, tells_times)
    if not _needs_failed(task):
        return found
    failed, failed_time = found.spans.unmatched, found.unmatched_time
    told = replace(found, spans=replace(found.spans, unmatched=failed[:0]), unmatched_time=failed_time[:0])
    if task.output.shows_unmatched:
        told = _with_unmatched(told, failed, failed_time, rows, position)
    return _with_partial(told, failed, failed_time, task, rows, position) if task.output.shows_timeouts else told


def _preferred(
    task: CepTask, rows: Rows, event_times: EventTimes, position: SearchPosition, tells_times: bool
) -> Decisions:
    """The matches without their gaps; the start rows that failed as unmatched rows, if they are needed."""
    plain, keeps_failed = plain_program(task.nfa), _needs_failed(task)
    made, made_rows, _ = plain_task(task, rows)
    if _why_searched(task) is not None:
        found = decide_searched(made, rows, event_times, position, keeps_failed, _searches(task, rows, event_times))
    else:
        if task.strategy == "reference":
            made = replace(made, strategy="reference")
        event_times = replace(event_times, need=_needed(task, plain, rows, event_times.need))
        found = decide_plain(made, made_rows, event_times, position, tells_times, keeps_failed)
    (spans,) = without_gaps(found.spans, plain)
    return replace(found, spans=spans)


def _searches(task: CepTask, rows: Rows, event_times: EventTimes) -> Callable[[Search], Outcome | None]:
    if _is_compiled(task, event_times):
        from sqlext.pattern.stream.end_search import EndSearch  # with Numba, which the driver does not need

        return EndSearch(task, rows, event_times).outcome
    return partial(search, plain_program(task.nfa).program, asks=PathAsks(task, rows, event_times))


def _needed(task: CepTask, plain: PlainProgram, rows: Rows, need: np.ndarray | None) -> np.ndarray | None:
    """EventTimes.need of the variants: all labels of a formula are read, and for `!N` at the end the next row."""
    waiting = [i for i, v in enumerate(plain.variants) if v.final is not None]
    if need is None and not waiting:
        return None
    n, truth = len(rows.mask), local_truth(task, rows)
    if need is None:
        need = np.tile(np.arange(n), (len(task.bits), 1))
    needed = needed_by_formulas([v.formula for v in plain.variants], need)
    for i in waiting:
        final = plain.variants[i].final
        assert final is not None
        read = np.vstack([need[list(final.not_next)][:, 1:], np.arange(1, n)]).max(axis=0)
        behind = np.maximum(needed[i], np.append(read, n))
        needed[i] = np.where(evaluate(local_part(task, plain.variants[i].formula), truth), behind, needed[i])
    return needed


def _with_unmatched(
    found: Decisions, failed: np.ndarray, failed_time: np.ndarray, rows: Rows, position: SearchPosition
) -> Decisions:
    """With the rows that no match maps or begins at: known when all start rows up to them are decided.

    The next step begins at the first match that maps rows from there on, for it must know that they are mapped; what
    else it finds again has a time that has passed.
    """
    spans, after = found.spans, found.position
    is_matched = np.zeros(len(rows.mask), np.bool_)
    is_matched[spans.start] = True
    is_matched[spans.row] = True
    partition = np.repeat(np.arange(len(after.row)), np.diff(rows.bounds))
    own = np.arange(len(is_matched))
    unmatched = np.flatnonzero(~is_matched & (own >= position.row[partition]) & (own < after.row[partition]))
    starts, times = np.concatenate([failed, spans.start]), np.concatenate([failed_time, found.time])
    order = np.argsort(starts, kind="stable")
    time = times[order[np.searchsorted(starts[order], unmatched, side="right") - 1]]
    row, number, began = after.row.copy(), after.number.copy(), after.time.copy()
    reaching = np.flatnonzero(spans.end > after.row[partition[spans.start]])
    for i in reaching[np.unique(partition[spans.start[reaching]], return_index=True)[1]].tolist():
        p = partition[spans.start[i]]
        row[p], number[p], began[p] = spans.start[i], spans.number[i], found.time[i]
    resumed = replace(after, row=row, number=number, time=began)
    return Decisions(spans=replace(spans, unmatched=unmatched), time=found.time, unmatched_time=time, position=resumed)


def _with_partial(
    found: Decisions, failed: np.ndarray, failed_time: np.ndarray, task: CepTask, rows: Rows, position: SearchPosition
) -> Decisions:
    """With the partial matches of the start rows that failed, each among the matches in the order of the start rows."""
    from sqlext.pattern.cep import timeouts

    paths = timeouts.partial_matches(task, rows, failed, position.is_first)
    if not paths:
        return found
    first = np.array([path[0][0] for path in paths], np.int64)
    over = failed_time[np.searchsorted(failed, first)]
    partition = np.searchsorted(rows.bounds, first, side="right") - 1
    begins = np.searchsorted(found.spans.start, rows.bounds[partition])
    number = position.number[partition] + np.searchsorted(found.spans.start, first) - begins
    spans = joined(found.spans, paths, number)
    order = np.argsort(spans.start, kind="stable")
    time = np.concatenate([found.time, over])[order]
    return replace(found, spans=in_order(spans, order), time=time)
