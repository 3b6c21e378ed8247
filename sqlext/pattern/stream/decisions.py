"""Which matches the rows that have passed decide, whatever later rows hold, and since when.

A stream knows the rows whose first ORDER BY key is at most the watermark. The search from a start row is the same
depth-first search as in batch (`Program`), with three outcomes instead of two:

| outcome | when |
|---|---|
| match | DONE is reached before any path that is still alive behind the last row that passed |
| unknown | such a path is met first: a later row could give a match that is preferred |
| fail | neither is met |

A path is dead by time too: behind `end`, where WITHIN has run out, no later row may be used. The search goes on from
start to start as in batch and stops at the first unknown one, so decided matches are never taken back.

Each decided match, and each row that is certainly in none, has a *time*: the least t at which the rows with keys up
to t decide it. It is the greatest of the keys of all rows that the search looked at, of `end` where a path ran out,
and of the times of all start rows before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlext.pattern.conditions import operands
from sqlext.pattern.program import MatchEnd
from sqlext.pattern.task import CLASSIFIER, Condition, MatchTask, Navigation, Rows, Spans

NEVER = np.iinfo(np.int64).max  # a time that does not come
BEGINNING = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Passed:
    """What is known of time. All rows given have passed: `key[i] <= watermark`.

    - `key: int64[n]`: the first ORDER BY key, ascending in each partition;
    - `end: int64[n]` or None: with WITHIN, from when on no row may be used by a match that starts at row i;
    - `need: int64[v, n]` or None: the last row that the condition of label l reads on row i (i itself, but with NEXT),
      in or behind the partition.
    """

    key: np.ndarray
    watermark: int
    end: np.ndarray | None = None
    need: np.ndarray | None = None


@dataclass(frozen=True)
class Place:
    """Where the search stands in each of p partitions.

    - `row: int64[p]`: the next start row, the partition's end if all are decided;
    - `number: int64[p]`: the MATCH_NUMBER() of the next match;
    - `matched_end: int64[p]`: rows below it are in an earlier match;
    - `time: int64[p]`: when all start rows before were decided;
    - `is_first: bool[p]`: is the first row given of the partition the very first one of its key?
    """

    row: np.ndarray
    number: np.ndarray
    matched_end: np.ndarray
    time: np.ndarray
    is_first: np.ndarray


@dataclass(frozen=True)
class Decided:
    """`spans`: the decided matches; `time: int64[m]` of each, `unmatched_time: int64[u]`; `place`: where to go on.

    Partial matches of SHOW TIMEOUT MATCHES stand among the matches, with the number of the next match.
    """

    spans: Spans
    time: np.ndarray
    unmatched_time: np.ndarray
    place: Place


def first_place(rows: Rows) -> Place:
    """The search has not begun.

    >>> first_place(Rows(np.array([0, 2, 5]), np.zeros((5, 1), np.uint8))).row
    array([0, 2])
    """
    p = len(rows.bounds) - 1
    start = rows.bounds[:-1].astype(np.int64)
    return Place(start, np.ones(p, np.int64), start.copy(), np.full(p, BEGINNING), np.ones(p, np.bool_))


def decide(
    task: MatchTask, rows: Rows, passed: Passed, place: Place, tells_times: bool = True, keeps_failed: bool = False
) -> Decided:
    """Go on with the search as far as it is decided; without `tells_times` all times may be the watermark.

    With `keeps_failed` the unmatched rows are all start rows that gave no match, also those in an earlier match.

    `rows.limit` as in batch, but only known where `end` has passed. Raises DataError as conditions do (STEP_BUDGET,
    ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO).

    >>> from sqlext.pattern.program import Done, MatchLabel, Program
    >>> a_b = MatchTask(Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B")), (0, 1), (None, None))
    >>> rows = Rows(np.array([0, 4]), np.array([[1], [2], [1], [1]], np.uint8))
    >>> found = decide(a_b, rows, Passed(np.array([5, 6, 7, 8]), 8), first_place(rows))
    >>> found.spans.start, found.time, found.place.row
    (array([0]), array([6]), array([3]))
    """
    from sqlext.pattern.stream import cep_decisions, stream_reference, unknown_rows, walk

    if task.nfa is not None:
        # Nobody asks for the failed start rows of these.
        return cep_decisions.decide(task, rows, passed, place, tells_times)
    engine, _ = choose(task, passed, tells_times or keeps_failed)
    if engine == "marked":
        return unknown_rows.decide(task, rows, passed, place)
    run = {"walk": walk.decide, "reference": stream_reference.decide}[engine]
    return run(task, rows, passed, place, keeps_failed)


def choose(task: MatchTask, passed: Passed, tells_times: bool) -> tuple[str, str]:
    """The engine that decides a task's matches, and why.

    "walk" (linear, compiled, row-local), "marked" (the strategies of batch, which tell no times), "reference"
    (backtracking, slow), of patterns that skip rows also "search", and for every match "buffer" or "paths".
    """
    from sqlext.pattern.stream import cep_decisions, unknown_rows

    if task.nfa is not None:
        return cep_decisions.choose(task, passed, tells_times)
    if task.strategy == "reference":
        return "reference", 'strategy "reference" was asked for.'
    why_not_walk = _not_walked(task, passed)
    if why_not_walk is None:
        return "walk", "DEFINE is row-local."
    why_not_marked = unknown_rows.objection(task) if not tells_times else "times are asked for."
    if why_not_marked is None:
        return "marked", why_not_walk
    return "reference", f"{why_not_walk[:-1]}, and {why_not_marked}"


def _not_walked(task: MatchTask, passed: Passed) -> str | None:
    from sqlext.pattern.stream import walk

    if any(condition is not None for condition in task.conditions):
        return "a condition depends on the rows matched so far."
    if any(isinstance(x, MatchEnd) for x in task.program.instructions):
        return "PATTERN asks for the last row of the partition."
    if passed.need is not None and passed.end is not None:
        return "DEFINE reads NEXT within WITHIN."
    return None if walk.accepts(task) else "PATTERN has too many ways from one row to the next."


def rows_ahead(condition: Condition | None) -> int:
    """How many rows behind the current one a condition may read.

    >>> from sqlext.pattern.task import Call, Operand
    >>> rows_ahead(Call("is_null", (Operand(Navigation(0, step=2), "int"),), "bool"))
    2
    """
    if condition is None:
        return 0
    sources = [operand.source for operand in operands(condition)]
    return max([0, *(s.step for s in sources if isinstance(s, Navigation) and s.argument != CLASSIFIER)])


def rows_back(condition: Condition | None) -> int:
    """How many rows before a match's first one a condition may read."""
    if condition is None:
        return 0
    sources = [operand.source for operand in operands(condition)]
    return max([0, *(-s.step for s in sources if isinstance(s, Navigation) and s.argument != CLASSIFIER)])
