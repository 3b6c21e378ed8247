"""AFTER MATCH SKIP: the row at which matching resumes after a match. `skip_kernels` is the same rule, compiled."""

from __future__ import annotations

from collections.abc import Sequence

from sqlext.pattern.task.task import Skip, SkipFailure

NO_TARGET, FIRST_ROW = "no row", "first row"  # SkipFailure.reason


def resume_row(skip: Skip, start: int, mapped: Sequence[tuple[int, int]], current: int | None = None) -> int | str:
    """The resume row after a match that starts at row `start`, or the reason why there is none.

    `mapped`: (row, label) of each mapped row. An empty match resumes at the next row. `current`: the row that the next
    row follows if it is not `start`, see `task.Frame`.

    Source: Trino, PatternRecognitionPartition.

    >>> from sqlext.pattern.task.skip_mode import SKIP_TO_FIRST
    >>> resume_row(Skip(SKIP_TO_FIRST, labels=(1,)), 10, [(10, 0), (14, 1), (20, 1)])
    14
    >>> resume_row(Skip(SKIP_TO_FIRST, labels=(0,)), 10, [(10, 0), (14, 1), (20, 1)])
    'first row'
    """
    next_row = (start if current is None else current) + 1
    if not mapped or skip.mode.tries_every_row:
        return next_row
    if skip.mode.is_past_last:
        return mapped[-1][0] + 1
    targets = [row for row, label in mapped if label in skip.labels]
    target = None if not targets else targets[0] if skip.mode.to_first else targets[-1]
    if target is not None and target > start:
        return target
    if skip.else_next_row:
        return next_row
    return NO_TARGET if target is None else FIRST_ROW


def failure_text(skip: Skip, labels: Sequence[str], failure: SkipFailure, match: str) -> str:
    """Why a query ends at a match, which is called `match`; `labels`: the names of all labels.

    >>> from sqlext.pattern.task.skip_mode import SKIP_TO_FIRST
    >>> failure_text(Skip(SKIP_TO_FIRST, labels=(0,)), ("A", "B"), SkipFailure(FIRST_ROW, 10, 1), "match 1")
    'AFTER MATCH SKIP TO FIRST A: this is the first row of match 1, so matching would never end'
    >>> failure_text(Skip(SKIP_TO_FIRST, labels=(1,)), ("A", "B"), SkipFailure(NO_TARGET, 10, 1), "match 1")
    'AFTER MATCH SKIP TO FIRST B: no row is mapped to B in match 1'
    """
    name = " or ".join(labels[i] for i in skip.labels)
    what = f"this is the first row of {match}, so matching would never end"
    if failure.reason == NO_TARGET:
        what = f"no row is mapped to {name} in {match}"
    return f"AFTER MATCH {skip.mode.text} {name}: {what}"


def numbered(start: int, labels: Sequence[int]) -> list[tuple[int, int]]:
    """(row, label) of the mapped rows of a contiguous match.

    >>> numbered(10, [0, 1])
    [(10, 0), (11, 1)]
    """
    return [(start + j, label) for j, label in enumerate(labels)]
