"""The arguments of an aggregate for rows of matches, also where they depend on the label of a row. Loads Numba."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sqlext.engine.worker.arrow import taken
from sqlext.engine.worker.long_columns import concatenated
from sqlext.pattern.task import Spans
from sqlext.rewriter.match.match_plan import Slot


def member_values(
    slot: Slot, argument: int, columns: dict[str, pa.Array], row: np.ndarray, labels: np.ndarray | None
) -> pa.Array:
    """The values of an argument for rows `row: int64[t]` of the chunk, which have `labels: int16[t]`.

    Without Slot.by_label the labels are not read. Else a label that it does not list gives any value.
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
    row = spans.row
    if row is None:
        row = np.repeat(spans.start - spans.offset[:-1], np.diff(spans.offset)) + np.arange(len(spans.label))
    return member_values(slot, 0, columns, row, spans.label)
