"""Rows that satisfy no variable change no match, nor the time that decides it, where the analysis says so."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from sqlext.errors import DataError
from sqlext.pattern.cep import path_search
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.nfa_compile import compile_nfa, skeleton
from sqlext.pattern.cep.usable_rows import why_all_rows_matter
from sqlext.pattern.program import ast
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.strategy import match
from sqlext.pattern.task.skip_mode import NO_SKIP, SKIP_TO_FIRST, SKIP_TO_LAST, SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import Rows, Skip, Task, Values
from tests.sampling import seeded
from tests.task_harness import tree_of

from .cep_harness import LETTERS, everything, random_case, rows_of, task_of
from .test_cep_stream import Found, decided, one_partition

HEADS = ("A", "A?", "A*", "(A | B)", "^ A", "(-> A)+", "(A -> B)", "(A B)", "PERMUTE(A, -> B)", "{- A -}")
TAILS = (
    "B", "-> B", "->> B", "-> B+", "-> (A | B)", "(-> B)?", "(-> B)*", "(-> B)+", "(-> B)*?", "(-> B)*+", "(-> B){2}",
    "(->> B)*", "(->> B)+?", "(-> A ->> B)+", "!N", "!-> N", "!N -> B", "!-> N -> B", "-> B !-> N -> A",
    "(-> B)+ UNTIL S", "(->> B)* UNTIL S", "(-> B)*+ UNTIL S", "(-> A -> B UNTIL S)?", "$",
)  # fmt: skip
SKIPS = (Skip(), Skip(SKIP_TO_NEXT_ROW), Skip(SKIP_TO_FIRST, (1,), True), Skip(SKIP_TO_LAST, (0,), True), Skip(NO_SKIP))
BOUNDS = ("", "within", "between")
TASKS = [
    (f"{head} {' '.join(tails)}", skip, bound)
    for count in range(3)
    for tails in product(TAILS, repeat=count)
    for head in HEADS
    for skip in SKIPS
    for bound in BOUNDS
]
PARTS = 400  # of which one a day is one in 200: 432 tasks
ROWS = 4


def words(letters: str) -> tuple[np.ndarray, np.ndarray]:
    """`bool[n, letters]` and the bounds of all words of ROWS letters, where "-" satisfies no variable."""
    every = ["".join(word) for word in product(letters, repeat=ROWS)]
    held = np.array([[letter == row for letter in LETTERS] for word in every for row in word], bool)
    return held, np.arange(len(every) + 1) * ROWS


def used_by(pattern: ast.Pattern) -> str:
    return "".join(letter for letter in LETTERS if letter in ast.names(pattern))


def usable(rows: Rows, letters: str) -> np.ndarray:
    """`int64[m]`: the rows that satisfy one of the letters."""
    bits = sum(1 << LETTERS.index(letter) for letter in letters)
    return np.flatnonzero(rows.mask[:, 0] & bits)


def without_others(rows: Rows, kept: np.ndarray) -> Rows:
    """The `kept` rows alone."""
    before = np.searchsorted(kept, np.arange(len(rows.mask) + 1))

    def column(values):
        return None if values is None else values[kept]

    return Rows(
        bounds=np.unique(before[rows.bounds]),  # a partition without rows is none
        mask=rows.mask[kept],
        limit=None if rows.limit is None else before[rows.limit[kept]],
        key=column(rows.key),
        end=column(rows.end),
        columns=tuple(Values(c.values[kept], column(c.valid)) for c in rows.columns),
    )


def renumbered(value, kept: np.ndarray):
    """The results of `everything` over the kept rows, with the numbers that the rows have among all rows."""
    rename = kept.tolist()

    def taken(shown: tuple) -> tuple:
        number, rows, *others = shown
        return (number, tuple(rename[row] for row in rows), *others)

    failure = value["failure"]
    return {
        "start": [rename[row] for row in value["start"]],
        "matches": [taken(shown) for shown in value["matches"]],
        "partial": sorted(taken(shown) for shown in value["partial"]),
        "unmatched": [],
        "failure": failure and replace(failure, start=rename[failure.start]),
    }


def assert_same_without(task: Task, rows: Rows, kept: np.ndarray, find, about: str) -> None:
    expected = {**everything(find(task, rows)), "unmatched": []}
    assert renumbered(everything(find(task, without_others(rows, kept))), kept) == expected, about


@pytest.mark.slow
@pytest.mark.random(every=PARTS // 2)
@pytest.mark.parametrize("part", range(PARTS))
def test_all_small_patterns_match_the_same_rows_of_all_short_inputs(part):
    checked = 0
    for pattern, skip, bound in TASKS[part::PARTS]:
        tree, _ = tree_of(pattern)
        letters = used_by(tree)
        task = replace(task_of(tree, skip, bound), bits=tuple(range(len(LETTERS))))
        if why_all_rows_matter(task):
            continue
        held, bounds = words(f"{letters}-")
        rows = rows_of(held, bounds, np.tile(np.arange(ROWS), len(bounds) - 1), 2 if bound else None)
        assert_same_without(task, rows, usable(rows, letters), path_search.find, f"{pattern} {skip} {bound}")
        checked += 1
    assert checked > 5


@pytest.mark.parametrize(
    "pattern, reason",
    [
        ("A B", "B must be the very next row"),
        ("A -> B+", "B must be the very next row"),
        ("A !N -> B", "N must not be the very next row"),
        ("A -> B !N", "an absence tests the very next row"),
        ("A -> B $", "$ tests for the last row of the partition"),
        ("^ A -> B", "^ tests for the first row of the partition"),
        ("(A -> B)?", "a match may be empty"),
    ],
)
def test_a_pattern_that_needs_all_rows_has_other_matches_without_some(pattern, reason):
    tree, _ = tree_of(pattern)
    task = task_of(tree, Skip(SKIP_TO_NEXT_ROW))
    assert why_all_rows_matter(task) == reason
    held, bounds = words(f"{used_by(tree)}-")
    rows = rows_of(held, bounds, np.arange(len(held)), None)
    with pytest.raises(AssertionError, match="differs"):
        assert_same_without(task, rows, usable(rows, used_by(tree)), path_search.find, "differs")


def relaxed(node: ast.Pattern, chance: random.Random) -> ast.Pattern:
    """The pattern with an operator before each variable, and without what makes neighbours matter."""
    if isinstance(node, ast.Variable):
        return ast.Relaxed(chance.choice(["->", "->>"]), node)
    if isinstance(node, ast.Absence):
        return replace(node, operator="!->")
    if isinstance(node, (ast.PartitionStart, ast.PartitionEnd)):
        return ast.Empty()
    if isinstance(node, (ast.Concatenation, ast.Alternation, ast.Permutation)):
        return replace(node, items=tuple(relaxed(item, chance) for item in node.items))
    return replace(node, item=relaxed(node.item, chance)) if hasattr(node, "item") else node


def relaxed_task(task: CepTask, seed: int) -> CepTask:
    """The task with the relaxed pattern, which must not match the empty sequence."""
    tree = ast.Concatenation((ast.Variable("A"), relaxed(task.nfa.pattern, seeded(seed))))
    program, nfa = compile_pattern(skeleton(tree), task.nfa.labels), compile_nfa(tree, task.nfa.labels)
    return replace(task, program=program, nfa=nfa, output=replace(task.output, shows_unmatched=False))


def with_idle_rows(rows: Rows, seed: int, count: int) -> Rows:
    """The rows, about a third of which satisfy no variable."""
    mask = rows.mask.copy()
    mask[np.random.default_rng(seed).random(count) < 0.35] = 0
    return replace(rows, mask=mask)


@pytest.mark.random(every=4)
@pytest.mark.parametrize("part", range(16))
def test_random_tasks_find_the_same_matches(part):
    checked = 0
    for seed in range(part * 60, part * 60 + 60):
        task, rows = random_case(seed, rows=10)
        task = relaxed_task(task, seed)
        if why_all_rows_matter(task):
            continue
        rows = with_idle_rows(rows, seed, len(rows.mask))
        try:
            assert_same_without(task, rows, usable(rows, used_by(task.nfa.pattern)), match, f"{seed}\n{task.nfa}")
        except DataError as error:
            assert error.error_class == "SQLEXT_STEP_BUDGET"
        checked += 1
    assert checked > 40


def decided_rows(task: Task, rows: Rows, watermark: int, kept: np.ndarray) -> Found:
    """The decisions over the kept rows, with the numbers that the rows have among all rows."""
    found, rename = decided(task, without_others(rows, kept), watermark), kept.tolist()

    def taken(shown: tuple, at: int) -> tuple:
        return (*shown[:at], tuple(rename[row] for row in shown[at]), *shown[at + 1 :])

    return Found(
        [(taken(shown, 1), time) for shown, time in found.matches],
        sorted((taken(shown, 0), time) for shown, time in found.partial),
        [],
    )


@pytest.mark.random(every=4)
@pytest.mark.parametrize("part", range(16))
def test_a_stream_decides_the_same_matches_at_the_same_times(part):
    checked = 0
    for seed in range(9000 + part * 60, 9060 + part * 60):
        case = one_partition(seed)
        if case is None:
            continue
        task, rows = relaxed_task(case[0], seed), case[1]
        if why_all_rows_matter(task):
            continue
        rows = with_idle_rows(rows, seed, len(rows.mask))
        last = int(rows.key[-1] if rows.end is None else rows.end.max()) + 5
        try:
            expected = decided_rows(task, rows, last, np.arange(len(rows.mask)))
        except DataError:
            continue
        kept = usable(rows, used_by(task.nfa.pattern))
        found = decided_rows(task, rows, last, kept) if len(kept) else Found([], [], [])
        assert found == expected, f"{seed}\n{task.nfa}"
        checked += 1
    assert checked > 15
