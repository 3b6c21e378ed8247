"""Count in a Python worker what the search that defines matching tries: Arrow batches in, one row of counts out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pyarrow as pa

from sqlext.operators.match.match_rows import whole_partitions, with_partition_starts
from sqlext.operators.match.plan import MatchOperatorPlan
from sqlext.operators.match.read_rows import columns_of, read_rows
from sqlext.pattern.batch.recorder import Attempt
from sqlext.pattern.task.task import MatchTask, Rows
from sqlext.pattern.why import words
from sqlext.pattern.why.attempts import Enough, attempts
from sqlext.pattern.why.funnel import Funnel, Steps

TALLY = "funnel STRING"
MAX_STEPS = 12_000  # of one task: less than half a second where conditions depend on the match


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
    left = max_steps - funnel.steps
    if left <= 0:
        funnel.left_out += len(rows.mask)
        return
    if isinstance(plan.task, MatchTask) and words.applies(plan.task):
        counts = words.attempts_by_word(plan.task, rows, partial(funnel.add, steps=steps), left)
        funnel.tests += counts.tests
        funnel.steps += counts.steps
        funnel.left_out += counts.left_out
        return
    _search_in_order(rows, plan, steps, funnel, max_steps)


def _search_in_order(rows: Rows, plan: MatchOperatorPlan, steps: Steps, funnel: Funnel, max_steps: int) -> None:
    last = -1

    def consume(attempt: Attempt) -> None:
        nonlocal last
        last = attempt.start
        funnel.add(attempt, 1, steps=steps)
        funnel.steps += attempt.steps
        if funnel.steps >= max_steps:
            raise Enough

    recorder = attempts(replace(plan.task, strategy="reference"), rows, consume, max_steps=max_steps)
    funnel.tests += recorder.tests
    if not recorder.is_complete:
        funnel.left_out += len(rows.mask) - 1 - last
