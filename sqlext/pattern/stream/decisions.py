"""Which engine decides the matches of a stream."""

from __future__ import annotations

from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.event_time import Decisions, EventTimes, SearchPosition
from sqlext.pattern.program import MatchEnd
from sqlext.pattern.task import MatchTask, Rows, Task


def decide(
    task: Task,
    rows: Rows,
    event_times: EventTimes,
    position: SearchPosition,
    tells_times: bool = True,
    keeps_failed: bool = False,
) -> Decisions:
    """Go on with the search as far as it is decided; without `tells_times` all times may be the watermark.

    With `keeps_failed` the unmatched rows are all start rows that gave no match, also those in an earlier match.

    `rows.limit` as in batch, but only known where `end` has passed. Raises DataError as conditions do (STEP_BUDGET,
    ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO).

    >>> import numpy as np
    >>> from sqlext.pattern.event_time import first_position
    >>> from sqlext.pattern.program import Done, MatchLabel, Program
    >>> a_b = Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B"))
    >>> task = MatchTask(program=a_b, bits=(0, 1), conditions=(None, None))
    >>> rows = Rows(np.array([0, 4]), np.array([[1], [2], [1], [1]], np.uint8))
    >>> found = decide(task, rows, EventTimes(key=np.array([5, 6, 7, 8]), watermark=8), first_position(rows))
    >>> found.spans.start, found.time, found.position.row
    (array([0]), array([6]), array([3]))
    """
    from sqlext.pattern.stream import cep_decisions, stream_reference, unknown_rows, walk

    if isinstance(task, CepTask):
        # Nobody asks for the failed start rows of these.
        return cep_decisions.decide(task, rows, event_times, position, tells_times)
    assert isinstance(task, MatchTask)
    engine, _ = choose(task, event_times, tells_times or keeps_failed)
    if engine == "marked":
        return unknown_rows.decide(task, rows, event_times, position)
    if engine == "walk":
        return walk.decide(task, rows, event_times, position, keeps_failed)
    return stream_reference.decide(task, rows, event_times, position, keeps_failed)


def choose(task: Task, event_times: EventTimes, tells_times: bool) -> tuple[str, str]:
    """The engine that decides a task's matches, and why.

    "walk" (linear, compiled, row-local), "marked" (the strategies of batch, which tell no times), "reference"
    (backtracking, slow), of patterns that skip rows also "search", and for every match "buffer" or "paths".
    """
    from sqlext.pattern.stream import cep_decisions, unknown_rows

    if isinstance(task, CepTask):
        return cep_decisions.choose(task, event_times, tells_times)
    assert isinstance(task, MatchTask)
    if task.strategy == "reference":
        return "reference", 'strategy "reference" was asked for.'
    why_not_walk = _not_walked(task, event_times)
    if why_not_walk is None:
        return "walk", "DEFINE is row-local."
    why_not_marked = unknown_rows.objection(task) if not tells_times else "times are asked for."
    if why_not_marked is None:
        return "marked", why_not_walk
    return "reference", f"{why_not_walk[:-1]}, and {why_not_marked}"


def _not_walked(task: MatchTask, event_times: EventTimes) -> str | None:
    from sqlext.pattern.stream import walk

    if any(condition is not None for condition in task.conditions):
        return "a condition depends on the rows matched so far."
    if any(isinstance(x, MatchEnd) for x in task.program.instructions):
        return "PATTERN asks for the last row of the partition."
    if event_times.need is not None and event_times.end is not None:
        return "DEFINE reads NEXT within WITHIN."
    return None if walk.accepts(task) else "PATTERN has too many ways from one row to the next."
