"""The search of `stream_reference`, compiled, for row-local DEFINE with ends that wait, or with bounds between rows.

Its outcomes are the same as with `path_verdicts`. Because conditions are row-local, what follows an instruction at a
row does not depend on the way there. Therefore a search tries each instruction at a row once, and is linear in the rows
that its bound contains.
"""

from __future__ import annotations

import numpy as np

from sqlext.pattern.cep.cep_task import CepTask, bound_ends, evaluate, local_truth, may_begin
from sqlext.pattern.cep.desugared_program import GAP, desugared_program
from sqlext.pattern.cep.ends import next_hit
from sqlext.pattern.cep.nfa import Final
from sqlext.pattern.program.jit import compiled
from sqlext.pattern.program.program import Done, Instruction, Jump, MatchEnd, MatchLabel, MatchStart, Split
from sqlext.pattern.stream.stream_reference import Outcome, Request
from sqlext.pattern.task.event_time import BEGINNING, EventTimes
from sqlext.pattern.task.task import Rows

LABEL, SPLIT, JUMP, START, END, DONE = range(6)  # kinds of instructions
NEXT_ROW, BOUND = 1, 2  # what a variant waits for, as bits of `ends`
MATCH, FAILED, UNKNOWN, NO_ROOM = range(4)

_KINDS = {Jump: JUMP, MatchStart: START, MatchEnd: END, Done: DONE}


class EndSearch:
    """The searches of a task whose DEFINE is row-local and reads no later row."""

    def __init__(self, task: CepTask, rows: Rows, event_times: EventTimes):
        program, truth, n = desugared_program(task.nfa), local_truth(task, rows), len(rows.mask)
        self.task, self.event_times = task, event_times
        end = np.zeros(0, np.int64) if event_times.end is None else np.array(event_times.end, np.int64)
        self.bounds = np.array(bound_ends(rows), np.int64), end
        self.instructions = program.program.instructions
        self.code = np.array([_coded(x) for x in self.instructions], np.int64).T.copy()
        finals = [v.final for v in program.variants]
        no_hit = np.full(n, n, np.int64)
        satisfied = np.array([evaluate(v.formula, truth) for v in program.variants], np.bool_).reshape(len(finals), n)
        hit = np.array([no_hit if f is None else next_hit(f, truth, rows.bounds) for f in finals], np.int64)
        is_gap = np.array([v.origin == GAP for v in program.variants], np.bool_)
        waits_for = np.array([_waits_for(f) for f in finals], np.int64)
        self.rows = satisfied, is_gap, waits_for, hit.reshape(len(finals), n)
        longest = int(np.diff(rows.bounds).max(initial=0))
        visited, takers = np.zeros((2, len(self.instructions), longest + 1), np.int64), np.zeros(longest, np.int32)
        self.scratch = np.zeros((3, 1 << 10), np.int64), visited, takers
        self.result, self.stamp = np.zeros(3, np.int64), 0
        may_be_empty = any(isinstance(t, Final) for t in (*task.nfa.start, *task.nfa.partition_start))
        self.is_tried = np.ones(n, np.bool_) if may_be_empty else may_begin(task, rows)
        self.is_tried |= self.bounds[0] <= np.arange(n)

    def outcome(self, request: Request) -> Outcome | None:
        """As `stream_reference.search`."""
        if not self.is_tried[request.start]:
            return Outcome(None, request.start, BEGINNING)  # the row alone decides
        self.stamp += 1
        self.result[2] = BEGINNING
        how = request.is_first, self.task.is_between, self.event_times.watermark, self.stamp
        numbers = np.array([request.start, *request.partition, *how], np.int64)
        outcome = _search(self.code, self.rows, self.bounds, numbers, self.scratch, self.result)
        if outcome == NO_ROOM:
            stack, visited, takers = self.scratch
            self.scratch = np.zeros((3, 4 * stack.shape[1]), np.int64), visited, takers
            return self.outcome(request)
        if outcome == UNKNOWN:
            return None
        taken, last, until = self.result.tolist()
        return Outcome(self._taken(taken) if outcome == MATCH else None, last, until)

    def _taken(self, count: int) -> list[tuple[int, bool]]:
        takers = [self.instructions[i] for i in self.scratch[2][:count].tolist()]
        return [(x.label, x.is_hidden) for x in takers if isinstance(x, MatchLabel)]


