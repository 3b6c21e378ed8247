"""The loops of `shared_buffer` and `every_match`. Arrays by name as in Buffer; entries are int32."""

from __future__ import annotations

from sqlext.pattern.jit import compiled

NODE = -2  # as `right` of an entry; with BETWEEN ROWS less by 1 and the oldest row that may stand before the node's

DUE_BEFORE, DUE_BEHIND = 1, 2  # as bits of `due`, and less than 0 as `final` of a hit

FULL = -1  # instead of a number of matches: not even one result fits
SPENT = -2  # too many entries were visited


@compiled
def add_node(left, right, row, state, newest, at, group, kind, taken, taking_state, newest_start):
    """Write a node at place `at`; return it. `kind`: NODE or less."""
    left[at], right[at], row[at], state[at], newest[at] = group, kind, taken, taking_state, newest_start
    return at


@compiled
def compact(left, right, row, state, newest, size, group, oldest, is_between, moved):
    """Keep what the groups reach; return the new size. `moved: int32[size]`, all -1, becomes the new place of each.

    Branches older than `oldest` are dead; with `is_between` only those of groups, for the past of a node was in time.
    """
    for head in group:
        if head >= 0:
            moved[head] = 0
    for i in range(size - 1, -1, -1):
        if moved[i] < 0:
            continue
        if right[i] <= NODE:
            if left[i] >= 0:
                moved[left[i]] = 1  # by now: 1 is the past of a node, 0 only in groups
            continue
        is_past = is_between and moved[i] == 1
        if is_past or newest[left[i]] >= oldest:
            moved[left[i]] = max(moved[left[i]], moved[i])
        if is_past or newest[right[i]] >= oldest:
            moved[right[i]] = max(moved[right[i]], moved[i])
    at = 0
    for i in range(size):
        if moved[i] < 0:
            continue
        one = moved[left[i]] if left[i] >= 0 else -1
        if right[i] <= NODE:
            right[at], row[at], state[at] = right[i], row[i], state[i]
        else:
            other = moved[right[i]]
            if one < 0 or other < 0:
                moved[i] = max(one, other)
                continue
            right[at], row[at], state[at] = other, 0, 0
        left[at], newest[at] = one, newest[i]
        moved[i] = at
        at += 1
    for w in range(len(group)):
        if group[w] >= 0:
            group[w] = moved[group[w]]
    return at


@compiled
def advance(tables, buffer, rows, due, hits, progress, scratch):
    """Take rows from progress[0] on, up to progress[1], while there is room; the place of each hit in `hits`.

    `tables`: Tables; `buffer`: (left, right, row, state, newest, group); `rows`: RowBits; `due: int8[n]` or none: at
    these rows the groups themselves are hits, BEFORE the row or BEHIND it; `hits`: (entry, row, final); `progress:
    int64[4]`: next row, end, size of the buffer, number of hits. `scratch: int32[2, w]`.
    """
    left, right, row, state, newest, group = buffer
    hit_entry, hit_row, hit_final = hits
    states = len(group)
    size, found, r = progress[2], progress[3], progress[0]
    fresh, taken = scratch[0], scratch[1]
    while r < progress[1] and size + tables.room <= len(left) and found + tables.most_hits <= len(hit_entry):
        is_first, oldest, taken_row = rows.is_first[r], rows.oldest[r], rows.base + r
        kind = NODE - 1 - oldest if tables.is_between else NODE
        if len(due) > 0 and (due[r] & DUE_BEFORE) != 0:
            found = _groups(group, taken_row, -DUE_BEFORE, hits, found)
        for w in range(states):
            fresh[w] = -1
            taken[w] = -1
            if is_first != 0:
                group[w] = -1
        for w in range(states):
            head = group[w]
            if head < 0 or newest[head] < oldest:
                continue
            if rows.holds[r, tables.take[w]]:
                newest_row = taken_row if tables.is_between else newest[head]
                taken[w] = add_node(left, right, row, state, newest, size, head, kind, taken_row, w, newest_row)
                size += 1
            for e in range(tables.skip_first[w], tables.skip_first[w + 1]):
                if rows.holds[r, tables.skip[e]]:
                    size = _join(left, right, newest, size, fresh, tables.skip_to[e], head)
        if rows.may_start[r]:
            first = 1 if is_first == 1 else 0
            for x in range(tables.start_first[first], tables.start_first[first + 1]):
                w = tables.start[x]
                if rows.holds[r, tables.take[w]]:
                    node = add_node(left, right, row, state, newest, size, -1, kind, taken_row, w, taken_row)
                    size = _join(left, right, newest, size + 1, taken, w, node)
        for w in range(states):
            node = taken[w]
            if node < 0:
                continue
            q = tables.position[w]
            for x in range(tables.after_first[q], tables.after_first[q + 1]):
                size = _join(left, right, newest, size, fresh, tables.after[x], node)
            for x in range(tables.final_first[q], tables.final_first[q + 1]):
                hit_entry[found], hit_row[found], hit_final[found] = node, taken_row, tables.final[x]
                found += 1
        for w in range(states):
            group[w] = fresh[w]
        if len(due) > 0 and (due[r] & DUE_BEHIND) != 0:
            found = _groups(group, taken_row, -DUE_BEHIND, hits, found)
        r += 1
    progress[0], progress[2], progress[3] = r, size, found


