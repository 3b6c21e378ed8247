"""Windows with row patterns: every strategy gives each row of random tasks the match that brute force gives it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from sqlext.pattern.batch import bounded, lazy_dfa, reference, two_pass
from sqlext.pattern.program import ast
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.task.skip_mode import SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import Frame, MachineCall, MatchTask, Navigation, Operand, Output, Rows, Spans, Values
from sqlext.pattern.task.within import frame_limits
from sqlext.pattern.threads import interpreted_search, thread_search
from tests.task_harness import tree_of

from .pattern_harness import packed
from .test_random import LETTERS, random_skip, random_tree

Match = tuple[int, int, tuple[int, ...]]  # (the row that has the match, its first row, the labels)


@dataclass(frozen=True)
class Case:
    """`steps[l]`: label l takes a row if its value is above that of the row `steps[l]` rows away; 0: any row.

    `following[i]`: how many rows follow row i in its frame.
    """

    tree: ast.Pattern
    steps: tuple[int, ...]
    truth: np.ndarray
    value: np.ndarray
    bounds: np.ndarray
    following: np.ndarray
    seeks: bool


# brute force: the words of a pattern, one after the other in the order of preference


def words(node: ast.Pattern, room: int) -> Iterator[tuple[str, ...]]:
    """The words of a pattern with at most `room` letters, most preferred first; a word may come again."""
    if isinstance(node, ast.Variable):
        yield from [(node.name,)] if room else []
    elif isinstance(node, ast.Empty):
        yield ()
    elif isinstance(node, ast.Exclusion):
        yield from words(node.item, room)
    elif isinstance(node, ast.Alternation):
        for item in node.items:
            yield from words(item, room)
    elif isinstance(node, ast.Concatenation):
        yield from _one_behind_the_other(node.items, room)
    else:
        assert isinstance(node, ast.Quantified)
        yield from _repeated(node, room, 0)


def _one_behind_the_other(items: tuple[ast.Pattern, ...], room: int) -> Iterator[tuple[str, ...]]:
    if not items:
        yield ()
        return
    for first in words(items[0], room):
        for rest in _one_behind_the_other(items[1:], room - len(first)):
            yield first + rest


def _repeated(node: ast.Quantified, room: int, rounds: int) -> Iterator[tuple[str, ...]]:
    def further() -> Iterator[tuple[str, ...]]:
        if node.at_most is None or rounds < node.at_most:
            for first in words(node.item, room):
                for rest in _repeated(node, room - len(first), rounds + 1):
                    yield first + rest

    if rounds < node.at_least:
        yield from further()
    elif node.mode == ast.RELUCTANT:
        yield ()
        yield from further()
    else:
        yield from further()
        yield ()


def brute_force(case: Case) -> list[Match]:
    """The matches with AFTER MATCH SKIP TO NEXT ROW, row by row, as ISO/IEC 9075-2 defines them."""
    matches = []
    for low, high in zip(case.bounds, case.bounds[1:]):
        for current in range(low, high):
            end = min(high, current + int(case.following[current]) + 1)
            match = _match_in_frame(case, current, end)
            if match is not None:
                matches.append((current, *match))
    return matches


def _match_in_frame(case: Case, current: int, end: int) -> tuple[int, tuple[int, ...]] | None:
    for start in range(current, end if case.seeks else current + 1):
        for word in words(case.tree, end - start):
            labels = tuple(LETTERS.index(letter) for letter in word)
            if all(_holds(case, start + j, label, current, end) for j, label in enumerate(labels)):
                return start, labels
    return None


def _holds(case: Case, row: int, label: int, low: int, high: int) -> bool:
    other = row + case.steps[label]
    is_above = case.steps[label] == 0 or (low <= other < high and case.value[row] > case.value[other])
    return bool(case.truth[row, label]) and is_above


# the strategies


def task_and_rows(case: Case) -> tuple[MatchTask, Rows]:
    limit = frame_limits(case.bounds, Values(case.following))
    return MatchTask(
        program=compile_pattern(case.tree, tuple(LETTERS)),
        bits=tuple(range(len(LETTERS))),
        conditions=tuple(_above(step) if step else None for step in case.steps),
        skip=random_skip(random.Random(0)),
        output=Output(is_window=True),
        is_within=True,
        frame=Frame(seeks=case.seeks, is_seen=any(case.steps)),
    ), Rows(bounds=case.bounds, mask=packed(case.truth), limit=limit, columns=(Values(case.value),))


def _above(step: int) -> MachineCall:
    """`value > the value some rows away`"""
    here, there = (Operand(Navigation(argument=0, step=n), "int") for n in (0, step))
    return MachineCall(function="less", arguments=(there, here), kind="bool")


def strategies(task: MatchTask, chance: random.Random) -> dict[str, Callable[..., Iterator[Spans]]]:
    ways: dict[str, Callable[..., Iterator[Spans]]] = {
        "reference": reference.find,
        "threads": thread_search.find,
        "interpreted": interpreted_search.find,
    }
    if not any(task.conditions):
        size = chance.randint(1, 5)
        ways |= {"bounded": bounded.find, "small": lambda t, r: bounded.find(t, r, block_rows=size)}
    if not task.is_within:
        ways |= {"two_pass": two_pass.find, "lazy_dfa": lazy_dfa.find}
    return ways


def matches_of(blocks: Iterator[Spans]) -> tuple[list[Match], object]:
    """All matches, and the failure of AFTER MATCH SKIP after them."""
    result: list[Match] = []
    failure = None
    for block in blocks:
        current = block.start if block.current is None else block.current
        labels = [tuple(block.label[a:b].tolist()) for a, b in zip(block.offset, block.offset[1:])]
        result += zip(current.tolist(), block.start.tolist(), labels)
        failure = block.failure
    return result, failure


UNKNOWN = (ast.PartitionStart, ast.PartitionEnd, ast.Permutation)


def _is_enumerated(tree: ast.Pattern) -> bool:
    """Return True if `words` knows the tree. Rounds of a loop that take no row have a rule of their own (see
    `Program`)."""
    nodes = list(ast.walk(tree))
    if any(isinstance(node, UNKNOWN) for node in nodes):
        return False
    return not any(isinstance(node, ast.Quantified) and () in words(node.item, 0) for node in nodes)


def random_case(chance: random.Random) -> Case:
    tree = random_tree(chance, chance.randint(1, 6))
    while not _is_enumerated(tree):
        tree = random_tree(chance, chance.randint(1, 6))
    numbers = np.random.default_rng(chance.randint(0, 1 << 30))
    bounds = np.cumsum([0] + [chance.randint(1, 5) for _ in range(chance.randint(1, 3))])
    n = int(bounds[-1])
    widest = chance.choice([0, 1, 3, 9])
    is_constant = chance.random() < 0.5
    steps = [chance.choice([-2, -1, -1, 0, 1, 2]) for _ in LETTERS] if chance.random() < 0.5 else [0] * len(LETTERS)
    return Case(
        tree=tree,
        steps=tuple(steps),
        truth=numbers.random((n, len(LETTERS))) < chance.choice([0.3, 0.6, 0.9]),
        value=numbers.integers(0, 4, n),
        bounds=bounds,
        following=np.full(n, widest) if is_constant else numbers.integers(0, widest + 1, n),
        seeks=chance.random() < 0.6,
    )


@pytest.mark.random
@pytest.mark.parametrize("part", range(4))
def test_every_strategy_gives_each_row_the_match_of_brute_force(part):
    for seed in range(part * 150, part * 150 + 150):
        case, chance = random_case(random.Random(seed)), random.Random(seed)
        task, rows = task_and_rows(case)
        task = replace(task, skip=replace(task.skip, mode=SKIP_TO_NEXT_ROW, labels=()))
        expected = brute_force(case)
        for name, find in strategies(task, chance).items():
            assert matches_of(find(task, rows)) == (expected, None), (seed, name, case)


@pytest.mark.random
@pytest.mark.parametrize("part", range(4))
def test_every_strategy_skips_as_the_reference_does(part):
    for seed in range(part * 150, part * 150 + 150):
        case, chance = random_case(random.Random(seed)), random.Random(seed)
        task, rows = task_and_rows(case)
        task = replace(task, skip=random_skip(chance))
        expected = matches_of(reference.find(task, rows))
        for name, find in strategies(task, chance).items():
            assert matches_of(find(task, rows)) == expected, (seed, name, case)


@pytest.mark.parametrize(
    ("text", "letters", "expected"),
    [
        # SEEK: rows 0 to 2 have the match that begins at row 2; the rows after it have none
        ("A B", "BBAB", [(0, 2, "AB"), (1, 2, "AB"), (2, 2, "AB")]),
        # an empty match is found at the current row
        ("A*", "BA", [(0, 0, ""), (1, 1, "A")]),
    ],
)
def test_seek_takes_the_first_row_where_a_match_begins(text, letters, expected):
    tree, names = tree_of(text)
    truth = np.array([[letter == name for name in LETTERS] for letter in letters])
    n = len(letters)
    case = Case(tree, (0,) * 4, truth, np.zeros(n, int), np.array([0, n]), np.full(n, n), True)
    task, rows = task_and_rows(case)
    task = replace(task, skip=replace(task.skip, mode=SKIP_TO_NEXT_ROW, labels=()))
    result, _ = matches_of(bounded.find(task, rows))
    assert [(c, s, "".join(LETTERS[label] for label in labels)) for c, s, labels in result] == expected
    assert set(names) <= set(LETTERS)
