"""The loops of `contiguity.plain`: gaps out of the labels of matches, also of those that share labels (Tails); and that
of `contiguity.end_search`."""

from __future__ import annotations

import numpy as np

from sqlext.pattern.jit import allocating, compiled


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


LABEL, SPLIT, JUMP, START, END, DONE = range(6)  # kinds of instructions
NEXT_ROW, BOUND = 1, 2  # what a variant waits for, as bits of `ends`
FOUND, FAILED, UNKNOWN, NO_ROOM = range(4)


@compiled
def search(code, rows, asked, scratch, told):
    """FOUND, FAILED, UNKNOWN as `streams.reference.search` has them, or NO_ROOM on the stack.

    `code: int64[3, i]`: kind, label or target, second target. `rows`: (held: bool[v, n]; ends: int64[v]: what else a
    variant waits for; hit: int64[v, n]: the row that forbids a match to end there, n without one). `asked: int64[6]`:
    start, first row and end of the partition, does `^` hold at the first row, the bound's first row if it has ended
    (else -1), stamp. `scratch`: (stack: int64[2, s]; met: int32[i, r + 1], the stamps of searches that have been there;
    takers: int32[r], the instructions that take rows). `told: int64[3]`: how many rows are taken, the last one that was
    looked at, was the bound's end needed?

    What follows an instruction at a row does not depend on the way there, so each is tried once.
    """
    held, ends, hit = rows
    stack, met, takers = scratch
    start, first, behind, limit, stamp = asked[0], asked[1], asked[2], asked[4], asked[5]
    stop = behind if limit < 0 else min(limit, behind)
    stack[0, 0], stack[1, 0] = 0, 0
    top, last, needs_end = 1, start, 0
    outcome = FAILED
    while top > 0 and outcome == FAILED:
        if top + 2 > stack.shape[1]:
            return NO_ROOM
        top -= 1
        i, taken = stack[0, top], stack[1, top]
        if met[i, taken] == stamp:
            continue
        met[i, taken] = stamp
        row, kind = start + taken, code[0, i]
        if kind == DONE:
            outcome, told[0] = FOUND, taken
        elif kind == LABEL:
            v, is_taken = code[1, i], False
            if limit >= 0 and row >= limit:
                needs_end = 1
            elif row >= behind:
                outcome = UNKNOWN
            else:
                last = max(last, row)
                is_taken = held[v, row]
            if is_taken and ends[v] > 0:
                if (ends[v] & NEXT_ROW) != 0 and row + 1 >= stop:
                    is_taken = False
                    if limit < 0:
                        outcome = UNKNOWN
                    needs_end = 1
                elif hit[v, row] < stop:
                    is_taken = False
                    last = max(last, hit[v, row])
                elif (ends[v] & BOUND) != 0 and limit < 0:
                    outcome = UNKNOWN
                else:
                    if (ends[v] & NEXT_ROW) != 0:
                        last = max(last, row + 1)
                    if (ends[v] & BOUND) != 0:
                        needs_end = 1
            if is_taken:
                takers[taken] = i
                stack[0, top], stack[1, top] = i + 1, taken + 1
                top += 1
        elif kind == SPLIT:
            stack[0, top], stack[1, top] = code[2, i], taken
            stack[0, top + 1], stack[1, top + 1] = code[1, i], taken
            top += 2
        elif kind == JUMP or (kind == START and row == first and asked[3] == 1):
            stack[0, top] = code[1, i] if kind == JUMP else i + 1
            stack[1, top] = taken
            top += 1
        elif kind == END and row >= behind:
            outcome = UNKNOWN
        elif kind == END:
            last = max(last, row)
    told[1], told[2] = last, needs_end
    return outcome
