"""The boundaries at which a range of rows can be cut, so that its parts can be matched independently.

A *cut* is a boundary between two rows at which the search for matches begins anew: the matcher tries to start a match
at the row after it, and no match maps rows on both sides. The rows between two cuts are matched as if they were a
partition of their own. The cuts found here are certain, whatever comes before and after the given rows, so many cores
can look for them at once. There are two kinds:

- No candidate crosses a *clean* cut: no position that a search can have reached before it, from any start row or from
  before the given rows, continues to a position that is live after it (from which a match can be completed, or can
  continue after the given rows). This holds for every skip mode. WITHIN and run-dependent conditions only take
  candidates away.
- No preferred match crosses a *walked* cut. If AFTER MATCH SKIP PAST LAST ROW and row-local conditions decide matches,
  the matcher is always in one state: at the beginning of a search, or in one position of a match. All states in which
  it may be at the first row are followed at once; they become one state within a few matches. This requires the live
  positions, so it ends where these depend on rows after the given ones.

Source: see `two_pass` for the live sets. Following all states at once is how finite automata are run in parallel:
Mytkowicz, Musuvathi and Schulte, Data-Parallel Finite-State Machines (ASPLOS 2014), §3.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sqlext.pattern.batch import two_pass
from sqlext.pattern.program.jit import compiled
from sqlext.pattern.program.position_automaton import DEAD, DONE, position_automaton, targets_after, targets_from
from sqlext.pattern.program.program import Program
from sqlext.pattern.task.task import Rows, Task

_NONE, _MANY = -1, -2  # used instead of the one position in which the matcher may be


class CutTables(NamedTuple):
    """`packed` are the tables of `two_pass`, with K.

    - `after: K[w, 256]`: entry [j, s] holds the targets of the positions in byte value s of byte j of a set;
    - `starts: K[1]`: the positions at which a search begins; `single: K[m]`: the sets of one position each.
    """

    packed: two_pass.TwoPassTables
    after: np.ndarray
    starts: np.ndarray
    single: np.ndarray


def find_cuts(
    task: Task, rows: Rows, lo: int = 0, hi: int | None = None, *, is_fresh: bool = False
) -> tuple[int, int] | None:
    """The first and the last cut among the boundaries `lo`, …, `hi` (boundary r is before row r), or None.

    `rows` are some rows of a sorted relation. The masks of rows `lo` to `hi` (exclusive; default: all rows) are known;
    the rows before and after them may be anything. The inner `rows.bounds` are beginnings of partitions, which are
    cuts too. `is_fresh`: `lo` is known to be a cut. The task must be one that `parts.refusal` does not refuse. Time is
    linear in the rows; memory is 1, 2, 4 or 8 bytes a row.

    >>> from sqlext.pattern.program.program import Done, MatchLabel
    >>> from sqlext.pattern.task.task import MatchTask
    >>> a_b = Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B"))
    >>> task = MatchTask(program=a_b, bits=(0, 1), conditions=(None, None))
    >>> find_cuts(task, Rows(bounds=np.array([0, 5]), mask=np.array([[2], [1], [2], [1], [1]], np.uint8)))
    (1, 4)
    """
    hi = len(rows.mask) if hi is None else hi
    tables = _tables(task.program, task.bits)
    live = np.empty(hi - lo, tables.starts.dtype)
    inner = rows.bounds[1:-1]
    inner = inner[(inner >= lo) & (inner <= hi)]
    certain = _find_live(tables, inner, rows.mask, lo, hi, live)
    first, last = _first_and_last(
        tables, inner, live, lo, hi, certain if _allows_walked_cuts(task) else lo - 1, is_fresh
    )
    return None if first < 0 else (first, last)


def _allows_walked_cuts(task: Task) -> bool:
    """True if the matcher is always in one state."""
    is_local = not task.is_within and all(condition is None for condition in task.conditions)
    return is_local and task.skip.mode.is_past_last


@lru_cache(maxsize=16)
def _tables(program: Program, bits: tuple[int | None, ...]) -> CutTables:
    tables, packed = position_automaton(program, bits), two_pass.packed_tables(program, bits)
    kind = packed.at_end.dtype
    starts = targets_from(tables.graph, 0, at_start=False)
    return CutTables(
        packed=packed,
        after=two_pass.unions([_positions(targets) for targets in targets_after(tables.graph)], kind),
        starts=np.array([_positions(starts)], kind),
        single=np.array([1 << p for p in range(max(tables.size, 1))], kind),
    )


def _positions(targets: list[int]) -> int:
    return two_pass.as_set(q for q in targets if q != DONE)


@compiled
def _find_live(tables, inner, mask, lo, hi, live):
    """Fill `live[i - lo]` with the positions that are live at row i for some rows after `hi`.

    Returns a boundary; at rows below it the positions are live whatever comes after `hi`.
    """
    t = tables.packed
    certain, k = -1, len(inner) - 1
    most, least = t.everything[0], t.at_end[0]
    for i in range(hi - 1, lo - 1, -1):
        if k >= 0 and inner[k] == i + 1:
            k, most, least = k - 1, t.at_end[0], t.at_end[0]
        for j in range(len(t.column)):
            allowed = t.allowed[j, mask[i, t.column[j]]]
            most &= allowed
            least &= allowed
        live[i - lo] = most
        if certain < 0 and most == least:
            certain = i + 1
        most = _image(t.before, most)
        if certain < 0:
            least = _image(t.before, least)
    return max(certain, lo)


@compiled
def _image(table, positions):
    image = table[0, positions & 255]
    for j in range(1, len(table)):
        image |= table[j, positions >> (8 * j) & 255]
    return image


@compiled
def _first_and_last(tables, inner, live, lo, hi, certain, is_fresh):
    """The first and the last cut, or -1; walked cuts are looked for up to boundary `certain`.

    All matches end at a boundary if they end there for the largest set of live positions after it, so only the sets
    before the boundary have to be certain.

    `ahead`: the positions at which a candidate that maps rows before r may continue there; `walkers`, `lane` and
    `may_begin`: see `_after_ends`.
    """
    nothing, everything = tables.after[0, 0], tables.packed.everything[0]
    walkers = nothing if is_fresh else everything
    ahead = _image(tables.after, walkers)
    lane, may_begin = (_NONE if is_fresh else _MANY), True
    first, last, k = -1, -1, 0
    for r in range(lo, hi + 1):
        here = live[r - lo] if r < hi else everything
        if k < len(inner) and inner[k] == r:
            k, ahead, lane, may_begin = k + 1, nothing, _NONE, True
        is_cut = (ahead & here) == 0 or (r == lo and is_fresh)
        if r <= certain:
            walkers, lane, may_begin = _after_ends(tables, walkers, lane, may_begin, here)
            is_cut |= lane == _NONE
            walkers, lane, may_begin = _after_begin(tables, walkers, lane, may_begin, here)
        if is_cut:
            first, last = r if first < 0 else first, r
        ahead = _image(tables.after, (ahead | tables.starts[0]) & here)
    return first, last


@compiled
def _after_ends(tables, walkers, lane, may_begin, here):
    """The state of the matcher after the matches that end before a row have ended and other matches have taken the row.

    The matcher may be in any position of the set `walkers`. `lane` is _NONE if the set is empty, _MANY if it has
    several positions, and otherwise its only position. `may_begin`: it may also begin a search at this row.
    """
    nothing = tables.after[0, 0]
    if lane == _NONE:
        return nothing, lane, may_begin
    following, next_lane = nothing, _NONE
    for p in range(len(tables.single)) if lane == _MANY else range(lane, lane + 1):
        if lane == _MANY and (walkers & tables.single[p]) == 0:
            continue
        q = two_pass.live_target(tables.packed, p, here)
        if q == DONE:
            may_begin = True
        elif q != DEAD:
            following, next_lane = following | tables.single[q], q if next_lane in (_NONE, q) else _MANY
    return following, next_lane, may_begin


@compiled
def _after_begin(tables, walkers, lane, may_begin, here):
    """The state of the matcher after it has begun a search at a row, if it may begin one."""
    q = two_pass.live_target(tables.packed, len(tables.packed.first) - 3, here) if may_begin else DEAD
    if q < 0:
        return walkers, lane, may_begin
    return walkers | tables.single[q], q if lane in (_NONE, q) else _MANY, False
