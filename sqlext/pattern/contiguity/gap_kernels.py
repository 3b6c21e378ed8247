"""The loops of `contiguity.plain`: gaps out of the labels of matches, also of those that share labels (Tails)."""

from __future__ import annotations

import numpy as np

from sqlext.pattern.jit import allocating


@allocating
def mapped_rows(start, offset, label, origin):
    """`(row, kept, offset)`: the rows of labels that are no gaps (origin < 0), where these labels are, and bounds."""
    row, kept = np.empty(len(label), np.int64), np.empty(len(label), np.int64)
    bounds = np.zeros(len(start) + 1, np.int64)
    k = 0
    for i in range(len(start)):
        for j in range(offset[i], offset[i + 1]):
            if origin[label[j]] >= 0:
                row[k], kept[k] = start[i] + j - offset[i], j
                k += 1
        bounds[i + 1] = k
    return row[:k].copy(), kept[:k].copy(), bounds


@allocating
def lengths(offset, tail, at):
    """How many rows each match maps, its tail counted: Tails.length without gaps."""
    length = np.empty(len(tail), np.int64)
    for i in range(len(tail)):
        length[i] = offset[i + 1] - offset[i]
        t = tail[i]
        if t >= 0:
            length[i] += length[t] - (at[i] - offset[t])
    return length


@allocating
def whole_matches(lo, hi, length, offset, tail, at):
    """`(places, bounds)`: where the labels of matches `lo` to `hi` (exclusive) stand, one match behind the other."""
    bounds = np.zeros(hi - lo + 1, np.int64)
    for i in range(lo, hi):
        bounds[i - lo + 1] = bounds[i - lo] + length[i]
    places = np.empty(bounds[-1], np.int64)
    for i in range(lo, hi):
        k, j, match = bounds[i - lo], offset[i], i
        while k < bounds[i - lo + 1]:
            if j == offset[match + 1]:
                match, j = tail[match], at[match]
                continue
            places[k] = j
            j += 1
            k += 1
    return places, bounds
