"""Near misses of a clause, for pictures: searches that lacked one row for a match, and what refused that row. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.engine.why.explain_row import MAX_STEPS, PartitionWhy
from sqlext.pattern.batch.recorder import Attempt
from sqlext.pattern.why.attempts import Enough, attempts
from sqlext.pattern.why.row_search import lacks_one_row, rows_missing

MAX_NEAR = 20  # near misses of a partition


@dataclass(frozen=True, kw_only=True)
class NearMiss:
    """The mapped rows with their variables, the row that was refused and its variable, and why.

    Rows are numbered by their places in the order of the partition. `refused` is the last mapped row where the
    partition ended.
    """

    mapped: tuple[tuple[int, str], ...]
    refused: int
    variable: str
    reason: str


def near_misses(why: PartitionWhy) -> list[NearMiss]:
    """The first near misses of a partition, in the order of their start rows."""
    least, found, steps = rows_missing(why.task.program), list[NearMiss](), 0

    def consume(attempt: Attempt) -> None:
        nonlocal steps
        steps += attempt.steps
        if lacks_one_row(attempt, least):
            found.append(_near_miss(why, attempt, least))
        if len(found) == MAX_NEAR or steps >= MAX_STEPS:
            raise Enough

    attempts(why.task, why.rows, consume, max_steps=MAX_STEPS)
    return found


def _near_miss(why: PartitionWhy, attempt: Attempt, least: list[int]) -> NearMiss:
    names = why.task.program.labels
    stops = [stop for stop in attempt.stops if not isinstance(stop.step, int) or least[stop.step] == 1]
    stop = (stops or attempt.stops)[0]
    last = int(why.rows.bounds[-1]) - 1
    return NearMiss(
        mapped=tuple((row, names[label]) for row, label in attempt.furthest),
        refused=min(stop.row, last),
        variable="" if stop.label is None else names[stop.label],
        reason=why.refusal(attempt.furthest, stop),
    )
