"""The search of `threads`: one path, depth first in order of preference, with conditions that see the path.

Positions are the MatchLabel instructions of the program, numbered in its order. A *node* is a place in the search:
node p is after the row taken at position p; with m positions, node m is a start inside a partition, and node m + 1 is a
start at its first row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlext.pattern.batch.blocks import (
    MAPPED,
    NO_MATCH,
    NUMBER,
    PARTITION,
    ROW,
    SOUGHT,
    SOUGHT_LIMIT,
    book,
    first_to_seek,
    has_room,
    next_partition,
)
from sqlext.pattern.program.jit import compiled, internal
from sqlext.pattern.program.position_automaton import DONE
from sqlext.pattern.task.task import CLASSIFIER
from sqlext.pattern.threads import condition_code as op
from sqlext.pattern.threads import path_keys as keys
from sqlext.pattern.threads.condition_machine import OVERFLOW, TRUE, evaluate_lines, float_order
from sqlext.pattern.threads.memo import COUNT as MEMO_COUNT
from sqlext.pattern.threads.memo import add, contains, forget

FAULT, BUDGET, MEMO_FULL = -3, -4, -5  # instead of the length of a match, like NO_MATCH and TOO_LONG of `blocks`
# progress: int64[8]: the steps taken in partition SEARCHED; the fault and the label whose condition raised it; the hits
# of the memo; the last starts in a row that it did not help; how many of the next starts do without it, now and the
# next time
STEPS, SEARCHED, FAULT_CODE, FAULT_LABEL, HITS, IN_VAIN, RESTING, NEXT_REST = range(8)
SEEKS, IS_SEEN = 2, 3  # indexes into `effort`
FIRST_STEPS = 10_000  # every partition may take these steps
MOST_STEPS, STEPS_OF_MANY_ROWS = 100_000_000, 5_000  # a large partition may take MOST_STEPS, and these for each row
# A key that holds a sum or the first row is never met again from another start, and to write it takes most of the time.
# After TRIALS starts without a hit, each of more than LONG steps, the memo rests: for 1, 2, 4, … and at most MAX_REST
# starts. From a start that takes as many steps as no path without branches does, it does not rest.
LONG, TRIALS, MAX_REST, STEPS_OF_PATH = 1_000, 2, 64, 16


class ThreadTables(NamedTuple):
    """The tables of a task with p positions.

    - `follow_start: int64[p + 3]`, `follow: int32[·]`: at node x the search tries the positions
      `follow[follow_start[x] : follow_start[x + 1]]` in this order; DONE among them is a match;
    - `is_final: bool[p]`: a path that ends with this position at the partition's last row is a match;
    - `label: int16[p]`, `bit: int64[p]` (-1: none) of each position;
    - `code` to `feeds`: as in `condition_code.Code`;
    - `key_start: int64[p + 1]`, `key: int32[·, 4]`: the parts of the path that conditions after position x can see.
    """

    follow_start: np.ndarray
    follow: np.ndarray
    is_final: np.ndarray
    label: np.ndarray
    bit: np.ndarray
    code: np.ndarray
    code_start: np.ndarray
    result: np.ndarray
    push_start: np.ndarray
    push: np.ndarray
    accumulators: np.ndarray
    feeds: np.ndarray
    key_start: np.ndarray
    key: np.ndarray


class SearchInput(NamedTuple):
    """The rows; an optional array has length 0 where it is missing.

    - `bounds`, `mask`, `limit` (optional), `classifiers`: as in task.Rows;
    - `values: int64[c, n]` (the bits of a float64), `values_f: float64[c, n]` (the same memory), `is_float: bool[c]`,
      `valid: bool[c, n]`: the columns;
    - `earlier: int64[·, n]`: the last row before with an equal value, or -1;
    - `live: uint64[n]` (optional): the positions from which a match can be completed if all conditions hold;
    - `reach: int64[n]` (optional): where the shortest match from a row ends if all conditions hold.
    """

    bounds: np.ndarray
    mask: np.ndarray
    limit: np.ndarray
    values: np.ndarray
    values_f: np.ndarray
    is_float: np.ndarray
    valid: np.ndarray
    earlier: np.ndarray
    classifiers: np.ndarray
    live: np.ndarray
    reach: np.ndarray


class Work(NamedTuple):
    """The state of the search. For each depth of the path: `path` is the position taken, `cursor` the next alternative,
    `spent` the steps so far; `sums`, `sums_f` (the same memory) and `counts` are the accumulators.
    `stacks[s, : tops[s]]` are the rows with a label of set s. `registers`, `floats` (the same memory) and `is_null`
    belong to the conditions."""

    path: np.ndarray
    cursor: np.ndarray
    spent: np.ndarray
    stacks: np.ndarray
    tops: np.ndarray
    sums: np.ndarray
    sums_f: np.ndarray
    counts: np.ndarray
    registers: np.ndarray
    floats: np.ndarray
    is_null: np.ndarray
    key: np.ndarray


# --- accumulators -----------------------------------------------------------------------------------------------------


@internal
def _is_repeated(distinct, column, fed, label, path, earlier, classifiers, start, row):
    """True if an accumulated earlier row of the path has the current row's value."""
    if column == CLASSIFIER:
        wanted = classifiers[label[path[row - start]]]
        for at in range(row - 1, start - 1, -1):
            other = label[path[at - start]]
            if fed[other] and classifiers[other] == wanted:
                return True
        return False
    at = earlier[distinct, row]
    while at >= start:
        if fed[label[path[at - start]]]:
            return True
        at = earlier[distinct, at]
    return False


