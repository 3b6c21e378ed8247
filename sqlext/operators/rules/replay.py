"""MATCH_RULES in batch: each version runs over the rows of its own time, as on a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.operators.match.output import MatchBlock, block_batches
from sqlext.operators.match.read_rows import columns_of, read_rows
from sqlext.operators.rows.arrow import as_arrow
from sqlext.operators.rows.columns import PARTITION_START
from sqlext.operators.rows.limits import Limits
from sqlext.operators.rows.spilled_rows import rows_in_memory
from sqlext.operators.rows.worker_memory import memory_errors
from sqlext.operators.rules.plan import CompiledRules, RulePlan, RulesPlan
from sqlext.operators.rules.rule_run import Before, Compile, RuleRun, rule_of
from sqlext.operators.rules.rule_versions import Acting, TakenVersion, acting
from sqlext.operators.rules.shared_rows import SharedRows
from sqlext.operators.rules.state import POSITION, row_schema, with_ids
from sqlext.operators.rules.step import shared_rows
from sqlext.pattern.measures import navigation
from sqlext.pattern.strategy import match
from sqlext.pattern.task.event_time import BEGINNING, NEVER
from sqlext.pattern.task.task import Rows

_NO_POSITIONS = np.zeros(0, np.int64)
_LIMITS = Limits()


def replay(
    events: pa.Table, versions: Sequence[TakenVersion], plan: RulesPlan, compiled: Compile
) -> Iterator[pa.RecordBatch]:
    """The result rows over all events of some keys; rows without a time are left out.

    When the time of a version ends, it has decided what the rows up to then decide. For the other versions the input
    ends after the last row.
    """
    rows = with_ids(events.filter(events.column(plan.time).is_valid()), row_schema(plan).empty_table())
    shared = shared_rows(rows, plan)
    before = Before(
        columns=dict.fromkeys(POSITION, _NO_POSITIONS),
        index=_NO_POSITIONS,
        partition=_NO_POSITIONS,
        place=_NO_POSITIONS,
    )
    for version in acting(versions):
        run = RuleRun(version=version, shared=shared, before=before, after=BEGINNING, plan=plan)
        if version.until != NEVER:
            yield from (batch for _, batch in run.outcome(version.until, compiled).results)
            continue
        rule = rule_of(version.version, compiled)
        if rule is not None:
            yield from (run.result(rule, batch)[0] for batch in _to_the_end(version, shared, rule))


def replay_batches(
    batches: Iterator[pa.RecordBatch], versions: Sequence[TakenVersion], plan: RulesPlan, limits: Limits = _LIMITS
) -> Iterator[pa.RecordBatch]:
    """The result of `replay` for the rows of whole keys, in any order.

    Raises DataError (WORKER_MEMORY) for rows of one key that do not fit in memory.
    """
    compiled = CompiledRules(plan)
    with memory_errors() as held:
        for batch in rows_in_memory(batches, plan.keys, limits, held):
            rows = pa.Table.from_batches(batch).select(plan.schema.names).cast(plan.schema)
            batch.clear()
            yield from replay(rows, versions, plan, compiled)


def _to_the_end(version: Acting, shared: SharedRows, rule: RulePlan) -> Iterator[pa.RecordBatch]:
    """The slots of all matches over the rows of a version whose time does not end."""
    rows = np.flatnonzero(shared.time > version.version.first)
    if not len(rows):
        return
    columns = columns_of(shared.table(rule, rows))
    columns[PARTITION_START] = as_arrow(np.diff(shared.partition[rows], prepend=-1) != 0)
    worker = rule.stream.worker
    try:
        read = read_rows(columns, worker)
        if not read.has_failed:
            yield from list(_matches(columns, read, rule))
            return
    except DataError:
        pass
    # a condition that cannot be computed does not hold, as on streams
    tolerant = replace(worker, task=replace(worker.task, strategy="reference"))
    noting = replace(read_rows(columns, worker, errors={}), errors={})
    yield from _matches(columns, noting, replace(rule, stream=replace(rule.stream, worker=tolerant)))


def _matches(columns: dict[str, pa.Array], rows: Rows, rule: RulePlan) -> Iterator[pa.RecordBatch]:
    worker = rule.stream.worker
    for spans in match(worker.task, rows):
        out = navigation.output_rows(spans, worker.task.output)
        yield from block_batches(MatchBlock(plan=worker, columns=columns, rows=rows, spans=spans, out=out, errors=[]))
