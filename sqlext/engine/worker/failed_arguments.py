"""Aggregates over rows on which an argument could not be computed: NULL, not a part of the value that looks whole.

A column NOT_COMPUTED stands for each argument that may fail. Loads Numba.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sqlext.engine.worker.arrow import are_valid, as_arrow, as_numpy
from sqlext.engine.worker.slot_values import member_values
from sqlext.errors import DataError
from sqlext.pattern.measures import navigation
from sqlext.pattern.measures.navigation import OutputRows
from sqlext.pattern.task import Spans
from sqlext.rewriter.match.match_plan import NOT_COMPUTED, Slot


def failed_rows(column: str, columns: Mapping[str, pa.Array]) -> np.ndarray | None:
    """`bool[n]`: the rows on which a column could not be computed; None if there is none."""
    failed = columns.get(NOT_COMPUTED + column)
    if failed is None:
        return None
    rows = as_numpy(failed) & are_valid(failed)
    return rows if rows.any() else None


def failed_results(slot: Slot, columns: dict[str, pa.Array], spans: Spans, out: OutputRows) -> np.ndarray:
    """`int64[f]`: the result rows whose aggregate is over a row on which an argument could not be computed."""
    failed = {name: rows for name in slot.columns if (rows := failed_rows(name, columns)) is not None}
    if not failed:
        return np.zeros(0, np.int64)
    n = len(next(iter(failed.values())))
    marks = {name: as_arrow(failed.get(name, np.zeros(n, np.bool_))) for name in slot.columns}
    row, offset = navigation.members(slot.aggregate, spans, out)
    labels = navigation.member_labels(slot.aggregate, spans, out) if slot.by_label else None
    arguments = range(len(slot.columns) // (len(slot.by_label) or 1))
    is_failed = [as_numpy(member_values(slot, i, marks, row, labels)) for i in arguments]
    if slot.fold is not None and slot.fold.has_filter:  # a row that FILTER leaves out does not count
        condition = member_values(slot, arguments[-1], columns, row, labels)
        is_counted = as_numpy(condition) & are_valid(condition)
        is_failed = [*(mask & is_counted for mask in is_failed[:-1]), is_failed[-1]]
    before = np.concatenate([[0], np.cumsum(np.logical_or.reduce(is_failed))])
    return np.flatnonzero(before[offset[1:]] > before[offset[:-1]])


def failed_aggregate(function: str) -> DataError:
    return DataError(
        "ARGUMENT_FAILED",
        f"{function} is over a row on which its argument could not be computed",
        hint="correct the row, or guard the argument, for example with try_divide or FILTER.",
    )
