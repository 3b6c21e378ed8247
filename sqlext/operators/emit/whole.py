"""Aggregates over rows on which an argument could not be computed: the value is NULL, since an aggregate of the other
rows would look like the whole value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

import numpy as np
import pyarrow as pa

from sqlext.operators.emit.aggregate_states import Aggregation, Count, Errors, States, aggregation, report
from sqlext.operators.emit.parts import FiringAggregate
from sqlext.operators.emit.plan import EmitOperatorPlan
from sqlext.operators.rows.arrow import are_valid, as_numpy, taken
from sqlext.operators.rows.columns import NOT_COMPUTED
from sqlext.operators.rows.failed_arguments import failed_aggregate, failed_rows


def aggregations(plan: EmitOperatorPlan, columns: Mapping[str, pa.Array]) -> list[Aggregation]:
    """The aggregations of all calls over these columns of the rows."""
    return [_whole(aggregation(call, columns, plan.settings), call, columns) for call in plan.aggregates]


def partial_fields(plan: EmitOperatorPlan) -> list[tuple[pa.Field, ...]]:
    """The columns of the partial aggregates of each call; none where firings are computed from rows."""
    if plan.keeps_rows:
        return []
    columns = {field.name: pa.nulls(0, field.type) for field in plan.schema}
    number, fields = count(), []
    for i, call in enumerate(aggregations(plan, columns)):
        inner = call.inner if isinstance(call, Whole) else call
        states = [pa.field(f"__partial{next(number)}", kind) for kind in inner.fields]
        marks = [pa.field(f"{NOT_COMPUTED}{i}", pa.int64())] if isinstance(call, Whole) else []
        fields.append((*states, *marks))
    return fields


def _whole(inner: Aggregation, call: FiringAggregate, columns: Mapping[str, pa.Array]) -> Aggregation:
    """The aggregation that is NULL where a row could not be computed; `inner` itself if none of its arguments can
    fail."""
    if not any(NOT_COMPUTED + name in columns for name in (*call.columns, call.filter)):
        return inner
    n = len(next(iter(columns.values())))
    failed = np.zeros(n, np.bool_)
    for name in call.columns:
        rows = failed_rows(name, columns)
        failed |= False if rows is None else rows
    if call.filter:
        condition = columns[call.filter]
        failed &= as_numpy(condition) & are_valid(condition)  # a row that FILTER leaves out does not count as failed
        rows = failed_rows(call.filter, columns)
        failed |= False if rows is None else rows
    return Whole(inner, Count(failed), call)


@dataclass(frozen=True)
class Whole:
    """The states are the states of `inner`, and the number of rows that failed."""

    inner: Aggregation
    failed: Count
    call: FiringAggregate

    @property
    def fields(self) -> tuple[pa.DataType, ...]:
        return (*self.inner.fields, *self.failed.fields)

    def empty(self, n: int) -> States:
        return (*self.inner.empty(n), *self.failed.empty(n))

    def reduce(self, rows: np.ndarray, start: np.ndarray, stop: np.ndarray) -> States:
        return (*self.inner.reduce(rows, start, stop), *self.failed.reduce(rows, start, stop))

    def merge(self, before: States, after: States) -> States:
        return (*self.inner.merge(before[:-1], after[:-1]), *self.failed.merge(before[-1:], after[-1:]))

    def running(self, states: States, rank: np.ndarray) -> States:
        return (*self.inner.running(states[:-1], rank), *self.failed.running(states[-1:], rank))

    def finish(self, states: States, errors: Errors | None = None) -> pa.Array:
        failed = np.flatnonzero(states[-1])
        values = self.inner.finish(states[:-1], errors)
        if not len(failed):
            return values
        for group in failed.tolist():
            report(failed_aggregate(self.call.call.function).with_(place=self.call.place), group, errors)
        kept = np.arange(len(values))
        kept[failed] = -1
        return taken(values, kept)
