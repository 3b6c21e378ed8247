"""Cuts are boundaries at which matching begins anew, whatever comes before and after the rows at hand.

Therefore the chunks of a partition can be matched separately, and the leftovers between their cuts afterwards, with the
same result.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from sqlext.pattern.batch import reference, two_pass
from sqlext.pattern.batch.cuts import find_cuts
from sqlext.pattern.batch.parts import moved, part_of, refusal
from sqlext.pattern.conditions.conditions import satisfier
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.task.skip_mode import MODES, SKIP_TO_LAST, SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import MATCH_NUMBER, Literal, MachineCall, MatchTask, Navigation, Operand, Rows, Skip

from .pattern_harness import joined, lines, packed, rows_of, task_of
from .test_random import random_case, random_overlap
from .test_small_world import LETTERS, is_first_of_its_kind, trees


def skip_of(text: str) -> Skip:
    mode, _, name = text.rpartition(" ")
    return Skip(MODES[text]) if text in MODES else Skip(MODES[mode], (LETTERS.index(name),))


@pytest.mark.parametrize("pattern, skip, word, expected", lines("cuts.txt"))
def test_these_rows_have_these_cuts(pattern, skip, word, expected):
    task = task_of(pattern, "ABCDX", skip=skip_of(skip))
    rows = rows_of(replace(task, program=replace(task.program, labels=tuple("ABCD"))), word.split("|"))
    truth = np.unpackbits(rows.mask, axis=1, bitorder="little")[:, :4].astype(bool)
    rows = replace(rows, mask=packed(np.hstack([truth, np.ones((len(truth), 1), bool)])))
    assert find_cuts(task, rows) == (None if expected == "none" else tuple(map(int, expected.split())))


# --- small worlds -----------------------------------------------------------------------------------------------------


def words(longest: int) -> list[tuple[int, ...]]:
    return [word for length in range(longest + 1) for word in product(range(3), repeat=length)]


WORLD = words(8)[1:]
FIRST = {word: i for word, i in zip(WORLD, np.cumsum([0, *(len(word) + 1 for word in WORLD)]).tolist())}
CONTEXTS = {  # for each word of up to 4 letters, its first boundaries where it is part of a longer word
    word: np.array([FIRST[before + word + after] + len(before) for before in words(2) for after in words(2)])
    for word in words(4)[1:]
}
TREES = [tree for nodes in range(1, 5) for tree in trees(nodes) if is_first_of_its_kind(tree)]
LABELS = {"a letter each": ((0,), (1,), (2,)), "two of three": ((0, 1), (1, 2), (0, 2))}  # that each letter satisfies
SKIPS = [Skip(), Skip(SKIP_TO_NEXT_ROW), Skip(SKIP_TO_LAST, (1,), else_next_row=True)]


def rows_in(words: list[tuple[int, ...]], labels: tuple[tuple[int, ...], ...]) -> Rows:
    """Rows with one partition for each word."""
    truth = np.array([[label in labels[letter] for label in range(3)] for word in words for letter in word])
    return Rows(bounds=np.cumsum([0, *map(len, words)]), mask=packed(truth))


def crossed(task: MatchTask, rows: Rows) -> np.ndarray:
    """`bool[n + partitions]`: is a boundary inside a match? Each partition has one boundary more than rows.

    At all other boundaries matching begins anew, because no skip mode resumes beyond the row after a match.
    """
    is_crossed = np.zeros(len(rows.mask) + len(rows.bounds), int)
    partition = np.repeat(np.arange(len(rows.bounds) - 1), np.diff(rows.bounds))
    for spans in two_pass.find(task, rows):
        start, length = spans.start[spans.length > 1], spans.length[spans.length > 1]
        at = start + partition[start]
        np.add.at(is_crossed, at + 1, 1)
        np.add.at(is_crossed, at + length, -1)
    return np.cumsum(is_crossed) > 0


@pytest.mark.random
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("skip", SKIPS, ids=lambda skip: skip.mode.name)
def test_a_cut_is_one_in_every_context(labels, skip):
    """All patterns of up to 4 nodes, and all words of up to 4 letters between any two words of up to 2 letters."""
    world = rows_in(WORLD, labels)
    chunks = {word: rows_in([word], labels) for word in CONTEXTS}
    for tree in TREES:
        task = MatchTask(
            program=compile_pattern(tree, tuple(LETTERS)), bits=(0, 1, 2), conditions=(None,) * 3, skip=skip
        )
        is_crossed = crossed(task, world)
        for word, rows in chunks.items():
            for at in find_cuts(task, rows) or ():
                assert not is_crossed[CONTEXTS[word] + at].any(), (tree, word, at)


# --- chunks and leftovers ---------------------------------------------------------------------------------------------


def in_chunks(task: MatchTask, rows: Rows, at: list[int], find) -> dict[str, object]:
    """The result of `find` for the chunks between the boundaries `at`, and for the leftovers between their cuts."""
    parts, begin = [], 0
    for lo, hi in pairwise([0, *at, len(rows.mask)]):
        cuts = find_cuts(task, part_of(rows, lo, hi))
        if cuts is not None:
            parts += [(begin, lo + cuts[0]), (lo + cuts[0], lo + cuts[1])]
            begin = lo + cuts[1]
    parts.append((begin, len(rows.mask)))
    blocks = [moved(spans, lo) for lo, hi in parts if lo < hi for spans in find(task, part_of(rows, lo, hi), lo)]
    return {name: value for name, value in joined(blocks).items() if name != "number"}


def assert_same_in_chunks(task: MatchTask, rows: Rows, chance: random.Random, find) -> None:
    """Assert that the chunks and the whole have the same result."""
    whole = {name: value for name, value in joined(find(task, rows, 0)).items() if name != "number"}
    at = sorted(chance.randint(0, len(rows.mask)) for _ in range(chance.randint(1, 4)))
    assert in_chunks(task, rows, at, find) == whole, (task, rows, at)


def by_reference(task: MatchTask, rows: Rows, begin: int):
    return reference.find(task, rows)


def by_the_match_so_far(task: MatchTask, rows: Rows, begin: int):
    """The matches where conditions also depend on the start row and on the labels so far."""
    has_bit = satisfier(task, rows)

    def satisfies(start: int, number: int, labels: list[int], label: int) -> bool:
        return has_bit(start, number, labels, label) and hash((begin + start, *labels, label)) % 4 > 0

    return reference.find(task, rows, satisfies)


@pytest.mark.random(every=3)
@pytest.mark.parametrize("cases", [random_case, random_overlap])
@pytest.mark.parametrize("part", range(5))
def test_chunks_and_leftovers_have_the_result_of_the_whole(cases, part):
    for seed in range(part * 200, part * 200 + 200):
        task, rows = cases(seed)
        if refusal(task) is None:
            assert_same_in_chunks(task, rows, random.Random(seed), by_reference)
            dependent = replace(task, conditions=(Literal(True, "bool"),) * len(task.conditions))
            assert_same_in_chunks(dependent, rows, random.Random(seed), by_the_match_so_far)


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern, skip, reason", lines("parts.txt"))
def test_a_partition_that_cannot_be_matched_in_parts_has_a_reason(pattern, skip, reason):
    assert (refusal(task_of(pattern, "ABCDX", skip=skip_of(skip))) or "") == reason


PREV, NUMBER, LAST = (
    Navigation(argument=0, step=-1),
    Navigation(argument=MATCH_NUMBER),
    Navigation(argument=0, labels=(0,)),
)
READING = {PREV: "PREV or NEXT of a row of the match", NUMBER: "MATCH_NUMBER()", LAST: None}


@pytest.mark.parametrize("source", READING)
def test_conditions_may_read_the_rows_of_the_match_only(source):
    condition = MachineCall(function="less", arguments=(Operand(LAST, "int"), Operand(source, "int")), kind="bool")
    task = replace(task_of("A B"), conditions=(None, condition))
    assert refusal(task) == (READING[source] and f"the condition of B reads {READING[source]}.")