@internal
def _add_integer(operation, value, total, count):
    """The new total and count."""
    if operation == op.SUM:
        result = np.int64(np.uint64(value) + np.uint64(total))  # unsigned: see condition_machine._integer
        if count == op.OVERFLOWN or ((value ^ result) & (total ^ result)) < 0:
            return total, np.int64(op.OVERFLOWN)
        return result, count + 1
    is_better = value < total if operation == op.MIN else value > total
    return (value if is_better or count == 0 else total), count + 1


@internal
def _add_float(operation, value, total, count):
    if operation == op.SUM_F or operation == op.AVERAGE_OF:
        return total + value, count + 1
    order = float_order(value, total)
    is_better = order < 0 if operation == op.MIN_F else order > 0
    return (value if is_better or count == 0 else total), count + 1


@internal
def _accumulate(
    accumulators,
    feeds,
    tested,
    values,
    values_f,
    is_float,
    valid,
    classifiers,
    earlier,
    label,
    path,
    sums,
    sums_f,
    counts,
    start,
    row,
):
    """Compute the accumulators after the current row (depth row - start + 1) from the accumulators before it."""
    depth = row - start
    for a in range(accumulators.shape[0]):
        sums[depth + 1, a] = sums[depth, a]
        count = counts[depth, a]
        counts[depth + 1, a] = count
        if not feeds[a, tested]:
            continue
        operation, column, distinct = accumulators[a, 0], accumulators[a, 1], accumulators[a, 2]
        if operation == op.COUNT_ROWS:
            counts[depth + 1, a] = count + 1
            continue
        if column != CLASSIFIER and not valid[column, row]:
            continue
        if distinct >= 0 and _is_repeated(distinct, column, feeds[a], label, path, earlier, classifiers, start, row):
            continue
        value = classifiers[tested] if column == CLASSIFIER else values[column, row]
        if operation == op.COUNT_VALUES:
            counts[depth + 1, a] = count + 1
        elif operation == op.SUM_F or operation == op.AVERAGE_OF or operation == op.MIN_F or operation == op.MAX_F:
            is_integer = column == CLASSIFIER or not is_float[column]
            number = float(value) if is_integer else values_f[column, row]
            total, count = _add_float(operation, number, sums_f[depth, a], count)
            sums_f[depth + 1, a] = total
            counts[depth + 1, a] = count
        else:
            whole, count = _add_integer(operation, value, sums[depth, a], count)
            sums[depth + 1, a] = whole
            counts[depth + 1, a] = count


# --- keys of failed states --------------------------------------------------------------------------------------------


@internal
def _label_at(at, label, path, start, stop):
    return label[path[at - start]] if start <= at < stop else -1


@internal
def _write_key(out, first, last, key, position, label, path, stacks, tops, sums, counts, start, stop, limit, number):
    """Write the key of the state after rows `start` to `stop` (exclusive); return its length, or 0 if it has none."""
    out[0] = position
    out[1] = stop
    for k in range(first, last):
        part, a, b, step = key[k, 0], key[k, 1], key[k, 2], key[k, 3]
        if part == keys.KEY_LAST or part == keys.KEY_LAST_LABEL:
            at = stacks[a, tops[a] - 1 - b] if b < tops[a] else -1
            word = at if part == keys.KEY_LAST or at < 0 else _label_at(at + step, label, path, start, stop)
        elif part == keys.KEY_FIRST or part == keys.KEY_FIRST_LABEL:
            at = stacks[a, b] if b < tops[a] else -1
            word = at if part == keys.KEY_FIRST or at < 0 else _label_at(at + step, label, path, start, stop)
        elif part == keys.KEY_COUNT:
            word = min(tops[a], b)
        elif part == keys.KEY_DEPTH:
            word = min(stop - start, a)
        elif part == keys.KEY_START:
            word = start
        elif part == keys.KEY_START_LABEL:
            word = _label_at(start + a, label, path, start, stop)
        elif part == keys.KEY_RECENT_LABEL:
            word = _label_at(stop - 1 - a, label, path, start, stop)
        elif part == keys.KEY_NUMBER:
            word = number
        elif part == keys.KEY_VALUE:
            word = sums[stop - start, a]
        elif part == keys.KEY_VALUE_COUNT:
            word = counts[stop - start, a]
        elif part == keys.KEY_HAS_VALUE:
            word = min(counts[stop - start, a], 1)
        elif part == keys.KEY_LIMIT:
            word = limit
        else:
            return 0
        out[2 + k - first] = word
    return 2 + last - first


