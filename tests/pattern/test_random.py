"""Random patterns of the full grammar on random rows: every strategy finds what the reference finds."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from sqlext.pattern.program import ast
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.task.skip_mode import SKIP_PAST_LAST_ROW, SKIP_TO_FIRST, SKIP_TO_LAST, SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import MatchTask, Output, Rows, Skip

from .pattern_harness import assert_all_agree, packed, rows_of, task_of

LETTERS = "ABCD"
QUANTIFIERS = [(0, None), (1, None), (0, 1), (2, None), (0, 2), (1, 3), (2, 2), (0, 0), (1, 1), (2, 3)]


def random_tree(chance: random.Random, size: int) -> ast.Pattern:
    """A tree of about `size` nodes."""
    if size <= 1:
        leaf = chance.random()
        if leaf < 0.85:
            return ast.Variable(chance.choice(LETTERS))
        return chance.choice([ast.Empty(), ast.PartitionStart(), ast.PartitionEnd()])
    kind = chance.choice(
        ["quantified"] * 3 + ["concatenation"] * 3 + ["alternation"] * 2 + ["permutation", "exclusion"]
    )
    if kind == "quantified":
        mode = chance.choice([ast.GREEDY, ast.GREEDY, ast.RELUCTANT])
        item = random_tree(chance, size - 1)
        least, most = chance.choice(QUANTIFIERS)
        return ast.Quantified(item=item, at_least=least, at_most=most, mode=mode)
    if kind == "exclusion":
        return ast.Exclusion(random_tree(chance, size - 1))
    parts = chance.randint(2, 3)
    items = tuple(random_tree(chance, (size - 1) // parts) for _ in range(parts))
    return {"concatenation": ast.Concatenation, "alternation": ast.Alternation, "permutation": ast.Permutation}[kind](
        items
    )


def random_skip(chance: random.Random) -> Skip:
    mode = chance.choice([SKIP_PAST_LAST_ROW, SKIP_TO_NEXT_ROW, SKIP_TO_FIRST, SKIP_TO_LAST])
    labels = tuple(chance.sample(range(len(LETTERS)), chance.randint(1, 3))) if mode.has_target else ()
    return Skip(mode, labels, else_next_row=bool(labels) and chance.random() < 0.7)


def random_case(seed: int) -> tuple[MatchTask, Rows]:
    """A task and rows whose conditions overlap or exclude each other; half of them with WITHIN."""
    chance = random.Random(seed)
    program = compile_pattern(random_tree(chance, chance.randint(1, 12)), tuple(LETTERS))
    bounds = np.cumsum([0] + [chance.randint(1, 9) for _ in range(chance.randint(1, 8))])
    n = int(bounds[-1])
    numbers = np.random.default_rng(seed)
    width = chance.choice([1, 4, 9, 20])
    truth = numbers.random((n, width)) < chance.choice([0.3, 0.5, 0.8])
    if chance.random() < 0.5:
        truth = numbers.integers(0, len(LETTERS), (n, 1)) == np.arange(width)
    bits = tuple(chance.choice([None, *range(width)]) if chance.random() < 0.3 else label % width for label in range(4))
    is_within = chance.random() < 0.5
    output = Output(is_all_rows=True, shows_unmatched=chance.random() < 0.5)
    task = MatchTask(
        program=program, bits=bits, conditions=(None,) * 4, skip=random_skip(chance), output=output, is_within=is_within
    )
    end = np.repeat(bounds[1:], np.diff(bounds))
    limit = np.minimum(end, np.arange(n) + numbers.integers(0, 7, n)) if is_within else None
    return task, Rows(bounds=bounds, mask=packed(truth), limit=limit)


# Walks from neighbouring rows meet at once, after a few rows, in turns side by side, one after the other, or never.
OVERLAPPING = [
    "A+ B", "A B* C", "A B*", "A* B{2} C*", "A+ B+ C+", "(A | B)+ C?", "(A | B)* $", "(A B?)+ C", "A+? (B | C)* D",
    "(A A)+ A? B+", "(A A A)+ (A | A A)? (B B)* C", "((A A)+ A? B)+", "(A B | B A)+ C*", "A (A | B C)* D?", "A{7} B?",
    "A {- B* -} C", "({- A -} B*)+ C", "A{3} (B A?)* C", "A{2,4}? B* C", "PERMUTE(A+, B) C*", "^ A+ | A B* C",
]  # fmt: skip


def random_overlap(seed: int) -> tuple[MatchTask, Rows]:
    """A pattern of OVERLAPPING, words with long runs of the same letter, and a skip to a row inside the match."""
    chance = random.Random(seed)
    mode = chance.choice([SKIP_TO_NEXT_ROW, SKIP_TO_FIRST, SKIP_TO_LAST])
    labels = tuple(chance.sample(range(4), chance.randint(1, 2))) if mode.has_target else ()
    task = task_of(chance.choice(OVERLAPPING), LETTERS, skip=Skip(mode, labels, else_next_row=chance.random() < 0.9))
    rows = rows_of(task, [random_word(chance) for _ in range(chance.randint(1, 3))])
    if chance.random() < 0.7:
        return task, rows
    n, furthest = len(rows.mask), chance.randint(1, 60)
    reach = [chance.randint(0, furthest) if chance.random() < 0.3 else furthest for _ in range(n)]
    limit = np.minimum(np.arange(n) + reach, np.repeat(rows.bounds[1:], np.diff(rows.bounds)))
    return replace(task, is_within=True), replace(rows, limit=limit)


def random_word(chance: random.Random) -> str:
    letters = chance.choices(LETTERS, [4, 4, 1, 1], k=chance.randint(1, 8))
    return "".join(letter * chance.choice([1, 1, 2, 7, 12]) for letter in letters)


@pytest.mark.random
@pytest.mark.parametrize("part", range(50))
def test_every_strategy_finds_matches_that_overlap(part):
    for seed in range(part * 20, part * 20 + 20):
        task, rows = random_overlap(seed)
        assert_all_agree(task, rows, seed)


@pytest.mark.random
@pytest.mark.parametrize("part", range(50))
def test_every_strategy_finds_what_the_reference_finds(part):
    for seed in range(part * 20, part * 20 + 20):
        task, rows = random_case(seed)
        assert_all_agree(task, rows, seed)
