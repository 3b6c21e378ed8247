"""SQL's own AFTER MATCH modes over patterns that skip rows: the desugared task finds matches whose gaps are dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from sqlext.pattern.batch import reference
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.desugared_program import GAP, DesugaredProgram, desugared_program
from sqlext.pattern.cep.desugared_task import desugared_task, path_satisfier
from sqlext.pattern.program.jit import allocating
from sqlext.pattern.task.task import MatchTask, Rows, Spans

GROUP_ROWS = 1 << 20  # mapped rows that are listed at once


def find(task: CepTask, rows: Rows, match: Callable[[MatchTask, Rows], Iterator[Spans]]) -> Iterator[Spans]:
    """All matches of all partitions, in blocks. `match` runs the inner task with the strategy that is chosen for it.

    Raises DataError: STEP_BUDGET, and what conditions raise.
    """
    inner, inner_rows = desugared_task(task, rows)
    if inner.strategy == "reference":
        blocks = reference.find(inner, inner_rows, path_satisfier(task, rows))
    else:
        blocks = match(inner, inner_rows)
    for spans in blocks:
        yield from drop_gaps(spans, desugared_program(task.nfa))


def drop_gaps(spans: Spans, program: DesugaredProgram) -> Iterator[Spans]:
    """The matches with the rows that they map, in blocks in which no labels are shared."""
    origin = np.array([v.origin for v in program.variants] or [GAP], np.int16)
    row, kept, offset = _mapped_rows(spans.start, spans.offset, spans.label, origin)
    label = origin[spans.label[kept]]
    is_hidden = None if spans.is_hidden is None else spans.is_hidden[kept]
    if spans.tails is None:
        yield replace(spans, offset=offset, label=label, is_hidden=is_hidden, row=row)
        return
    tail, at = spans.tails.match, np.searchsorted(kept, spans.tails.at)
    length = _lengths(offset, tail, at)
    lo, m = 0, len(length)
    while lo < m:
        hi = lo + max(1, int(np.searchsorted(np.cumsum(length[lo:]), GROUP_ROWS, "right")))
        places, whole = _whole_matches(lo, hi, length, offset, tail, at)
        yield Spans(
            start=spans.start[lo:hi],
            number=spans.number[lo:hi],
            offset=whole,
            label=label[places],
            is_hidden=None if is_hidden is None else is_hidden[places],
            unmatched=spans.unmatched[:0] if hi < m else spans.unmatched,
            failure=spans.failure if hi == m else None,
            row=row[places],
        )
        lo = hi


@allocating
def _mapped_rows(start, offset, label, origin):
    """`(row, kept, offset)`: the rows whose labels are no gaps (origin >= 0), the places of the labels, and bounds."""
    row, kept = np.empty(len(label), np.int64), np.empty(len(label), np.int64)
    bounds = np.zeros(len(start) + 1, np.int64)
    k = 0
    for i in range(len(start)):
        for j in range(offset[i], offset[i + 1]):
            if origin[label[j]] >= 0:
                row[k], kept[k] = start[i] + j - offset[i], j
                k += 1
        bounds[i + 1] = k
    return row[:k].copy(), kept[:k].copy(), bounds


@allocating
def _lengths(offset, tail, at):
    """The number of rows that each match maps, including its tail: Tails.length without gaps."""
    length = np.empty(len(tail), np.int64)
    for i in range(len(tail)):
        length[i] = offset[i + 1] - offset[i]
        t = tail[i]
        if t >= 0:
            length[i] += length[t] - (at[i] - offset[t])
    return length


@allocating
def _whole_matches(lo, hi, length, offset, tail, at):
    """`(places, bounds)`: the places of the labels of matches `lo` to `hi` (exclusive), one match after the other."""
    bounds = np.zeros(hi - lo + 1, np.int64)
    for i in range(lo, hi):
        bounds[i - lo + 1] = bounds[i - lo] + length[i]
    places = np.empty(bounds[-1], np.int64)
    for i in range(lo, hi):
        k, j, match = bounds[i - lo], offset[i], i
        while k < bounds[i - lo + 1]:
            if j == offset[match + 1]:
                match, j = tail[match], at[match]
                continue
            places[k] = j
            j += 1
            k += 1
    return places, bounds
