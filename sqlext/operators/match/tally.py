"""Count in a Python worker what the search that defines matching tries: Arrow batches in, one row of counts out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from sqlext.operators.match.match_rows import whole_partitions, with_partition_starts
from sqlext.operators.match.plan import MatchOperatorPlan
from sqlext.operators.match.read_rows import columns_of, read_rows
from sqlext.pattern.batch.recorder import Attempt
from sqlext.pattern.task.task import Rows
from sqlext.pattern.why.attempts import Enough, attempts
from sqlext.pattern.why.funnel import Funnel, Steps

TALLY = "funnel STRING"
MAX_STEPS = 250_000  # of one task: about three seconds


def tally(
    batches: Iterator[pa.RecordBatch], plan: MatchOperatorPlan, steps: Steps, max_steps: int = MAX_STEPS
) -> Iterator[pa.RecordBatch]:
    """The counts of all partitions in a stream of sorted batches, as JSON. After `max_steps` steps of the search, rows
    are only counted."""
    funnel = Funnel()
    for table in whole_partitions(with_partition_starts(batches, plan.partition_by), plan.limits):
        rows = read_rows(columns_of(table), plan)
        lengths = (rows.bounds[1:] - rows.bounds[:-1]).tolist()
        funnel.rows += sum(lengths)
        funnel.partitions += len(lengths)
        funnel.largest = max(funnel.largest, *lengths)
        _search(rows, plan, steps, funnel, max_steps)
    yield pa.RecordBatch.from_pydict({"funnel": [funnel.as_json()]})


def _search(rows: Rows, plan: MatchOperatorPlan, steps: Steps, funnel: Funnel, max_steps: int) -> None:
    if funnel.steps >= max_steps:
        funnel.left_out += len(rows.mask)
        return

    def consume(attempt: Attempt) -> None:
        funnel.add(attempt, steps)
        if funnel.steps >= max_steps:
            raise Enough

    def rejected(attempt: Attempt, times: int) -> None:
        funnel.add(replace(attempt, steps=0), steps, times)

    task = replace(plan.task, strategy="reference")
    recorder = attempts(task, rows, consume, max_steps=max_steps, rejected=rejected)
    funnel.tests += recorder.tests
    if not recorder.is_complete:
        funnel.left_out += len(rows.mask) - 1 - recorder.last
