"""Results besides matches: rows in no match, and the partial matches of SHOW TIMEOUT MATCHES.

A partial match could still have been continued when its time was over. With a skip mode, only the start rows that were
tried and gave no match have partial matches (docs/language.md, WITHIN).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from sqlext.pattern.cep import every_match, every_match_tables, shared_buffer
from sqlext.pattern.cep.cep_reference import Path
from sqlext.pattern.cep.cep_task import CepTask, bound_ends, local_truth, may_begin, partition_ends
from sqlext.pattern.cep.path_search import Paths, partial_spans
from sqlext.pattern.task.skip import resume_row
from sqlext.pattern.task.task import Rows, Spans

MAX_MAPPED = 1 << 26  # rows mapped by the partial matches whose time is over with one row
IsOpen = Callable[[int, int], bool]


def completed(blocks: Iterator[Spans], task: CepTask, rows: Rows) -> Iterator[Spans]:
    """The matches, then the other results that the task shows; after a failure nothing more."""
    if task.output.shows_unmatched:
        blocks = _with_unmatched(blocks, len(rows.mask))
    return _with_timeouts(blocks, task, rows) if task.output.shows_timeouts else blocks


def _with_unmatched(blocks: Iterator[Spans], n: int) -> Iterator[Spans]:
    """The matches, then the rows that no match maps and at which none begins, including skipped rows."""
    is_matched, failure = np.zeros(n, np.bool_), None
    for block in blocks:
        is_matched[block.start] = True
        is_matched[block.row] = True
        failure = block.failure
        yield block
    if failure is None and not is_matched.all():
        nothing, unmatched = np.zeros(0, np.int64), np.flatnonzero(~is_matched)
        yield Spans(
            start=nothing,
            number=nothing,
            offset=np.zeros(1, np.int64),
            label=np.zeros(0, np.int16),
            is_hidden=None,
            unmatched=unmatched,
            row=nothing,
        )


def _with_timeouts(blocks: Iterator[Spans], task: CepTask, rows: Rows) -> Iterator[Spans]:
    """The matches, then the partial ones, in the order of their start rows."""
    failed, failure = _FailedStarts(task, len(rows.mask)), None
    for block in blocks:
        failed.note(block)
        failure = block.failure
        yield block
    if failure is None:
        paths = partial_matches(task, rows, np.array(list(failed.rows()), np.int64))
        if paths:
            yield partial_spans(paths)


class _FailedStarts:
    """The start rows that were tried and gave no match; with NO SKIP all rows."""

    def __init__(self, task: CepTask, n: int):
        self.task, self.n = task, n
        self.resume: dict[int, int] = {}  # the resume row after the match that starts at a row

    def note(self, block: Spans) -> None:
        if self.task.skip.mode.lists_all:
            return
        assert block.row is not None
        for i, start in enumerate(block.start.tolist()):
            mapped = slice(block.offset[i], block.offset[i + 1])
            taken = list(zip(block.row[mapped].tolist(), block.label[mapped].tolist()))
            resume = resume_row(self.task.skip, start, taken)
            self.resume[start] = resume if isinstance(resume, int) else start + 1

    def rows(self) -> Iterator[int]:
        row = 0
        while row < self.n:
            if row in self.resume:
                row = self.resume[row]
            else:
                yield row
                row += 1


def partial_matches(
    task: CepTask,
    rows: Rows,
    starts: np.ndarray,
    is_first: np.ndarray | None = None,
    is_open: IsOpen | None = None,
) -> list[Path]:
    """The partial matches whose time is over, of the start rows `starts: int64[k]`, ascending, in their order.

    `is_first: bool[p]` (None: everywhere): whether the first row of a partition is its very first one. `is_open`: see
    `Search`; it is only read where bounds begin anew with each row or conditions depend on the path.
    """
    starts = starts[may_begin(task, rows)[starts]]
    if not len(starts):
        return []
    is_first = np.ones(len(rows.bounds) - 1, np.bool_) if is_first is None else is_first
    if task.is_between or task.is_run_dependent:
        return _by_paths(task, rows, starts, is_first, is_open)
    return _by_states(task, rows, starts, is_first)


def _by_paths(
    task: CepTask, rows: Rows, starts: np.ndarray, is_first: np.ndarray, is_open: IsOpen | None
) -> list[Path]:
    """Search each start row path by path."""
    searcher, partial = Paths(task, rows, is_first), list[Path]()
    for start in starts.tolist():
        partition = int(np.searchsorted(rows.bounds, start, side="right")) - 1
        search = searcher.search(start, (int(rows.bounds[partition]), int(rows.bounds[partition + 1])), 0)
        search.is_open = is_open
        for _ in search.paths(task.nfa.pattern):
            pass
        partial += search.partial
    return partial


def _by_states(task: CepTask, rows: Rows, starts: np.ndarray, is_first: np.ndarray) -> list[Path]:
    """Fill the shared buffer from these start rows only; read what is left of each start row when its time is over."""
    states, truth, limits = every_match_tables.states_of(task.nfa), local_truth(task, rows), bound_ends(rows)
    bits = every_match_tables.row_bits(states, truth, rows, is_first)
    may_start = np.zeros(len(limits), np.bool_)
    may_start[starts] = limits[starts] > starts
    due = np.zeros(len(limits), np.int8)
    ends = partition_ends(rows.bounds)
    due[limits[starts[limits[starts] < ends[starts]]]] |= shared_buffer.DUE_BEFORE
    due[ends[starts] - 1] |= shared_buffer.DUE_AFTER
    bits, hi = bits._replace(may_start=may_start), min(int(limits[starts].max()) + 1, len(limits))
    positions = task.nfa.positions
    mapped_as = [positions[wait.position] for _, wait in states.states]
    paths: dict[Path, None] = {}
    buffer = shared_buffer.Buffer.empty(len(states.states))
    for reached, hits in every_match.advance(states, bits, buffer, int(starts[0]), hi, due):
        hits = hits[:, hits[2] < 0]
        is_before = hits[2] == -shared_buffer.DUE_BEFORE
        low = bits.oldest[np.where(is_before, hits[1] - 1, hits[1])]
        high = np.where(is_before, bits.oldest[hits[1]] - 1, hits[1])
        for matches in every_match.enumerated(states, reached, hits, low, high, MAX_MAPPED):
            taken = [(row, *mapped_as[state]) for row, state in zip(matches.row.tolist(), matches.state.tolist())]
            paths.update((tuple(taken[lo:hi]), None) for lo, hi in zip(matches.start.tolist(), matches.end.tolist()))
    return sorted(paths, key=lambda path: path[0][0])


def joined(spans: Spans, paths: list[Path], number: np.ndarray) -> Spans:
    """The block with partial matches after its own matches; `number: int64[paths]` is not shown.

    >>> nothing = np.zeros(0, np.int64)
    >>> spans = Spans(start=nothing, number=nothing, offset=np.zeros(1, np.int64), label=nothing, is_hidden=None,
    ...               unmatched=nothing, row=nothing)
    >>> both = joined(spans, [((3, 0, False), (5, 1, False))], np.array([1]))
    >>> both.start, both.row, both.timed_out
    (array([3]), array([3, 5]), array([ True]))
    """
    assert spans.row is not None
    partial = partial_spans(paths)
    assert partial.row is not None and partial.is_hidden is not None
    is_hidden = np.zeros(len(spans.label), np.bool_) if spans.is_hidden is None else spans.is_hidden
    return replace(
        spans,
        start=np.concatenate([spans.start, partial.start]),
        number=np.concatenate([spans.number, number]),
        offset=np.concatenate([spans.offset, spans.offset[-1] + partial.offset[1:]]),
        label=np.concatenate([spans.label, partial.label]).astype(np.int16),
        is_hidden=np.concatenate([is_hidden, partial.is_hidden]),
        row=np.concatenate([spans.row, partial.row]),
        timed_out=np.arange(len(spans.start) + len(paths)) >= len(spans.start),
    )


def in_order(spans: Spans, order: np.ndarray) -> Spans:
    """The matches `order: int64[k]` of a block, in that order.

    >>> spans = Spans(start=np.array([1, 5]), number=np.array([1, 2]), offset=np.array([0, 2, 3]),
    ...               label=np.array([0, 1, 0]), is_hidden=None, unmatched=np.zeros(0, np.int64),
    ...               row=np.array([1, 2, 5]))
    >>> in_order(spans, np.array([1, 0])).row
    array([5, 1, 2])
    """
    assert spans.row is not None
    length = np.diff(spans.offset)[order]
    offset = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    mapped = np.arange(offset[-1]) + np.repeat(spans.offset[order] - offset[:-1], length)
    return replace(
        spans,
        start=spans.start[order],
        number=spans.number[order],
        offset=offset,
        label=spans.label[mapped],
        is_hidden=None if spans.is_hidden is None else spans.is_hidden[mapped],
        row=spans.row[mapped],
        timed_out=None if spans.timed_out is None else spans.timed_out[order],
    )
