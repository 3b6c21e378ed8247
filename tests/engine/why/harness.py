"""Questions about rows without Spark: `expressions` computes the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sqlext.engine.why.computed_columns import ComputedColumns
from sqlext.engine.why.explain_row import PartitionWhy
from sqlext.engine.why.why_clause import PartitionRows, WhyClause, sort_keys
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.values import arrow_type
from sqlext.pattern.why.row_search import Budget
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.scalars.static_binder import StaticBinder

SETTINGS = ExecutionSettings(is_ansi=True, time_zone="UTC")


def clause_of(text: str, columns: Mapping[str, str]) -> WhyClause:
    """The clause of a statement over columns of these types."""
    relation = InputRelation(
        columns=tuple(columns.items()),
        resolver=StaticBinder(columns=columns, settings=SETTINGS),
        is_aggregate=lambda name: False,
        settings=SETTINGS,
    )
    return WhyClause(text=text, index=0, relation=relation)


def partition_why(text: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]], chosen: Sequence[int] = ()):
    """The answers about rows of a partition, which are numbered as they come."""
    clause = clause_of(text, columns)
    plan = clause.plan()
    arrays = {name: pa.array([row[i] for row in rows], arrow_type(t)) for i, (name, t) in enumerate(columns.items())}
    partition = PartitionRows(
        columns=ComputedColumns(StaticBinder(columns=columns, settings=SETTINGS), arrays, len(rows)),
        sort=sort_keys(plan),
        keys=len(plan.clause.order_by),
        is_chosen=np.isin(np.arange(len(rows)), chosen),
        total=len(rows),
    )
    return PartitionWhy(clause=clause, plan=plan, partition=partition, budget=Budget(1_000_000, 200_000))
