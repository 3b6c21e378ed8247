"""The versioned shared buffer: all partial matches of one partition, with shared pasts and each row stored once.

Partial matches in the same state differ only in their past, so they form one *group*. An entry of the buffer is

- a *node*: a row taken in a state, and the group at that moment (an entry, or -1 for the first row), every member of
  which is a past of the node; or
- a *union* of two entries, the one with the newer start first.

A group is represented by its newest entry, its head. Entries never change, so a node refers to a *version* of a group:
later entries get a new head, which the node cannot reach. NFA^b and Flink keep one list for all versions and need Dewey
numbers to tell them apart. Entries refer only to older entries, so `compact` releases the entries that no group needs
in one sweep from the newest to the oldest, without reference counts and without recursion.

WITHIN prunes by `newest`: the newest start row of the pasts, or with BETWEEN ROWS the last row taken. An entry whose
`newest` is too old is dead. Below a live entry, the only wasted visits are to dead branches beside live ones.

Source: Agrawal et al., SIGMOD 2008 (versions); Bucchi et al., CORE: a Complex Event Recognition Engine, VLDB 2022
(unions ordered by their newest start; enumeration from them).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlext.pattern.program.jit import compiled

NOTHING = -1
FAR = 1 << 60  # after every row: no path can complete
NODE = -2  # `right` of a node; with BETWEEN ROWS it is NODE - 1 - the oldest row that may precede the node's row

DUE_BEFORE, DUE_AFTER = 1, 2  # the bits of `due`; negated, the `final` of a hit

FULL = -1  # returned instead of a number of matches: the next result does not fit
SPENT = -2  # returned instead of a number of matches: too many entries were visited


@dataclass(kw_only=True)
class Buffer:
    """The arrays of the buffer, for c entries and w states.

    - `left, right: int32[c]`: the two entries of a union; for a node, its group, and NODE or less;
    - `row: int32[c]`, `state: int16[c]`: the row and the state of a node; `newest: int32[c]`: see above;
    - `group: int32[w]`: the head of each state's group, or -1;
    - `size`: the number of entries in use.
    """

    left: np.ndarray
    right: np.ndarray
    row: np.ndarray
    state: np.ndarray
    newest: np.ndarray
    group: np.ndarray
    size: int = 0

    @staticmethod
    def empty(states: int, capacity: int = 1024) -> Buffer:
        """Return a buffer for that many states, without partial matches."""
        left, right, row, newest = (np.zeros(capacity, np.int32) for _ in range(4))
        return Buffer(
            left=left,
            right=right,
            row=row,
            state=np.zeros(capacity, np.int16),
            newest=newest,
            group=np.full(states, NOTHING, np.int32),
        )

    @property
    def capacity(self) -> int:
        return len(self.left)

    def grown(self, capacity: int) -> Buffer:
        """Return a copy with room for `capacity` entries."""

        def longer(array: np.ndarray) -> np.ndarray:
            result = np.zeros(capacity, array.dtype)
            result[: self.size] = array[: self.size]
            return result

        left, right, row, state, newest = map(longer, (self.left, self.right, self.row, self.state, self.newest))
        return Buffer(left=left, right=right, row=row, state=state, newest=newest, group=self.group, size=self.size)

    def compact(self, oldest: int, *, is_between: bool = False) -> None:
        """Release in place the entries that no group needs, and branches of unions that are older than row `oldest`;
        with `is_between`, only branches of groups.

        >>> buffer = Buffer.empty(1)
        >>> arrays = buffer.left, buffer.right, buffer.row, buffer.state, buffer.newest
        >>> a, b = (add_node(*arrays, i, NOTHING, NODE, i, 0, i) for i in (0, 1))
        >>> buffer.group[0], buffer.size = b, 2
        >>> buffer.compact(0)
        >>> buffer.size, buffer.row[:1].tolist(), buffer.group.tolist()
        (1, [1], [0])
        """
        for i, head in enumerate(self.group):
            if head >= 0 and self.newest[head] < oldest:
                self.group[i] = NOTHING
        new_index = np.full(self.size, NOTHING, np.int32)
        arrays = self.left, self.right, self.row, self.state, self.newest
        self.size = _compact(*arrays, self.size, self.group, oldest, is_between, new_index)


@compiled
def add_node(left, right, row, state, newest, at, group, kind, new_row, new_state, newest_start):
    """Write a node to index `at` and return `at`; `kind` is NODE or less."""
    left[at], right[at], row[at], state[at], newest[at] = group, kind, new_row, new_state, newest_start
    return at


@compiled
def _compact(left, right, row, state, newest, size, group, oldest, is_between, new_index):
    """Keep the entries that groups reach; return the new size. `new_index: int32[size]` begins as -1 everywhere.

    Branches older than `oldest` are dead. With `is_between` that holds for branches of groups only, because the past of
    a node was within its bound when the node was added.
    """
    for head in group:
        if head >= 0:
            new_index[head] = 0
    for i in range(size - 1, -1, -1):
        if new_index[i] < 0:
            continue
        if right[i] <= NODE:
            if left[i] >= 0:
                new_index[left[i]] = 1  # in this sweep, 1 is the past of a node, and 0 an entry that only groups reach
            continue
        is_past = is_between and new_index[i] == 1
        if is_past or newest[left[i]] >= oldest:
            new_index[left[i]] = max(new_index[left[i]], new_index[i])
        if is_past or newest[right[i]] >= oldest:
            new_index[right[i]] = max(new_index[right[i]], new_index[i])
    at = 0
    for i in range(size):
        if new_index[i] < 0:
            continue
        one = new_index[left[i]] if left[i] >= 0 else -1
        if right[i] <= NODE:
            right[at], row[at], state[at] = right[i], row[i], state[i]
        else:
            other = new_index[right[i]]
            if one < 0 or other < 0:
                new_index[i] = max(one, other)
                continue
            right[at], row[at], state[at] = other, 0, 0
        left[at], newest[at] = one, newest[i]
        new_index[i] = at
        at += 1
    for w in range(len(group)):
        if group[w] >= 0:
            group[w] = new_index[group[w]]
    return at


@compiled
def advance(tables, buffer, rows, due, hits, progress, scratch):
    """Process the rows from progress[0] up to progress[1] while there is room, and write the hits to `hits`.

    `tables`: Tables; `buffer`: (left, right, row, state, newest, group); `rows`: RowBits; `due: int8[n]`, or empty: the
    rows BEFORE or AFTER which the groups themselves are hits; `hits`: (entry, row, final); `progress: int64[4]`: next
    row, end, size of the buffer, number of hits; `scratch: int32[2, w]`.
    """
    left, right, row, state, newest, group = buffer
    hit_entry, hit_row, hit_final = hits
    states = len(group)
    size, count, r = progress[2], progress[3], progress[0]
    next_group, node_of = scratch[0], scratch[1]
    while r < progress[1] and size + tables.room <= len(left) and count + tables.most_hits <= len(hit_entry):
        is_first, oldest = rows.is_first[r], rows.oldest[r]
        kind = NODE - 1 - oldest if tables.is_between else NODE
        if len(due) > 0 and (due[r] & DUE_BEFORE) != 0:
            count = _groups(group, r, -DUE_BEFORE, hits, count)
        for w in range(states):
            next_group[w] = -1
            node_of[w] = -1
            if is_first != 0:
                group[w] = -1
        for w in range(states):
            head = group[w]
            if head < 0 or newest[head] < oldest:
                continue
            if rows.holds[r, tables.take[w]]:
                newest_row = r if tables.is_between else newest[head]
                node_of[w] = add_node(left, right, row, state, newest, size, head, kind, r, w, newest_row)
                size += 1
            for e in range(tables.skip_first[w], tables.skip_first[w + 1]):
                if rows.holds[r, tables.skip[e]]:
                    size = _join(left, right, newest, size, next_group, tables.skip_to[e], head)
        if rows.may_start[r]:
            first = 1 if is_first == 1 else 0
            for x in range(tables.start_first[first], tables.start_first[first + 1]):
                w = tables.start[x]
                if rows.holds[r, tables.take[w]]:
                    node = add_node(left, right, row, state, newest, size, -1, kind, r, w, r)
                    size = _join(left, right, newest, size + 1, node_of, w, node)
        for w in range(states):
            node = node_of[w]
            if node < 0:
                continue
            q = tables.position[w]
            for x in range(tables.after_first[q], tables.after_first[q + 1]):
                size = _join(left, right, newest, size, next_group, tables.after[x], node)
            for x in range(tables.final_first[q], tables.final_first[q + 1]):
                hit_entry[count], hit_row[count], hit_final[count] = node, r, tables.final[x]
                count += 1
        for w in range(states):
            group[w] = next_group[w]
        if len(due) > 0 and (due[r] & DUE_AFTER) != 0:
            count = _groups(group, r, -DUE_AFTER, hits, count)
        r += 1
    progress[0], progress[2], progress[3] = r, size, count


@compiled
def _groups(group, row, final, hits, count):
    """Write all groups as hits; return the number of hits."""
    for head in group:
        if head >= 0:
            hits[0][count], hits[1][count], hits[2][count] = head, row, final
            count += 1
    return count


@compiled
def _join(left, right, newest, size, next_group, w, entry):
    """Add an entry to the next group of state w; return the size of the buffer."""
    other = next_group[w]
    if other < 0:
        next_group[w] = entry
        return size
    if newest[entry] < newest[other]:
        entry, other = other, entry
    left[size], right[size], newest[size] = entry, other, newest[entry]
    next_group[w] = size
    return size + 1


@compiled
def enumerate_hits(buffer, hits, scratch, out, progress, max_steps):
    """Write the matches of the hits from progress[0] on while there is room, and advance progress[0] to the next hit.

    `hits`: (entry, row, low, high); `out`: (row: int64[k], state: int16[k], end: int64[m], count: int64[h]), where
    `count` is the number of matches of each hit. The matches of one row are written together or not at all. Returns 0,
    FULL or SPENT.
    """
    entry, row, low, high = hits
    place = progress[0]
    matches, mapped, steps = 0, 0, max_steps
    while place < len(entry):
        if place == progress[0] or row[place] != row[place - 1]:
            progress[0], steps = place, max_steps
        if low[place] <= high[place]:
            count, mapped, steps = _enumerate(
                buffer, entry[place], low[place], high[place], scratch, out, matches, mapped, steps
            )
            if count < 0:
                return count
            out[3][place] = count
            matches += count
        place += 1
    progress[0] = place
    return 0


@compiled
def _enumerate(buffer, entry, low, high, scratch, out, matches, mapped, steps):
    """Write the pasts of an entry that start at rows `low` to `high` (inclusive).

    Returns (number of matches, or FULL or SPENT; mapped rows written so far; steps left).
    """
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


@compiled
def first_live(tables, rows, bounds, begin, open_from, pending, need, out):
    """Write to `out: int64[p]` each partition's first row from `begin: int64[p]` on that may still start a match.

    The bound of a path begins at its start row, or with BETWEEN ROWS at the last row taken. Going from right to left,
    `need[., w]` is the first row where the bound of a path in state w may begin if the path is to be alive after the
    last row. `open_from: int64[p]`: the first row whose bound has not ended; `pending: bool[n, f]`: whether a match
    that ends with the row waits for later rows until its bound ends; `need: int64[2, w]`: scratch.
    """
    states = len(tables.position)
    for p in range(len(bounds) - 1):
        stop = bounds[p + 1]
        out[p] = stop
        for w in range(states):
            need[0, w] = open_from[p]
        now = 0
        for r in range(stop - 1, begin[p] - 1, -1):
            after, here = need[now], need[1 - now]
            for w in range(states):
                best = FAR
                if rows.holds[r, tables.take[w]]:
                    best = _need_after(tables, rows, pending, after, open_from[p], w, r)
                for e in range(tables.skip_first[w], tables.skip_first[w + 1]):
                    if rows.holds[r, tables.skip[e]]:
                        best = min(best, after[tables.skip_to[e]])
                here[w] = best
            if rows.may_start[r]:
                first = 1 if rows.is_first[r] == 1 else 0
                for x in range(tables.start_first[first], tables.start_first[first + 1]):
                    w = tables.start[x]
                    is_taken = rows.holds[r, tables.take[w]]
                    if is_taken and _need_after(tables, rows, pending, after, open_from[p], w, r) <= r:
                        out[p] = r
            now = 1 - now


@compiled
def _need_after(tables, rows, pending, after, open_row, w, r):
    """Return the first row where the bound of a path that takes row r in state w may begin, as in `first_live`."""
    q, best = tables.position[w], FAR
    for x in range(tables.after_first[q], tables.after_first[q + 1]):
        best = min(best, after[tables.after[x]])
    for x in range(tables.final_first[q], tables.final_first[q + 1]):
        if pending[r, tables.final[x]]:
            best = min(best, open_row)
    if tables.is_between and best <= r:
        return rows.oldest[r]
    return FAR if tables.is_between else best
