"""SHOW TIMEOUT MATCHES: the partial matches that could still have been continued when their time was over.

With a skip mode only those of start rows that were tried and gave no match (language.md, WITHIN).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sqlext.pattern.cep import cep_oracle
from sqlext.pattern.cep.cep_reference import Path
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.desugared_task import may_begin
from sqlext.pattern.cep.formulas import local_truth, own_limits, partition_ends
from sqlext.pattern.skip import resume_row
from sqlext.pattern.task import NO_SKIP, Rows, Spans


def with_timeouts(blocks: Iterator[Spans], task: CepTask, rows: Rows) -> Iterator[Spans]:
    """The matches, then the partial ones, in the order of their start rows."""
    tried, failure = _Tried(task, rows), None
    for block in blocks:
        tried.see(block)
        failure = block.failure
        yield block
    if failure is not None:
        return
    paths = partial_matches(task, rows, np.array(list(tried.rows()), np.int64))
    if paths:
        starts = [path[0][0] for path in paths]
        yield cep_oracle.as_spans(starts, [0] * len(paths), paths, [], None, are_timed_out=True)


def partial_matches(
    task: CepTask,
    rows: Rows,
    starts: np.ndarray,
    is_first: np.ndarray | None = None,
    is_open: Callable[[int, int], bool] | None = None,
) -> list[Path]:
    """The partial matches of the start rows `starts: int64[k]`, ascending, whose time is over, in their order.

    `is_first: bool[p]` (None: everywhere): is the first row given of a partition its very first one? `is_open`: see
    Search; only asked where bounds begin anew or conditions depend on the match.
    """
    starts = starts[may_begin(task, rows)[starts]]
    if not len(starts):
        return []
    is_first = np.ones(len(rows.bounds) - 1, np.bool_) if is_first is None else is_first
    if task.is_between or any(condition is not None for condition in task.conditions):
        return _by_paths(task, rows, starts, is_first, is_open)
    return _by_states(task, rows, starts, is_first)


class _Tried:
    """Which start rows were tried and gave no match."""

    def __init__(self, task: CepTask, rows: Rows):
        self.task, self.rows_ = task, rows
        self.resume: dict[int, int] = {}  # start row of a match → where matching goes on

    def see(self, block: Spans) -> None:
        if self.task.skip.mode == NO_SKIP:
            return
        assert block.row is not None
        for i, start in enumerate(block.start.tolist()):
            mapped = slice(block.offset[i], block.offset[i + 1])
            taken = list(zip(block.row[mapped].tolist(), block.label[mapped].tolist()))
            resume = resume_row(self.task.skip, start, taken)
            self.resume[start] = resume if isinstance(resume, int) else start + 1

    def rows(self) -> Iterator[int]:
        row, n = 0, len(self.rows_.mask)
        while row < n:
            if row in self.resume:
                row = self.resume[row]
            else:
                yield row
                row += 1


def _by_paths(task: CepTask, rows: Rows, starts: np.ndarray, is_first: np.ndarray, is_open) -> list[Path]:
    """The search of the oracle notes them."""
    searcher, nfa, found = cep_oracle.Oracle(task, rows, is_first), task.nfa, list[Path]()
    for start in starts.tolist():
        partition = int(np.searchsorted(rows.bounds, start, side="right")) - 1
        search = searcher.search(start, (int(rows.bounds[partition]), int(rows.bounds[partition + 1])), 0)
        search.is_open = is_open
        for _ in search.paths(nfa.pattern):
            pass
        found += search.partial
    return found


def _by_states(task: CepTask, rows: Rows, starts: np.ndarray, is_first: np.ndarray) -> list[Path]:
    """What is left in the shared buffer of each of these rows when its time is over, if only they may start matches."""
    from sqlext.pattern.cep import every_match, every_match_tables, shared_buffer
    from sqlext.pattern.cep import shared_buffer_kernels as kernels

    states, truth, limits = every_match_tables.states_of(task.nfa), local_truth(task, rows), own_limits(task, rows)
    bits = every_match_tables.row_bits(states, truth, task, rows, is_first)
    may_start = np.zeros(len(limits), np.bool_)
    may_start[starts] = limits[starts] > starts
    due = np.zeros(len(limits), np.int8)
    ends = partition_ends(rows.bounds)
    due[limits[starts[limits[starts] < ends[starts]]]] |= kernels.DUE_BEFORE
    due[ends[starts] - 1] |= kernels.DUE_BEHIND
    bits, hi = bits._replace(may_start=may_start), min(int(limits[starts].max()) + 1, len(limits))
    positions = task.nfa.positions
    mapped_as = [positions[wait.position] for _, wait in states.states]
    paths: dict[Path, None] = {}
    buffer = shared_buffer.Buffer.empty(len(states.states))
    for reached, hits in every_match.advance(states, bits, buffer, int(starts[0]), hi, due):
        hits = hits[:, hits[2] < 0]
        is_before = hits[2] == -kernels.DUE_BEFORE
        low = bits.oldest[np.where(is_before, hits[1] - 1, hits[1])]
        high = np.where(is_before, bits.oldest[hits[1]] - 1, hits[1])
        for found in every_match.enumerated(states, reached, hits, low, high, MAX_MAPPED):
            taken = [(row, *mapped_as[state]) for row, state in zip(found.row.tolist(), found.state.tolist())]
            paths.update((tuple(taken[lo:hi]), None) for lo, hi in zip(found.start.tolist(), found.end.tolist()))
    return sorted(paths, key=lambda path: path[0][0])


MAX_MAPPED = 1 << 26  # rows that the partial matches map whose time is over with one row
