"""The rows of the clause's result, with the values of MEASURES, computed without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from sqlext.errors import UnsupportedError
from sqlext.expressions.column_values import ColumnValues
from sqlext.operators.match.output import MatchBlock, block_batches
from sqlext.operators.rows.arrow import as_arrow
from sqlext.pattern.measures import navigation
from sqlext.pattern.task.task import Spans
from sqlext.playground.around_clause import check_around
from sqlext.playground.rows_search import RowsSearch
from sqlext.playground.table import SETTINGS, cells
from sqlext.rewriter.lowering.lower_clause import lower
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.lowering.operator_plan import worker_plan
from sqlext.rewriter.rules.compile_rule import slot_type
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import Source

MOST_ROWS = 100  # of the result are shown


def result_rows(search: RowsSearch, matches: Sequence[Spans]) -> dict[str, Any]:
    """The first rows of the result: its `columns`, each with its type and its values as texts, and how many `rows` it
    has in all. If this page cannot compute a measure, `refusal` is the reason.

    Raises BindError for a measure that no engine can compute, and the errors of `check_around`.
    """
    try:
        plan = lower(search.statement.clause, Source(search.statement.text), search.statement.relation)
        check_around(search.statement.tree, plan.clause.keyword, [shown.name for shown in plan.shown])
        if any(slot.kind == "members" for slot in plan.slots):
            return _refusal("Spark computes one of their aggregates")
        if any(slot.kind == "rowtime" for slot in plan.slots):
            return _refusal("MATCH_ROWTIME() needs the search of a stream")
        return _result(search, plan, matches)
    except UnsupportedError as error:
        return _refusal(error.message)


def _refusal(why: str) -> dict[str, Any]:
    return {"refusal": f"This page cannot compute the measures: {why}."}


def _result(search: RowsSearch, plan: MatchPlan, matches: Sequence[Spans]) -> dict[str, Any]:
    binder = search.statement.binder
    read = {column.name: binder.tree(column.computed).type for column in plan.columns}
    slots = {slot.name: slot_type(slot, read) for slot in plan.slots}
    results = StaticBinder(columns={**read, **slots}, settings=SETTINGS, text=search.statement.text)
    trees = {shown.name: results.tree(shown.text) for shown in plan.shown}
    found: dict[str, list[str | None]] = {name: [] for name in trees}
    for batch in _batches(search, plan, matches):
        values = ColumnValues(columns=dict(zip(batch.schema.names, batch.columns)), rows=batch.num_rows)
        for name, tree in trees.items():
            found[name] += cells(values, tree)
    return {
        "rows": sum(len(navigation.output_rows(spans, plan.task.output)) for spans in matches),
        "columns": [{"name": name, "type": trees[name].type, "cells": texts} for name, texts in found.items()],
    }


def _batches(search: RowsSearch, plan: MatchPlan, matches: Sequence[Spans]) -> Iterator[pa.RecordBatch]:
    """The carried columns and slots of the first rows of the result."""
    at, worker, left = as_arrow(search.order), worker_plan(plan), MOST_ROWS
    columns = {column.name: search.computed[str(column.computed)].take(at) for column in plan.columns}
    for spans in matches:
        out = navigation.output_rows(spans, plan.task.output).slice(0, left)
        left -= len(out)
        block = MatchBlock(plan=worker, columns=columns, rows=search.rows, spans=spans, out=out, errors=[])
        yield from block_batches(block)