@compiled
def _groups(group, row, final, hits, found):
    """All groups as hits; return the number of hits."""
    for head in group:
        if head >= 0:
            hits[0][found], hits[1][found], hits[2][found] = head, row, final
            found += 1
    return found


@compiled
def _join(left, right, newest, size, fresh, w, entry):
    """Let an entry be in the next group of state w; return the size of the buffer."""
    other = fresh[w]
    if other < 0:
        fresh[w] = entry
        return size
    if newest[entry] < newest[other]:
        entry, other = other, entry
    left[size], right[size], newest[size] = entry, other, newest[entry]
    fresh[w] = size
    return size + 1


@compiled
def enumerate_hits(buffer, hits, scratch, out, progress, max_steps):
    """The matches of hits from number progress[0] on, as many as there is room for; progress[0] goes on to the next.

    `hits`: (entry, row, low, high); `out`: (row: int64[k], state: int16[k], end: int64[m], count: int64[h]): how many
    matches each hit has. The matches of one row are written together or not at all. Returns 0, FULL or SPENT.
    """
    entry, row, low, high = hits
    place = progress[0]
    matches, mapped, steps = 0, 0, max_steps
    while place < len(entry):
        if place == progress[0] or row[place] != row[place - 1]:
            progress[0], steps = place, max_steps
        if low[place] <= high[place]:
            found, mapped, steps = _enumerate(
                buffer, entry[place], low[place], high[place], scratch, out, matches, mapped, steps
            )
            if found < 0:
                return found
            out[3][place] = found
            matches += found
        place += 1
    progress[0] = place
    return 0


@compiled
def _enumerate(buffer, entry, low, high, scratch, out, matches, mapped, steps):
    """All pasts of a node that start at rows `low` to `high` (inclusive): how many or FULL or SPENT, mapped, steps."""
    left, right, row, state, newest, _ = buffer
    out_row, out_state, out_end, _ = out
    stack, path = scratch
    before, top = matches, 1
    stack[0, 0], stack[1, 0] = entry, 0
    while top > 0:
        top -= 1
        here, depth = stack[0, top], stack[1, top]
        steps -= 1
        if steps < 0:
            return SPENT, mapped, steps
        bound = low
        if depth > 0 and right[path[depth - 1]] < NODE:
            bound = NODE - 1 - right[path[depth - 1]]
        if newest[here] < bound:
            continue
        if top + 2 > stack.shape[1] or depth + 1 > len(path):
            return FULL, mapped, steps
        if right[here] >= 0:
            stack[0, top], stack[1, top] = right[here], depth
            stack[0, top + 1], stack[1, top + 1] = left[here], depth
            top += 2
            continue
        path[depth] = here
        if left[here] >= 0:
            stack[0, top], stack[1, top] = left[here], depth + 1
            top += 1
        elif low <= row[here] <= high:
            if matches == len(out_end) or mapped + depth + 1 > len(out_row):
                return FULL, mapped, steps
            for j in range(depth, -1, -1):
                out_row[mapped], out_state[mapped] = row[path[j]], state[path[j]]
                mapped += 1
            out_end[matches] = mapped
            matches += 1
    return matches - before, mapped, steps


FAR = 1 << 60  # no row: nothing that is waited for can come


@compiled
def first_live(tables, rows, bounds, begin, open_from, pending, need, out):
    """In `out: int64[p]` the first row of each partition, from `begin: int64[p]` on, from which a match may still come.

    Right to left, `need[., w]` is for a path that waits in state w the least row that its bound must begin at, for it
    to be alive behind the last row: that is the start row, or with BETWEEN ROWS the last row taken. `open_from:
    int64[p]`: the first row whose bound has not ended; `pending: bool[n, f]`: does a match that ends with the row, as
    long as its bound lasts, wait for later rows? `need: int64[2, w]` is scratch.
    """
    states = len(tables.position)
    for p in range(len(bounds) - 1):
        behind = bounds[p + 1]
        out[p] = behind
        for w in range(states):
            need[0, w] = open_from[p]
        now = 0
        for r in range(behind - 1, begin[p] - 1, -1):
            after, here = need[now], need[1 - now]
            for w in range(states):
                best = FAR
                if rows.holds[r, tables.take[w]]:
                    best = _need_behind(tables, rows, pending, after, open_from[p], w, r)
                for e in range(tables.skip_first[w], tables.skip_first[w + 1]):
                    if rows.holds[r, tables.skip[e]]:
                        best = min(best, after[tables.skip_to[e]])
                here[w] = best
            if rows.may_start[r]:
                first = 1 if rows.is_first[r] == 1 else 0
                for x in range(tables.start_first[first], tables.start_first[first + 1]):
                    w = tables.start[x]
                    is_taken = rows.holds[r, tables.take[w]]
                    if is_taken and _need_behind(tables, rows, pending, after, open_from[p], w, r) <= r:
                        out[p] = r
            now = 1 - now


@compiled
def _need_behind(tables, rows, pending, after, open_row, w, r):
    """What the bound of a path must begin at that takes row r in state w."""
    q, best = tables.position[w], FAR
    for x in range(tables.after_first[q], tables.after_first[q + 1]):
        best = min(best, after[tables.after[x]])
    for x in range(tables.final_first[q], tables.final_first[q + 1]):
        if pending[r, tables.final[x]]:
            best = min(best, open_row)
    if tables.is_between and best <= r:
        return rows.oldest[r]
    return FAR if tables.is_between else best
