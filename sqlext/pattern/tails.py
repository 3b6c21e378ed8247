"""What `navigation` asks of Spans with tails, where a view is always a whole match.

A match is a chain of *stretches*: its own mapped rows, then those of the match that its tail names from there on, and
so on. The work is linear in the mapped rows that are listed, plus, for each output row, in the stretches of its match:
what a stretch holds is a difference of two prefix sums, or known from its first row on.

Arrays by name: `match: int64[o]` (-1: none) is that of an output row; `start, offset, tail, at` are those of Spans and
its Tails; `rank: int64[k + 1]`: how many of the mapped rows before are members; `member: int64[rank[k]]`: these.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sqlext.pattern.task import Spans

_compiled = njit(nogil=True, cache=True)


def unshared(spans: Spans, match: np.ndarray) -> Spans:
    """The matches in `match: int64[o]` (none is -1), in that order, each with all of its labels.

    >>> from sqlext.pattern.task import Tails
    >>> tails = Tails(match=np.array([-1, 0]), at=np.array([-1, 1]), length=np.array([3, 3]))
    >>> spans = Spans(np.array([0, 1]), np.array([1, 2]), np.array([0, 3, 4]), np.array([0, 1, 2, 0], "i2"), None,
    ...               np.zeros(0, np.int64), tails=tails)
    >>> unshared(spans, np.array([1, 0])).label
    array([0, 1, 2, 0, 1, 2], dtype=int16)
    """
    offset = np.zeros(len(match) + 1, np.int64)
    np.cumsum(spans.length[match], out=offset[1:])
    mapped = np.arange(offset[-1]) if spans.tails is None else _chained(match, offset, *_chains(spans))
    if spans.tails is None:
        mapped += np.repeat(spans.offset[match] - offset[:-1], np.diff(offset))
    return Spans(
        start=spans.start[match],
        number=spans.number[match],
        offset=offset,
        label=spans.label[mapped],
        is_hidden=None if spans.is_hidden is None else spans.is_hidden[mapped],
        unmatched=spans.unmatched,
        failure=spans.failure,
    )


def _chains(spans: Spans) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`(offset, tail, at)`."""
    assert spans.tails is not None
    return spans.offset, spans.tails.match, spans.tails.at


@_compiled
def _chained(match, bounds, offset, tail, at):
    """The mapped rows of all matches one behind the other, those of output row o from `bounds[o]` on."""
    mapped = np.empty(bounds[-1], np.int64)
    for o in range(len(match)):
        i, j, k = match[o], offset[match[o]], bounds[o]
        while i >= 0:
            while j < offset[i + 1]:
                mapped[k] = j
                j, k = j + 1, k + 1
            i, j = tail[i], at[i]
    return mapped