def _coded(x: Instruction) -> tuple[int, int, int]:
    if isinstance(x, MatchLabel):
        return LABEL, x.label, 0
    if isinstance(x, Split):
        return SPLIT, x.first, x.second
    return _KINDS[type(x)], x.target if isinstance(x, Jump) else 0, 0


def _waits_for(final: Final | None) -> int:
    if final is None:
        return 0
    return NEXT_ROW * final.needs_next + BOUND * final.waits_for_bound


@compiled
def _search(code, rows, bounds, request, scratch, result):
    """MATCH, FAILED, UNKNOWN as in `stream_reference.search`, or NO_ROOM on the stack.

    - `code: int64[3, i]`: kind, label or target, second target;
    - `rows`: (satisfied: bool[v, n]; is_gap: bool[v]; ends: int64[v]: what else a variant waits for; hit: int64[v, n]:
      the row that forbids a match to end there, no row of the partition if there is none);
    - `bounds`: (limit: int64[n], end: int64[n] or empty);
    - `request: int64[7]`: start, first row and end of the partition, whether `^` holds at the first row, whether the
      bound begins anew with each row, watermark, stamp;
    - `scratch`: (stack: int64[3, s]; visited: int64[2, i, r + 1]: stamp and base of the last search that was there;
      takers: int32[r], the instructions that take rows);
    - `result: int64[3]`: how many rows are taken, the last row that was looked at, the latest end of a bound that was
      needed (unchanged if none was).

    What follows an instruction at a row depends on the way there only through its *base*, the row at which the bound
    begins: what failed with a later base also fails with an earlier one.
    """
    satisfied, is_gap, ends, hit = rows
    limit, end = bounds
    stack, visited, takers = scratch
    start, first, stop, is_between = request[0], request[1], request[2], request[4]
    watermark, stamp = request[5], request[6]
    stack[0, 0], stack[1, 0], stack[2, 0] = 0, 0, -1 if is_between == 1 else start
    top, last, outcome = 1, start, FAILED
    while top > 0 and outcome == FAILED:
        if top + 2 > stack.shape[1]:
            return NO_ROOM
        top -= 1
        i, taken, base = stack[0, top], stack[1, top], stack[2, top]
        if visited[0, i, taken] == stamp and visited[1, i, taken] >= base:
            continue
        visited[0, i, taken], visited[1, i, taken] = stamp, base
        row, kind = start + taken, code[0, i]
        if kind == DONE:
            outcome, result[0] = MATCH, taken
        elif kind == LABEL:
            v, is_taken = code[1, i], False
            if base >= 0 and len(end) > 0 and end[base] <= watermark and row >= limit[base]:
                result[2] = max(result[2], end[base])
            elif row >= stop:
                outcome = UNKNOWN
            else:
                last = max(last, row)
                is_taken = satisfied[v, row]
            if is_taken and ends[v] > 0:
                about = row if is_between == 1 else start
                has_ended = len(end) > 0 and end[about] <= watermark
                bound_stop = min(limit[about], stop) if has_ended else stop
                if (ends[v] & NEXT_ROW) != 0 and row + 1 >= bound_stop:
                    is_taken = False
                    if has_ended:
                        result[2] = max(result[2], end[about])
                    else:
                        outcome = UNKNOWN
                elif hit[v, row] < bound_stop:
                    is_taken = False
                    last = max(last, hit[v, row])
                elif (ends[v] & BOUND) != 0 and not has_ended:
                    outcome = UNKNOWN
                else:
                    if (ends[v] & NEXT_ROW) != 0:
                        last = max(last, row + 1)
                    if (ends[v] & BOUND) != 0:
                        result[2] = max(result[2], end[about])
            if is_taken:
                takers[taken] = i
                stack[0, top], stack[1, top] = i + 1, taken + 1
                stack[2, top] = row if is_between == 1 and not is_gap[v] else base
                top += 1
        elif kind == SPLIT:
            for k in range(2):
                stack[0, top], stack[1, top], stack[2, top] = code[2 - k, i], taken, base
                top += 1
        elif kind == JUMP or (kind == START and row == first and request[3] == 1):
            stack[0, top] = code[1, i] if kind == JUMP else i + 1
            stack[1, top], stack[2, top] = taken, base
            top += 1
        elif kind == END and row >= stop:
            outcome = UNKNOWN
        elif kind == END:
            last = max(last, row)
    result[1] = last
    return outcome
