"""Decide the matches of a stream for tasks with run-dependent conditions, with the batch strategies.

An inner task runs on the rows of each partition and one additional row, which satisfies only the variable "unknown".
Wherever the program takes a row, it may take an unknown row instead and end. The preferred match from a start row is
therefore decided, or it ends with an unknown row, or there is none: these are the three outcomes of `event_time`. Where
conditions read NEXT, each variable has its own unknown variable, which a row satisfies as long as the rows that the
condition reads are missing.

The decision times of matches are not known here, so each of them is the watermark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from sqlext.pattern.cep.cep_task import as_mask
from sqlext.pattern.program.program import Done, Instruction, Jump, MatchLabel, Program, Split
from sqlext.pattern.task.event_time import Decisions, EventTimes, SearchPosition, StreamFacts
from sqlext.pattern.task.task import MatchTask, Rows, Spans, Values

UNKNOWN = "?"


def decide(
    task: MatchTask,
    rows: Rows,
    event_times: EventTimes,
    position: SearchPosition,
    facts: StreamFacts,
    match: Callable[[MatchTask, Rows], Iterator[Spans]],
) -> Decisions:
    """Return the decisions as `strategy.decide` does; `match` runs the inner task with the strategy chosen for it."""
    inner_task = marked_task(task, reads_ahead=event_times.need is not None)
    inner_rows = _marked_rows(task, inner_task, rows, event_times, position)
    return _decisions(task, list(match(inner_task, inner_rows)), rows, event_times, position)


@lru_cache(maxsize=16)
def marked_task(task: MatchTask, *, reads_ahead: bool) -> MatchTask:
    """Return the task with a variable for unknown rows, or with one for each variable where conditions read NEXT.

    Label l needs bit l.

    >>> from sqlext.pattern.program.program import Done
    >>> a_b = Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B"))
    >>> print(marked_task(MatchTask(program=a_b, bits=(0, None), conditions=(None, None)), reads_ahead=False).program)
    0: split 1, 5
    1: label A
    2: split 3, 5
    3: label B
    4: jump 7
    5: label ?
    6: jump 7
    7: done
    """
    labels = task.program.labels
    unknown = [len(labels) + k for k in range(len(labels) if reads_ahead else 1)]
    old = task.program.instructions
    place = np.cumsum([0, *(1 + isinstance(x, MatchLabel) for x in old)]).tolist()
    block = place[len(old) - 1] + 1  # after the instructions and the jump over the unknown labels
    end = block + 2 * len(unknown)
    code: list[Instruction] = []
    targets = [*place[: len(old) - 1], end]
    for i, instruction in enumerate(old[:-1]):
        own = instruction.label if reads_ahead and isinstance(instruction, MatchLabel) else 0
        code += _marked(instruction, place[i], targets, block + 2 * own)
    code.append(Jump(end))
    for label in unknown:
        code += [MatchLabel(label), Jump(end)]
    program = Program((*code, Done()), (*labels, *[UNKNOWN] * len(unknown)))
    count = len(program.labels)
    return replace(
        task,
        program=program,
        bits=tuple(range(count)),
        conditions=(*task.conditions, *[None] * len(unknown)),
        strategy="auto",
        skip=replace(task.skip, else_next_row=True),  # an unknown row may be the only row of a match
    )


def _marked(instruction: Instruction, at: int, place: list[int], unknown: int) -> list[Instruction]:
    """Return the instruction for its new place, with an unknown row as an alternative."""
    if isinstance(instruction, MatchLabel):
        return [Split(at + 1, unknown), instruction]
    if isinstance(instruction, Split):
        return [Split(place[instruction.first], place[instruction.second])]
    return [Jump(place[instruction.target])] if isinstance(instruction, Jump) else [instruction]


def _marked_rows(
    task: MatchTask, inner_task: MatchTask, rows: Rows, event_times: EventTimes, position: SearchPosition
) -> Rows:
    n, p = len(rows.mask), len(rows.bounds) - 1
    partition = np.repeat(np.arange(p), np.diff(rows.bounds))
    at = np.arange(n) + partition  # the new index of each row
    bounds = rows.bounds + np.arange(p + 1)
    satisfied = np.zeros((len(inner_task.program.labels), n + p), np.bool_)
    is_searched = np.arange(n) >= position.row[partition]
    ends = rows.bounds[1:][partition]
    for label, bit in enumerate(task.bits):
        has_bit = bit is None or rows.mask[:, bit // 8] >> (bit % 8) & 1 == 1
        satisfied[label, at] = is_searched & has_bit
    satisfied[len(task.bits) :, bounds[1:] - 1] = True
    for label in range(len(task.bits) if event_times.need is not None else 0):
        assert event_times.need is not None
        is_unknown = is_searched & (event_times.need[label] >= ends)
        satisfied[label, at] &= ~is_unknown
        satisfied[len(task.bits) + label, at] = is_unknown
    limit = None
    if event_times.end is not None:
        assert rows.limit is not None
        limit = np.repeat(bounds[1:], np.diff(bounds))
        limit[at] = np.where(event_times.end <= event_times.watermark, rows.limit + partition, limit[at])
    columns = tuple(_spread(column, at, n + p) for column in rows.columns)
    mask = as_mask(list(satisfied), n + p)
    return Rows(bounds=bounds, mask=mask, limit=limit, columns=columns, classifiers=_classifiers(rows, inner_task))


def _spread(column: Values, at: np.ndarray, n: int) -> Values:
    values, valid = np.zeros(n, column.values.dtype), np.zeros(n, np.bool_)
    values[at] = column.values
    valid[at] = column.is_valid
    return Values(values, valid)


def _classifiers(rows: Rows, inner_task: MatchTask) -> np.ndarray | None:
    """Return the classifiers with 0 for unknown rows: such a row is the last of its match, so its name is not read."""
    if rows.classifiers is None:
        return None
    count = len(inner_task.program.labels) - len(rows.classifiers)
    return np.concatenate([rows.classifiers, np.zeros(count, np.int64)])


def _decisions(
    task: MatchTask, blocks: list[Spans], rows: Rows, event_times: EventTimes, position: SearchPosition
) -> Decisions:
    """Return the matches before the first undecided match of each partition, with row numbers of `rows`."""
    bounds, p = rows.bounds + np.arange(len(rows.bounds)), len(rows.bounds) - 1
    cut = bounds[1:] - 1  # the additional rows
    for spans in blocks:
        is_unknown = spans.length > 0
        is_unknown[is_unknown] = spans.label[spans.offset[1:][is_unknown] - 1] >= len(task.bits)
        owner = np.searchsorted(bounds, spans.start[is_unknown], side="right") - 1
        np.minimum.at(cut, owner, spans.start[is_unknown])
    begin = position.row + np.arange(p)
    start, length, label, hidden, unmatched = _joined([_kept(spans, bounds, begin, cut) for spans in blocks])
    unmatched = unmatched - (np.searchsorted(bounds, unmatched, side="right") - 1)
    matched_before = np.repeat(position.matched_end, np.diff(rows.bounds))
    unmatched = unmatched[unmatched >= matched_before[unmatched]]  # no match of an earlier step maps them
    owner = np.searchsorted(bounds, start, side="right") - 1
    number = position.number[owner] + np.arange(len(owner)) - np.searchsorted(owner, owner)
    matched_end = position.matched_end.copy()
    np.maximum.at(matched_end, owner, start + length - owner)
    count = np.bincount(owner, minlength=p)
    spans = Spans(
        start=start - owner,
        number=number,
        offset=np.concatenate([[0], np.cumsum(length)]).astype(np.int64),
        label=label,
        is_hidden=hidden if any(isinstance(x, MatchLabel) and x.is_hidden for x in task.program.instructions) else None,
        unmatched=unmatched,
    )
    after = replace(position, row=cut - np.arange(p), number=position.number + count, matched_end=matched_end)
    time, unmatched_time = (np.full(len(rows), event_times.watermark) for rows in (start, unmatched))
    return Decisions(spans=spans, time=time, unmatched_time=unmatched_time, position=after)


def _joined(parts: list[tuple[np.ndarray, ...]]) -> list[np.ndarray]:
    nothing = tuple(np.zeros(0, kind) for kind in (np.int64, np.int64, np.int16, np.bool_, np.int64))
    return [np.concatenate(columns) for columns in zip(nothing, *parts)]


def _kept(spans: Spans, bounds: np.ndarray, begin: np.ndarray, cut: np.ndarray) -> tuple[np.ndarray, ...]:
    def is_kept(row: np.ndarray) -> np.ndarray:
        owner = np.searchsorted(bounds, row, side="right") - 1
        return (row >= begin[owner]) & (row < cut[owner])

    selection = is_kept(spans.start)
    mapped_rows = np.repeat(selection, spans.length)
    hidden = np.zeros(len(spans.label), np.bool_) if spans.is_hidden is None else spans.is_hidden
    unmatched = spans.unmatched[is_kept(spans.unmatched)]
    return spans.start[selection], spans.length[selection], spans.label[mapped_rows], hidden[mapped_rows], unmatched