# --- how far the shortest match reaches ------------------------------------------------------------------------------


@compiled
def find_reach(bounds, mask, follow_start, follow, is_final, bit, ends, reach):
    """Write for each row where the shortest match that starts there ends (exclusive), or n + 1 if there is none.

    Conditions on the match so far are assumed to hold. `ends: int64[2, p]` is working memory.
    """
    size, never = bit.size, len(mask) + 1
    for partition in range(bounds.size - 1):
        lo, hi = bounds[partition], bounds[partition + 1]
        for row in range(hi - 1, lo - 1, -1):
            here, following = ends[row & 1], ends[1 - (row & 1)]
            for p in range(size):
                here[p] = never
                if bit[p] >= 0 and not (mask[row, bit[p] >> 3] >> (bit[p] & 7)) & 1:
                    continue
                if row == hi - 1:
                    here[p] = hi if is_final[p] else never
                    continue
                for k in range(follow_start[p], follow_start[p + 1]):
                    here[p] = min(here[p], row + 1 if follow[k] == DONE else following[follow[k]])
            reach[row] = never
            start = size + (row == lo)
            for k in range(follow_start[start], follow_start[start + 1]):
                reach[row] = min(reach[row], row if follow[k] == DONE else here[follow[k]])


# --- the search -------------------------------------------------------------------------------------------------------


@internal
def _search(t, r, w, memo, remember_after, progress, lo, hi, first, last, limit, start, number, budget):
    """Search the preferred match from row `start`; return its length or an outcome below 0.

    The partition is rows `lo` to `hi`. PREV and NEXT reach rows `first` to `last` (exclusive). The match's positions
    are in `w.path`. The outcomes are NO_MATCH, FAULT, BUDGET and MEMO_FULL.
    """
    follow_start, follow, label, bit, mask, live = t.follow_start, t.follow, t.label, t.bit, r.mask, r.live
    code_start, push_start, push, key_start = t.code_start, t.push_start, t.push, t.key_start
    path, cursor, spent, stacks, tops = w.path, w.cursor, w.spent, w.stacks, w.tops
    has_accumulators, is_filtered = t.accumulators.shape[0] > 0, live.size > 0
    tops[:] = 0
    steps = progress[STEPS]
    rested = steps + FIRST_STEPS + STEPS_OF_PATH * label.size * (hi - start)
    row = start
    node = np.int64(label.size + (start == lo))
    cursor[0] = follow_start[node]
    outcome = NO_MATCH
    while True:
        took = False
        if row == hi:
            if t.is_final[node]:
                outcome = row - start
                break
        else:
            at, stop = cursor[row - start], follow_start[node + 1]
            while at < stop:
                position = np.int64(follow[at])
                at += 1
                if position == DONE:
                    outcome = row - start
                    break
                steps += 1
                if row >= limit or (is_filtered and not (live[row] >> np.uint64(position)) & np.uint64(1)):
                    continue
                tested = label[position]
                shift = bit[position]
                if shift >= 0 and not (mask[row, shift >> 3] >> (shift & 7)) & 1:
                    continue
                path[row - start] = position
                for k in range(push_start[tested], push_start[tested + 1]):
                    stacks[push[k], tops[push[k]]] = row
                    tops[push[k]] += 1
                if has_accumulators:
                    _accumulate(
                        t.accumulators,
                        t.feeds,
                        tested,
                        r.values,
                        r.values_f,
                        r.is_float,
                        r.valid,
                        r.classifiers,
                        r.earlier,
                        label,
                        path,
                        w.sums,
                        w.sums_f,
                        w.counts,
                        start,
                        row,
                    )
                took = True
                if code_start[tested] < code_start[tested + 1]:
                    result = evaluate_lines(
                        t.code,
                        code_start[tested],
                        code_start[tested + 1],
                        t.result[0],
                        w.registers,
                        w.floats,
                        w.is_null,
                        r.values,
                        r.valid,
                        r.classifiers,
                        label,
                        path,
                        stacks,
                        tops,
                        w.sums,
                        w.sums_f,
                        w.counts,
                        first,
                        last,
                        start,
                        row,
                        number,
                    )
                    if result >= OVERFLOW:
                        progress[FAULT_CODE], progress[FAULT_LABEL] = result, tested
                        outcome = FAULT
                        break
                    took = result == TRUE
                if took and memo.counters[MEMO_COUNT] > 0:
                    length = _write_key(
                        w.key,
                        key_start[position],
                        key_start[position + 1],
                        t.key,
                        position,
                        label,
                        path,
                        stacks,
                        tops,
                        w.sums,
                        w.counts,
                        start,
                        row + 1,
                        limit,
                        number,
                    )
                    took = length == 0 or not contains(memo, w.key, length)
                    progress[HITS] += not took
                if took:
                    break
                for k in range(push_start[tested], push_start[tested + 1]):
                    tops[push[k]] -= 1
            if outcome != NO_MATCH:
                break
            cursor[row - start] = at
        if steps > budget:
            outcome = BUDGET
            break
        if took:
            node = np.int64(path[row - start])
            row += 1
            cursor[row - start] = follow_start[node]
            spent[row - start] = steps
            continue
        if row == start:
            break
        if steps - spent[row - start] >= remember_after and (progress[RESTING] == 0 or steps > rested):
            length = _write_key(
                w.key,
                key_start[node],
                key_start[node + 1],
                t.key,
                node,
                label,
                path,
                stacks,
                tops,
                w.sums,
                w.counts,
                start,
                row,
                limit,
                number,
            )
            if length > 0 and not add(memo, w.key, length):
                return MEMO_FULL
        row -= 1
        tested = label[node]
        for k in range(push_start[tested], push_start[tested + 1]):
            tops[push[k]] -= 1
        node = np.int64(path[row - start - 1]) if row > start else np.int64(label.size + (start == lo))
    progress[STEPS] = steps
    return outcome


