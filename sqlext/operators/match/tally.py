"""Count in a Python worker what the search that defines matching tries, and how often conditions hold.

Arrow batches in, one row of counts out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from sqlext.operators.match.match_rows import partitions
from sqlext.operators.match.plan import MatchOperatorPlan
from sqlext.operators.match.read_rows import read_rows
from sqlext.operators.rows.arrow import as_numpy
from sqlext.pattern import strategy
from sqlext.pattern.batch.recorder import Attempt, Nulls
from sqlext.pattern.conditions.columnar import verdicts
from sqlext.pattern.task.task import Condition, Rows
from sqlext.pattern.why import words
from sqlext.pattern.why.attempts import Enough, attempts
from sqlext.pattern.why.funnel import Funnel, Steps
from sqlext.pattern.why.verdicts import NULL, PACKED, PackedVerdicts, VerdictCounts, is_null, packed

TALLY, VERDICTS = "funnel STRING, verdicts STRING", "verdicts STRING"
MAX_STEPS = 12_000  # of one task: less than half a second where conditions depend on the match
PACKED_VERDICTS = "__verdicts{}"  # the input columns with verdicts of conditions, see `pattern.why.verdicts`
ROW_ID = "__row_id"  # the input column with a number by which a row is found again, see `VerdictCounts`
NUMBER, FIRST, LAST = "__number", "__first", "__last"  # how many rows, and the smallest and the largest ROW_ID


def tally(
    batches: Iterator[pa.RecordBatch],
    plan: MatchOperatorPlan,
    steps: Steps,
    counted: Sequence[Condition | None],
    labels: Sequence[int],
) -> Iterator[pa.RecordBatch]:
    """The counts of all partitions of the rows, as JSON. After MAX_STEPS steps of the search, rows are only counted.

    `counted`: the conditions whose verdicts are counted, each None if its verdicts are packed in columns. `labels`: the
    label of each.
    """
    funnel, counts = Funnel(), VerdictCounts()
    for columns in partitions(_timed(batches, funnel), plan):
        began = time.perf_counter()
        rows = read_rows(columns, plan)
        funnel.match_s += time.perf_counter() - began
        lengths = (rows.bounds[1:] - rows.bounds[:-1]).tolist()
        funnel.rows += sum(lengths)
        funnel.partitions += len(lengths)
        funnel.largest = max(funnel.largest, *lengths)
        of_rows, row_ids = list(_verdicts(columns, counted, rows)), as_numpy(columns[ROW_ID])
        counts.add(of_rows, labels, None, row_ids, row_ids)
        _search(rows, plan, steps, funnel, dict(_nulls(of_rows, labels, counts, plan)))
    yield pa.RecordBatch.from_pydict({"funnel": [funnel.as_json()], "verdicts": [counts.as_json()]})


def tally_verdicts(batches: Iterator[pa.RecordBatch], labels: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """The counts of rows, of which NUMBER have the same packed verdicts, as JSON. `labels`: of each condition."""
    counts = VerdictCounts()
    for batch in batches:
        values = list(_of_spark(batch, range(len(labels))))
        counts.add(values, labels, *(as_numpy(batch[name]) for name in (NUMBER, FIRST, LAST)))
    yield pa.RecordBatch.from_pydict({"verdicts": [counts.as_json()]})


def _verdicts(
    columns: Mapping[str, pa.Array], counted: Sequence[Condition | None], rows: Rows
) -> Iterator[PackedVerdicts]:
    own = [(i, condition) for i, condition in enumerate(counted) if condition is not None]
    yield from _of_spark(columns, [i for i, condition in enumerate(counted) if condition is None])
    yield from packed([verdicts(condition, rows) for _, condition in own], [i for i, _ in own])


def _nulls(
    of_rows: Sequence[PackedVerdicts], labels: Sequence[int], counts: VerdictCounts, plan: MatchOperatorPlan
) -> Iterator[tuple[int, bytes]]:
    """As in `Recorder`."""
    for label, condition in enumerate(plan.task.conditions):
        if condition is None and counts.all_of[label, NULL]:
            yield label, is_null(of_rows, labels, label).tobytes()


def _of_spark(columns: Mapping[str, pa.Array] | pa.RecordBatch, conditions: Sequence[int]) -> Iterator[PackedVerdicts]:
    """The verdicts of the conditions that Spark has computed."""
    for number, first in enumerate(range(0, len(conditions), PACKED)):
        bits = as_numpy(columns[PACKED_VERDICTS.format(number)])
        yield PackedVerdicts(bits, conditions[first : first + PACKED])


def _timed(batches: Iterator[pa.RecordBatch], funnel: Funnel) -> Iterator[pa.RecordBatch]:
    """The batches; `funnel.spark_s` receives the seconds in which the worker waits for them."""
    while True:
        began = time.perf_counter()
        batch = next(batches, None)
        funnel.spark_s += time.perf_counter() - began
        if batch is None:
            return
        yield batch


def _search(rows: Rows, plan: MatchOperatorPlan, steps: Steps, funnel: Funnel, nulls: Nulls) -> None:
    task = plan.task
    began = time.perf_counter()
    starts = words.start_rows(task, rows) if words.applies(task) else None
    if starts is not None and not task.output.shows_timeouts:
        funnel.found += starts.matches
    else:
        for block in strategy.match(replace(task, strategy="auto"), rows):
            timed_out = 0 if block.timed_out is None else int(np.count_nonzero(block.timed_out))
            funnel.found += len(block.start) - timed_out
            funnel.timed_out += timed_out
    funnel.match_s += time.perf_counter() - began
    left = MAX_STEPS - funnel.steps
    if left <= 0:
        funnel.left_out += len(rows.mask)
    elif starts is not None:
        counts = words.attempts_by_word(task, rows, starts, partial(funnel.add, steps=steps), left, nulls)
        funnel.tests += counts.tests
        funnel.steps += counts.steps
        funnel.left_out += counts.left_out
    else:
        _search_in_order(rows, plan, steps, funnel, nulls)


def _search_in_order(rows: Rows, plan: MatchOperatorPlan, steps: Steps, funnel: Funnel, nulls: Nulls) -> None:
    last = -1

    def consume(attempt: Attempt) -> None:
        nonlocal last
        last = attempt.start
        funnel.add(attempt, 1, steps=steps)
        funnel.steps += attempt.steps
        if funnel.steps >= MAX_STEPS:
            raise Enough

    recorder = attempts(replace(plan.task, strategy="reference"), rows, consume, max_steps=MAX_STEPS, nulls=nulls)
    funnel.tests += recorder.tests
    if not recorder.is_complete:
        funnel.left_out += len(rows.mask) - 1 - last
