"""The arguments of an aggregate for rows of matches, also where they depend on the label of a row; and the results in
which an argument failed.

Loads Numba.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sqlext.operators.match.plan import Slot
from sqlext.operators.rows.arrow import are_valid, as_arrow, as_numpy, taken
from sqlext.operators.rows.failed_arguments import failed_rows
from sqlext.operators.rows.long_columns import concatenated
from sqlext.pattern.measures import navigation
from sqlext.pattern.measures.navigation import OutputRows
from sqlext.pattern.task.task import Spans


def member_values(
    slot: Slot, argument: int, columns: dict[str, pa.Array], row: np.ndarray, labels: np.ndarray | None
) -> pa.Array:
    """The values of an argument for rows `row: int64[t]` of the chunk, which have `labels: int16[t]`.

    Without Slot.by_label the labels are not read. With it, the value for a label that it does not list is arbitrary.
    """
    if not slot.by_label:
        return taken(columns[slot.columns[argument]], row)
    assert labels is not None
    n = len(slot.by_label)
    names = slot.columns[argument * n : (argument + 1) * n]
    position = np.zeros(max(slot.by_label) + 1, np.int64)
    position[list(slot.by_label)] = np.arange(n)
    known = np.where(labels < len(position), labels, 0)
    return taken(concatenated([columns[name] for name in names]), position[known] * len(columns[names[0]]) + row)


def mapped_values(slot: Slot, columns: dict[str, pa.Array], spans: Spans) -> pa.Array:
    """The values of the only argument for each mapped row of a block, by its label."""
    return member_values(slot, 0, columns, spans.mapped, spans.label)


def failed_results(slot: Slot, columns: dict[str, pa.Array], spans: Spans, out: OutputRows) -> np.ndarray:
    """`int64[f]`: the result rows whose aggregate includes a row on which an argument could not be computed."""
    failed = {name: rows for name in slot.columns if (rows := failed_rows(name, columns)) is not None}
    if not failed:
        return np.zeros(0, np.int64)
    n = len(next(iter(failed.values())))
    marks = {name: as_arrow(failed.get(name, np.zeros(n, np.bool_))) for name in slot.columns}
    row, offset = navigation.members(slot.aggregate, spans, out)
    labels = navigation.member_labels(slot.aggregate, spans, out) if slot.by_label else None
    arguments = range(len(slot.columns) // (len(slot.by_label) or 1))
    is_failed = [as_numpy(member_values(slot, i, marks, row, labels)) for i in arguments]
    if slot.fold is not None and slot.filter is not None:  # a row that FILTER leaves out does not count as failed
        condition = member_values(slot, arguments[-1], columns, row, labels)
        is_counted = as_numpy(condition) & are_valid(condition)
        is_failed = [*(mask & is_counted for mask in is_failed[:-1]), is_failed[-1]]
    before = np.concatenate([[0], np.cumsum(np.logical_or.reduce(is_failed))])
    return np.flatnonzero(before[offset[1:]] > before[offset[:-1]])
