"""Ends that wait for a bound, bounds between rows, row-local DEFINE: the search of `streams.reference`, compiled.

It gives the answers of `verdicts`. Row-local conditions make what follows an instruction at a row the same whatever the
way there was, so a search tries each once and is linear in the rows that its bound holds.
"""

from __future__ import annotations

import numpy as np

from sqlext.pattern.cep import gap_kernels as kernels
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.desugared import GAP, plain_program
from sqlext.pattern.cep.desugared_task import may_begin
from sqlext.pattern.cep.formulas import evaluate, local_truth, own_limits
from sqlext.pattern.cep.nfa import Final
from sqlext.pattern.event_time import BEGINNING, EventTimes
from sqlext.pattern.program import Done, Instruction, Jump, MatchEnd, MatchLabel, MatchStart, Split
from sqlext.pattern.stream.path_verdicts import next_hit
from sqlext.pattern.stream.stream_reference import Outcome, Search
from sqlext.pattern.task import Rows

_KINDS = {
    Jump: kernels.JUMP,
    MatchStart: kernels.START,
    MatchEnd: kernels.END,
    Done: kernels.DONE,
}


class EndSearch:
    """The searches of a task whose DEFINE reads nothing but the row and its mask."""

    def __init__(self, task: CepTask, rows: Rows, event_times: EventTimes):
        plain, truth, n = plain_program(task.nfa), local_truth(task, rows), len(rows.mask)
        self.task, self.event_times = task, event_times
        end = np.zeros(0, np.int64) if event_times.end is None else np.array(event_times.end, np.int64)
        self.bounds = np.array(own_limits(task, rows), np.int64), end
        self.instructions = plain.program.instructions
        self.code = np.array([_coded(x) for x in self.instructions], np.int64).T.copy()
        finals = [v.final for v in plain.variants]
        none = np.full(n, n, np.int64)
        held = np.array([evaluate(v.formula, truth) for v in plain.variants], np.bool_).reshape(len(finals), n)
        hit = np.array([none if f is None else next_hit(f, truth, rows.bounds) for f in finals], np.int64)
        is_gap = np.array([v.origin == GAP for v in plain.variants], np.bool_)
        waits_for = np.array([_waits_for(f) for f in finals], np.int64)
        self.rows = held, is_gap, waits_for, hit.reshape(len(finals), n)
        longest = int(np.diff(rows.bounds).max(initial=0))
        met, takers = np.zeros((2, len(self.instructions), longest + 1), np.int64), np.zeros(longest, np.int32)
        self.scratch = np.zeros((3, 1 << 10), np.int64), met, takers
        self.told, self.stamp = np.zeros(3, np.int64), 0
        may_be_empty = any(isinstance(t, Final) for t in (*task.nfa.start, *task.nfa.partition_start))
        self.is_tried = np.ones(n, np.bool_) if may_be_empty else may_begin(task, rows)
        self.is_tried |= self.bounds[0] <= np.arange(n)

    def outcome(self, asked: Search) -> Outcome | None:
        """As `streams.reference.search`."""
        if not self.is_tried[asked.start]:
            return Outcome(None, asked.start, BEGINNING)  # the row itself tells
        self.stamp += 1
        self.told[2] = BEGINNING
        how = asked.is_first, self.task.is_between, self.event_times.watermark, self.stamp
        question = np.array([asked.start, *asked.partition, *how], np.int64)
        found = kernels.search(self.code, self.rows, self.bounds, question, self.scratch, self.told)
        if found == kernels.NO_ROOM:
            stack, met, takers = self.scratch
            self.scratch = np.zeros((3, 4 * stack.shape[1]), np.int64), met, takers
            return self.outcome(asked)
        if found == kernels.UNKNOWN:
            return None
        taken, last, until = self.told.tolist()
        return Outcome(self._taken(taken) if found == kernels.FOUND else None, last, until)

    def _taken(self, count: int) -> list[tuple[int, bool]]:
        takers = [self.instructions[i] for i in self.scratch[2][:count].tolist()]
        return [(x.label, x.is_hidden) for x in takers if isinstance(x, MatchLabel)]


def _coded(x: Instruction) -> tuple[int, int, int]:
    if isinstance(x, MatchLabel):
        return kernels.LABEL, x.label, 0
    if isinstance(x, Split):
        return kernels.SPLIT, x.first, x.second
    return _KINDS[type(x)], x.target if isinstance(x, Jump) else 0, 0


def _waits_for(final: Final | None) -> int:
    if final is None:
        return 0
    return kernels.NEXT_ROW * final.needs_next + kernels.BOUND * bool(final.absent)
