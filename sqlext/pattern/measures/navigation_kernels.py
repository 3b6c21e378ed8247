"""The loops of `navigation`, compiled at their first call and kept on disk.

Arrays by name, in all kernels:

- `match: int64[o]`, `end: int64[o]`: output row o belongs to match `match[o]` (-1: none) and sees its mapped rows below
  `end[o]` (an index in the block, as in Spans.label);
- `offset: int64[m + 1]`: match i has the mapped rows `offset[i]` to `offset[i + 1]` (exclusive);
- `start: int64[m]`: the value of mapped row j of match i is at `start[i] + j - offset[i]`. This is `Spans.start` for
  values by row of the chunk and `offset[:-1]` for values by mapped row;
- `is_member: bool[k]`: mapped row j counts.

Running views of one match grow from one output row to the next. They cost O(1) per mapped row and output row, because a
kernel continues where it stopped and starts again (`is_new_view`) only for another match or a shorter view.
"""

from __future__ import annotations

import numpy as np

from sqlext.pattern.program.jit import allocating as _compiled


@_compiled
def is_new_view(i, end, current, position):
    """True unless the view of match i below `end` continues that of match `current`, read up to `position` so far."""
    return i != current or end < position


@_compiled
def all_rows(start, offset, is_hidden, unmatched, shows_empty):
    """ALL ROWS PER MATCH: (row, match, end) of every row shown; `is_hidden` and `unmatched` may have length 0."""
    size = offset[-1] - offset[0] + len(unmatched)
    if shows_empty:
        size += np.sum(offset[1:] == offset[:-1])
    row, match, end = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    o = 0
    for i in range(len(start)):
        if shows_empty and offset[i] == offset[i + 1]:
            row[o], match[o], end[o] = start[i], i, offset[i]
            o += 1
        for j in range(offset[i], offset[i + 1]):
            if len(is_hidden) == 0 or not is_hidden[j]:
                row[o], match[o], end[o] = start[i] + j - offset[i], i, j + 1
                o += 1
    for unmatched_row in unmatched:
        row[o], match[o], end[o] = unmatched_row, -1, 0
        o += 1
    return row[:o], match[:o], end[:o]


@_compiled
def touched(match):
    """A range `low` to `high` (exclusive) that contains all of `match`, so a slice does not cost the whole block."""
    low, high = 0, 0
    for i in match:
        if i >= 0:
            low = min(low, i) if high else i
            high = max(high, i + 1)
    return low, high


@_compiled
def mark_members(is_member, match, start, offset, label, in_set, valid):
    """Set `is_member`, which is False everywhere, for the matches in `match`; a `valid` of length 0 means no NULLs.

    The caller allocates `is_member`: Numba would touch the whole block, whereas NumPy touches only what is written.
    """
    low, high = touched(match)
    for j in range(offset[low], offset[high]):
        is_member[j] = in_set[label[j]]
    if len(valid) == 0:
        return
    for i in range(low, high):
        for j in range(offset[i], offset[i + 1]):
            is_member[j] &= valid[start[i] + j - offset[i]]


