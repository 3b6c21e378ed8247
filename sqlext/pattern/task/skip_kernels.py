"""AFTER MATCH SKIP, compiled, for contiguous matches: see `skip`, which is the same rule in Python.

Numba looks only at the file of a kernel to see whether its cached machine code is stale: after a change here,
remove `__pycache__/*.nb*` (the tests keep a cache for each version of the sources).
"""

from __future__ import annotations

import numpy as np

from sqlext.pattern.program.jit import compiled
from sqlext.pattern.program.position_automaton import PositionAutomaton
from sqlext.pattern.task import skip
from sqlext.pattern.task.skip_mode import SKIP_PAST_LAST_ROW, SKIP_TO_FIRST, SKIP_TO_LAST, SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import MatchTask

PAST_LAST, TO_NEXT, TO_FIRST, TO_LAST = 0, 1, 2, 3
CODES = {SKIP_PAST_LAST_ROW: PAST_LAST, SKIP_TO_NEXT_ROW: TO_NEXT, SKIP_TO_FIRST: TO_FIRST, SKIP_TO_LAST: TO_LAST}

NO_TARGET, FIRST_ROW = 1, 2
REASONS = {NO_TARGET: skip.NO_TARGET, FIRST_ROW: skip.FIRST_ROW}


def is_skip_target(task: MatchTask, tables: PositionAutomaton) -> np.ndarray:
    """`bool[m]`: whether AFTER MATCH SKIP looks for rows taken at this position."""
    return np.isin(tables.label, np.array(task.skip.labels, np.int16))


@compiled
def target_step(mode, is_target, position, first, length):
    """The number of rows from the match's first row to the row to which SKIP TO goes, or -1.

    `position[first : first + length]`: the positions at which the match's rows were taken.
    """
    if mode in (TO_FIRST, TO_LAST):
        for j in range(length):
            step = j if mode == TO_FIRST else length - 1 - j
            if is_target[position[first + step]]:
                return step
    return -1


@compiled
def resume_row(mode, else_next_row, current, start, length, step):
    """The resume row after a match of `length` rows from row `start`; and 0, or the reason why there is none.

    `step`: see `target_step`. `current`: the row that the next one follows; it is `start` except in windows with SEEK.
    """
    if length == 0 or mode == TO_NEXT:
        return current + 1, 0
    if mode == PAST_LAST:
        return start + length, 0
    if step > 0:
        return start + step, 0
    if else_next_row:
        return current + 1, 0
    return start, NO_TARGET if step < 0 else FIRST_ROW
