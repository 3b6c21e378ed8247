"""SHOW TIMEOUT MATCHES: the partial matches that could still have been continued when their time was over.

With a skip mode only those of start rows that were tried and gave no match (language.md, WITHIN).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from sqlext.pattern import reference
from sqlext.pattern.contiguity import oracle
from sqlext.pattern.contiguity.plain import may_begin
from sqlext.pattern.contiguity.reference import Path
from sqlext.pattern.contiguity.rows import local_truth, own_limits
from sqlext.pattern.task import NO_SKIP, MatchTask, Rows, Spans


def with_timeouts(blocks: Iterator[Spans], task: MatchTask, rows: Rows) -> Iterator[Spans]:
    """The matches, then the partial ones, in the order of their start rows."""
    tried, failure = _Tried(task, rows), None
    for block in blocks:
        tried.see(block)
        failure = block.failure
        yield block
    if failure is not None:
        return
    partial, beginning = partial_of(task, rows), may_begin(task, rows)
    paths = [path for start in tried.rows() if beginning[start] for path in partial(start)]
    if paths:
        starts = [path[0][0] for path in paths]
        yield oracle.as_spans(starts, [0] * len(paths), paths, [], None, are_timed_out=True)


def partial_of(
    task: MatchTask,
    rows: Rows,
    is_first: np.ndarray | None = None,
    is_open: Callable[[int, int], bool] | None = None,
) -> Callable[[int], Iterable[Path]]:
    """What gives the partial matches of a start row whose time is over; `is_first: bool[p]` (None: everywhere): is the
    first row given of a partition its very first one? `is_open`: see Search."""
    is_first = np.ones(len(rows.bounds) - 1, np.bool_) if is_first is None else is_first
    if task.is_between or any(condition is not None for condition in task.conditions):
        return _by_paths(task, rows, is_first, is_open)
    return _by_states(task, rows, is_first)


class _Tried:
    """Which start rows were tried and gave no match."""

    def __init__(self, task: MatchTask, rows: Rows):
        self.task, self.rows_ = task, rows
        self.resume: dict[int, int] = {}  # start row of a match → where matching goes on

    def see(self, block: Spans) -> None:
        if self.task.skip.mode == NO_SKIP:
            return
        assert block.row is not None
        for i, start in enumerate(block.start.tolist()):
            mapped = slice(block.offset[i], block.offset[i + 1])
            taken = list(zip(block.row[mapped].tolist(), block.label[mapped].tolist()))
            resume = reference.next_row(self.task.skip, start, taken)
            self.resume[start] = resume if isinstance(resume, int) else start + 1

    def rows(self) -> Iterator[int]:
        row, n = 0, len(self.rows_.mask)
        while row < n:
            if row in self.resume:
                row = self.resume[row]
            else:
                yield row
                row += 1


def _by_paths(task: MatchTask, rows: Rows, is_first: np.ndarray, is_open) -> Callable[[int], Iterable[Path]]:
    """The search of the oracle notes them."""
    searcher, nfa = oracle.Oracle(task, rows, is_first), task.nfa
    assert nfa is not None

    def partial(start: int) -> Iterable[Path]:
        partition = int(np.searchsorted(rows.bounds, start, side="right")) - 1
        search = searcher.search(start, (int(rows.bounds[partition]), int(rows.bounds[partition + 1])), 0)
        search.is_open = is_open
        for _ in search.paths(nfa.pattern):
            pass
        return search.partial

    return partial


def _by_states(task: MatchTask, rows: Rows, is_first: np.ndarray) -> Callable[[int], Iterable[Path]]:
    """What is left in the shared buffer when only that row may start a match and its time is over."""
    from sqlext.pattern.contiguity import every_match, every_match_tables, shared_buffer

    assert task.nfa is not None
    states, truth, limits = every_match_tables.states_of(task.nfa), local_truth(task, rows), own_limits(task, rows)
    bits = every_match_tables.row_bits(states, truth, task, rows, is_first)
    bits = bits._replace(may_start=np.zeros(len(limits), np.bool_), oldest=np.zeros(len(limits), np.int64))
    positions = task.nfa.positions
    mapped_as = [positions[wait.position] for _, wait in states.states]

    def partial(start: int) -> Iterable[Path]:
        if limits[start] <= start:
            return ()
        bits.may_start[start] = True
        buffer = shared_buffer.Buffer.empty(len(states.states))
        for reached, _ in every_match.advance(states, bits, buffer, start, int(limits[start])):
            buffer = reached
        bits.may_start[start] = False
        heads = buffer.group[buffer.group >= 0]
        hits = np.zeros((3, len(heads)), np.int32)
        hits[0] = heads
        only = np.full(len(heads), start, np.int64)
        paths: dict[Path, None] = {}
        for found in every_match.enumerated(states, buffer, hits, only, only):
            taken = [(row, *mapped_as[state]) for row, state in zip(found.row.tolist(), found.state.tolist())]
            paths.update((tuple(taken[lo:hi]), None) for lo, hi in zip(found.start.tolist(), found.end.tolist()))
        return paths

    return partial