@_compiled
def keep_first_occurrences(is_member, match, start, offset, bits, is_float):
    """Clear, in place, each member whose value an earlier member of its match has.

    This is right for every view: a view begins where its match begins, so it never contains a later occurrence without
    the first one. `bits: uint64[...]` are the bits of the values. One hash table with open addressing serves all
    matches and is at most half full; a slot belongs to the match that stamped it, so the table is never cleared.
    """
    low, high = touched(match)
    size, longest = 2, _longest(offset, low, high)
    while size < 2 * longest:
        size *= 2
    stamp, slots = np.full(size, -1, np.int64), np.empty(size, np.uint64)
    for i in range(low, high):
        size, shift = 2, 63
        while size < 2 * (offset[i + 1] - offset[i]):
            size, shift = 2 * size, shift - 1
        for j in range(offset[i], offset[i + 1]):
            if not is_member[j]:
                continue
            key = bits[start[i] + j - offset[i]]
            if is_float:
                key = _canonical(key)
            slot = np.int64(((key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))
            while stamp[slot] == i and slots[slot] != key:
                slot = (slot + 1) & (size - 1)
            is_member[j] = stamp[slot] != i
            stamp[slot], slots[slot] = i, key


@_compiled
def _canonical(bits):
    """The same bits for all floats that Spark's DISTINCT treats as one value: all NaNs, and both zeros."""
    magnitude = bits << np.uint64(1)
    if magnitude > np.uint64(0xFFE0000000000000):  # infinity's
        return np.uint64(0x7FF8000000000000)
    return bits if magnitude else np.uint64(0)


@_compiled
def _longest(offset, low, high):
    """The length of the longest of the matches `low` to `high` (exclusive)."""
    longest = 0
    for i in range(low, high):
        longest = max(longest, offset[i + 1] - offset[i])
    return longest


@_compiled
def reach_any(match, end, start, offset, from_first, n):
    """The row of the n-th mapped row from the front or the back of each view, or -1."""
    row = np.empty(len(match), np.int64)
    for o in range(len(match)):
        i = match[o]
        if i < 0 or n >= end[o] - offset[i]:
            row[o] = -1
        else:
            row[o] = start[i] + (n if from_first else end[o] - 1 - n - offset[i])
    return row


@_compiled
def reach_member(match, end, start, offset, is_member, from_first, n):
    """The row of the n-th member from the front or the back of each view, or -1."""
    row = np.empty(len(match), np.int64)
    low, high = touched(match)
    seen = np.empty(_longest(offset, low, high) + 1, np.int64)  # the members of the view, and one spare place
    current, j, count = -1, 0, 0
    for o in range(len(match)):
        i = match[o]
        if i < 0:
            row[o] = -1
            continue
        if is_new_view(i, end[o], current, j):
            current, j, count = i, offset[i], 0
        while j < end[o]:
            seen[count] = j  # no branch, because labels in random order cannot be predicted
            count += is_member[j]
            j += 1
        row[o] = -1 if n >= count else start[i] + seen[n if from_first else count - 1 - n] - offset[i]
    return row


@_compiled
def step_in_partition(row, bounds, step):
    """`row + step` where this is a row of the same partition, otherwise -1 (also for row -1)."""
    result = np.full(len(row), -1, np.int64)
    p = 0
    for o in range(len(row)):
        here = row[o]
        if here < 0:
            continue
        if here >= bounds[p + 1]:
            p += 1  # the usual case: output rows come in the order of the partitions
        if p + 1 == len(bounds) or not bounds[p] <= here < bounds[p + 1]:
            p = np.searchsorted(bounds, here, side="right") - 1
        if bounds[p] <= here + step < bounds[p + 1]:
            result[o] = here + step
    return result


@_compiled
def labels_at(row, match, end, start, offset, label):
    """The label that the view of each output row gives to `row[o]` of the chunk, -1 where it does not see the row."""
    result = np.full(len(row), -1, np.int16)
    for o in range(len(row)):
        i = match[o]
        if i >= 0 and row[o] >= start[i]:
            j = row[o] - start[i] + offset[i]
            if j < end[o]:
                result[o] = label[j]
    return result


@_compiled
def counts(match, end, offset, is_member):
    """The number of members in each view."""
    result = np.zeros(len(match), np.int64)
    current, j, count = -1, 0, 0
    for o in range(len(match)):
        i = match[o]
        if i < 0:
            continue
        if is_new_view(i, end[o], current, j):
            current, j, count = i, offset[i], 0
        while j < end[o]:
            count += is_member[j]
            j += 1
        result[o] = count
    return result


@_compiled
def list_members(match, end, start, offset, is_member, bounds):
    """The rows of the members of each view; view o has entries `bounds[o]` to `bounds[o + 1]` (exclusive)."""
    row = np.empty(bounds[-1], np.int64)
    for o in range(len(match)):
        i, at = match[o], bounds[o]
        if at == bounds[o + 1]:
            continue
        for j in range(offset[i], end[o]):
            if is_member[j]:
                row[at] = start[i] + j - offset[i]
                at += 1
    return row


@_compiled
def integer_sums(match, end, start, offset, is_member, values):
    """(The int64 sum of each view, wrapped; `valid`: it has members; the first output row that overflows, or -1)."""
    result, valid, overflow = np.zeros(len(match), np.int64), np.zeros(len(match), np.bool_), -1
    current, j, total, count, has_left = -1, 0, 0, 0, False
    for o in range(len(match)):
        i = match[o]
        if i < 0:
            continue
        if is_new_view(i, end[o], current, j):
            current, j, total, count, has_left = i, offset[i], 0, 0, False
        while j < end[o]:
            if is_member[j]:
                value = values[start[i] + j - offset[i]]
                before, total = total, total + value
                has_left |= ((before ^ total) & (value ^ total)) < 0
                count += 1
            j += 1
        if has_left and overflow < 0:
            overflow = o
        result[o], valid[o] = total, count > 0
    return result, valid, overflow


@_compiled
def float_sums(match, end, start, offset, is_member, values, is_average):
    """(The float64 sum or average of each view, added in row order; `valid`: it has members)."""
    result, valid = np.zeros(len(match), np.float64), np.zeros(len(match), np.bool_)
    current, j, total, count = -1, 0, 0.0, 0
    for o in range(len(match)):
        i = match[o]
        if i < 0:
            continue
        if is_new_view(i, end[o], current, j):
            current, j, total, count = i, offset[i], 0.0, 0
        while j < end[o]:
            if is_member[j]:
                total += values[start[i] + j - offset[i]]
                count += 1
            j += 1
        result[o], valid[o] = (total / count if is_average and count else total), count > 0
    return result, valid


@_compiled
def extremes(match, end, start, offset, is_member, values, is_max):
    """(The least or greatest member of each view, of equal ones the first; `valid`: it has members)."""
    result, valid = np.zeros(len(match), values.dtype), np.zeros(len(match), np.bool_)
    best = values.dtype.type(0)
    current, j, count = -1, 0, 0
    for o in range(len(match)):
        i = match[o]
        if i < 0:
            continue
        if is_new_view(i, end[o], current, j):
            current, j, count = i, offset[i], 0
        while j < end[o]:
            if is_member[j]:
                value = values[start[i] + j - offset[i]]
                if count == 0 or (is_less(best, value) if is_max else is_less(value, best)):
                    best = value
                count += 1
            j += 1
        if count:
            result[o], valid[o] = best, True
    return result, valid


@_compiled
def is_less(a, b):
    """Compare in Spark's order: NaN is above all numbers and equals itself, -0.0 equals 0.0."""
    return a < b or (b != b and a == a)
