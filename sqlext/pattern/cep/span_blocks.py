"""Blocks of matches whose rows are listed: partial ones beside them, and other orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sqlext.pattern.cep.cep_reference import Path
from sqlext.pattern.task import Spans


def joined(spans: Spans, paths: Sequence[Path], number: np.ndarray) -> Spans:
    """The block with partial matches behind its own ones; `number: int64[paths]` is not shown.

    >>> nothing = np.zeros(0, np.int64)
    >>> spans = Spans(nothing, nothing, np.zeros(1, np.int64), nothing, None, nothing, row=nothing)
    >>> both = joined(spans, [((3, 0, False), (5, 1, False))], np.array([1]))
    >>> both.start, both.row, both.timed_out
    (array([3]), array([3, 5]), array([ True]))
    """
    assert spans.row is not None
    taken = [x for path in paths for x in path]
    is_hidden = np.array([hidden for _, _, hidden in taken], np.bool_)
    own = np.zeros(len(spans.label), np.bool_) if spans.is_hidden is None else spans.is_hidden
    return replace(
        spans,
        start=np.concatenate([spans.start, np.array([path[0][0] for path in paths], np.int64)]),
        number=np.concatenate([spans.number, number]),
        offset=np.concatenate([spans.offset, spans.offset[-1] + np.cumsum([len(p) for p in paths], dtype=np.int64)]),
        label=np.concatenate([spans.label, np.array([label for _, label, _ in taken], np.int16)]).astype(np.int16),
        is_hidden=np.concatenate([own, is_hidden]),
        row=np.concatenate([spans.row, np.array([row for row, _, _ in taken], np.int64)]),
        timed_out=np.concatenate([np.zeros(len(spans.start), np.bool_), np.ones(len(paths), np.bool_)]),
    )


def in_order(spans: Spans, order: np.ndarray) -> Spans:
    """The matches `order: int64[k]` of a block, in that order.

    >>> spans = Spans(np.array([1, 5]), np.array([1, 2]), np.array([0, 2, 3]), np.array([0, 1, 0]), None,
    ...               np.zeros(0, np.int64), row=np.array([1, 2, 5]))
    >>> in_order(spans, np.array([1, 0])).row
    array([5, 1, 2])
    """
    assert spans.row is not None
    length = np.diff(spans.offset)[order]
    offset = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    mapped = np.arange(offset[-1]) + np.repeat(spans.offset[order] - offset[:-1], length)
    return replace(
        spans,
        start=spans.start[order],
        number=spans.number[order],
        offset=offset,
        label=spans.label[mapped],
        is_hidden=None if spans.is_hidden is None else spans.is_hidden[mapped],
        row=spans.row[mapped],
        timed_out=None if spans.timed_out is None else spans.timed_out[order],
    )
