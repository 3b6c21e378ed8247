"""The shared buffer: rows B1 to B12 of Flink's checklist, or what we do instead.

B1 to B4, B6, B7 (Dewey numbers, put and get) are a difference on purpose: entries never change, so the entry at which a
group stood is its version, and nothing has to be compared. B9 (reference counts) likewise: what no group reaches is
swept. B5, B10 and B11 are cases of cep.txt too. B12 (cache sizes) has no counterpart: there is no cache.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from sqlext.pattern.cep import every_match
from sqlext.pattern.cep.cep_task import local_truth
from sqlext.pattern.cep.every_match import Numbering
from sqlext.pattern.cep.every_match_tables import row_bits, start_ranges, states_of
from sqlext.pattern.cep.shared_buffer import Buffer

from .cep_harness import case_of, everything, random_case


class Steps:
    """`every_match.find` in steps of our choice. `between(buffer)` gives the buffer to go on with."""

    def __init__(self, pattern: str, rows: str, mode: str = "NO SKIP"):
        self.set(*case_of(pattern, rows, mode))

    def set(self, task, rows) -> Steps:
        self.task, self.rows = task, rows
        truth = local_truth(task, rows)
        self.states = states_of(task.nfa, is_between=task.is_between)
        self.bits = row_bits(self.states, truth, rows)
        self.ranges = start_ranges(self.states, truth, rows, self.bits)
        self.buffer = Buffer.empty(len(self.states.states), capacity=1)
        self.numbering = Numbering(task, rows, self.states)
        return self

    def take(self, lo: int, hi: int):
        for buffer, hits in every_match.advance(self.states, self.bits, self.buffer, lo, hi):
            self.buffer = buffer
            for matches in every_match.matches_of(self.states, buffer, hits, self.ranges):
                yield from self.numbering.push(matches)

    def all(self, size: int, between=lambda buffer: buffer):
        for lo in range(0, len(self.rows.mask), size):
            yield from self.take(lo, min(lo + size, len(self.rows.mask)))
            self.buffer = between(self.buffer)
        yield from self.numbering.rest()


def compacted(buffer: Buffer) -> Buffer:
    """Released in between."""
    buffer.compact(-1)
    return buffer


@pytest.mark.parametrize("seed", range(4000, 4100))
def test_any_portions_give_the_same(seed):
    task, rows = random_case(seed, rows=10)
    task = replace(task, conditions=(None,) * len(task.bits))
    steps = Steps("A", "A").set(task, rows)
    expected = everything(every_match.find(task, rows))
    for size in (1, 2, 5):
        assert everything(steps.set(task, rows).all(size)) == expected
        assert everything(steps.set(task, rows).all(size, compacted)) == expected


def test_b1_a_version_is_the_entry_at_which_a_group_stood():
    """The second A is no past of the first B, though both are in the group for which B is the next row."""
    steps = Steps("A -> B -> C", "A B A B C")
    found = [rows for _, rows, *_ in everything(steps.all(1))["matches"]]
    assert found == [(0, 1, 4), (2, 3, 4)]


def test_b8_rows_out_of_the_bound_are_forgotten():
    steps = Steps("A -> B", "A " * 5000, "NO SKIP, within 10")
    list(steps.take(0, 5000))
    steps.buffer.compact(4991)
    assert steps.buffer.size <= 20
    assert steps.buffer.row[: steps.buffer.size].max() == 4999


@pytest.mark.random
@pytest.mark.parametrize("bound", ["within", "between"])
@pytest.mark.parametrize("pattern", ["A -> B", "A -> A -> B"])
def test_b8_the_buffer_stays_small_by_itself(pattern, bound):
    steps = Steps(pattern, "A " * 20_000, f"NO SKIP, {bound} 10")
    list(steps.take(0, 20_000))
    assert steps.buffer.capacity < 3000


def test_b9_a_long_path_is_released_without_recursion():
    steps = Steps("A+ B", "A " * 100_000)
    list(steps.take(0, 100_000))
    assert steps.buffer.size > 100_000
    steps.buffer.group[:] = -1
    steps.buffer.compact(0)
    assert steps.buffer.size == 0


def test_b9_what_groups_share_is_kept_once():
    steps = Steps("A -> B (->> B)* -> C", "A B B")
    list(steps.take(0, 3))
    before = everything(steps.take(3, 3))
    sizes = []
    for _ in range(2):
        steps.buffer.compact(-1)
        sizes.append(steps.buffer.size)
    assert before["matches"] == [] and sizes[0] == sizes[1]


def test_partial_matches_do_not_make_the_buffer_grow_faster_than_rows():
    """2 ** 2000 partial matches."""
    steps = Steps("A (->> B)* -> C", "A " + "B " * 2000)
    list(steps.take(0, 2001))
    assert steps.buffer.size < 8 * 2001
