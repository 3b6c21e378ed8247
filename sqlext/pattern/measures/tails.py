"""Navigation and aggregates for Spans with tails, where a view is always a whole match.

A match is a chain of *stretches*: its own mapped rows, then the mapped rows of the match that its tail names, from the
named row on, and so on. The work is linear in the listed mapped rows, plus the stretches of each output row's match:
the value of a stretch is a difference of two prefix sums, or it is known from the stretch's first row.

Arrays by name, in all functions:

- `match: int64[o]`: the match of each output row, -1 for none;
- `start`, `offset`, `tail`, `at`: as in Spans and its Tails;
- `rank: int64[k + 1]`: the number of members among the mapped rows before; `member: int64[rank[k]]`: the members.
"""

from __future__ import annotations

import numpy as np

from sqlext.pattern.measures.navigation_kernels import is_less
from sqlext.pattern.program.jit import allocating as _compiled
from sqlext.pattern.task.task import Spans

_TOGETHER = 32  # the number of matches whose floats are added in one pass


def unshared(spans: Spans, match: np.ndarray) -> Spans:
    """The matches in `match: int64[o]` (no entry is -1), in this order, each with all of its labels.

    >>> from sqlext.pattern.task.task import Tails
    >>> tails = Tails(match=np.array([-1, 0]), at=np.array([-1, 1]), length=np.array([3, 3]))
    >>> spans = Spans(start=np.array([0, 1]), number=np.array([1, 2]), offset=np.array([0, 3, 4]), label=np.array([0,
    ...     1, 2, 0], "i2"), is_hidden=None,
    ...               unmatched=np.zeros(0, np.int64), tails=tails)
    >>> unshared(spans, np.array([1, 0])).label
    array([0, 1, 2, 0, 1, 2], dtype=int16)
    """
    mapped, offset = mapped_rows(spans, match)
    return Spans(
        start=spans.start[match],
        number=spans.number[match],
        offset=offset,
        label=spans.label[mapped],
        is_hidden=None if spans.is_hidden is None else spans.is_hidden[mapped],
        unmatched=spans.unmatched,
        failure=spans.failure,
    )


