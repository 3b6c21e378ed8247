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
def search(code, rows, bounds, asked, scratch, told):
    """FOUND, FAILED, UNKNOWN as `streams.reference.search` has them, or NO_ROOM on the stack.

    - `code: int64[3, i]`: kind, label or target, second target;
    - `rows`: (held: bool[v, n]; is_gap: bool[v]; ends: int64[v]: what else a variant waits for; hit: int64[v, n]: the
      row that forbids a match to end there, n without one); `bounds`: (limit: int64[n], end: int64[n] or none);
    - `asked: int64[7]`: start, first row and end of the partition, does `^` hold at the first row, does the bound begin
      anew with each row, watermark, stamp;
    - `scratch`: (stack: int64[3, s]; met: int64[2, i, r + 1]: stamp and base of the searches that have been there;
      takers: int32[r], the instructions that take rows);
    - `told: int64[3]`: how many rows are taken, the last one that was looked at, the latest end of a bound that was
      needed (as it was if none).

    What follows an instruction at a row does not depend on the way there but for its *base*, the row at which the bound
    begins: what failed with a later base fails with an earlier one.
    """
    held, is_gap, ends, hit = rows
    limit, end = bounds
    stack, met, takers = scratch
    start, first, behind, is_between, watermark, stamp = asked[0], asked[1], asked[2], asked[4], asked[5], asked[6]
    stack[0, 0], stack[1, 0], stack[2, 0] = 0, 0, -1 if is_between == 1 else start
    top, last, outcome = 1, start, FAILED
    while top > 0 and outcome == FAILED:
        if top + 2 > stack.shape[1]:
            return NO_ROOM
        top -= 1
        i, taken, base = stack[0, top], stack[1, top], stack[2, top]
        if met[0, i, taken] == stamp and met[1, i, taken] >= base:
            continue
        met[0, i, taken], met[1, i, taken] = stamp, base
        row, kind = start + taken, code[0, i]
        if kind == DONE:
            outcome, told[0] = FOUND, taken
        elif kind == LABEL:
            v, is_taken = code[1, i], False
            if base >= 0 and len(end) > 0 and end[base] <= watermark and row >= limit[base]:
                told[2] = max(told[2], end[base])
            elif row >= behind:
                outcome = UNKNOWN
            else:
                last = max(last, row)
                is_taken = held[v, row]
            if is_taken and ends[v] > 0:
                about = row if is_between == 1 else start
                has_ended = len(end) > 0 and end[about] <= watermark
                stop = min(limit[about], behind) if has_ended else behind
                if (ends[v] & NEXT_ROW) != 0 and row + 1 >= stop:
                    is_taken = False
                    if has_ended:
                        told[2] = max(told[2], end[about])
                    else:
                        outcome = UNKNOWN
                elif hit[v, row] < stop:
                    is_taken = False
                    last = max(last, hit[v, row])
                elif (ends[v] & BOUND) != 0 and not has_ended:
                    outcome = UNKNOWN
                else:
                    if (ends[v] & NEXT_ROW) != 0:
                        last = max(last, row + 1)
                    if (ends[v] & BOUND) != 0:
                        told[2] = max(told[2], end[about])
            if is_taken:
                takers[taken] = i
                stack[0, top], stack[1, top] = i + 1, taken + 1
                stack[2, top] = row if is_between == 1 and not is_gap[v] else base
                top += 1
        elif kind == SPLIT:
            for k in range(2):
                stack[0, top], stack[1, top], stack[2, top] = code[2 - k, i], taken, base
                top += 1
        elif kind == JUMP or (kind == START and row == first and asked[3] == 1):
            stack[0, top] = code[1, i] if kind == JUMP else i + 1
            stack[1, top], stack[2, top] = taken, base
            top += 1
        elif kind == END and row >= behind:
            outcome = UNKNOWN
        elif kind == END:
            last = max(last, row)
    told[1] = last
    return outcome
