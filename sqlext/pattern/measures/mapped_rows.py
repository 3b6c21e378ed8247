"""Navigation where the rows of a match are given one by one (Spans.row), as they need not be neighbours.

The kernels of navigation add a place in a match to the match's start. Given places instead of starts they reach places
in Spans.row, which are turned into rows here.
"""

from __future__ import annotations

import numpy as np

from sqlext.pattern.task import Spans


def places(spans: Spans) -> np.ndarray:
    """What the kernels take for the start of matches: where rows are given, they reach places in Spans.row instead."""
    return spans.start if spans.row is None else spans.offset[:-1]


def rows_at(spans: Spans, place: np.ndarray) -> np.ndarray:
    """The rows at places, any row for a place that is none."""
    assert spans.row is not None
    return spans.row[place] if len(spans.row) else np.full(len(place), -1, np.int64)


def shown_rows(spans: Spans, place: np.ndarray, match: np.ndarray, end: np.ndarray) -> np.ndarray:
    """`int64[o]`: the rows of ALL ROWS PER MATCH. `place` is one in Spans.row for a mapped row, a row for an unmatched
    one; an empty match shows its start."""
    is_matched = match >= 0
    is_mapped = is_matched & (end > spans.offset[match])
    row = np.where(is_matched, spans.start[match] if len(spans.start) else place, place)
    row[is_mapped] = rows_at(spans, place[is_mapped])
    return row


def labels_at(spans: Spans, match: np.ndarray, row: np.ndarray) -> np.ndarray:
    """`int16[o]`: the label that a match gives to a row, -1 if it does not map it; for matches with given rows."""
    assert spans.row is not None
    if not len(spans.row):
        return np.full(len(row), -1, np.int16)
    span = int(spans.row.max()) + 2  # rows of one match ascend: (match, row) is in order
    keys = np.repeat(np.arange(len(spans.start)), np.diff(spans.offset)) * span + spans.row
    wanted = np.where(row < span - 1, match * span + row, -1)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where((row >= 0) & (keys[place] == wanted), spans.label[place], -1).astype(np.int16)
