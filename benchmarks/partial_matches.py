"""The case that is unbounded for users of Flink: one key keeps 1,000 start rows a second for six hours, 21.6 M partial
matches.

usage: python -m benchmarks.partial_matches [--seconds N]     the window's length (21,600); the stream is twice as long

`A -> B WITHIN`, and no B ever comes: every row starts a match, none ends, and the first ones time out when the window
has passed. Rows go through the shared buffer in steps of one second of event time, as on a stream. It prints rows a
second, entries and bytes of the state when it is full and at the end, and the peak memory of the process.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from sqlext.pattern.cep.cep_task import evaluate
from sqlext.pattern.cep.every_match import advance
from sqlext.pattern.cep.every_match_tables import NfaStates, RowBits, states_of
from sqlext.pattern.cep.nfa_compile import compile_nfa
from sqlext.pattern.cep.shared_buffer import Buffer
from sqlext.pattern.program.ast import Concatenation, Relaxed, Variable

STARTS_A_SECOND = 1_000


def run(seconds: int) -> dict[str, float]:
    """The cost of a window of so many seconds over a stream of twice its length.

    >>> cost = run(3)
    >>> cost["most_entries"] <= 4 * 3 * STARTS_A_SECOND
    True
    """
    states = states_of(compile_nfa(Concatenation((Variable("A"), Relaxed("->", Variable("B")))), ("A", "B")))
    buffer, window, most, began = Buffer.empty(len(states.states)), seconds * STARTS_A_SECOND, 0, time.perf_counter()
    rows = _rows(states, 2 * window, window)
    for lo in range(0, 2 * window, STARTS_A_SECOND):
        for reached, _ in advance(states, rows, buffer, lo, lo + STARTS_A_SECOND):
            buffer = reached
        most = max(most, buffer.size)
    return {
        "rows_a_second": 2 * window / (time.perf_counter() - began),
        "most_entries": most,
        "state_mb": buffer.size * 18 / 2**20,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _rows(states: NfaStates, n: int, window: int) -> RowBits:
    """All rows are A, none is B, and each is within the bound of the rows of the last window."""
    holds = np.hstack([np.full((n, 1), evaluate(f, np.array([[True], [False]]))[0]) for f in states.formulas])
    row = np.arange(n)
    return RowBits(holds, (row == 0).astype(np.int8), np.ones(n, np.bool_), np.maximum(row - window + 1, 0))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.partial_matches", description=__doc__)
    parser.add_argument("--seconds", type=int, default=6 * 3600)
    for name, value in run(parser.parse_args().seconds).items():
        print(f"{name:15} {value:15,.0f}")