def mapped_rows(spans: Spans, match: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`(int64[k], offset: int64[o + 1])`: the mapped rows of the block that the matches in `match` map, match by match.

    The mapped rows of output row o are at `offset[o]` to `offset[o + 1]` (exclusive).
    """
    offset = np.zeros(len(match) + 1, np.int64)
    np.cumsum(spans.length[match], out=offset[1:])
    if spans.tails is not None:
        return _chained(match, offset, *_chains(spans)), offset
    return np.arange(offset[-1]) + np.repeat(spans.offset[match] - offset[:-1], np.diff(offset)), offset


def counts(spans: Spans, match: np.ndarray, is_member: np.ndarray) -> np.ndarray:
    """`int64[o]`: the number of members of each match."""
    return _sums(match, _rank(is_member), *_chains(spans))


def reach_member(spans: Spans, match: np.ndarray, is_member: np.ndarray, n: int, *, from_first: bool) -> np.ndarray:
    """`int64[o]`: the row of the n-th member of each match from the front or the back, or -1."""
    rank, chains = _rank(is_member), _chains(spans)
    index = np.full(len(match), n) if from_first else _sums(match, rank, *chains) - 1 - n
    return _reached(match, index, spans.start, *chains, rank, np.flatnonzero(is_member))


def list_members(spans: Spans, match: np.ndarray, is_member: np.ndarray, list_bounds: np.ndarray) -> np.ndarray:
    """The rows of the members of each match; output row o has entries `list_bounds[o]` to `list_bounds[o + 1]`."""
    return _listed(match, list_bounds, spans.start, *_chains(spans), _rank(is_member), np.flatnonzero(is_member))


def labels_at(spans: Spans, match: np.ndarray, row: np.ndarray) -> np.ndarray:
    """`int16[o]`: the label that a match gives to `row[o]` of the chunk, -1 where it does not map the row."""
    offset, tail, _ = _chains(spans)
    return _labels(match, row, spans.start, offset, tail, spans.label)


def extremes(
    spans: Spans, match: np.ndarray, start: np.ndarray, is_member: np.ndarray, values: np.ndarray, *, is_max: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(The least or greatest member of each match, of equal ones the first; `valid`: it has members).

    The value of mapped row j of match i is at `start[i] + j - offset[i]`.
    """
    best, has_best = _suffix_extremes(start, spans.offset, is_member, values, is_max)
    return _extremes(match, *_chains(spans), best, has_best, is_max)


def whole_sums(
    spans: Spans, match: np.ndarray, start: np.ndarray, is_member: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, float]:
    """(The int64 sum of each match's members, wrapped; the sum of all magnitudes in the block).

    If a value is not a whole number, the magnitude is infinite and the sums are void. `start`: as in `extremes`.
    """
    prefix, magnitude = _prefix_sums(start, spans.offset, is_member, values)
    return _sums(match, prefix, *_chains(spans)), magnitude


def float_sums(
    spans: Spans, match: np.ndarray, start: np.ndarray, is_member: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """`float64[o]`: the sum of each match's members, added in row order, which reads all rows of all matches.

    `start`: as in `extremes`.
    """
    return _float_sums(match, start, *_chains(spans), is_member, values)


def _chains(spans: Spans) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`(offset, tail, at)`."""
    assert spans.tails is not None
    return spans.offset, spans.tails.match, spans.tails.at


def _rank(is_member: np.ndarray) -> np.ndarray:
    rank = np.zeros(len(is_member) + 1, np.int64)
    np.cumsum(is_member, out=rank[1:])
    return rank


@_compiled
def _chained(match, bounds, offset, tail, at):
    """The mapped rows of all matches, one match after the other; the rows of output row o begin at `bounds[o]`."""
    mapped = np.empty(bounds[-1], np.int64)
    for o in range(len(match)):
        i, j, k = match[o], offset[match[o]], bounds[o]
        while i >= 0:
            while j < offset[i + 1]:
                mapped[k] = j
                j, k = j + 1, k + 1
            i, j = tail[i], at[i]
    return mapped


@_compiled
def _sums(match, prefix, offset, tail, at):
    """The sum over the mapped rows of each match; `prefix[j]` is the sum over the mapped rows before j of the block."""
    result = np.zeros(len(match), np.int64)
    for o in range(len(match)):
        i, j = match[o], offset[match[o]]
        while i >= 0:
            result[o] += prefix[offset[i + 1]] - prefix[j]
            i, j = tail[i], at[i]
    return result


@_compiled
def _reached(match, index, start, offset, tail, at, rank, member):
    """The row of member number `index[o]` (0, 1, …) of each match, or -1."""
    row = np.full(len(match), -1, np.int64)
    for o in range(len(match)):
        i, j, rest = match[o], offset[match[o]], index[o]
        while i >= 0 and rest >= 0:
            here = rank[offset[i + 1]] - rank[j]
            if rest < here:
                row[o] = start[i] + member[rank[j] + rest] - offset[i]
                break
            rest -= here
            i, j = tail[i], at[i]
    return row


@_compiled
def _listed(match, list_bounds, start, offset, tail, at, rank, member):
    row = np.empty(list_bounds[-1], np.int64)
    for o in range(len(match)):
        i, j, k = match[o], offset[match[o]], list_bounds[o]
        while i >= 0 and k < list_bounds[o + 1]:
            for x in range(rank[j], rank[offset[i + 1]]):
                row[k] = start[i] + member[x] - offset[i]
                k += 1
            i, j = tail[i], at[i]
    return row


@_compiled
def _labels(match, row, start, offset, tail, label):
    result = np.full(len(match), -1, np.int16)
    for o in range(len(match)):
        i = match[o]
        while i >= 0 and row[o] >= start[i]:
            j = row[o] - start[i] + offset[i]
            if j < offset[i + 1]:
                result[o] = label[j]
                break
            i = tail[i]
    return result


@_compiled
def _suffix_extremes(start, offset, is_member, values, is_max):
    """(The least or greatest member from each mapped row to the last own row of its match; whether there is one)."""
    best, has_best = np.empty(len(is_member), values.dtype), np.zeros(len(is_member), np.bool_)
    for i in range(len(start)):
        current, has_current = values.dtype.type(0), False
        for j in range(offset[i + 1] - 1, offset[i] - 1, -1):
            if is_member[j]:
                value = values[start[i] + j - offset[i]]
                if not (has_current and (is_less(value, current) if is_max else is_less(current, value))):
                    current, has_current = value, True
            best[j], has_best[j] = current, has_current
    return best, has_best


@_compiled
def _extremes(match, offset, tail, at, best, has_best, is_max):
    result, valid = np.zeros(len(match), best.dtype), np.zeros(len(match), np.bool_)
    for o in range(len(match)):
        i, j = match[o], offset[match[o]]
        while i >= 0:
            if j < offset[i + 1] and has_best[j]:
                value = best[j]
                if not valid[o] or (is_less(result[o], value) if is_max else is_less(value, result[o])):
                    result[o], valid[o] = value, True
            i, j = tail[i], at[i]
    return result, valid


@_compiled
def _prefix_sums(start, offset, is_member, values):
    """(int64[k + 1]: the sum of the members before each mapped row; the sum of magnitudes, as in `whole_sums`)."""
    prefix, total, magnitude = np.zeros(len(is_member) + 1, np.int64), np.int64(0), 0.0
    for i in range(len(start)):
        for j in range(offset[i], offset[i + 1]):
            if is_member[j]:
                value = values[start[i] + j - offset[i]]
                magnitude += abs(float(value)) if value == np.floor(value) else np.inf
                if magnitude == np.inf:
                    return prefix, magnitude
                total += np.int64(value)  # the sum may wrap, and differences wrap back
            prefix[j + 1] = total
    return prefix, magnitude


@_compiled
def _float_sums(match, start, offset, tail, at, is_member, values):
    """Add the floats of each match in its own order, but read a value only once for all matches on the same stretch.

    A tail belongs to an earlier match. So in each group the matches on the latest stretch are continued first, because
    only they can reach the stretches of the others.
    """
    result, totals = np.zeros(len(match)), np.zeros(_TOGETHER)
    stretch, place, group = np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER, np.int64)
    for first in range(0, len(match), _TOGETHER):
        n = min(_TOGETHER, len(match) - first)
        for x in range(n):
            stretch[x], place[x] = match[first + x], offset[match[first + x]]
        i = stretch[:n].max()
        while i >= 0:
            shift, furthest, size = start[i] - offset[i], np.int64(0), 0
            for x in range(n):
                if stretch[x] == i:
                    furthest = max(furthest, place[x])
            for x in range(n):
                if stretch[x] == i:
                    group[size], totals[size] = first + x, result[first + x]
                    for j in range(place[x], furthest):
                        if is_member[j]:
                            totals[size] += values[shift + j]
                    stretch[x], place[x] = tail[i], at[i]
                    size += 1
            for j in range(furthest, offset[i + 1]):
                if is_member[j]:
                    value = np.float64(values[shift + j])
                    for x in range(_TOGETHER):  # a constant number of additions is faster, even if some are not used
                        totals[x] += value
            for x in range(size):
                result[group[x]] = totals[x]
            i = stretch[:n].max()
    return result