@internal
def _let_rest(memo, progress, steps, hits):
    """Decide whether the next starts do without the memo, after a start that began with these numbers of steps and of
    hits."""
    if progress[RESTING] > 0:
        progress[RESTING] -= 1
    elif progress[HITS] > hits:
        progress[IN_VAIN], progress[NEXT_REST] = 0, 1
    elif progress[STEPS] - steps > LONG:
        progress[IN_VAIN] += 1
        if progress[IN_VAIN] >= TRIALS:
            progress[IN_VAIN], progress[RESTING] = 0, progress[NEXT_REST]
            progress[NEXT_REST] = min(2 * progress[NEXT_REST], MAX_REST)
            forget(memo)


@compiled
def search_all(t, r, w, memo, is_target, effort, progress, state, block):
    """Fill the block; return FAULT, BUDGET or MEMO_FULL if the search was broken off, otherwise 0.

    `effort: int64[4]`: remember_after and steps_per_row of Limits; seeks and is_seen of Frame.
    """
    while has_room(state, block) and next_partition(state, r.bounds):
        if progress[SEARCHED] != state[PARTITION]:
            progress[SEARCHED], progress[STEPS] = state[PARTITION], 0
            progress[HITS] = progress[IN_VAIN] = progress[RESTING] = 0
            progress[NEXT_REST] = 1
            if memo.counters[MEMO_COUNT]:
                forget(memo)
        lo, hi = r.bounds[state[PARTITION]], r.bounds[state[PARTITION] + 1]
        budget = FIRST_STEPS + min(effort[1] * (hi - lo), MOST_STEPS + STEPS_OF_MANY_ROWS * (hi - lo))
        row = state[ROW]
        limit = r.limit[row] if r.limit.size else hi
        first, last, at, stop = lo, hi, row, row + 1
        if effort[SEEKS]:
            at, stop = row if effort[IS_SEEN] else first_to_seek(state, limit), limit
        if effort[IS_SEEN]:
            first, last = row, limit
        length = NO_MATCH
        while at < stop:
            if effort[IS_SEEN] and memo.counters[MEMO_COUNT]:
                forget(memo)  # what failed in another frame may not fail in this one
            if r.reach.size == 0 or r.reach[at] <= limit:
                steps, hits = progress[STEPS], progress[HITS]
                length = _search(
                    t, r, w, memo, effort[0], progress, lo, hi, first, last, limit, at, state[NUMBER], budget
                )
                if length == NO_MATCH:
                    _let_rest(memo, progress, steps, hits)
            if length != NO_MATCH:
                break
            at += 1
            if effort[SEEKS]:
                state[SOUGHT], state[SOUGHT_LIMIT] = at, limit
        if length <= FAULT:
            return length
        if state[MAPPED] + length > len(block.position):
            break  # the match does not fit: it is searched again for the next block, which is larger if necessary
        for j in range(length):
            block.position[state[MAPPED] + j] = w.path[j]
        book(state, block, None, is_target, length, at - row)
    return 0
